// Pairformer layers and stacks: the pair representation updated by triangles, the single representation by attention.
#pragma once
#include <torch/nn/module.h>
#include <torch/nn/modules/container/modulelist.h>
#include <torch/nn/pimpl.h>

#include <tuple>

#include "serial/attention_pair_bias.hpp"
#include "serial/dropout.hpp"
#include "serial/transition.hpp"
#include "serial/triangle_attention.hpp"
#include "serial/triangle_multiplication.hpp"

namespace cpize::serial {

struct PairformerOptions {
  int64_t num_heads = 16;            // of the attention with pair bias
  double dropout = 0.25;             // rate of the pair updates, where a Dropout is given
  int64_t pairwise_head_width = 32;  // of the triangle attentions
  int64_t pairwise_num_heads = 4;
  bool post_layer_norm = false;     // a LayerNorm behind the single track
  int64_t triangle_chunk_rows = 0;  // rows that a triangle attention computes at a time; 0: all
};

/// The pair track: z += tri_mul_out(z); z += tri_mul_in(z); z += tri_att_start(z); z += tri_att_end(z); z +=
/// transition_z(z). Dropout: one draw a row for the first three updates, one a column for tri_att_end; streams are
/// named as the blocks. Parameters in order: tri_mul_out, tri_mul_in, tri_att_start, tri_att_end, transition_z.
class PairformerNoSeqLayerImpl : public torch::nn::Module {
 public:
  PairformerNoSeqLayerImpl(int64_t token_z, const PairformerOptions& options = {});

  /// z [B,N,N,token_z], pair_mask [B,N,N] (1 valid, 0 padding) -> z.
  at::Tensor forward(const at::Tensor& z, const at::Tensor& pair_mask, const Dropout& dropout = {});

  const PairformerOptions options;
  TriangleMultiplication tri_mul_out, tri_mul_in;
  TriangleAttention tri_att_start, tri_att_end;
  Transition transition_z;
};
TORCH_MODULE(PairformerNoSeqLayer);

/// The pair track, then, in promote_types(dtype, fp32) and outside autocast, with the new z
///   s += attention(pre_norm_s(s), z);  s += transition_s(s);  s = s_post_norm(s) if post_layer_norm.
/// Parameters in order: pre_norm_s, attention, tri_mul_out, tri_mul_in, tri_att_start, tri_att_end, transition_s,
/// transition_z, s_post_norm.
class PairformerLayerImpl : public torch::nn::Module {
 public:
  PairformerLayerImpl(int64_t token_s, int64_t token_z, const PairformerOptions& options = {});

  /// s [B,N,token_s], z [B,N,N,token_z], mask [B,N], pair_mask [B,N,N] -> s, z.
  std::tuple<at::Tensor, at::Tensor> forward(const at::Tensor& s, const at::Tensor& z, const at::Tensor& mask,
                                             const at::Tensor& pair_mask, const Dropout& dropout = {});

  const PairformerOptions options;
  torch::nn::LayerNorm pre_norm_s;
  AttentionPairBias attention;
  TriangleMultiplication tri_mul_out, tri_mul_in;
  TriangleAttention tri_att_start, tri_att_end;
  Transition transition_s, transition_z;
  torch::nn::LayerNorm s_post_norm{nullptr};
};
TORCH_MODULE(PairformerLayer);

/// `num_blocks` layers, one after the other, named layers.<i>; streams of dropout likewise.
class PairformerNoSeqModuleImpl : public torch::nn::Module {
 public:
  PairformerNoSeqModuleImpl(int64_t token_z, int64_t num_blocks, const PairformerOptions& options = {});
  at::Tensor forward(at::Tensor z, const at::Tensor& pair_mask, const Dropout& dropout = {});
  torch::nn::ModuleList layers;
};
TORCH_MODULE(PairformerNoSeqModule);

class PairformerModuleImpl : public torch::nn::Module {
 public:
  PairformerModuleImpl(int64_t token_s, int64_t token_z, int64_t num_blocks, const PairformerOptions& options = {});
  std::tuple<at::Tensor, at::Tensor> forward(at::Tensor s, at::Tensor z, const at::Tensor& mask,
                                             const at::Tensor& pair_mask, const Dropout& dropout = {});
  torch::nn::ModuleList layers;
};
TORCH_MODULE(PairformerModule);

}  // namespace cpize::serial
