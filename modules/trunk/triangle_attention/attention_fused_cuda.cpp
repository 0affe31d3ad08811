// The fused path on Hopper GPUs. A panel of rows at a time: images of q, k and v live for as long as the panel's
// attention takes, so that little more than inputs and results is held at once (attention_kernels.hpp: the kernels).
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>

#include "trunk/cuda/weight_sums.hpp"
#include "trunk/row_panels.hpp"
#include "trunk/triangle_attention/attention_fused.hpp"
#include "trunk/triangle_attention/cuda/attention_kernels.hpp"

namespace cpize::trunk {

using namespace cuda;

struct FusedAttention {
  at::Tensor valid, keys;  // which keys of a row are valid, and which are in any row, as bits
  at::Tensor bias;         // the whole T
  at::Tensor o, logs;      // of all rows; x is an input
};

namespace {

constexpr std::int64_t kChannels = 128, kExtended = 136;

void* stream() { return c10::cuda::getCurrentCUDAStream(); }

/// Rows that the kernels read and write where they lie.
bool in_place(const at::Tensor& x) {
  return x.stride(3) == 1 && x.stride(1) % 8 == 0 && x.stride(2) % 8 == 0 && x.stride(0) % 8 == 0 &&
         reinterpret_cast<std::uintptr_t>(x.data_ptr()) % 16 == 0;
}
at::Tensor readable(const at::Tensor& x) {
  const at::Tensor operand = x.to(at::kBFloat16);
  return in_place(operand) ? operand : operand.contiguous();
}
PositionRows rows_of(const at::Tensor& x, std::int64_t entry, std::int64_t row) {
  auto* at = static_cast<at::BFloat16*>(x.data_ptr()) + entry * x.stride(0) + row * x.stride(1);
  return {at, x.stride(1), x.stride(2)};
}

/// The weights as the kernels take them.
struct Prepared {
  at::Tensor norm, norm_bias, projections[6], image;  // q, k, v, g, o, linear

  explicit Prepared(const AttentionWeights& w) {
    norm = w.norm.detach().to(at::kFloat).contiguous();
    norm_bias = w.norm_bias.detach().to(at::kFloat).contiguous();
    const at::Tensor* of[] = {&w.q, &w.k, &w.v, &w.g, &w.o, &w.linear};
    for (int i = 0; i < 6; ++i) projections[i] = of[i]->detach().to(at::kBFloat16).contiguous();
    const auto& p = projections;
    image = at::empty({kAttentionImageBytes}, p[0].options().dtype(at::kByte));
    prepare_attention_weights(p[0].data_ptr(), p[1].data_ptr(), p[2].data_ptr(), p[3].data_ptr(), p[4].data_ptr(),
                              p[5].data_ptr(), image.data_ptr(), stream());
  }
  AttentionNorm parameters() const {
    return {norm.data_ptr<float>(), norm_bias.data_ptr<float>(), static_cast<float>(kNormEpsilon)};
  }
};

/// Sizes of a call on this rank.
struct Sizes {
  std::int64_t batch, rows, positions;
  int padded;
  std::int64_t panel;  // rows of a panel: a quarter, but enough to fill a GPU, in fours as the kernels take them

  /// Where rows were exchanged they are held beside z, and panels are half as large.
  Sizes(const at::Tensor& x, bool exchanged)
      : batch(x.size(0)), rows(x.size(1)), positions(x.size(2)), padded(0), panel(0) {
    constexpr std::int64_t kRows = 4;
    const std::int64_t fewest = std::int64_t{1} << (exchanged ? 14 : 15), parts = exchanged ? 8 : 4;
    padded = padded_positions(positions);
    const std::int64_t enough = (fewest + positions - 1) / positions;
    const std::int64_t wanted = std::max(enough, (rows + parts - 1) / parts);
    panel = std::min((wanted + kRows - 1) / kRows * kRows, rows);
  }
  int count() const { return static_cast<int>(positions); }
  at::Tensor image(int block, const at::Tensor& like) const {
    return at::empty({image_bytes(panel, padded, block)}, like.options().dtype(at::kByte));
  }
};

/// T and the mask as the attention kernels take them, for one batch entry.
struct Scores {
  at::Tensor bias, transposed, shift, valid;

