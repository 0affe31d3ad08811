// The options of the pairformer's layers and stacks.
#pragma once
#include "trunk/transition.hpp"
#include "trunk/triangle_attention/triangle_attention.hpp"
#include "trunk/triangle_multiplication.hpp"

namespace cpize::trunk {

struct PairformerOptions {
  std::int64_t num_heads = 16;            // of the attention with pair bias
  double dropout = 0.25;                  // rate of the pair updates, where an active Dropout is given
  std::int64_t pairwise_head_width = 32;  // of the triangle attentions
  std::int64_t pairwise_num_heads = 4;
  bool post_layer_norm = false;  // a norm behind the single track
  bool checkpoint = false;       // of stacks: keep the inputs of a layer only, and run it again in backward
  TriangleMultiplicationOptions triangle_multiplication = {};
  TriangleAttentionOptions triangle_attention = {};
  TransitionOptions transition = {};
};

}  // namespace cpize::trunk
