#include "bench/gpu/gpu_block.hpp"

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <chrono>

#include "comm/agree.hpp"
#include "error/error.hpp"
#include "layout/reduce_gradients.hpp"
#include "layout/sharded.hpp"
#include "trunk/pair_initialisation.hpp"
#include "trunk/transition.hpp"
#include "trunk/tri_mul_in.hpp"
#include "trunk/tri_mul_out.hpp"

namespace cpize::bench {
namespace {

constexpr std::int64_t kPairChannels = 128, kTokenChannels = 384;

/// RAII: bf16 activations compute under autocast, as in training.
class Autocast {
 public:
  explicit Autocast(bool on) : before_(at::autocast::is_autocast_enabled(at::kCUDA)) {
    at::autocast::set_autocast_enabled(at::kCUDA, on);
    at::autocast::set_autocast_dtype(at::kCUDA, at::kBFloat16);
  }
  ~Autocast() {
    at::autocast::clear_cache();
    at::autocast::set_autocast_enabled(at::kCUDA, before_);
  }

 private:
  bool before_;
};

/// Parameters start as zeros and ones; a benchmark on zeros would flatter the GPU.
template <class Module>
Module randomised(Module module, at::Device device) {
  at::NoGradGuard no_grad;
  module->to(device);
  for (auto& p : module->parameters())
    p.dim() == 1 ? p.add_(at::randn_like(p), 0.1) : p.copy_(at::randn_like(p) / std::sqrt(double(p.size(1))));
  return module;
}

Shape local_pairs(std::int64_t tokens, std::int64_t channels, const DeviceMesh& mesh) {
  return box_of(Pair::spec, {1, tokens, tokens, channels}, mesh.shape(), mesh.coordinates()).size;
}

/// Matrix products and bytes through memory of one forward, for `pairs` pairs of a mesh of `ranks`.
struct Work {
  double flops = 0, bytes = 0;
};

Work forward_work(const std::string& block, double pairs, double tokens, double width) {
  const double c = kPairChannels, row = c * width;
  if (block == "transition") return {pairs * 2 * 3 * c * 4 * c, pairs * 2 * row};
  if (block == "pair_init") return {0, pairs * row};
  // z in, a and b out and in, o out and in, z in again, y out; projections to 2 x 256 and 2 x 128, and the triangle
  return {pairs * (2 * 6 * c * c + 2 * c * tokens), pairs * 9 * row};
}

}  // namespace

const std::vector<std::string>& gpu_block_names() {
  static const std::vector<std::string> names{"tri_mul_out", "tri_mul_in", "transition", "pair_init"};
  return names;
}

std::string GpuBlockRun::name(const MeshShape& mesh) const {
  const char* type = dtype == at::kBFloat16 ? "bf16" : dtype == at::kFloat ? "fp32" : "fp64";
  return block + (fused ? "" : "_plain") + (step ? "/step/" : "/forward/") + type + "/N:" + std::to_string(tokens) +
         "/gpus:" + std::to_string(mesh.size());
}

GpuBlock::GpuBlock(const GpuBlockRun& r, const MeshPtr& mesh, at::Device device)
    : mesh_(mesh), device_(device), step_(r.step) {
  const auto options = at::TensorOptions().dtype(r.dtype).device(device);
  const Shape global{1, r.tokens, r.tokens, kPairChannels}, pairs = local_pairs(r.tokens, kPairChannels, *mesh);
  const auto leaf = [&](const Shape& shape) {
    leaves_.push_back(at::randn(shape, options).requires_grad_(r.step));
    return leaves_.back();
  };
  const bool autocast = r.dtype == at::kBFloat16;
  const auto use = [&](auto module, auto call) {
    parameters_ = module->parameters();
    for (auto& p : parameters_) p.requires_grad_(r.step);
    forward_ = [module, call, autocast]() mutable {
      const Autocast guard(autocast);
      return call(module);
    };
  };
  if (r.block == "pair_init") {
    trunk::RelativePositionOptions position;
    position.token_z = kPairChannels;
    const auto ids = [&](std::int64_t bound) {
      at::Tensor all = at::randint(bound, {1, r.tokens}, at::TensorOptions(at::kLong).device(device));
      return shard<Single>(all, mesh);
    };
    const trunk::RelativePositionFeatures features{ids(2), ids(600), ids(2), ids(600), ids(3), ids(1)};
    const auto bonds =
        wrap<Pair>(at::zeros(local_pairs(r.tokens, 1, *mesh), options), {1, r.tokens, r.tokens, 1}, mesh);
    const Shape tokens{1, r.tokens, kTokenChannels};
    const auto s =
        wrap<Single>(leaf(box_of(Single::spec, tokens, mesh->shape(), mesh->coordinates()).size), tokens, mesh);
    use(randomised(trunk::PairInitialisation(kTokenChannels, position), device),
        [=](auto& m) { return m(s, features, bonds).local(); });
  } else {
    const auto z = wrap<Pair>(leaf(pairs), global, mesh);
    const Shape mask_shape(global.begin(), global.begin() + 3);
    const auto mask = wrap<Pair>(at::ones(Shape(pairs.begin(), pairs.begin() + 3), options), mask_shape, mesh);
    trunk::TriangleMultiplicationOptions triangle;
    triangle.fused = r.fused;
    if (r.chunks > 0) triangle.channel_chunks = r.chunks;
    if (r.block == "transition")
      use(randomised(trunk::Transition(kPairChannels, 4 * kPairChannels), device),
          [z](auto& m) { return m(z).local(); });
    else if (r.block == "tri_mul_out" || r.block == "tri_mul_in")
      use(randomised(trunk::TriangleMultiplication(kPairChannels,
                                                   r.block == "tri_mul_out" ? trunk::TriangleDirection::outgoing
                                                                            : trunk::TriangleDirection::incoming,
                                                   triangle),
                     device),
          [z, mask](auto& m) { return m(z, mask).local(); });
    else
      throw ConfigError("no block is called '" + r.block + "'");
  }
  if (r.step) output_gradient_ = at::randn(pairs, options);
  const Work work = forward_work(r.block, static_cast<double>(pairs[1] * pairs[2]), static_cast<double>(r.tokens),
                                 static_cast<double>(c10::elementSize(r.dtype)));
  floor_seconds_ = (r.step ? 3 : 1) * (work.flops / kMatmulRate + work.bytes / kCopyBandwidth);

  run();  // warms up the allocator, cuBLAS and NCCL
  clear();
  c10::cuda::device_synchronize();
  namespace allocator = c10::cuda::CUDACachingAllocator;
  const auto aggregate = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  allocator::resetPeakStats(device.index());
  const std::int64_t held = allocator::getDeviceStats(device.index()).allocated_bytes[aggregate].current;
  const std::int64_t sent = mesh->traffic().sent_bytes;
  run();
  c10::cuda::device_synchronize();
  const auto largest = [&](std::int64_t mine) {
    const auto all = comm::gather_numbers(*mesh, mine);
    return *std::max_element(all.begin(), all.end());
  };
  sent_bytes_ = mesh->traffic().sent_bytes - sent;
  peak_bytes_ = allocator::getDeviceStats(device.index()).allocated_bytes[aggregate].peak - held;
  sent_bytes_ = largest(sent_bytes_);
  peak_bytes_ = largest(peak_bytes_);
  clear();
}

void GpuBlock::run() const {
  if (!step_) {
    const at::NoGradGuard no_grad;
    forward_();
    return;
  }
  torch::autograd::backward({forward_()}, {output_gradient_});
  reduce_gradients(parameters_, *mesh_);
}

void GpuBlock::clear() const {
  for (auto& t : leaves_) t.mutable_grad() = at::Tensor();
  for (auto& t : parameters_) t.mutable_grad() = at::Tensor();
}

double GpuBlock::seconds(int times) const {
  comm::gather_numbers(*mesh_, 0);  // the ranks start together
  c10::cuda::device_synchronize();
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < times; ++i) {
    run();
    clear();
  }
  c10::cuda::device_synchronize();
  const std::chrono::nanoseconds mine = std::chrono::steady_clock::now() - start;
  const auto all = comm::gather_numbers(*mesh_, mine.count());
  return static_cast<double>(*std::max_element(all.begin(), all.end())) * 1e-9 / times;
}

}  // namespace cpize::bench