  Scores(const FusedAttention& state, const Sizes& n, std::int64_t entry, bool backward) {
    const at::Tensor whole = state.bias.select(0, entry);
    bias = at::empty({kHeads, n.padded, n.padded}, whole.options());
    if (backward) transposed = at::empty_like(bias);
    shift = at::empty({kHeads, n.padded}, whole.options().dtype(at::kFloat));
    valid = state.valid.select(0, entry);
    attention_bias_fragments(whole.data_ptr(), words(state.keys.select(0, entry)), n.count(), bias.data_ptr(),
                             backward ? transposed.data_ptr() : nullptr, shift.data_ptr<float>(), stream());
  }
  static std::uint32_t* words(const at::Tensor& t) { return reinterpret_cast<std::uint32_t*>(t.data_ptr<int>()); }

  AttentionPanel panel(const Sizes& n, std::int64_t begin, std::int64_t count, const at::Tensor& queries,
                       const at::Tensor& keys) const {
    AttentionPanel p;
    p.rows = static_cast<int>(count);
    p.positions = n.count();
    p.padded = n.padded;
    p.queries = queries.data_ptr();
    p.keys = keys.data_ptr();
    p.bias = bias.data_ptr();
    if (transposed.defined()) p.bias_transposed = transposed.data_ptr();
    p.shift = shift.data_ptr<float>();
    p.valid = words(valid[begin]);
    return p;
  }
};

/// o and the logs of some rows.
struct Attended {
  at::Tensor o, logs;

  Attended(std::int64_t batch, std::int64_t rows, const Sizes& n, const at::TensorOptions& bf16)
      : o(at::empty({batch, rows, n.positions, kChannels}, bf16)),
        logs(at::empty({batch, rows, kHeads, n.positions}, bf16.dtype(at::kFloat))) {}
};

/// q, k, v and the attention of a panel.
void attend(const PositionRows& x, const Prepared& w, const Scores& scores, const Sizes& n, std::int64_t begin,
            std::int64_t count, const at::Tensor& o, const at::Tensor& logs) {
  const at::Tensor queries = n.image(kQueryBlock, o), keys = n.image(kKeyBlock, o);
  const at::Tensor flags = at::empty({flag_count(n.panel, n.padded)}, o.options().dtype(at::kInt));
  const AttentionPanel panel = scores.panel(n, begin, count, queries, keys);
  attention_projections(x, w.image.data_ptr(), w.parameters(), panel, stream());
  attention_forward(panel, o.data_ptr(), logs.data_ptr<float>(), flags.data_ptr<int>(), stream());
}

/// total [128, 128] += sum over positions of dy gated^T, both [rows, positions, 128]; dy may lie transposed.
void add_output_sum(const at::Tensor& total, const at::Tensor& dy, const at::Tensor& gated) {
  if (dy.is_contiguous()) {
    add_weight_gradient(total, dy.flatten(0, 1), gated.flatten(0, 1));
    return;
  }
  at::Tensor sum = total;
  sum.add_(at::bmm(dy.transpose(1, 2), gated, at::kFloat).sum(0));
}

/// What lies past the last position of whole tiles adds nothing to sums.
void silence_after(const at::Tensor& buffer, std::int64_t size) {
  if (size < buffer.size(0)) buffer.narrow(0, size, buffer.size(0) - size).zero_();
}

/// A backward call on one rank.
class Backward {
 public:
  Backward(const AttentionCall& call, const at::Tensor& x, const AttentionWeights& weights, const at::Tensor& gradient,
           const WantedAttention& wanted)
      : state_(*call.fused),
        residual_(call.residual),
        x_(readable(x)),
        dy_(readable(gradient)),
        w_(weights),
        n_(x_, call.exchanges_rows()),
        wanted_(wanted),
        bf16_(x_.options()),
        fp32_(bf16_.dtype(at::kFloat)),
        input_sum_(at::zeros({kGradientColumns, kExtended}, fp32_)),
        output_sum_(at::zeros({kChannels, kChannels}, fp32_)),
        bias_sum_(at::zeros({kHeads, kChannels + 1}, fp32_)) {}

  /// All but what comes through T: writes dx, and this rank's share of the gradient of the whole T.
  void rows(const at::Tensor& dx, const at::Tensor& dbias) {
    if (n_.rows == 0 && dbias.defined()) at::Tensor(dbias).zero_();
    for (std::int64_t b = 0; n_.rows > 0 && b < n_.batch; ++b) {
      const Scores scores(state_, n_, b, true);
      const int parts = bias_gradient_parts(n_.panel, n_.rows, n_.count());
      at::Tensor partial, whole;
      if (dbias.defined()) {
        whole = dbias[b];
        partial = parts == 1 ? whole : at::empty({parts, kHeads, n_.positions, n_.positions}, fp32_);
      }
      for_row_panels(n_.rows, n_.panel, [&](std::int64_t begin, std::int64_t count) {
        panel(b, begin, count, scores, dx, parts, partial);
      });
      if (parts > 1 && whole.defined()) at::sum_out(whole, partial, {0});
    }
  }

