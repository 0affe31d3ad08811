// The fused path on Hopper GPUs. A panel of rows at a time: its images of q, k and v live for as long as its attention
// takes. Where rows are exchanged, a window of them lives for little longer, so that not much more than inputs and
// results is held at once (attention_kernels.hpp: the kernels). T comes from the shard of pairs, which is here from the
// beginning, and its gradient goes there.
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>

#include "trunk/cuda/weight_sums.hpp"
#include "trunk/row_panels.hpp"
#include "trunk/triangle_attention/attention_fused.hpp"
#include "trunk/triangle_attention/attention_rows.hpp"
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
/// x [rows, positions, C]
PositionRows rows_of(const at::Tensor& x) { return {x.data_ptr(), x.stride(0), x.stride(1)}; }

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
  std::int64_t panel;  // rows whose images are held at once: enough to fill a GPU, in fours as the kernels take them
  RowWindows windows;  // of rows that come and leave together: work for longer than their exchange and its calls take

  explicit Sizes(const AttentionCall& call) {
    const Shape here = call.rows_shape(kChannels);
    batch = here[0];
    rows = here[1];
    positions = here[2];
    padded = padded_positions(positions);
    const bool exchanged = call.exchanges_rows();
    const std::int64_t most = most_rows(call);
    const auto cut = [&](std::int64_t parts, std::int64_t fewest_positions) {
      constexpr std::int64_t kRows = 4;
      const std::int64_t enough = (fewest_positions + positions - 1) / positions;
      const std::int64_t wanted = std::max(enough, (most + parts - 1) / parts);
      return std::max<std::int64_t>(1, std::min((wanted + kRows - 1) / kRows * kRows, most));
    };
    panel = cut(exchanged ? 8 : 4, std::int64_t{1} << (exchanged ? 14 : 15));
    windows = {most, exchanged ? cut(8, std::int64_t{1} << 15) : std::max<std::int64_t>(1, most)};
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
  Backward(const AttentionCall& call, const Sizes& n, const AttentionWeights& weights, const at::TensorOptions& bf16,
           const WantedAttention& wanted)
      : state_(*call.fused),
        residual_(call.residual),
        w_(weights),
        n_(n),
        wanted_(wanted),
        bf16_(bf16),
        fp32_(bf16_.dtype(at::kFloat)),
        input_sum_(at::zeros({kGradientColumns, kExtended}, fp32_)),
        output_sum_(at::zeros({kChannels, kChannels}, fp32_)),
        bias_sum_(at::zeros({kHeads, kChannels + 1}, fp32_)) {
    for (std::int64_t b = 0; n.rows > 0 && b < n.batch; ++b) scores_.emplace_back(state_, n, b, true);
  }

  /// Sums of the gradient of the whole T, [B, 4, positions, positions] each, that panels add to.
  at::Tensor bias_parts() const {
    const int parts = n_.rows > 0 ? bias_gradient_parts(n_.panel, n_.rows, n_.count()) : 1;
    const auto shape = {n_.batch, std::int64_t{parts}, std::int64_t{kHeads}, n_.positions, n_.positions};
    return n_.rows > 0 ? at::empty(shape, fp32_) : at::zeros(shape, fp32_);
  }

  /// All of a window of rows, in bf16, but what comes through T: writes dx, adds to `bias_parts` where defined.
  void rows(const at::Tensor& x, const at::Tensor& dy, std::int64_t begin, const at::Tensor& dx,
            const at::Tensor& bias_parts) {
    for (std::int64_t b = 0; b < n_.batch; ++b)
      for_row_panels(x.size(1), n_.panel, [&](std::int64_t first, std::int64_t count) {
        const auto of_panel = [&](const at::Tensor& t) { return t[b].narrow(0, first, count); };
        panel(b, begin + first, of_panel(x), of_panel(dy), of_panel(dx),
              bias_parts.defined() ? bias_parts[b] : bias_parts);
      });
  }

  /// What comes through T, of this rank's shard of pairs in core form: dbias [B, 4, rows, positions], added to dx.
  void bias(const at::Tensor& x, const at::Tensor& dx, const at::Tensor& dbias) {
    const std::int64_t rows = x.size(1), positions = x.size(2);
    for (std::int64_t b = 0; rows > 0 && positions > 0 && b < n_.batch; ++b) {
      const int count = static_cast<int>(positions);
      const at::Tensor sums = at::empty({bias_backward_sums(rows, count), kHeads, kChannels + 1}, fp32_);
      attention_bias_backward(rows_of(x[b]), dbias[b].data_ptr<float>(), w_.image.data_ptr(), w_.parameters(),
                              rows_of(dx[b]), sums.data_ptr<float>(), rows, count, stream());
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

 private:
  /// x, dy, dx [count, positions, C] of one batch entry.
  void panel(std::int64_t b, std::int64_t begin, const at::Tensor& x_rows, const at::Tensor& dy_rows,
             const at::Tensor& dx, const at::Tensor& bias_parts) {
    const std::int64_t count = x_rows.size(0);
    const PositionRows x = rows_of(x_rows), dy = rows_of(dy_rows);
    const std::int64_t size = count * n_.positions, whole = (size + 63) / 64 * 64;
    const at::Tensor o = state_.o[b].narrow(0, begin, count), logs = state_.logs[b].narrow(0, begin, count);
    const at::Tensor gradients = at::empty({whole, kGradientColumns}, bf16_);
    {
      const at::Tensor queries = n_.image(kQueryGradientBlock, x_rows), keys = n_.image(kKeyBlock, x_rows);
      const AttentionPanel p = scores_[b].panel(n_, begin, count, queries, keys);
      at::Tensor gated = at::empty({count, n_.positions, kChannels}, bf16_);
      attention_output_backward(x, dy, o.data_ptr(), logs.data_ptr<float>(), w_.image.data_ptr(), w_.parameters(), p,
                                gated.data_ptr(), gradients.data_ptr(), stream());
      if (wanted_[kO]) add_output_sum(output_sum_, dy_rows, gated);
      gated.reset();
      if (bias_parts.defined())
        attention_bias_gradient(p, static_cast<int>(bias_parts.size(0)), begin == 0, bias_parts.data_ptr<float>(),
                                stream());
      attention_key_gradients(p, gradients.data_ptr(), stream());
      attention_query_gradients(p, gradients.data_ptr(), stream());
    }
    const at::Tensor normed = at::empty({whole, kExtended}, bf16_);
    attention_input_backward(x, gradients.data_ptr(), w_.image.data_ptr(), w_.parameters(), residual_ ? &dy : nullptr,
                             rows_of(dx), normed.data_ptr(), static_cast<int>(count), n_.count(), stream());
    silence_after(gradients, size);
    silence_after(normed, size);
    add_weight_gradient(input_sum_, gradients, normed);
  }

  const FusedAttention& state_;
  const bool residual_;
  Prepared w_;
  const Sizes& n_;
  WantedAttention wanted_;
  at::TensorOptions bf16_, fp32_;
  std::vector<Scores> scores_;  // by batch entry
  at::Tensor input_sum_, output_sum_, bias_sum_;
};

}  // namespace

std::shared_ptr<FusedAttention> make_fused_attention(const AttentionCall& call, const at::Tensor& x) {
  if (!x.is_cuda() || call.precision.operand != at::kBFloat16 || x.size(3) != kChannels || call.heads != kHeads ||
      call.head_width != kHeadWidth || at::cuda::getDeviceProperties(x.get_device())->major != 9)
    return {};
  return std::make_shared<FusedAttention>();
}

at::Tensor fused_attention_forward(AttentionCall& call, const at::Tensor& z, const at::Tensor& mask,
                                   const AttentionWeights& weights) {
  const c10::cuda::CUDAGuard guard(z.device());
  const at::Tensor input = readable(z), pairs = call.turned(input);
  const Sizes n(call);
  IncomingRows incoming(call, input, n.windows);
  const Prepared w(weights);
  FusedAttention& state = *call.fused;
  const auto bf16 = input.options(), words = bf16.dtype(at::kInt);

  at::Tensor bias = at::empty({n.batch, kHeads, pairs.size(1), pairs.size(2)}, bf16);
  for (std::int64_t b = 0; bias.numel() > 0 && b < n.batch; ++b)
    attention_bias(rows_of(pairs[b]), pairs.size(1), static_cast<int>(pairs.size(2)), w.image.data_ptr(),
                   w.parameters(), bias[b].data_ptr(), stream());
  state.bias = call.whole_bias(bias, Pair::spec).contiguous();
  bias.reset();

  const at::Tensor keys_mask = call.to_rows(mask.to(at::kBFloat16));
  state.valid = at::empty({n.batch, n.rows, n.padded / 32 + 2}, words);
  state.keys = at::zeros({n.batch, n.padded / 32}, words);
  std::vector<Scores> scores;
  for (std::int64_t b = 0; n.rows > 0 && b < n.batch; ++b) {
    const at::Tensor of_entry = keys_mask[b];
    attention_mask(of_entry.data_ptr(), of_entry.stride(0), of_entry.stride(1), n.rows, n.count(),
                   Scores::words(state.valid[b]), Scores::words(state.keys[b]), stream());
    scores.emplace_back(state, n, b, false);
  }

  const bool keep = call.save;
  const Attended attended(keep ? n.batch : 1, keep ? n.rows : std::min(n.panel, n.rows), n, bf16);
  const at::Tensor y = call.overwrite && in_place(z) ? z : at::empty(z.sizes(), bf16);
  OutgoingRows outgoing(call, y, n.windows);
  for (std::int64_t begin = 0; begin < n.windows.rows; begin += n.windows.size) {
    const at::Tensor x = incoming.next(), result = outgoing.place();
    for (std::int64_t b = 0; b < n.batch; ++b)
      for_row_panels(x.size(1), n.panel, [&](std::int64_t first, std::int64_t count) {
        const std::int64_t at = keep ? begin + first : 0;
        const at::Tensor o = attended.o[keep ? b : 0].narrow(0, at, count);
        const at::Tensor logs = attended.logs[keep ? b : 0].narrow(0, at, count);
        const PositionRows rows = rows_of(x[b].narrow(0, first, count));
        attend(rows, w, scores[b], n, begin + first, count, o, logs);
        attention_output(rows, o.data_ptr(), w.image.data_ptr(), w.parameters(), call.residual,
                         rows_of(result[b].narrow(0, first, count)), static_cast<int>(count), n.count(), stream());
      });
    outgoing.send();
  }
  outgoing.finish();
  if (keep) {
    state.o = attended.o;
    state.logs = attended.logs;
  } else {
    state = {};
  }
  return y;
}

AttentionGradients fused_attention_backward(AttentionCall& call, const at::Tensor& z, const AttentionWeights& weights,
                                            const at::Tensor& gradient, const WantedAttention& wanted, bool consume) {
  const c10::cuda::CUDAGuard guard(z.device());
  const bool through_bias = wanted[kX] || wanted[kNorm] || wanted[kNormBias] || wanted[kLinear];
  const at::Tensor input = readable(z), dy = readable(gradient);
  const Sizes n(call);
  IncomingRows x_rows(call, input, n.windows), dy_rows(call, dy, n.windows);
  const auto bf16 = input.options();
  Backward backward(call, n, weights, bf16, wanted);
  at::Tensor bias_parts;
  if (through_bias) bias_parts = backward.bias_parts();

  at::Tensor dz = at::empty_like(dy);  // dimensions in the same order in memory
  if (!in_place(dz)) dz = at::empty(dy.sizes(), bf16);
  OutgoingRows dx_rows(call, dz, n.windows);
  for (std::int64_t begin = 0; begin < n.windows.rows; begin += n.windows.size) {
    const at::Tensor x = x_rows.next(), dy_window = dy_rows.next(), dx = dx_rows.place();
    backward.rows(x, dy_window, begin, dx, bias_parts);
    if (wanted[kX]) dx_rows.send();
  }
  if (consume) *call.fused = {};
  at::Tensor dbias;
  if (through_bias) {
    const at::Tensor whole = bias_parts.size(1) == 1 ? bias_parts.squeeze(1) : bias_parts.sum(1);
    bias_parts.reset();
    dbias = call.bias_gradient(whole, Pair::spec).contiguous();
  }
  dx_rows.finish();
  if (through_bias) backward.bias(call.turned(input), call.turned(dz), dbias);
  return {wanted[kX] ? dz : at::Tensor(), backward.weights(weights)};
}

}  // namespace cpize::trunk
