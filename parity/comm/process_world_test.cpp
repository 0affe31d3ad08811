// A world of processes does what the library asks of it. Started by mpirun (or srun, torchrun): every rank runs every
// test.
//
//   mpirun -n 4 cpize_process_world_test [--backend mpi|nccl] [--device cuda]
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <thread>

#include "comm/agree.hpp"
#include "comm/call_site.hpp"
#include "comm/pieces.hpp"
#include "comm/run_ranks.hpp"
#include "comm/world.hpp"
#include "error/error.hpp"
#include "layout/max_over.hpp"
#include "layout/redistribute.hpp"
#include "layout/reduce_gradients.hpp"

namespace cpize {
namespace {

comm::ProcessWorld* world = nullptr;

std::optional<at::Device> chosen;  // mpi: tensors of a GPU that all ranks share

at::Device device() { return chosen.value_or(world->device()); }
MeshPtr line_mesh() { return world->mesh({1, 1, world->size()}); }
bool over_nccl() { return world->device().is_cuda(); }

/// The same numbers on every rank that asks for the same seed.
at::Tensor numbers(std::int64_t n, at::ScalarType dtype, int seed) {
  const at::Tensor base = (at::arange(n, at::kLong) * 7919 + 104729 * (seed + 1)) % 1009;
  if (dtype == at::kBool) return base % 2 == 0;
  if (dtype == at::kByte) return (base % 31).to(dtype);
  if (at::isIntegralType(dtype, false)) return (base - 500).to(dtype);
  return (base.to(at::kDouble) / 97 - 5).to(dtype);
}

std::vector<at::ScalarType> dtypes() {
  return {at::kDouble, at::kFloat, at::kBFloat16, at::kHalf, at::kLong, at::kInt, at::kByte};
}

TEST(ProcessWorld, AllReduceOfEveryDtypeAndSize) {
  const int ranks = world->size();
  auto& backend = world->backend();
  for (const auto dtype : dtypes())
    for (const std::int64_t n : {0, 1, 5, 1000, 70'001})
      for (const auto how : {c10d::ReduceOp::SUM, c10d::ReduceOp::MAX, c10d::ReduceOp::MIN}) {
        if (dtype == at::kByte && how == c10d::ReduceOp::SUM && ranks > 8) continue;
        comm::CallSite site("all-reduce test");
        std::vector<at::Tensor> mine{numbers(n, dtype, world->rank()).to(device())};
        c10d::AllreduceOptions options;
        options.reduceOp = how;
        backend.allreduce(mine, options)->wait();
        const bool narrow = dtype == at::kBFloat16 || dtype == at::kHalf;
        at::Tensor wanted = numbers(n, dtype, 0).to(narrow ? at::kFloat : dtype);
        for (int r = 1; r < ranks; ++r) {
          const at::Tensor next = numbers(n, dtype, r).to(wanted.scalar_type());
          wanted = how == c10d::ReduceOp::SUM   ? wanted + next
                   : how == c10d::ReduceOp::MAX ? at::maximum(wanted, next)
                                                : at::minimum(wanted, next);
        }
        const at::Tensor got = mine[0].cpu();
        if (over_nccl() && how == c10d::ReduceOp::SUM && at::isFloatingType(dtype))  // its own order of adding
          EXPECT_TRUE(
              at::allclose(got.to(at::kDouble), wanted.to(at::kDouble), narrow ? 0.05 : 1e-5, narrow ? 0.2 : 1e-4));
        else
          EXPECT_TRUE(got.equal(wanted.to(dtype))) << dtype << " of " << n;
      }
}

TEST(ProcessWorld, AllReduceOfBoolAndOfAStridedTensor) {
  comm::CallSite site("odd tensors");
  std::vector<at::Tensor> any{numbers(100, at::kBool, world->rank()).to(device())};
  c10d::AllreduceOptions max;
  max.reduceOp = c10d::ReduceOp::MAX;
  world->backend().allreduce(any, max)->wait();
  at::Tensor wanted = numbers(100, at::kBool, 0);
  for (int r = 1; r < world->size(); ++r) wanted = wanted.logical_or(numbers(100, at::kBool, r));
  EXPECT_TRUE(any[0].cpu().equal(wanted));
  if (over_nccl()) return;  // it takes contiguous tensors only
  at::Tensor whole = at::full({40, 3}, world->rank() + 1.0, at::kDouble);
  std::vector<at::Tensor> column{whole.select(1, 1)};
  world->backend().allreduce(column)->wait();
  const double sum = world->size() * (world->size() + 1) / 2.0;
  EXPECT_TRUE(whole.select(1, 1).eq(sum).all().item<bool>());
  EXPECT_TRUE(whole.select(1, 0).eq(world->rank() + 1.0).all().item<bool>());
}

/// Rank s sends to rank d: nothing where (s + d) is a multiple of 3, else 1 + (s * 5 + d * 3) % 11 times `unit`
/// elements.
std::int64_t amount(int s, int d, std::int64_t unit) {
  return (s + d) % 3 == 0 ? 0 : (1 + (s * 5 + d * 3) % 11) * unit;
}

at::Tensor sent_by(int s, std::int64_t unit, at::ScalarType dtype) {
  std::int64_t total = 0;
  for (int d = 0; d < world->size(); ++d) total += amount(s, d, unit);
  return numbers(total, dtype, s);
}

void check_all_to_all(std::int64_t unit, at::ScalarType dtype) {
  const int ranks = world->size(), me = world->rank();
  std::vector<std::int64_t> send(ranks), receive(ranks);
  for (int r = 0; r < ranks; ++r) send[r] = amount(me, r, unit), receive[r] = amount(r, me, unit);
  at::Tensor in = sent_by(me, unit, dtype).to(device());
  at::Tensor out = at::zeros({std::accumulate(receive.begin(), receive.end(), std::int64_t{0})}, in.options());
  comm::CallSite site("all-to-all test");
  world->backend().alltoall_base(out, in, receive, send)->wait();
  std::int64_t at = 0;
  for (int s = 0; s < ranks; ++s) {
    std::int64_t offset = 0;
    for (int d = 0; d < me; ++d) offset += amount(s, d, unit);
    EXPECT_TRUE(out.narrow(0, at, receive[s]).cpu().equal(sent_by(s, unit, dtype).narrow(0, offset, receive[s])))
        << dtype << " from rank " << s;
    at += receive[s];
  }
}

TEST(ProcessWorld, AllToAllWithUnevenAndZeroSplits) {
  for (const auto dtype : dtypes())
    for (const std::int64_t unit : {1, 1000, 40'000}) check_all_to_all(unit, dtype);
  if (!over_nccl()) check_all_to_all(100, at::kBool);
}

/// Rank s's whole of 4 x n x 6 x 48; rank d gets planes [d', d' + 2), rows of its own count and 40 columns of it.
at::Tensor box_for(const at::Tensor& whole, int d) {
  return whole.narrow(0, d % 3, 2).narrow(1, d, 3 + d).narrow(3, 8, 40);
}

/// Strided pieces into strided places, from memory of any kind; some places lie too finely for a copy engine.
TEST(ProcessWorld, PiecesComeToTheirPlaces) {
  const int ranks = world->size(), me = world->rank();
  const auto mesh = line_mesh();
  const std::int64_t n = 2 * ranks + 2;
  for (const auto dtype : {at::kFloat, at::kBFloat16, at::kByte})
    for (const bool buffer : {true, false})
      for (const bool fine : {true, false}) {
        const auto whole_of = [&](int s) { return numbers(4 * n * 6 * 48, dtype, s).view({4, n, 6, 48}); };
        at::Tensor whole = whole_of(me).to(device());
        if (buffer) {
          at::Tensor memory = comm::send_buffer(*mesh, whole.sizes(), whole.options());
          memory.copy_(whole);
          whole = memory;
        }
        // One place a sender, all in one tensor; rank 1's piece is wanted as it comes.
        at::Tensor target = at::zeros({ranks, 2, 3 + me, 6, fine ? 80 : 640}, whole.options());
        const auto place = [&](int s) {
          return fine ? target[s].unflatten(-1, {40, 2}).select(-1, 1) : target[s].narrow(-1, 600, 40);
        };
        std::vector<at::Tensor> send(ranks);
        std::vector<std::int64_t> counts(ranks, 0);
        for (int r = 0; r < ranks; ++r)
          if (r != me) {
            send[r] = box_for(whole, r);
            counts[r] = place(r).numel();
          }
        const comm::CallSite site("pieces test");
        const std::int64_t before = mesh->traffic().sent_bytes.load();
        comm::PiecesInFlight pieces(*mesh, send, counts, whole.options(),
                                    [&](int s) { return s == 1 ? at::Tensor() : place(s); });
        send.clear();
        whole.reset();
        const at::Tensor other_work = at::ones({1 << 20}, target.options());  // takes memory that is free by mistake
        pieces.finish([&](int s, const at::Tensor& elements) { place(s).copy_(elements.view(place(s).sizes())); });
        for (int s = 0; s < ranks; ++s) {
          if (s == me) continue;
          EXPECT_TRUE(place(s).cpu().equal(box_for(whole_of(s), me))) << dtype << " from rank " << s;
        }
        std::int64_t sent = 0;
        for (int r = 0; r < ranks; ++r) sent += r == me ? 0 : 2 * (3 + r) * 6 * 40;
        EXPECT_EQ(mesh->traffic().sent_bytes.load() - before, sent * static_cast<std::int64_t>(target.element_size()));
      }
}

TEST(ProcessWorld, NothingToSendAtAll) {
  std::vector<std::int64_t> none(world->size(), 0), also = none;
  at::Tensor in = at::empty({0}, at::TensorOptions(device()).dtype(at::kDouble)), out = at::empty_like(in);
  comm::CallSite site("empty all-to-all");
  world->backend().alltoall_base(out, in, none, also)->wait();
  std::vector<at::Tensor> empty{in};
  world->backend().allreduce(empty)->wait();
  world->backend().barrier()->wait();
}

TEST(ProcessWorld, OperationsInFlightEndInAnyOrder) {
  constexpr int count = 6;
  const int ranks = world->size();
  std::vector<at::Tensor> in, out;
  std::vector<c10::intrusive_ptr<c10d::Work>> works;
  std::vector<std::vector<std::int64_t>> keep;
  for (int i = 0; i < count; ++i) {
    comm::CallSite site("in flight " + std::to_string(i));
    const std::int64_t each = i % 2 ? 3 : 60'000;
    in.push_back(at::full({each * ranks}, 100 * i + world->rank(), at::TensorOptions(device()).dtype(at::kFloat)));
    out.push_back(at::empty_like(in.back()));
    keep.emplace_back(ranks, each);
    keep.emplace_back(ranks, each);
    works.push_back(world->backend().alltoall_base(out[i], in[i], keep[2 * i], keep[2 * i + 1]));
  }
  for (int k = 0; k < count; ++k) {  // each rank awaits them in another order
    const int i = (k * 5 + world->rank()) % count;
    works[i]->wait();
    for (int r = 0; r < ranks; ++r)
      EXPECT_TRUE(out[i].narrow(0, r * keep[2 * i][0], keep[2 * i][0]).eq(100 * i + r).all().item<bool>());
  }
}

TEST(ProcessWorld, AnotherThreadContinuesTheSequence) {
  comm::CallSite site("main thread");
  std::vector<at::Tensor> first{at::ones({3}, at::TensorOptions(device()))};
  world->backend().allreduce(first)->wait();
  std::thread([&] {
    comm::CallSite theirs("another thread");
    std::vector<at::Tensor> second{at::ones({4}, at::TensorOptions(device()))};
    world->backend().allreduce(second)->wait();
    EXPECT_EQ(second[0].sum().item<float>(), 4.f * world->size());
  }).join();
  std::vector<at::Tensor> third{at::ones({5}, at::TensorOptions(device()))};
  world->backend().allreduce(third)->wait();
  EXPECT_EQ(third[0].sum().item<float>(), 5.f * world->size());
}

TEST(ProcessWorld, AgreementAndBytes) {
  const auto mesh = line_mesh();
  const auto ranks = comm::gather_numbers(*mesh, 10 + world->rank());
  for (int r = 0; r < world->size(); ++r) EXPECT_EQ(ranks[r], 10 + r);
  const auto texts =
      comm::gather_bytes(*mesh, std::string(world->rank() * 5, static_cast<char>('a' + world->rank())) + '\0');
  for (int r = 0; r < world->size(); ++r) EXPECT_EQ(texts[r], std::string(r * 5, static_cast<char>('a' + r)) + '\0');
  EXPECT_EQ(comm::gather_bytes(*mesh, ""), std::vector<std::string>(world->size()));
  const int bad = world->size() - 1;  // one rank's local error is everybody's
  try {
    comm::agree_after(*mesh, [&] {
      if (world->rank() == bad) throw InputError("msa.a3m", "is not readable");
    });
    ADD_FAILURE() << "nobody noticed";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("msa.a3m: is not readable"), std::string::npos) << e.what();
    EXPECT_EQ(dynamic_cast<const PeerError*>(&e) != nullptr, world->rank() != bad);
  }
  comm::agree_equal(*mesh, "seed", 5);
}

TEST(ProcessWorld, RedistributeGradientsAndMaximum) {
  const int ranks = world->size();
  std::vector<MeshShape> shapes{{1, 1, ranks}, {1, ranks, 1}, {ranks, 1, 1}};
  if (ranks == 4) shapes.push_back({1, 2, 2});
  for (const auto& shape : shapes) {
    const auto mesh = world->mesh(shape);
    const std::int64_t b = shape.extent(Axis::dp), n = 2 * shape.cp_size() + 1;
    const at::Tensor full = numbers(b * n * n * 3, at::kDouble, 3).view({b, n, n, 3}).to(device());
    auto pair = shard<Pair>(full, mesh);
    pair.local().requires_grad_(true);
    const auto there = redistribute<PairByChannel>(pair);
    const auto back = redistribute<Pair>(there);
    EXPECT_TRUE(back.local().equal(pair.local())) << shape.str();
    (back.local() * back.local()).sum().backward();
    EXPECT_TRUE(at::allclose(pair.local().grad(), 2 * pair.local().detach())) << shape.str();

    at::Tensor p = at::ones({6}, at::TensorOptions(device()).dtype(at::kFloat)).requires_grad_(true);
    p.mutable_grad() = at::full({6}, world->rank() + 1.0, p.options());
    reduce_gradients({p}, *mesh);
    EXPECT_TRUE(p.grad().eq(ranks * (ranks + 1) / 2.0).all().item<bool>());

    const at::Tensor mine = at::full({3}, world->rank(), at::TensorOptions(device()).dtype(at::kFloat));
    const at::Tensor top = detail::max_over(mine, Axis::cp1, *mesh);
    const int last = world->rank() - mesh->coordinates()[Axis::cp1] + shape.extent(Axis::cp1) - 1;
    EXPECT_TRUE(top.eq(last).all().item<bool>()) << shape.str();
  }
}

TEST(ProcessWorld, AMeshOfAnotherSizeNamesBothNumbers) {
  try {
    world->mesh({1, 3, 5});
    ADD_FAILURE() << "a mesh of 15 in a world of " << world->size();
  } catch (const ConfigError& e) {
    for (const auto& part : {std::string("15 ranks"), std::to_string(world->size()), std::string("launch with")})
      EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
  }
}

/// Mistake number `mistake` by the last rank, on a backend that may fail.
void make_mistake(c10d::Backend& backend, int mistake) {
  const int ranks = backend.getSize();
  const bool me = backend.getRank() + 1 == ranks;
  const auto reduce = [&](std::int64_t n, at::ScalarType dtype) {
    std::vector<at::Tensor> t{at::ones({n}, at::TensorOptions(device()).dtype(dtype))};
    backend.allreduce(t)->wait();
  };
  const auto exchange = [&](std::int64_t each) {
    std::vector<std::int64_t> in_splits(ranks, each), out_splits(ranks, each);
    at::Tensor in = at::ones({each * ranks}, at::TensorOptions(device())), out = at::empty_like(in);
    backend.alltoall_base(out, in, out_splits, in_splits)->wait();
  };
  comm::CallSite site(mistake == 4 && me ? "loss" : "step");
  if (mistake == 0) me ? reduce(4, at::kFloat) : exchange(2);  // another kind of collective
  if (mistake == 1) reduce(4, me ? at::kFloat : at::kDouble);  // another dtype
  if (mistake == 2) reduce(me ? 5 : 4, at::kDouble);           // another shape
  if (mistake == 3) exchange(me ? 3 : 2);                      // another amount
  if (mistake == 4) reduce(4, at::kDouble);                    // another place in the program
}

TEST(ProcessWorld, AMistakeIsAnErrorOnEveryRankAndNamesBothSides) {
  if (world->size() == 1) return;
  const char* const words[] = {"kind", "dtype", "shape", "sizes", "call site"};
  for (int mistake = 0; mistake < 5; ++mistake) {
    const auto spare = world->backend().spare();
    std::string said;
    try {
      make_mistake(*spare, mistake);
    } catch (const PeerError& e) {
      said = e.what();
    }
    EXPECT_NE(said.find("mismatch"), std::string::npos) << words[mistake] << ": " << said;
    EXPECT_NE(said.find("rank " + std::to_string(world->size() - 1)), std::string::npos) << said;
    const auto all = comm::gather_bytes(*line_mesh(), said);  // and this world goes on
    bool named = false;
    for (const auto& one : all) named = named || one.find(words[mistake]) != std::string::npos;
    EXPECT_TRUE(named) << words[mistake] << ": " << all[0];
  }
}

TEST(ProcessWorld, WrongCallsAreRefusedBeforeAnybodyIsInvolved) {
  if (over_nccl()) return;  // libtorch's own checks
  at::Tensor in = at::ones({world->size()}), out = at::ones({world->size()});
  std::vector<std::int64_t> good(world->size(), 1), few(world->size() + 1, 1), many(world->size(), 2);
  EXPECT_THROW(world->backend().alltoall_base(out, in, few, good), ContractError);
  EXPECT_THROW(world->backend().alltoall_base(out, in, good, many), ContractError);
  std::vector<at::Tensor> two{in, out};
  EXPECT_THROW(world->backend().allreduce(two), ContractError);
  world->backend().barrier()->wait();  // and the sequence is still the same everywhere
}

}  // namespace
}  // namespace cpize

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  cpize::comm::WorldOptions options;
  options.command = "cpize_process_world_test";
  for (int i = 1; i + 1 < argc; ++i) {
    if (!std::strcmp(argv[i], "--backend")) options.backend = cpize::comm::parse_backend(argv[i + 1]);
    if (!std::strcmp(argv[i], "--largest-message")) options.largest_message = std::stoull(argv[i + 1]);
    if (!std::strcmp(argv[i], "--device")) cpize::chosen = at::Device(argv[i + 1]);
  }
  options.with_environment();
  options.check_collectives = true;
  return cpize::comm::run_process_rank(argc, argv, options, [](cpize::comm::ProcessWorld& joined) {
    cpize::world = &joined;
    return RUN_ALL_TESTS();
  });
}