  /// What comes through this rank's rows of T, [B, 4, rows, positions]: added to dx.
  void bias(const at::Tensor& dx, const at::Tensor& dbias) {
    for (std::int64_t b = 0; n_.rows > 0 && b < n_.batch; ++b) {
      const at::Tensor sums = at::empty({bias_backward_sums(n_.rows, n_.count()), kHeads, kChannels + 1}, fp32_);
      attention_bias_backward(rows_of(x_, b, 0), dbias[b].data_ptr<float>(), w_.image.data_ptr(), w_.parameters(),
                              rows_of(dx, b, 0), sums.data_ptr<float>(), n_.rows, n_.count(), stream());
      bias_sum_.add_(sums.sum(0));
    }
  }

  AttentionWeights weights(const AttentionWeights& like) const {
    const at::Tensor norm = at::zeros({kChannels}, fp32_), norm_bias = at::zeros({kChannels}, fp32_);
    const auto of = [&](int projection, const at::Tensor& sum) {
      return gradients_of(sum, w_.projections[projection].to(at::kFloat), w_.norm, w_.norm_bias, norm, norm_bias);
    };
    const auto of_columns = [&](int projection, std::int64_t column) {
      return of(projection, input_sum_.narrow(0, column, kChannels));
    };
    const at::Tensor q = of_columns(0, 0), k = of_columns(1, kOfKeys), v = of_columns(2, kOfValues),
                     g = of_columns(3, kOfGate), linear = of(5, bias_sum_);
    const auto keep = [&](AttentionGradient which, const at::Tensor& gradient, const at::Tensor& weight) {
      return wanted_[which] ? gradient.to(weight.scalar_type()) : at::Tensor();
    };
    return {keep(kNorm, norm, like.norm),
            keep(kNormBias, norm_bias, like.norm_bias),
            keep(kLinear, linear, like.linear),
            keep(kQ, q, like.q),
            keep(kK, k, like.k),
            keep(kV, v, like.v),
            keep(kO, output_sum_, like.o),
            keep(kG, g, like.g)};
  }

  const at::TensorOptions& bf16() const { return bf16_; }
  const at::TensorOptions& fp32() const { return fp32_; }

 private:
  void panel(std::int64_t b, std::int64_t begin, std::int64_t count, const Scores& scores, const at::Tensor& dx,
             int parts, const at::Tensor& partial) {
    const PositionRows x = rows_of(x_, b, begin), dy = rows_of(dy_, b, begin);
    const std::int64_t size = count * n_.positions, whole = (size + 63) / 64 * 64;
    const at::Tensor o = state_.o[b].narrow(0, begin, count), logs = state_.logs[b].narrow(0, begin, count);
    const at::Tensor gradients = at::empty({whole, kGradientColumns}, bf16_);
    {
      const at::Tensor queries = n_.image(kQueryGradientBlock, x_), keys = n_.image(kKeyBlock, x_);
      const AttentionPanel p = scores.panel(n_, begin, count, queries, keys);
      at::Tensor gated = at::empty({count, n_.positions, kChannels}, bf16_);
      attention_output_backward(x, dy, o.data_ptr(), logs.data_ptr<float>(), w_.image.data_ptr(), w_.parameters(), p,
                                gated.data_ptr(), gradients.data_ptr(), stream());
      if (wanted_[kO]) add_output_sum(output_sum_, dy_[b].narrow(0, begin, count), gated);
      gated.reset();
      if (partial.defined()) attention_bias_gradient(p, parts, begin == 0, partial.data_ptr<float>(), stream());
      attention_key_gradients(p, gradients.data_ptr(), stream());
      attention_query_gradients(p, gradients.data_ptr(), stream());
    }
    const at::Tensor normed = at::empty({whole, kExtended}, bf16_);
    attention_input_backward(x, gradients.data_ptr(), w_.image.data_ptr(), w_.parameters(), residual_ ? &dy : nullptr,
                             rows_of(dx, b, begin), normed.data_ptr(), static_cast<int>(count), n_.count(), stream());
    silence_after(gradients, size);
    silence_after(normed, size);
    add_weight_gradient(input_sum_, gradients, normed);
  }

