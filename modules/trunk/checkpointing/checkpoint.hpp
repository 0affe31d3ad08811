// Activation checkpointing: a block's forward keeps nothing but its inputs; backward runs the block again first.
//
//   z = checkpoint(*layer, [layer, dropout](const Sharded<Pair>& z, const Sharded<Pair>& mask) {
//         return layer->forward(z, mask, dropout);
//       }, z, mask);
//
// Result and gradients have the bits of calling the function directly, provided that the function itself gives the same
// bits twice: our blocks do, dropout included, since draws are counter-based (a stream is captured by value, there is
// no generator to rewind). The autocast setting of forward is restored for the second run.
//
// Communication: backward repeats the block's forward exchanges, then does its backward ones. Every rank reaches a
// checkpoint of the same graph at the same place, so all ranks recompute in one order. Sent: forward's bytes twice.
// Saved: nothing beyond the inputs (held by reference) and what the function captured. Peak of backward: what the block
// saves when it is run directly, beside the block's own working memory; a stack of n checkpointed blocks holds n inputs
// and one block's saved tensors. Nests: a checkpoint inside a checkpoint is recomputed inside.
//
// Without gradients (grad mode off, or nothing requires one) the function is simply called. Backward has no backward of
// its own (NotImplemented with create_graph).
#pragma once
#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <functional>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "layout/sharded.hpp"

namespace cpize::trunk {

/// Tensors to tensors: the local ones of a block's inputs and outputs.
using LocalFunction = std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>&)>;

/// `f` is kept until backward and called again: what it captures must live until then (capture module holders and
/// Sharded values by value). It must not write into its inputs, not even where grad mode is off, as it is in its first
/// run (ContractError, if the tensor's version tells). Every tensor with a gradient that it reads must be among
/// `inputs` or be a leaf among `parameters`: backward throws ContractError where it meets another one, since its
/// gradient would be lost.
std::vector<at::Tensor> checkpoint_local(LocalFunction f, const std::vector<at::Tensor>& inputs,
                                         const std::vector<at::Tensor>& parameters);

namespace detail {

/// A function's result as a tuple of shards, and back from its parts.
template <class Result>
struct ShardedResult;
template <class L>
struct ShardedResult<Sharded<L>> {
  static std::tuple<Sharded<L>> parts(Sharded<L> x) { return {std::move(x)}; }
  static Sharded<L> whole(std::tuple<Sharded<L>> x) { return std::get<0>(std::move(x)); }
};
template <class... Ls>
struct ShardedResult<std::tuple<Sharded<Ls>...>> {
  static std::tuple<Sharded<Ls>...> parts(std::tuple<Sharded<Ls>...> x) { return x; }
  static std::tuple<Sharded<Ls>...> whole(std::tuple<Sharded<Ls>...> x) { return x; }
};
template <class A, class B>
struct ShardedResult<std::pair<Sharded<A>, Sharded<B>>> {
  static std::tuple<Sharded<A>, Sharded<B>> parts(std::pair<Sharded<A>, Sharded<B>> x) {
    return {std::move(x.first), std::move(x.second)};
  }
  static std::pair<Sharded<A>, Sharded<B>> whole(std::tuple<Sharded<A>, Sharded<B>> x) {
    return {std::get<0>(std::move(x)), std::get<1>(std::move(x))};
  }
};

/// What turns a local tensor into a shard.
struct ShardFrame {
  Shape global;
  MeshPtr mesh;
};
/// Shards of those layouts from local tensors.
template <class... Ls, std::size_t... i>
std::tuple<Sharded<Ls>...> from_frames(std::type_identity<std::tuple<Sharded<Ls>...>>,
                                       const std::vector<ShardFrame>& frames, const std::vector<at::Tensor>& locals,
                                       std::index_sequence<i...>) {
  return {wrap<Ls>(locals[i], frames[i].global, frames[i].mesh)...};
}

}  // namespace detail

/// f(const Sharded<Ls>&...) gives a Sharded, or a std::pair or std::tuple of them. `module` holds all parameters that f
/// uses.
template <class F, class... Ls>
auto checkpoint(const torch::nn::Module& module, F f, const Sharded<Ls>&... inputs) {
  using Inputs = std::tuple<Sharded<Ls>...>;
  using Result = decltype(f(inputs...));
  using Parts = decltype(detail::ShardedResult<Result>::parts(std::declval<Result>()));
  constexpr auto kInputs = std::make_index_sequence<sizeof...(Ls)>();
  constexpr auto kParts = std::make_index_sequence<std::tuple_size_v<Parts>>();

  const std::vector<detail::ShardFrame> in_frames{{inputs.global(), inputs.mesh()}...};
  const auto out_frames = std::make_shared<std::vector<detail::ShardFrame>>();
  LocalFunction local = [f = std::move(f), in_frames, out_frames](const std::vector<at::Tensor>& x) {
    Parts parts = detail::ShardedResult<Result>::parts(
        std::apply(f, detail::from_frames(std::type_identity<Inputs>{}, in_frames, x, kInputs)));
    return std::apply(
        [&](const auto&... part) {
          *out_frames = {{part.global(), part.mesh()}...};
          return std::vector<at::Tensor>{part.local()...};
        },
        parts);
  };
  const auto y = checkpoint_local(std::move(local), {inputs.local()...}, module.parameters());
  return detail::ShardedResult<Result>::whole(detail::from_frames(std::type_identity<Parts>{}, *out_frames, y, kParts));
}

}  // namespace cpize::trunk
