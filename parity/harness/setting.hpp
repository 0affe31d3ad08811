// Setting: where and in which arithmetic a cell is computed; what its name says, as values.
//
// fp64 and fp32: everything in that dtype. bf16: activations bf16, parameters and masks fp32, autocast to bf16 in
// forward. The device is the CPU or this process's GPU; threads are ranks on the CPU only.
#pragma once
#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <string>

#include "mesh/mesh_shape.hpp"
#include "parity/harness/request.hpp"

namespace cpize::parity {

struct Setting {
  MeshShape mesh;
  std::string backend = "threads";
  c10::ScalarType dtype = c10::kDouble;  // of activations
  c10::DeviceType device_type = c10::kCPU;

  /// `mesh`/threads/fp64/cpu.
  Setting(const MeshShape& shape) : mesh(shape) {}
  /// ConfigError where the name asks for something that does not exist or does not fit together.
  static Setting of(const CellName& cell);

  bool low_precision() const { return dtype != c10::kDouble; }
  bool autocast() const { return dtype == c10::kBFloat16; }
  /// Of parameters, masks and floating-point features.
  c10::ScalarType wide() const { return low_precision() ? c10::kFloat : c10::kDouble; }
  /// The largest relative error of one rounding to `dtype`.
  double unit_roundoff() const;
  /// The largest of what poisoned padding holds: large, with a square (of a variance) that is still finite.
  double poison() const { return low_precision() ? 1e15 : 1e30; }
  /// "bf16"
  std::string dtype_name() const;
  /// Of the tensors of this process.
  c10::Device device() const;
};

/// RAII: autocast to bf16 on the setting's device, where the setting says so. Casts are not cached: parameters change
/// between runs.
class AutocastScope {
 public:
  explicit AutocastScope(const Setting& setting);
  ~AutocastScope();
  AutocastScope(const AutocastScope&) = delete;
  AutocastScope& operator=(const AutocastScope&) = delete;

 private:
  c10::DeviceType device_;
  bool on_, enabled_before_ = false, cached_before_ = false;
  c10::ScalarType dtype_before_ = c10::kBFloat16;
};

}  // namespace cpize::parity
