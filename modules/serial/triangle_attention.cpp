#include "serial/triangle_attention.hpp"

#include <ATen/Functions.h>
#include <torch/nn/init.h>

#include <algorithm>
#include <cmath>

namespace cpize::serial {
namespace {

torch::nn::Linear glorot_linear(int64_t in, int64_t out) {
  auto layer = plain_linear(in, out);
  torch::nn::init::xavier_uniform_(layer->weight);
  return layer;
}

/// Normal with variance 1 / fan_in.
torch::nn::Linear normal_linear(int64_t in, int64_t out) {
  auto layer = plain_linear(in, out);
  torch::nn::init::kaiming_normal_(layer->weight, 0.0, torch::kFanIn, torch::kLinear);
  return layer;
}

/// [R,N,heads d] -> [R,heads,N,d]
at::Tensor split_heads(const at::Tensor& x, int64_t heads) { return x.unflatten(-1, {heads, -1}).transpose(1, 2); }

}  // namespace

TriangleAttentionHeadsImpl::TriangleAttentionHeadsImpl(int64_t dim, int64_t head_width, int64_t heads)
    : heads(heads),
      linear_q(register_module("linear_q", glorot_linear(dim, heads * head_width))),
      linear_k(register_module("linear_k", glorot_linear(dim, heads * head_width))),
      linear_v(register_module("linear_v", glorot_linear(dim, heads * head_width))),
      linear_o(register_module("linear_o", zero_linear(heads * head_width, dim))),
      linear_g(register_module("linear_g", zero_linear(dim, heads * head_width))) {}

at::Tensor TriangleAttentionHeadsImpl::forward(const at::Tensor& x, const at::Tensor& mask_bias,
                                               const at::Tensor& pair_bias) {
  at::Tensor q = split_heads(linear_q(x), heads);
  const at::Tensor k = split_heads(linear_k(x), heads), v = split_heads(linear_v(x), heads);
  q = q / std::sqrt(static_cast<double>(q.size(-1)));
  const at::Tensor product = at::matmul(q, k.transpose(-1, -2));
  const auto wide = at::promote_types(product.scalar_type(), at::kFloat);
  const at::Tensor scores = product.to(wide) + mask_bias.to(wide) + pair_bias.to(wide);
  const at::Tensor weights = at::softmax(scores, -1).to(v.scalar_type());
  const at::Tensor out = at::matmul(weights, v).transpose(1, 2).flatten(-2);
  return linear_o(out * at::sigmoid(linear_g(x)));
}

TriangleAttentionImpl::TriangleAttentionImpl(int64_t dim, int64_t head_width, int64_t heads, TriangleNode node,
                                             double inf)
    : node(node),
      inf(inf),
      layer_norm(register_module("layer_norm", serial::layer_norm(dim))),
      linear(register_module("linear", normal_linear(dim, heads))),
      mha(register_module("mha", TriangleAttentionHeads(dim, head_width, heads))) {}

at::Tensor TriangleAttentionImpl::forward(const at::Tensor& x, const at::Tensor& mask, int64_t chunk_size) {
  const bool ending = node == TriangleNode::ending;
  const at::Tensor normed = layer_norm(ending ? x.transpose(1, 2) : x);
  const auto wide = at::promote_types(normed.scalar_type(), at::kFloat);
  at::Tensor keys = inf * ((ending ? mask.transpose(1, 2) : mask).to(wide) - 1);
  if (wide != at::kDouble) keys = keys - keys.amax(-1, /*keepdim=*/true);
  keys = keys.unsqueeze(-2).unsqueeze(-2);
  const at::Tensor pair_bias = linear(normed).permute({0, 3, 1, 2}).unsqueeze(1);  // [B,1,heads,N,N]

  const int64_t rows = x.size(1), chunk = chunk_size > 0 ? chunk_size : std::max<int64_t>(rows, 1);
  std::vector<at::Tensor> samples;
  for (int64_t b = 0; b < x.size(0); ++b) {
    std::vector<at::Tensor> chunks;
    for (int64_t begin = 0; begin < rows; begin += chunk) {
      const int64_t end = std::min(begin + chunk, rows);
      chunks.push_back(mha(normed[b].slice(0, begin, end), keys[b].slice(0, begin, end), pair_bias[b]));
    }
    samples.push_back(at::cat(chunks));
  }
  const at::Tensor out = at::stack(samples);
  return ending ? out.transpose(1, 2) : out;
}

}  // namespace cpize::serial
