#include "parity/infra/smoke.hpp"

#include <ATen/ATen.h>

#include <cstdint>
#include <numeric>

#include "comm/agree.hpp"
#include "comm/call_site.hpp"
#include "error/error.hpp"
#include "layout/redistribute.hpp"

namespace cpize::parity {
namespace {

void require(bool ok, const DeviceMesh& mesh, const std::string& what) {
  if (!ok) throw Error("rank " + std::to_string(mesh.rank()) + ": " + what);
}

}  // namespace

void check_coordinates(const MeshPtr& mesh) {
  comm::agree_after(*mesh, [&] {
    require(mesh->shape().rank(mesh->coordinates()) == mesh->rank(), *mesh, "coordinates do not give the rank back");
  });
  const auto ranks = comm::gather_numbers(*mesh, mesh->rank());
  comm::agree_after(*mesh, [&] {
    for (int r = 0; r < mesh->size(); ++r)
      require(ranks[r] == r, *mesh, "rank " + std::to_string(r) + " is not in its place");
  });
}

void check_collectives(const MeshPtr& mesh) {
  const int world = mesh->size();
  comm::CallSite site("smoke test");
  const auto on = at::TensorOptions(mesh->control_device());
  std::vector<at::Tensor> sum{at::full({3}, mesh->rank() + 1.0, on.dtype(at::kDouble))};
  mesh->backend().allreduce(sum)->wait();
  require(sum[0].eq(world * (world + 1) / 2.0).all().item<bool>(), *mesh, "all-reduce gave a wrong sum");

  // rank s sends s + 1 copies of its number to everybody
  std::vector<std::int64_t> send(world, mesh->rank() + 1), receive(world);
  std::iota(receive.begin(), receive.end(), 1);
  at::Tensor in = at::full({world * (mesh->rank() + 1)}, mesh->rank(), on.dtype(at::kLong));
  at::Tensor out = at::full({world * (world + 1) / 2}, -1, on.dtype(at::kLong));
  mesh->backend().alltoall_base(out, in, receive, send)->wait();
  std::int64_t offset = 0;
  for (int s = 0; s < world; ++s) {
    require(out.narrow(0, offset, s + 1).eq(s).all().item<bool>(), *mesh,
            "all-to-all gave wrong elements of rank " + std::to_string(s));
    offset += s + 1;
  }
  mesh->backend().barrier()->wait();
}

void check_redistribution(const MeshPtr& mesh) {
  const std::int64_t b = mesh->shape().extent(Axis::dp), n = 2 * mesh->shape().cp_size() + 1;  // uneven on purpose
  const at::Tensor full =
      at::arange(b * n * n * 3, at::TensorOptions(mesh->control_device()).dtype(at::kDouble)).view({b, n, n, 3});
  const auto pair = shard<Pair>(full, mesh);
  require(redistribute<Pair>(redistribute<PairByChannel>(pair)).local().equal(pair.local()), *mesh,
          "a pair tensor came back changed");
  const auto single = shard<Single>(full.select(2, 0), mesh);
  require(redistribute<Single>(redistribute<SingleRow>(single)).local().equal(single.local()), *mesh,
          "a token tensor came back changed");
}

}  // namespace cpize::parity
