// redistribute between every ordered pair of layouts of a family, on every small mesh: forward against plain indexing,
// and <redistribute x, y> == <x, redistribute* y> for the gradient. Integer-valued data in fp64, so equal means bit for
// bit.
#include "layout/redistribute.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <mutex>

#include "comm/run_ranks.hpp"
#include "comm/threads_backend.hpp"
#include "error/error.hpp"

namespace cpize {
namespace {

static_assert(can_redistribute<Pair, PairByChannel>);
static_assert(can_redistribute<Partial<SingleRow, cp1>, Single>);
static_assert(!can_redistribute<Single, Pair>, "crossing families must not compile");
static_assert(!can_redistribute<Msa, Atom>, "crossing families must not compile");
static_assert(dual(dual(Pair::spec)) == Pair::spec);

struct Named {
  const char* name;
  Spec spec;
};

const std::vector<Named> single_layouts{
    {"Single", Single::spec},
    {"SingleRow", SingleRow::spec},
    {"SingleCol", SingleCol::spec},
    {"SingleWhole", SingleWhole::spec},
    {"Whole", Whole<TokenSingle>::spec},
    {"Partial<SingleRow,cp1>", Partial<SingleRow, cp1>::spec},
    {"Partial<SingleCol,cp0>", Partial<SingleCol, cp0>::spec},
    {"Partial<Whole,dp,cp0,cp1>", Partial<Whole<TokenSingle>, dp, cp0, cp1>::spec},
};
const std::vector<Named> pair_layouts{
    {"Pair", Pair::spec},           {"PairByChannel", PairByChannel::spec}, {"PairByRow", PairByRow::spec},
    {"PairByCol", PairByCol::spec}, {"PairWhole", PairWhole::spec},         {"Whole", Whole<TokenPair>::spec},
};
const std::vector<Named> msa_layouts{{"Msa", Msa::spec},
                                     {"MsaRow", MsaRow::spec},
                                     {"MsaCol", MsaCol::spec},
                                     {"Partial<MsaRow,cp1>", Partial<MsaRow, cp1>::spec}};
const std::vector<Named> atom_layouts{{"Atom", Atom::spec}, {"Whole", Whole<AtomFamily>::spec}};
const std::vector<Named> window_layouts{{"Window", Window::spec}, {"Whole", Whole<WindowFamily>::spec}};

const std::vector<MeshShape> meshes{{1, 1, 1}, {1, 1, 2}, {1, 2, 1}, {1, 2, 2}, {1, 2, 3},
                                    {1, 3, 3}, {2, 1, 1}, {2, 1, 2}, {2, 2, 2}};

at::Tensor integers(const Shape& shape, std::int64_t seed) {
  auto generator = at::detail::createCPUGenerator(static_cast<std::uint64_t>(seed));
  return at::randint(-9, 10, shape, generator, at::kDouble);
}

/// A shard of `full` in layout `spec`: on partial axes only coordinate `c` = (some function of the box) holds the value
/// and the others hold numbers that cancel, so that the sum over the axis is the value.
at::Tensor shard_with_partials(const at::Tensor& full, const Spec& spec, const DeviceMesh& mesh) {
  at::Tensor value = detail::cut_shard(full, spec, mesh);
  int copies = 1, mine = 0;
  for (Axis a : all_axes)
    if (spec.is_partial(a)) {
      mine = mine * mesh.shape().extent(a) + mesh.coordinates()[a];
      copies *= mesh.shape().extent(a);
    }
  if (copies == 1) return value;
  at::Tensor noise = integers(value.sizes().vec(), 77);
  // 0 -> value - (copies - 1) noise, the rest -> noise: they sum to the value
  return mine == 0 ? value - (copies - 1) * noise : noise;
}

struct Case {
  const std::vector<Named>* layouts;
  Shape global;
};

void check_pair(const Named& from, const Named& to, const MeshShape& shape, const Shape& global, bool strided) {
  SCOPED_TRACE(std::string(from.name) + " -> " + to.name + " on " + shape.str());
  const at::Tensor full = integers(global, 1);
  std::mutex mutex;
  // per rank: y = M x for a gradient test with arbitrary stacks, and their adjoint images
  at::Tensor forward_product = at::zeros({}, at::kDouble), adjoint_product = at::zeros({}, at::kDouble);
  std::map<std::string, at::Tensor> sums;  // for partial targets: box -> sum over the partial axes
  comm::run_ranks(shape, [&](const MeshPtr& mesh) {
    auto fail = [&](const std::string& what) {
      throw std::runtime_error("rank " + std::to_string(mesh->rank()) + ": " + what);
    };
    // forward against plain indexing
    at::Tensor x = shard_with_partials(full, from.spec, *mesh);
    if (strided) x = at::stack({x, x + 1}, -1).select(-1, 0);
    at::Tensor y = detail::redistribute(x, from.spec, to.spec, global, mesh);
    const at::Tensor expected = detail::cut_shard(full, to.spec, *mesh);
    bool partial = false;
    for (Axis a : all_axes) partial |= to.spec.is_partial(a) && shape.extent(a) > 1;
    if (!partial) {
      if (!y.equal(expected)) fail("forward differs from indexing");
    } else {
      std::lock_guard lock(mutex);
      std::string key = box_of(to.spec, global, shape, mesh->coordinates()).str();
      for (Axis a : all_axes)  // replicas of a partial tensor are separate sums
        if (to.spec.replicated(a)) key += " " + std::to_string(mesh->coordinates()[a]);
      auto [at, fresh] = sums.try_emplace(key, y.clone());
      if (!fresh) at->second += y;
    }
    // adjoint: arbitrary x and g on every rank, not only consistent ones
    at::Tensor any_x = integers(x.sizes().vec(), 100 + mesh->rank()).requires_grad_(true);
    at::Tensor image = detail::redistribute(any_x, from.spec, to.spec, global, mesh);
    at::Tensor g = integers(image.sizes().vec(), 200 + mesh->rank());
    at::Tensor pulled = torch::autograd::grad({image}, {any_x}, {g})[0];
    // the started form: same values, same gradient
    detail::PendingExchange pending = detail::start_redistribute(any_x, from.spec, to.spec, global, mesh);
    at::Tensor later = detail::finish_redistribute(pending);
    if (!later.equal(image)) fail("the started form differs from the direct one");
    if (!torch::autograd::grad({later}, {any_x}, {g})[0].equal(pulled)) fail("the started form's gradient differs");
    at::NoGradGuard no_grad;
    std::lock_guard lock(mutex);
    forward_product += (image * g).sum();
    adjoint_product += (any_x * pulled).sum();
  });
  EXPECT_TRUE(forward_product.equal(adjoint_product))
      << forward_product.item<double>() << " != " << adjoint_product.item<double>();
  for (const auto& [key, sum] : sums) {
    // the key starts with the box "[a:b, c:d, ...]"
    at::Tensor expected = full;
    std::int64_t d = 0;
    std::string text = key.substr(1, key.find(']') - 1);
    std::stringstream stream(text);
    for (std::string part; std::getline(stream, part, ','); ++d) {
      const auto colon = part.find(':');
      const auto low = std::stoll(part.substr(0, colon)), high = std::stoll(part.substr(colon + 1));
      expected = expected.narrow(d, low, high - low);
    }
    EXPECT_TRUE(sum.equal(expected)) << key;
  }
}

void check_family(const std::vector<Named>& layouts, const std::vector<Shape>& globals) {
  for (const auto& shape : meshes)
    for (const auto& global : globals)
      for (const auto& from : layouts)
        for (const auto& to : layouts) check_pair(from, to, shape, global, (&from - layouts.data()) % 2 == 1);
}

TEST(Redistribute, SinglesEveryPairEveryMesh) { check_family(single_layouts, {{2, 7, 3}, {3, 5, 1}}); }
TEST(Redistribute, PairsEveryPairEveryMesh) { check_family(pair_layouts, {{2, 7, 7, 12}, {1, 5, 5, 4}}); }
TEST(Redistribute, PairsWithTrailingDimensions) { check_family(pair_layouts, {{1, 4, 4, 5, 2}}); }
TEST(Redistribute, MsaEveryPairEveryMesh) { check_family(msa_layouts, {{2, 4, 7, 3}, {1, 11, 2, 2}}); }
TEST(Redistribute, AtomsAndWindowsEveryPairEveryMesh) {
  check_family(atom_layouts, {{2, 13, 3}});
  check_family(window_layouts, {{2, 5, 2, 3, 2}});
}

TEST(Redistribute, ChannelShardsAreStoredChannelFirst) {
  comm::run_ranks({1, 2, 2}, [](const MeshPtr& mesh) {
    auto z = shard<Pair>(integers({1, 6, 6, 8}, 3), mesh);
    at::Tensor stored = redistribute<PairByChannel>(z).local().permute({0, 3, 1, 2});
    if (!stored.is_contiguous()) throw std::runtime_error("a channel shard is not channel-first in memory");
  });
}

TEST(Redistribute, IntegersAndMasksMove) {
  comm::run_ranks({1, 2, 3}, [](const MeshPtr& mesh) {
    const at::Tensor ids = at::arange(14, at::kLong).view({1, 14});
    if (!redistribute<SingleCol>(shard<SingleRow>(ids, mesh))
             .local()
             .equal(detail::cut_shard(ids, SingleCol::spec, *mesh)))
      throw std::runtime_error("int64 differs");
    const at::Tensor mask = ids.remainder(3).eq(0);
    if (!redistribute<Single>(shard<SingleRow>(mask, mesh)).local().equal(detail::cut_shard(mask, Single::spec, *mesh)))
      throw std::runtime_error("bool differs");
  });
}

TEST(Redistribute, BytesCountedWherePackedEqualBytesThatArrived) {
  comm::run_ranks({1, 2, 3}, [](const MeshPtr& mesh) {
    auto z = shard<Pair>(integers({1, 7, 7, 9}, 3), mesh);
    redistribute<PairByRow>(redistribute<PairByChannel>(z));
    auto& backend = dynamic_cast<comm::ThreadsBackend&>(mesh->backend());
    backend.barrier()->wait();
    if (mesh->traffic().sent_bytes != backend.rendezvous().bytes_moved(mesh->rank()))
      throw std::runtime_error("traffic says " + std::to_string(mesh->traffic().sent_bytes) + ", the backend moved " +
                               std::to_string(backend.rendezvous().bytes_moved(mesh->rank())));
  });
}

// PairByCol cuts columns by cp1 first: each column stays in its own group, so 2x2 moves half of what cp0-first would.
TEST(Redistribute, ColumnsStayInTheirColumnGroup) {
  const MeshShape shape{1, 2, 2};
  std::int64_t ours = 0, other = 0;
  for (int rank = 0; rank < 4; ++rank) {
    ours += plan_exchange(Pair::spec, PairByCol::spec, {1, 8, 8, 4}, shape, rank).sent_elements(rank);
    other += plan_exchange(Pair::spec, Layout<TokenPair, On<dp>, On<>, On<cp0, cp1>>::spec, {1, 8, 8, 4}, shape, rank)
                 .sent_elements(rank);
  }
  EXPECT_LT(ours, other);
}

TEST(Sharded, WrongShardIsAContractErrorThatNamesBothShapes) {
  comm::run_ranks({1, 1, 2}, [](const MeshPtr& mesh) {
    try {
      wrap<Pair>(at::zeros({1, 4, 4, 2}), {1, 4, 4, 2}, mesh);
    } catch (const ContractError& e) {
      if (std::string(e.what()).find("[1, 4, 2, 2]") == std::string::npos) throw std::runtime_error(e.what());
      return;
    }
    throw std::runtime_error("wrap accepted a tensor that is no shard");
  });
}

TEST(Sharded, AnyShardedKeepsFamilyAndSpec) {
  comm::run_ranks({1, 2, 2}, [](const MeshPtr& mesh) {
    AnySharded any = shard<Pair>(integers({1, 6, 6, 2}, 1), mesh);
    any.as<Pair>();
    AnySharded moved = redistribute(any, PairByRow::spec);
    moved.as<PairByRow>();
    for (bool family : {true, false}) {
      try {
        family ? (void)any.as<Single>() : (void)any.as<PairByRow>();
      } catch (const ContractError&) {
        continue;
      }
      throw std::runtime_error("AnySharded converted to a layout that it does not have");
    }
  });
}

TEST(Plan, IsAPrintableValue) {
  EXPECT_EQ(plan_exchange(Pair::spec, PairByRow::spec, {1, 4, 4}, {1, 1, 2}, 0).str(),
            "from [0:1, 0:4, 0:2] to [0:1, 0:2, 0:4]\n"
            "  send to 0: [0:1, 0:2, 0:2]\n"
            "  send to 1: [0:1, 2:4, 0:2]\n"
            "  recv from 0: [0:1, 0:2, 0:2]\n"
            "  recv from 1: [0:1, 0:2, 2:4]");
}

}  // namespace
}  // namespace cpize
