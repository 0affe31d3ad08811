#include "parity/harness/setting.hpp"

#include <ATen/Context.h>
#include <ATen/autocast_mode.h>

#include <cmath>

#include "error/error.hpp"
#include "parity/harness/ranks.hpp"

namespace cpize::parity {

Setting Setting::of(const CellName& cell) {
  const auto fail = [&](const std::string& why) { throw ConfigError("cell " + cell.str() + ": " + why); };
  Setting s(MeshShape::parse(cell.mesh));
  s.backend = cell.backend;
  if (s.backend != "threads" && s.backend != "mpi" && s.backend != "nccl")
    fail("no backend is called '" + s.backend + "'; there are: threads, mpi, nccl");
  if (cell.dtype == "fp32")
    s.dtype = at::kFloat;
  else if (cell.dtype == "bf16")
    s.dtype = at::kBFloat16;
  else if (cell.dtype != "fp64")
    fail("no dtype is called '" + cell.dtype + "'; there are: fp64, fp32, bf16");
  if (cell.device == "cuda")
    s.device_type = at::kCUDA;
  else if (cell.device != "cpu")
    fail("no device is called '" + cell.device + "'; there are: cpu, cuda");
  if (s.backend == "threads" && s.device_type != at::kCPU) fail("ranks that are threads compute on the CPU");
  if (s.backend == "nccl" && s.device_type != at::kCUDA) fail("NCCL needs the device cuda");
  if (s.device_type == at::kCUDA && !at::hasCUDA())
    fail("needs a GPU: this build has no CUDA (configure with -DCPIZE_CUDA=ON), or this machine shows no GPU");
  return s;
}

double Setting::unit_roundoff() const {
  return dtype == at::kBFloat16 ? std::ldexp(1.0, -8) : dtype == at::kFloat ? std::ldexp(1.0, -24) : std::ldexp(1, -53);
}

std::string Setting::dtype_name() const {
  return dtype == at::kBFloat16 ? "bf16" : dtype == at::kFloat ? "fp32" : "fp64";
}

c10::Device Setting::device() const { return device_type == at::kCPU ? c10::Device(at::kCPU) : gpu_of_this_process(); }

AutocastScope::AutocastScope(const Setting& setting) : device_(setting.device_type), on_(setting.autocast()) {
  if (!on_) return;
  enabled_before_ = at::autocast::is_autocast_enabled(device_);
  dtype_before_ = at::autocast::get_autocast_dtype(device_);
  cached_before_ = at::autocast::is_autocast_cache_enabled();
  at::autocast::set_autocast_enabled(device_, true);
  at::autocast::set_autocast_dtype(device_, setting.dtype);
  at::autocast::set_autocast_cache_enabled(false);
}

AutocastScope::~AutocastScope() {
  if (!on_) return;
  at::autocast::set_autocast_enabled(device_, enabled_before_);
  at::autocast::set_autocast_dtype(device_, dtype_before_);
  at::autocast::set_autocast_cache_enabled(cached_before_);
}

}  // namespace cpize::parity
