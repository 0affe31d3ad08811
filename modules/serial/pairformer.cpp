#include "serial/pairformer.hpp"

#include <ATen/Functions.h>
#include <ATen/autocast_mode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

namespace cpize::serial {
namespace {

TriangleAttention triangle_attention(int64_t token_z, const PairformerOptions& o, TriangleNode node) {
  return TriangleAttention(token_z, o.pairwise_head_width, o.pairwise_num_heads, node);
}

/// The pair track of either layer.
template <class Layer>
at::Tensor update_pairs(Layer& layer, at::Tensor z, const at::Tensor& mask, const Dropout& dropout) {
  const double rate = layer.options.dropout;
  const int64_t chunk = layer.options.triangle_chunk_rows;
  z = z + dropout.rows(layer.tri_mul_out(z, mask), rate, "tri_mul_out");
  z = z + dropout.rows(layer.tri_mul_in(z, mask), rate, "tri_mul_in");
  z = z + dropout.rows(layer.tri_att_start(z, mask, chunk), rate, "tri_att_start");
  z = z + dropout.columns(layer.tri_att_end(z, mask, chunk), rate, "tri_att_end");
  return z + layer.transition_z(z);
}

std::string layer_name(size_t i) { return "layers." + std::to_string(i); }

}  // namespace

PairformerNoSeqLayerImpl::PairformerNoSeqLayerImpl(int64_t token_z, const PairformerOptions& o)
    : options(o),
      tri_mul_out(register_module("tri_mul_out", TriangleMultiplication(token_z, TriangleDirection::outgoing))),
      tri_mul_in(register_module("tri_mul_in", TriangleMultiplication(token_z, TriangleDirection::incoming))),
      tri_att_start(register_module("tri_att_start", triangle_attention(token_z, o, TriangleNode::starting))),
      tri_att_end(register_module("tri_att_end", triangle_attention(token_z, o, TriangleNode::ending))),
      transition_z(register_module("transition_z", Transition(token_z, 4 * token_z))) {}

at::Tensor PairformerNoSeqLayerImpl::forward(const at::Tensor& z, const at::Tensor& pair_mask, const Dropout& dropout) {
  return update_pairs(*this, z, pair_mask, dropout);
}

PairformerLayerImpl::PairformerLayerImpl(int64_t token_s, int64_t token_z, const PairformerOptions& o)
    : options(o),
      pre_norm_s(register_module("pre_norm_s", layer_norm(token_s))),
      attention(register_module("attention", AttentionPairBias(AttentionPairBiasOptions{
                                                 .c_s = token_s, .c_z = token_z, .num_heads = o.num_heads}))),
      tri_mul_out(register_module("tri_mul_out", TriangleMultiplication(token_z, TriangleDirection::outgoing))),
      tri_mul_in(register_module("tri_mul_in", TriangleMultiplication(token_z, TriangleDirection::incoming))),
      tri_att_start(register_module("tri_att_start", triangle_attention(token_z, o, TriangleNode::starting))),
      tri_att_end(register_module("tri_att_end", triangle_attention(token_z, o, TriangleNode::ending))),
      transition_s(register_module("transition_s", Transition(token_s, 4 * token_s))),
      transition_z(register_module("transition_z", Transition(token_z, 4 * token_z))) {
  if (o.post_layer_norm) s_post_norm = register_module("s_post_norm", layer_norm(token_s));
}

std::tuple<at::Tensor, at::Tensor> PairformerLayerImpl::forward(const at::Tensor& s, const at::Tensor& z,
                                                                const at::Tensor& mask, const at::Tensor& pair_mask,
                                                                const Dropout& dropout) {
  const at::Tensor pairs = update_pairs(*this, z, pair_mask, dropout);
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(
      at::autocast::get_autocast_dispatch_key_from_device_type(s.device().type()));
  const auto wide = at::promote_types(s.scalar_type(), at::kFloat);
  at::Tensor tokens = s.to(wide);
  const at::Tensor normed = pre_norm_s(tokens);
  tokens = tokens + attention(normed, pairs.to(wide), mask.to(wide), normed);
  tokens = tokens + transition_s(tokens);
  return {s_post_norm ? s_post_norm(tokens) : tokens, pairs};
}

PairformerNoSeqModuleImpl::PairformerNoSeqModuleImpl(int64_t token_z, int64_t num_blocks,
                                                     const PairformerOptions& options)
    : layers(register_module("layers", torch::nn::ModuleList())) {
  for (int64_t i = 0; i < num_blocks; ++i) layers->push_back(PairformerNoSeqLayer(token_z, options));
}

at::Tensor PairformerNoSeqModuleImpl::forward(at::Tensor z, const at::Tensor& pair_mask, const Dropout& dropout) {
  for (size_t i = 0; i < layers->size(); ++i)
    z = layers->at<PairformerNoSeqLayerImpl>(i).forward(z, pair_mask, dropout.child(layer_name(i)));
  return z;
}

PairformerModuleImpl::PairformerModuleImpl(int64_t token_s, int64_t token_z, int64_t num_blocks,
                                           const PairformerOptions& options)
    : layers(register_module("layers", torch::nn::ModuleList())) {
  for (int64_t i = 0; i < num_blocks; ++i) layers->push_back(PairformerLayer(token_s, token_z, options));
}

std::tuple<at::Tensor, at::Tensor> PairformerModuleImpl::forward(at::Tensor s, at::Tensor z, const at::Tensor& mask,
                                                                 const at::Tensor& pair_mask, const Dropout& dropout) {
  for (size_t i = 0; i < layers->size(); ++i)
    std::tie(s, z) = layers->at<PairformerLayerImpl>(i).forward(s, z, mask, pair_mask, dropout.child(layer_name(i)));
  return {s, z};
}

}  // namespace cpize::serial
