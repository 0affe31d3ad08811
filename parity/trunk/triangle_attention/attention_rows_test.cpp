// Rows in windows are the rows that one exchange brings, and send as much: for both nodes, on meshes whose ranks have
// different numbers of rows, or none, with one, several and more windows than rows.
#include "trunk/triangle_attention/attention_rows.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "comm/run_ranks.hpp"
#include "error/error.hpp"
#include "layout/sharded.hpp"

namespace cpize::trunk {
namespace {

const Shape global{2, 7, 7, 3};

struct Case {
  TriangleNode node;
  MeshShape mesh;
  std::int64_t size;  // of a window
};

AttentionCall call_on(const MeshPtr& mesh, TriangleNode node) {
  AttentionCall call;
  call.mesh = mesh;
  call.global = global;
  call.node = node;
  return call;
}

class RowsInWindows : public testing::TestWithParam<Case> {};

TEST_P(RowsInWindows, AreTheRowsOfOneExchange) {
  const Case& c = GetParam();
  comm::run_ranks(c.mesh, [&](const MeshPtr& mesh) {
    const auto expect = [&](bool holds, const char* what) {
      if (!holds) throw std::runtime_error("rank " + std::to_string(mesh->rank()) + ": " + what);
    };
    const AttentionCall call = call_on(mesh, c.node);
    const at::Tensor pairs = detail::cut_shard(at::arange(2 * 7 * 7 * 3, at::kDouble).view(global), Pair::spec, *mesh);
    const at::Tensor rows = call.to_rows(pairs);
    expect(call.to_pairs(rows).equal(pairs), "rows are not where they belong");
    const std::int64_t there_and_back = mesh->traffic().sent_bytes;

    const RowWindows windows{most_rows(call), c.size};
    expect(windows.rows >= rows.size(1), "a rank has more rows than the windows cover");
    IncomingRows incoming(call, pairs, windows);
    const at::Tensor target = at::full_like(pairs, -1);
    OutgoingRows outgoing(call, target, windows);
    for (std::int64_t begin = 0; begin < windows.rows; begin += windows.size) {
      const at::Tensor window = incoming.next(), place = outgoing.place();
      const std::int64_t low = std::min(begin, rows.size(1)), high = std::min(begin + c.size, rows.size(1));
      expect(window.equal(rows.slice(1, low, high)), "a window has other rows");
      expect(place.sizes() == window.sizes(), "a window does not fit its place");
      at::Tensor(place).copy_(window * 2);
      outgoing.send();
    }
    outgoing.finish();
    expect(target.equal(pairs * 2), "what came back is not where it belongs");
    expect(mesh->traffic().sent_bytes == 2 * there_and_back, "windows send another amount");
    bool refused = false;
    try {
      incoming.next();
    } catch (const ContractError&) {
      refused = true;
    }
    expect(refused, "a window after the last one");
  });
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const TriangleNode node : {TriangleNode::starting, TriangleNode::ending})
    for (const MeshShape& mesh : {MeshShape(1, 1, 1), MeshShape(1, 1, 2), MeshShape(1, 2, 1), MeshShape(1, 2, 2),
                                  MeshShape(1, 2, 3), MeshShape(1, 3, 3), MeshShape(2, 1, 2)})
      for (const std::int64_t size : {1, 2, 100}) all.push_back({node, mesh, size});
  return all;
}

INSTANTIATE_TEST_SUITE_P(Meshes, RowsInWindows, testing::ValuesIn(cases()), [](const auto& info) {
  return std::string(info.param.node == TriangleNode::starting ? "starting_" : "ending_") + info.param.mesh.str() +
         "_by_" + std::to_string(info.param.size);
});

}  // namespace
}  // namespace cpize::trunk
