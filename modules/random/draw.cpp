#include "random/draw.hpp"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include "error/error.hpp"
#include "layout/box.hpp"
#include "random/fill_tensor.hpp"

namespace cpize::random {
namespace {

constexpr std::int64_t kGrain = 4096;  // elements worth a thread

template <class T>
void fill_here(const at::Tensor& out, Distribution distribution, const StreamKey& key, const StoredBox& box) {
  T* data = out.data_ptr<T>();
  at::parallel_for(0, out.numel(), kGrain,
                   [&](std::int64_t begin, std::int64_t end) { fill(data, distribution, key, box, begin, end); });
}

/// A contiguous tensor of the stored rectangle.
at::Tensor draw(Distribution distribution, const Stream& stream, const StoredBox& box, at::IntArrayRef sizes,
                at::TensorOptions options) {
  if (!options.has_dtype()) options = options.dtype(at::kFloat);
  const auto dtype = c10::typeMetaToScalarType(options.dtype());
  if (dtype != at::kFloat && dtype != at::kDouble)
    throw ContractError("stream '" + stream.name() + "' draws fp32 or fp64, not " + c10::toString(dtype) +
                        "; draw fp32 and cast");
  const at::Tensor out = at::empty(sizes, options);
  if (out.numel() == 0) return out;
  if (out.is_cuda())
    fill_on_gpu(out, distribution, stream.key(), box);
  else if (!out.is_cpu())
    throw NotImplemented("draws on device " + out.device().str());
  else if (dtype == at::kFloat)
    fill_here<float>(out, distribution, stream.key(), box);
  else
    fill_here<double>(out, distribution, stream.key(), box);
  return out;
}

at::Tensor draw_whole(Distribution distribution, const Stream& stream, at::IntArrayRef shape,
                      const at::TensorOptions& options) {
  StoredBox box;
  box.dims = 1;
  box.size[0] = c10::multiply_integers(shape);
  box.stride[0] = 1;
  return draw(distribution, stream, box, shape, options);
}

at::Tensor draw_box(Distribution distribution, const Stream& stream, const Shape& global, const Box& box,
                    const std::array<std::int8_t, Spec::max_dims>& memory_order, const at::TensorOptions& options) {
  static_assert(StoredBox::max_dims == Spec::max_dims);
  const int dims = static_cast<int>(global.size());
  if (dims > Spec::max_dims || box.low.size() != global.size() || box.size.size() != global.size())
    throw ContractError("a draw of a rectangle of " + std::to_string(box.low.size()) + " dimensions in " +
                        std::to_string(dims) + "; at most " + std::to_string(Spec::max_dims));
  Shape global_stride(dims), sizes, back(dims);
  std::int64_t stride = 1;
  for (int d = dims - 1; d >= 0; --d) {
    if (box.low[d] < 0 || box.size[d] < 0 || box.low[d] + box.size[d] > global[d])
      throw ContractError("a draw of " + box.str() + " sticks out of dimension " + std::to_string(d) + " of " +
                          std::to_string(global[d]));
    global_stride[d] = stride;
    stride *= global[d];
  }
  StoredBox stored;
  for (const auto d : memory_order) {
    if (d >= dims) continue;
    back[d] = stored.dims;
    stored.size[stored.dims] = box.size[d];
    stored.stride[stored.dims++] = global_stride[d];
    stored.base += box.low[d] * global_stride[d];
    sizes.push_back(box.size[d]);
  }
  return draw(distribution, stream, stored, sizes, options).permute(back);
}

at::Tensor draw_shard(Distribution distribution, const Stream& stream, const Shape& global, const Spec& spec,
                      const DeviceMesh& mesh, const at::TensorOptions& options) {
  for (const Axis axis : all_axes)
    if (spec.is_partial(axis))
      throw ContractError("stream '" + stream.name() + "': partial sums " + spec.str() + " have no elements to draw");
  return draw_box(distribution, stream, global, box_of(spec, global, mesh.shape(), mesh.coordinates()),
                  spec.memory_order, options);
}

constexpr std::array<std::int8_t, Spec::max_dims> kRowMajor = Spec{}.memory_order;

}  // namespace

at::Tensor uniform(const Stream& stream, at::IntArrayRef shape, const at::TensorOptions& options) {
  return draw_whole(Distribution::uniform, stream, shape, options);
}
at::Tensor normal(const Stream& stream, at::IntArrayRef shape, const at::TensorOptions& options) {
  return draw_whole(Distribution::normal, stream, shape, options);
}
at::Tensor uniform(const Stream& stream, const Shape& global, const Box& box, const at::TensorOptions& options) {
  return draw_box(Distribution::uniform, stream, global, box, kRowMajor, options);
}
at::Tensor normal(const Stream& stream, const Shape& global, const Box& box, const at::TensorOptions& options) {
  return draw_box(Distribution::normal, stream, global, box, kRowMajor, options);
}
at::Tensor uniform(const Stream& stream, const Shape& global, const Spec& spec, const DeviceMesh& mesh,
                   const at::TensorOptions& options) {
  return draw_shard(Distribution::uniform, stream, global, spec, mesh, options);
}
at::Tensor normal(const Stream& stream, const Shape& global, const Spec& spec, const DeviceMesh& mesh,
                  const at::TensorOptions& options) {
  return draw_shard(Distribution::normal, stream, global, spec, mesh, options);
}

std::function<at::Tensor(const std::string&, at::IntArrayRef)> uniform_source(const Stream& root,
                                                                              const at::TensorOptions& options) {
  return [root, options](const std::string& name, at::IntArrayRef shape) {
    return uniform(root.child(name), shape, options);
  };
}

}  // namespace cpize::random
