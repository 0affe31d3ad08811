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
#include "trunk/msa/outer_product_mean.hpp"
#include "trunk/msa/pair_weighted_averaging.hpp"
#include "trunk/pair_initialisation.hpp"
#include "trunk/pairformer/pairformer_layer.hpp"
#include "trunk/replay.hpp"
#include "trunk/transition.hpp"
#include "trunk/tri_mul_in.hpp"
#include "trunk/tri_mul_out.hpp"
#include "trunk/triangle_attention/tri_att_end.hpp"
#include "trunk/triangle_attention/tri_att_start.hpp"

namespace cpize::bench {
namespace {

constexpr std::int64_t kPairChannels = 128, kTokenChannels = 384;
constexpr std::int64_t kPairHeads = 4, kPairHeadWidth = 32, kTokenHeads = 16;
constexpr std::int64_t kMsaRows = 1024, kMsaChannels = 64, kMsaHidden = 32, kMsaHeads = 8;

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

/// Matrix products and bytes through memory of one forward: of the products, those of fp32 operands apart, which the
/// tensor cores do not take.
struct Work {
  double flops = 0, wide_flops = 0, bytes = 0;

  Work operator+(const Work& w) const { return {flops + w.flops, wide_flops + w.wide_flops, bytes + w.bytes}; }
};

/// For `pairs` pairs of a mesh's rank, its `own` tokens of all `tokens`, and its rows of the MSA.
Work forward_work(const std::string& block, double pairs, double own, double tokens, double own_rows, double width) {
  const double c = kPairChannels, s = kTokenChannels, row = c * width, heads = kPairHeads, token_heads = kTokenHeads;
  const auto work = [&](const char* of) { return forward_work(of, pairs, own, tokens, own_rows, width); };
  if (block == "transition") return {pairs * 2 * 3 * c * 4 * c, 0, pairs * 2 * row};
  if (block == "transition_s") return {0, own * 2 * 3 * s * 4 * s, own * 2 * s * 4};
  if (block == "pair_init") return {0, 0, pairs * row};
  // z in; q, k, v, o out and in; z in again, y out
  if (block.starts_with("tri_att_")) return {pairs * 2 * (c * (5 * c + heads) + 2 * c * tokens), 0, pairs * 11 * row};
  if (block == "attention_pair_bias")
    return {0, pairs * 2 * (c * token_heads + 2 * s) + own * 2 * 5 * s * s, pairs * row};
  const double msa = own_rows * tokens, msa_bytes = msa * kMsaChannels * width;
  if (block == "outer_product_mean")  // m in, a and b out and in, z out
    return {pairs * 2 * kMsaHidden * kMsaHidden * (kMsaRows + c) + msa * 4 * kMsaChannels * kMsaHidden, 0,
            3 * msa_bytes + pairs * row};
  if (block == "pair_weighted_averaging")  // z in, m in twice, values and averages out and in, m out
    return {msa * 2 * kMsaHeads * kMsaHidden * (3 * kMsaChannels + tokens) + pairs * 2 * c * kMsaHeads, 0,
            pairs * row + 3 * msa_bytes + msa * 4 * kMsaHeads * kMsaHidden * width};
  if (block.starts_with("pairformer_layer"))
    return work("tri_mul_out") + work("tri_mul_in") + work("tri_att_start") + work("tri_att_end") + work("transition") +
           work("attention_pair_bias") + work("transition_s");
  // z in, a and b out and in, o out and in, z in again, y out; projections to 2 x 256 and 2 x 128, and the triangle
  return {pairs * (2 * 6 * c * c + 2 * c * tokens), 0, pairs * 9 * row};
}

}  // namespace

const std::vector<std::string>& gpu_block_names() {
  static const std::vector<std::string> names{
      "tri_mul_out", "tri_mul_in",          "tri_att_start",    "tri_att_end",        "transition",
      "pair_init",   "attention_pair_bias", "pairformer_layer", "outer_product_mean", "pair_weighted_averaging"};
  return names;
}

std::string GpuBlockRun::name(const MeshShape& mesh) const {
  const char* type = dtype == at::kBFloat16 ? "bf16" : dtype == at::kFloat ? "fp32" : "fp64";
  return block + (fused ? "" : "_plain") + (graph ? "_graph" : "") + (step ? "/step/" : "/forward/") + type +
         "/N:" + std::to_string(tokens) + "/gpus:" + std::to_string(mesh.size());
}

GpuBlock::GpuBlock(const GpuBlockRun& r, const MeshPtr& mesh, at::Device device)
    : mesh_(mesh), device_(device), step_(r.step) {
  const auto options = at::TensorOptions().dtype(r.dtype).device(device);
  const Shape global{1, r.tokens, r.tokens, kPairChannels}, pairs = local_pairs(r.tokens, kPairChannels, *mesh);
  const auto leaf = [&](const Shape& shape, const at::TensorOptions& of) {
    leaves_.push_back(at::randn(shape, of).requires_grad_(r.step));
    return leaves_.back();
  };
  const Shape token_shape{1, r.tokens, kTokenChannels};
  const Shape own_tokens = box_of(Single::spec, token_shape, mesh->shape(), mesh->coordinates()).size;
  const Shape msa_shape{1, kMsaRows, r.tokens, kMsaChannels};
  const Shape own_msa = box_of(Msa::spec, msa_shape, mesh->shape(), mesh->coordinates()).size;
  bool autocast = r.dtype == at::kBFloat16;
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
    const auto s = wrap<Single>(leaf(own_tokens, options), token_shape, mesh);
    use(randomised(trunk::PairInitialisation(kTokenChannels, position), device),
        [=](auto& m) { return std::vector{m(s, features, bonds).local()}; });
  } else {
    const auto z = wrap<Pair>(leaf(pairs, options), global, mesh);
    const Shape mask_shape(global.begin(), global.begin() + 3);
    const auto mask = wrap<Pair>(at::ones(Shape(pairs.begin(), pairs.begin() + 3), options), mask_shape, mesh);
    const auto pair_block = [&](auto module) {
      use(randomised(module, device), [z, mask](auto& m) { return std::vector{m(z, mask).local()}; });
    };
    // The token track is fp32 under autocast, as in the model.
    const auto wide = r.dtype == at::kBFloat16 ? options.dtype(at::kFloat) : options;
    const auto tokens = [&] { return wrap<Single>(leaf(own_tokens, wide), token_shape, mesh); };
    const auto token_mask = wrap<Single>(at::ones({1, own_tokens[1]}, options), {1, r.tokens}, mesh);

    trunk::TriangleMultiplicationOptions triangle;
    triangle.fused = r.fused;
    if (r.chunks > 0) triangle.channel_chunks = r.chunks;
    trunk::TriangleAttentionOptions attention;
    attention.fused = r.fused;
    if (r.block == "transition") {
      trunk::TransitionOptions transition;
      transition.fused = r.fused;
      use(randomised(trunk::Transition(kPairChannels, 4 * kPairChannels, 0, transition), device),
          [z](auto& m) { return std::vector{m(z).local()}; });
    } else if (r.block == "tri_mul_out") {
      pair_block(trunk::TriMulOut(kPairChannels, triangle));
    } else if (r.block == "tri_mul_in") {
      pair_block(trunk::TriMulIn(kPairChannels, triangle));
    } else if (r.block == "tri_att_start") {
      pair_block(trunk::TriAttStart(kPairChannels, kPairHeadWidth, kPairHeads, attention));
    } else if (r.block == "tri_att_start_library") {
      attention.kernels = false;
      pair_block(trunk::TriAttStart(kPairChannels, kPairHeadWidth, kPairHeads, attention));
    } else if (r.block == "tri_att_end") {
      pair_block(trunk::TriAttEnd(kPairChannels, kPairHeadWidth, kPairHeads, attention));
    } else if (r.block == "attention_pair_bias") {
      trunk::AttentionPairBiasOptions bias;
      bias.c_s = kTokenChannels;
      bias.c_z = kPairChannels;
      bias.num_heads = kTokenHeads;
      autocast = false;
      use(randomised(trunk::AttentionPairBias(bias), device),
          [z, token_mask, s = tokens()](auto& m) { return std::vector{m->forward(s, z, token_mask, s).local()}; });
    } else if (r.block == "outer_product_mean") {
      const auto m = wrap<Msa>(leaf(own_msa, options), msa_shape, mesh);
      const auto valid = wrap<Msa>(at::ones({1, own_msa[1], r.tokens}, options), {1, kMsaRows, r.tokens}, mesh);
      leaves_.erase(leaves_.begin());  // z is not read
      use(randomised(trunk::OuterProductMean(kMsaChannels, kMsaHidden, kPairChannels), device),
          [m, valid](auto& module) { return std::vector{module(m, valid).local()}; });
    } else if (r.block == "pair_weighted_averaging") {
      const auto m = wrap<Msa>(leaf(own_msa, options), msa_shape, mesh);
      use(randomised(trunk::PairWeightedAveraging(kMsaChannels, kPairChannels, kMsaHidden, kMsaHeads), device),
          [m, z, mask](auto& module) { return std::vector{module(m, z, mask).local()}; });
    } else if (r.block == "pairformer_layer" || r.block == "pairformer_layer_dropout") {
      trunk::PairformerOptions options_of_layer;
      options_of_layer.triangle_multiplication = triangle;
      options_of_layer.triangle_attention = attention;
      options_of_layer.transition.fused = r.fused;
      const trunk::Dropout dropout =
          r.block == "pairformer_layer" ? trunk::Dropout() : trunk::Dropout(random::Stream(1, "layers.0", 0));
      use(randomised(trunk::PairformerLayer(kTokenChannels, kPairChannels, options_of_layer), device),
          [z, mask, token_mask, dropout, s = tokens()](auto& m) {
            const auto [new_s, new_z] = m->forward(s, z, token_mask, mask, dropout);
            return std::vector{new_s.local(), new_z.local()};
          });
    } else {
      throw ConfigError("no block is called '" + r.block + "'");
    }
  }
  if (r.step)
    for (const auto& y : forward_()) output_gradients_.push_back(at::randn_like(y));
  const Work work = forward_work(r.block, static_cast<double>(pairs[1] * pairs[2]), static_cast<double>(own_tokens[1]),
                                 static_cast<double>(r.tokens), static_cast<double>(own_msa[1]),
                                 static_cast<double>(c10::elementSize(r.dtype)));
  const double passes = r.step ? 3 : 1;
  flops_ = passes * (work.flops + work.wide_flops);
  floor_seconds_ =
      passes * (work.flops / kMatmulRate + work.wide_flops / kWideMatmulRate + work.bytes / kCopyBandwidth);

  if (r.graph) {
    if (r.step) throw ConfigError("a graph is replayed without gradients: forward alone");
    if (mesh->size() != 1) throw ConfigError("a graph is replayed on one GPU");
    auto replay = std::make_shared<trunk::Replay>([f = forward_](const std::vector<at::Tensor>&) { return f(); },
                                                  std::vector{at::zeros({1}, options)});
    forward_ = [replay, none = std::vector{at::zeros({1}, options)}] { return (*replay)(none); };
  }
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
  torch::autograd::backward(forward_(), output_gradients_);
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
