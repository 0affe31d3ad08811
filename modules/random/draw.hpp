// Draws: tensors of uniform and normal numbers from a Stream, the same bits on every mesh, at any thread count, on a
// CPU and on a GPU.
//
//   const auto noise = random::normal(stream, {B, A, 3}, at::kDouble);               // whole: what a serial model
//   draws const auto mine = random::normal<Atom>(stream, {B, A, 3}, mesh, at::kDouble);    // this rank's atoms of the
//   same
//
// Element i (flat index in the *global* shape, row-major) is made of 64 bits: one half of Philox block i / 2. Nothing
// is communicated, no generator is advanced, torch's global generators are not touched.
//
// Uniform: the leading 24 bits times 2^-24 in fp32, the leading 53 bits times 2^-53 in fp64; in [0, 1). So the fp32
// draw is the fp64 draw, rounded down.
//
// Normal: the quantile function of the standard normal distribution at (k + 1/2) 2^-53, k the trailing 52 bits, so that
// the probability is exact in fp64 and in (0, 1/2), and the leading bit is the sign; in fp64, rounded once for fp32:
// the fp32 draw is the fp64 draw, rounded. The distribution is symmetric, its largest value is 8.29. The quantile
// function is a rational approximation with a logarithm of our own (normal_quantile.hpp), relative error below 1e-15:
// only additions, multiplications, divisions and square roots in a fixed order, each correctly rounded by IEEE 754 and
// never contracted, which is why a CPU and a GPU agree in every bit. The library's log and cos would not.
//
// dtype: fp32 or fp64, else ContractError (draw wide and cast). Shapes of draws on a mesh have at most Spec::max_dims
// dimensions. Empty shapes are fine.
#pragma once
#include <ATen/core/Tensor.h>
#include <c10/core/TensorOptions.h>

#include <functional>
#include <string>

#include "layout/sharded.hpp"
#include "random/stream.hpp"

namespace cpize::random {

/// The whole tensor.
at::Tensor uniform(const Stream& stream, at::IntArrayRef shape, const at::TensorOptions& options = at::kFloat);
at::Tensor normal(const Stream& stream, at::IntArrayRef shape, const at::TensorOptions& options = at::kFloat);

/// The rectangle `box` of a tensor of shape `global`, contiguous. ContractError where the box sticks out.
at::Tensor uniform(const Stream& stream, const Shape& global, const Box& box, const at::TensorOptions& options);
at::Tensor normal(const Stream& stream, const Shape& global, const Box& box, const at::TensorOptions& options);

/// The shard that `spec` gives this rank, stored in spec's memory order. ContractError where spec has partial axes.
at::Tensor uniform(const Stream& stream, const Shape& global, const Spec& spec, const DeviceMesh& mesh,
                   const at::TensorOptions& options);
at::Tensor normal(const Stream& stream, const Shape& global, const Spec& spec, const DeviceMesh& mesh,
                  const at::TensorOptions& options);

/// A partial sum has no elements to draw: such a layout does not compile.
template <class L>
concept Drawable =
    IsLayout<L> && !L::spec.is_partial(Axis::dp) && !L::spec.is_partial(Axis::cp0) && !L::spec.is_partial(Axis::cp1);

template <Drawable L>
Sharded<L> uniform(const Stream& stream, const Shape& global, const MeshPtr& mesh,
                   const at::TensorOptions& options = at::kFloat) {
  return wrap<L>(uniform(stream, global, L::spec, *mesh, options), global, mesh);
}
template <Drawable L>
Sharded<L> normal(const Stream& stream, const Shape& global, const MeshPtr& mesh,
                  const at::TensorOptions& options = at::kFloat) {
  return wrap<L>(normal(stream, global, L::spec, *mesh, options), global, mesh);
}

/// A source of whole fp32 uniform tensors by name below `root`, for models that know no streams (serial::Dropout).
std::function<at::Tensor(const std::string& name, at::IntArrayRef shape)> uniform_source(
    const Stream& root, const at::TensorOptions& options = at::kFloat);

}  // namespace cpize::random