  const FusedAttention& state_;
  const bool residual_;
  at::Tensor x_, dy_;
  Prepared w_;
  Sizes n_;
  WantedAttention wanted_;
  at::TensorOptions bf16_, fp32_;
  at::Tensor input_sum_, output_sum_, bias_sum_;
};

}  // namespace

std::shared_ptr<FusedAttention> make_fused_attention(const AttentionCall& call, const at::Tensor& x) {
  if (!x.is_cuda() || call.precision.operand != at::kBFloat16 || x.size(3) != kChannels || call.heads != kHeads ||
      call.head_width != kHeadWidth || at::cuda::getDeviceProperties(x.get_device())->major != 9)
    return {};
  return std::make_shared<FusedAttention>();
}

void fused_attention_forward(AttentionCall& call, const at::Tensor& x, const at::Tensor& mask,
                             const AttentionWeights& weights, const at::Tensor& y) {
  const c10::cuda::CUDAGuard guard(x.device());
  const at::Tensor rows = readable(x), keys_mask = mask.to(at::kBFloat16);
  const Prepared w(weights);
  const Sizes n(rows, call.exchanges_rows());
  FusedAttention& state = *call.fused;
  const auto bf16 = rows.options(), words = bf16.dtype(at::kInt);

  state.valid = at::empty({n.batch, n.rows, n.padded / 32 + 2}, words);
  state.keys = at::zeros({n.batch, n.padded / 32}, words);
  at::Tensor bias = at::empty({n.batch, kHeads, n.rows, n.positions}, bf16);
  for (std::int64_t b = 0; n.rows > 0 && b < n.batch; ++b) {
    const at::Tensor of_entry = keys_mask[b];
    attention_mask(of_entry.data_ptr(), of_entry.stride(0), of_entry.stride(1), n.rows, n.count(),
                   Scores::words(state.valid[b]), Scores::words(state.keys[b]), stream());
    attention_bias(rows_of(rows, b, 0), n.rows, n.count(), w.image.data_ptr(), w.parameters(), bias[b].data_ptr(),
                   stream());
  }
  state.bias = call.whole_bias(bias).contiguous();
  bias.reset();

  if (n.rows > 0) {
    const bool keep = call.save;
    const at::Tensor result = in_place(y) ? y : at::empty(y.sizes(), bf16);
    const Attended attended(keep ? n.batch : 1, keep ? n.rows : n.panel, n, bf16);
    for (std::int64_t b = 0; b < n.batch; ++b) {
      const Scores scores(state, n, b, false);
      for_row_panels(n.rows, n.panel, [&](std::int64_t begin, std::int64_t count) {
        const at::Tensor o = attended.o[keep ? b : 0].narrow(0, keep ? begin : 0, count);
        const at::Tensor logs = attended.logs[keep ? b : 0].narrow(0, keep ? begin : 0, count);
        const PositionRows x_rows = rows_of(rows, b, begin);
        attend(x_rows, w, scores, n, begin, count, o, logs);
        attention_output(x_rows, o.data_ptr(), w.image.data_ptr(), w.parameters(), call.residual,
                         rows_of(result, b, begin), static_cast<int>(count), n.count(), stream());
      });
    }
    if (!result.is_same(y)) at::Tensor(y).copy_(result);
    if (keep) {
      state.o = attended.o;
      state.logs = attended.logs;
    }
  }
  if (!call.save) state = {};
}

AttentionGradients fused_attention_backward(AttentionCall& call, const at::Tensor& x, const at::Tensor& /*mask*/,
                                            const AttentionWeights& weights, const at::Tensor& gradient,
                                            const WantedAttention& wanted, bool consume_gradient, bool consume) {
  const c10::cuda::CUDAGuard guard(x.device());
  const bool through_bias = wanted[kX] || wanted[kNorm] || wanted[kNormBias] || wanted[kLinear];
  Backward backward(call, x, weights, gradient, wanted);
  const std::int64_t batch = x.size(0), positions = x.size(2);

  // A panel of dx is written after the same panel of dy was read for the last time.
  at::Tensor dx = gradient;
  if (!consume_gradient || gradient.scalar_type() != at::kBFloat16 || !in_place(gradient)) {
    dx = at::empty_like(gradient, backward.bf16());  // dimensions in the same order in memory
    if (!in_place(dx)) dx = at::empty(gradient.sizes(), backward.bf16());
  }
  at::Tensor dbias;
  if (through_bias) dbias = at::empty({batch, kHeads, positions, positions}, backward.fp32());
  backward.rows(dx, dbias);
  if (consume) *call.fused = {};
  if (through_bias) {
    dbias = call.bias_gradient_rows(dbias).contiguous();
    backward.bias(dx, dbias);
  }
  return {wanted[kX] ? dx : at::Tensor(), backward.weights(weights)};
}

}  // namespace cpize::trunk
