// Windows of an exchange: consecutive ones of either side make the whole, send as much together, and leave the rest of
// a target as it was.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "comm/run_ranks.hpp"
#include "error/error.hpp"
#include "layout/exchange.hpp"
#include "layout/layouts.hpp"
#include "layout/sharded.hpp"

namespace cpize {
namespace {

const Shape global{2, 7, 7, 3};
// On which rows, and columns, move.
const std::vector<MeshShape> row_meshes{{1, 1, 2}, {1, 2, 2}, {1, 2, 3}, {2, 1, 2}};
const std::vector<MeshShape> column_meshes{{1, 2, 1}, {1, 2, 2}, {1, 3, 2}, {2, 2, 1}};

at::Tensor pairs() { return at::arange(2 * 7 * 7 * 3, at::kDouble).view(global); }
void expect(bool holds, const DeviceMesh& mesh, const std::string& what) {
  if (!holds)
    throw std::runtime_error("rank " + std::to_string(mesh.rank()) + " of " + mesh.shape().str() + ": " + what);
}

TEST(ExchangeWindows, OfTheTargetFollowEachOther) {
  for (const MeshShape& shape : row_meshes)
    comm::run_ranks(shape, [](const MeshPtr& mesh) {
      const at::Tensor local = detail::cut_shard(pairs(), Pair::spec, *mesh);
      const at::Tensor expected = detail::cut_shard(pairs(), PairByRow::spec, *mesh);
      std::vector<at::Tensor> rows;
      const std::int64_t before = mesh->traffic().sent_bytes;
      for (std::int64_t begin = 0; begin < 8; begin += 2) {  // past the end of every shard
        ExchangeInFlight coming(local, Pair::spec, PairByRow::spec, global, mesh,
                                {ExchangeWindow::Side::target, 1, begin, 2});
        rows.push_back(coming.finish());
      }
      const std::int64_t sent = mesh->traffic().sent_bytes - before;
      expect(at::cat(rows, 1).equal(expected), *mesh, "the windows are not the whole");
      exchange(local, Pair::spec, PairByRow::spec, global, mesh);
      expect(mesh->traffic().sent_bytes - before == 2 * sent, *mesh, "the windows send another amount");
    });
}

TEST(ExchangeWindows, OfTheSourceFillATarget) {
  for (const MeshShape& shape : column_meshes)
    comm::run_ranks(shape, [](const MeshPtr& mesh) {
      const at::Tensor rows = detail::cut_shard(pairs(), PairByCol::spec, *mesh);
      const at::Tensor expected = detail::cut_shard(pairs(), Pair::spec, *mesh);
      const at::Tensor target = at::full_like(expected, -1);
      std::int64_t filled = -1;
      for (std::int64_t begin = 0; begin < 8; begin += 3) {
        const std::int64_t low = std::min<std::int64_t>(begin, rows.size(2));
        const at::Tensor part = rows.narrow(2, low, std::min<std::int64_t>(3, rows.size(2) - low));
        ExchangeInFlight leaving(part, PairByCol::spec, Pair::spec, global, mesh,
                                 {ExchangeWindow::Side::source, 2, begin, 3}, target);
        const at::Tensor result = leaving.finish();
        expect(result.is_same(target) || result.data_ptr() == target.data_ptr(), *mesh, "it went somewhere else");
        const at::Tensor there = target.ne(-1);
        expect(at::where(there, target, expected).equal(expected), *mesh, "a window changed what is not its own");
        const std::int64_t now = there.sum().item<std::int64_t>();
        expect(now >= filled, *mesh, "a window took something back");
        filled = now;
      }
      expect(target.equal(expected), *mesh, "the windows are not the whole");
    });
}

TEST(ExchangeWindows, RefuseWhatHasNone) {
  EXPECT_THROW(
      comm::run_ranks(
          {1, 1, 2},
          [](const MeshPtr& mesh) {
            const at::Tensor local = detail::cut_shard(pairs(), Pair::spec, *mesh);
            ExchangeInFlight(local, Pair::spec, Pair::spec, global, mesh, {ExchangeWindow::Side::target, 1, 0, 2});
          }),
      ContractError);
  EXPECT_THROW(plan_exchange(Partial<SingleRow, cp1>::spec, Single::spec, {1, 4, 2}, {1, 1, 2}, 0,
                             ExchangeWindow{ExchangeWindow::Side::source, 1, 0, 2}),
               ContractError);
  EXPECT_THROW(comm::run_ranks({1, 1, 2},
                               [](const MeshPtr& mesh) {
                                 const at::Tensor local = detail::cut_shard(pairs(), Pair::spec, *mesh);
                                 ExchangeInFlight(local, Pair::spec, PairByRow::spec, global, mesh,
                                                  {ExchangeWindow::Side::target, 1, 0, 2}, at::zeros({1}));
                               }),
               ContractError);
}

}  // namespace
}  // namespace cpize
