#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>

#include "trunk/cuda/channel_exchange.hpp"
#include "trunk/cuda/weight_sums.hpp"
#include "trunk/row_panels.hpp"
#include "trunk/triangle_fused.hpp"

namespace cpize::trunk {

using namespace cuda;

struct FusedTriangle {
  explicit FusedTriangle(ChannelExchange e) : exchange(std::move(e)) {}
  ChannelExchange exchange;
  std::vector<at::Tensor> edges;    // saved, per chunk: [B, d, 2, N, N]
  std::vector<ChannelBlocks> sums;  // saved, per chunk
};

namespace {

constexpr std::int64_t kChannels = 128, kExtended = 136, kEdgeRows = 512;

void* stream() { return c10::cuda::getCurrentCUDAStream(); }

/// The weights as the kernels take them.
struct Prepared {
  at::Tensor norms[4], projections[4], edges_image, output_image;
  TriangleNorm norm_in, norm_out;

  explicit Prepared(const TriangleWeights& w) {
    const at::Tensor* norm[] = {&w.norm_in, &w.norm_in_bias, &w.norm_out, &w.norm_out_bias};
    const at::Tensor* projection[] = {&w.p_in, &w.g_in, &w.p_out, &w.g_out};
    for (int i = 0; i < 4; ++i) {
      norms[i] = norm[i]->detach().to(at::kFloat).contiguous();
      projections[i] = projection[i]->detach().to(at::kBFloat16).contiguous();
    }
    const auto bytes = projections[0].options().dtype(at::kByte);
    edges_image = at::empty({kEdgesImageBytes}, bytes);
    output_image = at::empty({kOutputImageBytes}, bytes);
    prepare_triangle_weights(projections[0].data_ptr(), projections[1].data_ptr(), projections[2].data_ptr(),
                             projections[3].data_ptr(), edges_image.data_ptr(), output_image.data_ptr(), stream());
    norm_in = {norms[0].data_ptr<float>(), norms[1].data_ptr<float>(), static_cast<float>(kNormEpsilon)};
    norm_out = {norms[2].data_ptr<float>(), norms[3].data_ptr<float>(), static_cast<float>(kNormEpsilon)};
  }
};

/// The rows of one batch entry.
void* entry(const at::Tensor& rows, std::int64_t batch_entry, std::int64_t positions) {
  return rows.narrow(0, batch_entry * positions, positions).data_ptr();
}

std::vector<ChannelBlocks> allocate_chunks(const ChannelExchange& exchange, std::int64_t items,
                                           const at::TensorOptions& options) {
  std::vector<ChannelBlocks> chunks;
  for (std::int64_t k = 0; k < exchange.chunks(); ++k) chunks.push_back(exchange.allocate(items, options));
  return chunks;
}

/// For every chunk: make (the channels of half h, just before the first chunk that needs them), whole planes in, f,
/// shards out. While one chunk is multiplied the next ones and the results of the one before are on their way. A chunk
/// that has started is no longer among `chunks`.
template <class Make, class F>
std::vector<ChannelBlocks> on_whole_planes(const ChannelExchange& exchange, std::vector<ChannelBlocks> chunks,
                                           std::int64_t items, Make make, F f) {
  constexpr std::int64_t kAhead = 2;
  const std::int64_t count = exchange.chunks();
  std::vector<ChannelExchange::Started> there(count), back(count);
  std::vector<ChannelBlocks> results(count);
  std::int64_t started = 0;
  const auto start_until = [&](std::int64_t end) {
    for (; started < std::min(end, count); ++started) {
      if (started == 0) make(count == 1 ? ChannelHalves::both : ChannelHalves::first, chunks);
      if (started > 0 && started == count / 2) make(ChannelHalves::second, chunks);
      there[started] = exchange.start_to_whole(std::exchange(chunks[started], {}), items);
    }
  };
  for (std::int64_t k = 0; k < count; ++k) {
    start_until(k + 1 + kAhead);
    back[k] = exchange.start_to_shards(f(k, exchange.finish_to_whole(std::exchange(there[k], {}))));
    if (k > 0) results[k - 1] = exchange.finish_to_shards(std::exchange(back[k - 1], {}));
  }
  results[count - 1] = exchange.finish_to_shards(std::exchange(back[count - 1], {}));
  return results;
}

/// Room for the operands of weight sums of one panel.
struct Panels {
  std::int64_t rows;
  explicit Panels(std::int64_t positions) : rows(operand_panel(positions, 8)) {}
  at::Tensor make(std::int64_t columns, const at::TensorOptions& options) const {
    return at::empty({rows, columns}, options);
  }
  template <class F>
  void for_each(std::int64_t positions, F f) const {
    for_row_panels(positions, rows, [&](std::int64_t begin, std::int64_t count) {
      f(TrianglePositions{positions, begin, count}, (count + 63) / 64 * 64);
    });
  }
};

}  // namespace

std::shared_ptr<FusedTriangle> make_fused_triangle(const TriangleCall& call, const at::Tensor& rows,
                                                   std::int64_t channel_chunks) {
  if (!rows.is_cuda() || call.precision.operand != at::kBFloat16 || rows.size(1) != kChannels ||
      !ChannelExchange::possible(call.mesh->shape()) || at::cuda::getDeviceProperties(rows.get_device())->major != 9)
    return {};
  return std::make_shared<FusedTriangle>(ChannelExchange(call.mesh, call.global, channel_chunks));
}

at::Tensor fused_triangle_forward(TriangleCall& call, const at::Tensor& z, const at::Tensor& mask,
                                  const TriangleWeights& weights) {
  const c10::cuda::CUDAGuard guard(z.device());
  const at::Tensor rows = z.contiguous(), valid = mask.to(at::kBFloat16).contiguous();
  const Prepared w(weights);
  FusedTriangle& state = *call.fused;
  const ChannelExchange& exchange = state.exchange;
  const std::int64_t positions = exchange.positions();

  const auto make_edges = [&](ChannelHalves halves, const std::vector<ChannelBlocks>& edges) {
    for (std::int64_t b = 0; b < exchange.batch(); ++b)
      triangle_edges(entry(rows, b, positions), entry(valid, b, positions), w.edges_image.data_ptr(), w.norm_in,
                     exchange.memory(edges, b), halves, positions, stream());
  };
  if (call.save) state.edges.resize(exchange.chunks());
  std::vector<ChannelBlocks> sums = on_whole_planes(
      exchange, allocate_chunks(exchange, 2, rows.options()), 2, make_edges, [&](std::int64_t k, at::Tensor whole) {
        at::Tensor product = exchange.allocate_whole(1, whole.options());
        multiply_edges(whole, call.direction, call.precision.wide, product.squeeze(2));
        if (call.save) state.edges[k] = std::move(whole);
        return product;
      });
  at::Tensor y = call.overwrite ? rows : at::empty_like(rows);
  for (std::int64_t b = 0; b < exchange.batch(); ++b)
    triangle_output(exchange.memory(sums, b), entry(rows, b, positions), w.output_image.data_ptr(), w.norm_in,
                    w.norm_out, call.residual, entry(y, b, positions), positions, stream());
  if (call.save) state.sums = std::move(sums);
  return y;
}

TriangleGradients fused_triangle_backward(TriangleCall& call, const at::Tensor& z, const at::Tensor& mask,
                                          const TriangleWeights& weights, const at::Tensor& gradient,
                                          const std::array<bool, 9>& wanted, bool consume) {
  const c10::cuda::CUDAGuard guard(z.device());
  const at::Tensor rows = z.contiguous(), valid = mask.to(at::kBFloat16).contiguous();
  const at::Tensor dy = gradient.to(at::kBFloat16).contiguous();
  const Prepared w(weights);
  FusedTriangle& state = *call.fused;
  const ChannelExchange& exchange = state.exchange;
  const std::int64_t positions = exchange.positions(), batch = exchange.batch();
  const Panels panels(positions);
  const auto sum_options = rows.options().dtype(at::kFloat);

  // dy -> the gradient of the sums, in their place, and dz: until the last pass the gate's share of the gradient of
  // norm_in(z).
  std::vector<ChannelBlocks> sums = consume ? std::exchange(state.sums, {}) : state.sums;
  if (!consume)
    for (auto& blocks : sums) blocks = {blocks.remote.clone(), blocks.own.clone()};
  at::Tensor dz = at::empty_like(rows);
  const at::Tensor sum_p = at::zeros({kChannels, kExtended}, sum_options), sum_g = at::zeros_like(sum_p);
  {
    const at::Tensor dt = panels.make(kChannels, rows.options()), dv = at::empty_like(dt);
    const at::Tensor normed_out = panels.make(kExtended, rows.options()), normed_in = at::empty_like(normed_out);
    for (std::int64_t b = 0; b < batch; ++b)
      panels.for_each(positions, [&](const TrianglePositions& at, std::int64_t whole) {
        triangle_output_backward(entry(dy, b, positions), exchange.memory(sums, b), entry(rows, b, positions),
                                 w.output_image.data_ptr(), w.norm_in, w.norm_out, entry(dz, b, positions),
                                 {dt.data_ptr(), dv.data_ptr(), normed_out.data_ptr(), normed_in.data_ptr()}, at,
                                 stream());
        add_weight_gradient(sum_p, dt.narrow(0, 0, whole), normed_out.narrow(0, 0, whole));
        add_weight_gradient(sum_g, dv.narrow(0, 0, whole), normed_in.narrow(0, 0, whole));
      });
  }

  std::vector<ChannelBlocks> dedges = on_whole_planes(
      exchange, std::move(sums), 1, [](ChannelHalves, const auto&) {},
      [&](std::int64_t k, at::Tensor whole) {
        const at::Tensor saved = consume ? std::exchange(state.edges[k], {}) : state.edges[k];
        at::Tensor gradients = exchange.allocate_whole(2, whole.options());
        edge_gradients(whole.squeeze(2), saved, call.direction, call.precision.wide, gradients);
        return gradients;
      });

  const at::Tensor sum_e = at::zeros({kEdgeRows, kExtended}, sum_options);
  {
    const at::Tensor duv = panels.make(kEdgeRows, rows.options()), normed_in = panels.make(kExtended, rows.options());
    for (std::int64_t b = 0; b < batch; ++b)
      panels.for_each(positions, [&](const TrianglePositions& at, std::int64_t whole) {
        triangle_edges_backward(exchange.memory(dedges, b), entry(rows, b, positions), entry(valid, b, positions),
                                entry(dz, b, positions), call.residual ? entry(dy, b, positions) : nullptr,
                                w.edges_image.data_ptr(), w.norm_in, entry(dz, b, positions), duv.data_ptr(),
                                normed_in.data_ptr(), at, stream());
        add_weight_gradient(sum_e, duv.narrow(0, 0, whole), normed_in.narrow(0, 0, whole));
      });
  }

  // Columns of the kernels' output back to channels: of normed_out, and of duv (per 32 channels 32 of p_in, 32 of
  // g_in).
  const at::Tensor order = channel_positions(kChannels, 32, 0, rows.device());
  const at::Tensor of_p_out = at::cat(
      {sum_p.narrow(1, 0, kChannels).index_select(1, order), sum_p.narrow(1, kChannels, kExtended - kChannels)}, 1);
  const at::Tensor of_p_in = sum_e.index_select(0, channel_positions(2 * kChannels, 64, 0, rows.device()));
  const at::Tensor of_g_in = sum_e.index_select(0, channel_positions(2 * kChannels, 64, 32, rows.device()));
  const at::Tensor d_norm[] = {at::zeros({kChannels}, sum_options), at::zeros({kChannels}, sum_options),
                               at::zeros({kChannels}, sum_options), at::zeros({kChannels}, sum_options)};
  const auto wide = [](const at::Tensor& projection) { return projection.to(at::kFloat); };
  const auto& p = w.projections;
  const auto& n = w.norms;
  const TriangleWeights all{d_norm[0],
                            d_norm[1],
                            gradients_of(of_p_in, wide(p[0]), n[0], n[1], d_norm[0], d_norm[1]),
                            gradients_of(of_g_in, wide(p[1]), n[0], n[1], d_norm[0], d_norm[1]),
                            d_norm[2],
                            d_norm[3],
                            gradients_of(of_p_out, wide(p[2]), n[2], n[3], d_norm[2], d_norm[3]),
                            gradients_of(sum_g, wide(p[3]), n[0], n[1], d_norm[0], d_norm[1])};
  const auto keep = [&](int which, const at::Tensor& gradient_of, const at::Tensor& weight) {
    return wanted[which] ? gradient_of.to(weight.scalar_type()) : at::Tensor();
  };
  return {wanted[0] ? dz : at::Tensor(),
          {keep(1, all.norm_in, weights.norm_in), keep(2, all.norm_in_bias, weights.norm_in_bias),
           keep(3, all.p_in, weights.p_in), keep(4, all.g_in, weights.g_in), keep(5, all.norm_out, weights.norm_out),
           keep(6, all.norm_out_bias, weights.norm_out_bias), keep(7, all.p_out, weights.p_out),
           keep(8, all.g_out, weights.g_out)}};
}

}  // namespace cpize::trunk
