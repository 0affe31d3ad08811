// reduce_gradients and max_over.
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "comm/run_ranks.hpp"
#include "layout/max_over.hpp"
#include "layout/reduce_gradients.hpp"

namespace cpize {
namespace {

TEST(ReduceGradients, SumsOverTheWholeMeshAndFillsMissingGradients) {
  comm::run_ranks({2, 1, 2}, [](const MeshPtr& mesh) {
    at::Tensor a = at::zeros({3}, at::kDouble).requires_grad_(true);
    at::Tensor b = at::zeros({2, 2}, at::kFloat).requires_grad_(true);
    a.mutable_grad() = at::full({3}, mesh->rank() + 1.0, at::kDouble);
    if (mesh->rank() == 2) b.mutable_grad() = at::ones({2, 2}, at::kFloat);
    reduce_gradients({a, b}, *mesh);
    if (!a.grad().equal(at::full({3}, 10.0, at::kDouble)) || !b.grad().equal(at::ones({2, 2})))
      throw std::runtime_error("wrong sums");
    if (a.grad().scalar_type() != at::kDouble) throw std::runtime_error("fp64 was not kept");
  });
}

TEST(MaxOver, GivesEveryRankOfTheAxisTheMaximumAndNoGraph) {
  comm::run_ranks({1, 2, 3}, [](const MeshPtr& mesh) {
    at::Tensor mine = at::full({1, 5 * (mesh->coordinates()[cp0] + 1) / 2 - 5 * mesh->coordinates()[cp0] / 2},
                               static_cast<double>(mesh->rank() % 3 == 1 ? 9 : mesh->rank()), at::kDouble)
                          .requires_grad_(true);
    auto top = max_over<cp1>(wrap<SingleRow>(mine, {1, 5}, mesh));
    if (!top.local().eq(9).all().item<bool>()) throw std::runtime_error("not the maximum");
    if (top.local().requires_grad()) throw std::runtime_error("max_over must be detached");
  });
}

}  // namespace
}  // namespace cpize
