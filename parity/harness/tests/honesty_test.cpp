// The harness's other parts: features, properties, assembling, requests. Each is shown what it must refuse.
#include <gtest/gtest.h>

#include <ATen/ATen.h>

#include <atomic>
#include <cmath>
#include <cstdlib>

#include "comm/run_ranks.hpp"
#include "error/error.hpp"
#include "parity/harness/assemble.hpp"
#include "parity/harness/bits.hpp"
#include "parity/harness/block_parity.hpp"
#include "parity/harness/feature_case.hpp"
#include "parity/harness/property_case.hpp"
#include "parity/harness/quantiles.hpp"
#include "parity/harness/ranks.hpp"
#include "parity/harness/tests/toy_case.hpp"

namespace cpize::parity {
namespace {

const std::string kCell = "1x2x2/threads/fp64/cpu";

Request request_for(const std::string& cell) {
  Request request;
  request.cells = {cell};
  return request;
}

at::Tensor token_index(std::int64_t batch) {
  at::Tensor index = at::arange(9, at::kLong).repeat({batch, 1});
  index.slice(1, 7) = 0;
  return index;
}

/// Token numbers and bonds, the last two of nine tokens padded.
FeatureCase token_features(FeatureCase::Distribute distribute) {
  return FeatureCase("features")
      .full([](std::int64_t batch) {
        at::Tensor mask = at::ones({batch, 9}), bonds = at::zeros({batch, 9, 9, 1});
        mask.slice(1, 7) = 0;
        bonds.select(1, 0).select(1, 6).fill_(1);
        return Tensors{{"token_index", token_index(batch)}, {"token_bonds", bonds}, {"token_pad_mask", mask}};
      })
      .distribute(std::move(distribute))
      .feature({.name = "token_index", .mask = "token_pad_mask", .mask_dims = {1}, .own_index = true})
      .feature({.name = "token_bonds", .mask = "token_pad_mask", .mask_dims = {1, 2}})
      .feature({.name = "token_pad_mask"});
}

ShardedTensors right(const Tensors& full, const MeshPtr& mesh) {
  return ShardedTensors{{"token_index", shard<Single>(full["token_index"], mesh)},
                        {"token_bonds", shard<Pair>(full["token_bonds"], mesh)},
                        {"token_pad_mask", shard<Single>(full["token_pad_mask"], mesh)}};
}

std::string fact(const FeatureCase& features, const std::string& name) {
  Measurement m = measure_features(features, request_for(kCell));
  return m.cell(kCell).facts().at(name);
}

TEST(Features, RightDistributionIsGreenOnEveryMesh) {
  for (const auto& cell : standard_cells()) {
    Measurement m = measure_features(token_features(right), request_for(cell));
    EXPECT_TRUE(m.cell(cell).problems().empty()) << cell << ": " << m.cell(cell).problems().front();
    EXPECT_EQ(m.cell(cell).sabotages().at("swap_shards"), "caught") << cell;
    EXPECT_EQ(m.cell(cell).facts().size(), 5u);
  }
}

TEST(Features, LocalNumbersInPlaceOfGlobalOnesAreSeen) {
  const auto features = token_features([](const Tensors& full, const MeshPtr& mesh) {
    ShardedTensors all = right(full, mesh);
    const auto index = all.get<Single>("token_index");
    const at::Tensor first = index.local().numel() ? index.local().min() : at::zeros({}, at::kLong);
    all.set("token_index", index.with(index.local() - first));
    return all;
  });
  EXPECT_TRUE(fact(features, "indices_consistent").starts_with("no: token_index"))
      << fact(features, "indices_consistent");
  EXPECT_TRUE(fact(features, "assembled_equal").starts_with("no: token_index"));
}

TEST(Features, WholeCopiesOnEveryRankAreSeen) {
  const auto features = token_features([](const Tensors& full, const MeshPtr& mesh) {
    ShardedTensors all = right(full, mesh);
    all.set("token_bonds", shard<Whole<TokenPair>>(full["token_bonds"], mesh));
    return all;
  });
  EXPECT_TRUE(fact(features, "local_smaller_than_global").starts_with("no: token_bonds"));
  EXPECT_TRUE(fact(features, "sharding_active").starts_with("no: token_bonds"));
}

TEST(Features, ValuesInThePaddingAreSeen) {
  const auto features = token_features(right).full([](std::int64_t batch) {
    at::Tensor mask = at::ones({batch, 9});
    mask.slice(1, 7) = 0;
    return Tensors{
        {"token_index", token_index(batch)}, {"token_bonds", at::ones({batch, 9, 9, 1})}, {"token_pad_mask", mask}};
  });
  EXPECT_TRUE(fact(features, "masks_consistent").starts_with("no: token_bonds"));
}

PropertyCase::RankFunction changing_each_time() {
  auto counter = std::make_shared<std::atomic<int>>(0);
  return [counter](const MeshPtr&) { return Tensors{{"x", at::full({3}, 1.0 + 1e-12 * (*counter)++, at::kDouble)}}; };
}

Tensors constant(const MeshPtr& mesh) { return Tensors{{"x", at::full({3}, mesh->rank(), at::kDouble)}}; }

TEST(Properties, RepeatAndControlAreToldApart) {
  Measurement good =
      measure_property(PropertyCase("p").repeat(constant).negative_control(changing_each_time()), request_for(kCell));
  EXPECT_TRUE(good.cell(kCell).problems().empty());
  Measurement bad =
      measure_property(PropertyCase("p").repeat(changing_each_time()).negative_control(constant), request_for(kCell));
  EXPECT_EQ(bad.cell(kCell).facts().at("repeat_bit_identical"), "no: x on rank 0 differs");
  EXPECT_TRUE(bad.cell(kCell).facts().at("negative_control_caught").starts_with("no: the control repeats its bits"));
}

/// A function without parameters that reads its mask to no effect and a second input not at all.
BlockCase careless() {
  return BlockCase("careless")
      .input<Pair>("z", {"B", "N", "N", "C"})
      .masked_by("mask")
      .input<Pair>("unused", {"B", "N", "N", "C"})
      .mask<Pair>("mask", {"B", "N", "N"})
      .output("z", {"B", "N", "N", "C"})
      .masked_by("mask")
      .serial([](const Tensors& in) {
        return Tensors{{"z", in["z"] * in["mask"].ge(0).unsqueeze(-1)}};
      })
      .port([](const ShardedTensors& in) {
        return ShardedTensors{{"z", in.get<Pair>("z")}};
      })
      .contraction({"1"});
}

TEST(Blocks, VacuousProofsAreSeen) {
  Cell cell;
  measure_block_cell(careless(), MeshShape(1, 1, 2), {}, cell);
  EXPECT_TRUE(cell.sabotages().at("ignore_mask").starts_with("missed")) << cell.sabotages().at("ignore_mask");
  EXPECT_TRUE(cell.sabotages().at("drop_gradient").starts_with("missed: input gradient unused"));  // zero anyway
  EXPECT_EQ(cell.sabotages().at("swap_shards"), "caught");
  EXPECT_EQ(cell.facts().at("gradients_nonzero"), "no: input gradient unused is zero (or rounding) in every run");
  EXPECT_EQ(cell.facts().at("every_parameter_compared"), "n/a: no parameters");
  EXPECT_EQ(cell.differences().size(), 3u);

  Cell unmasked;  // one size by hand: every run has the same even shape
  measure_block_cell(careless(), MeshShape(1, 2, 2), {{"N", 4}}, unmasked);
  EXPECT_TRUE(unmasked.facts().at("uneven_sizes_run").starts_with("no: all ranks hold equal sizes"));
}

TEST(Quantiles, ToleranceFollowsSerialsOwnError) {
  const std::vector<double> found = quantiles_of(at::arange(1, 101).to(at::kDouble), {0.5, 0.9, 0.99, 1});
  EXPECT_EQ(found, (std::vector<double>{50, 90, 99, 100}));
  EXPECT_TRUE(std::isnan(quantiles_of(at::full({2}, std::nan(""), at::kDouble), {1})[0]));
  EXPECT_EQ(quantiles_of(at::empty({0}, at::kDouble), {0.5, 1}), (std::vector<double>{0, 0}));

  const BlockCase block = toy_case(Mutant::none);
  Setting bf16 = MeshShape(1, 1, 1);
  bf16.dtype = at::kBFloat16;
  const SerialRun serial = run_serial(block, runs_for(block, bf16)[0], bf16);
  EXPECT_EQ(serial.inputs["z"].scalar_type(), at::kDouble);
  EXPECT_TRUE(serial.inputs["z"].equal(serial.inputs["z"].to(at::kBFloat16).to(at::kDouble))) << "bf16 holds it";
  EXPECT_EQ(first_failure(compare(block, serial, *serial.own)), nullptr) << "serial is as good as itself";
  Results worse = *serial.own;  // five times serial's own error: more than any quantile allows
  const at::Tensor z = serial.results.outputs["z"];
  worse.outputs.set("z", z + 5 * (serial.own->outputs["z"] - z));
  const auto differences = compare(block, serial, worse);
  ASSERT_NE(first_failure(differences), nullptr);
  EXPECT_TRUE(first_failure(differences)->name.starts_with("output z, ")) << first_failure(differences)->name;
}

TEST(Ranks, ReportsTravelBitForBit) {
  RankReport report;
  report.numbers = {{"a", 1.5}, {"nan", std::nan("")}};
  report.tensors = {{"bf16", at::randn({3, 2}).to(at::kBFloat16)},
                    {"transposed", at::randn({4, 3}, at::kDouble).t()},
                    {"empty", at::empty({0, 7})},
                    {"scalar", at::full({}, 5, at::kLong)}};
  const std::string bytes = to_bytes(report);
  const RankReport back = report_from_bytes(bytes);
  EXPECT_EQ(back.numbers.at("a"), 1.5);
  EXPECT_TRUE(std::isnan(back.numbers.at("nan")));
  ASSERT_EQ(back.tensors.size(), 4u);
  for (const auto& [name, tensor] : report.tensors) EXPECT_TRUE(same_bits(tensor, back.tensors.at(name))) << name;
  EXPECT_THROW(report_from_bytes(bytes.substr(0, bytes.size() - 1)), InputError);
  EXPECT_THROW(report_from_bytes(bytes + "x"), InputError);
}

TEST(Assemble, IsTheInverseOfShardAndAddsPartials) {
  const at::Tensor full = at::arange(2 * 5 * 5 * 3, at::kDouble).view({2, 5, 5, 3});
  comm::run_ranks({2, 2, 3}, [&](const MeshPtr& mesh) {
    for (const AnySharded& x : {AnySharded(shard<Pair>(full, mesh)), AnySharded(shard<PairByChannel>(full, mesh)),
                                AnySharded(shard<Whole<TokenPair>>(full, mesh))})
      if (!assemble(x).equal(full)) throw std::runtime_error("assemble(shard(x)) is not x in " + x.spec().str());
  });
  const std::vector<at::Tensor> partial{at::ones({1, 4}), at::full({1, 4}, 2.0)};
  EXPECT_TRUE(assemble(partial, Partial<SingleRow, cp1>::spec, {1, 4}, {1, 1, 2}).equal(at::full({1, 4}, 3.0)));
  EXPECT_TRUE(assemble(partial, SingleRow::spec, {1, 4}, {1, 1, 2}).equal(at::ones({1, 4})));
  EXPECT_THROW(assemble(partial, SingleCol::spec, {1, 4}, {1, 1, 2}), ContractError);
}

TEST(Requests, NameTheCellThatCannotBeMeasured) {
  EXPECT_THROW(CellName::parse("1x2x2"), ConfigError);
  EXPECT_THROW(CellName::parse("1x2x2/nccl/bf16/cuda").require_threads_fp64_cpu(), ConfigError);
  EXPECT_THROW(Setting::of(CellName::parse("1x2x2/threads/fp64/cuda")), ConfigError);
  EXPECT_THROW(Setting::of(CellName::parse("1x2x2/nccl/fp64/cpu")), ConfigError);
  EXPECT_THROW(Setting::of(CellName::parse("1x2x2/threads/fp16/cpu")), ConfigError);
  EXPECT_TRUE(Setting::of(CellName::parse("1x2x2/mpi/bf16/cpu")).autocast());
  const char* argv[] = {"parity_x", "--mesh", "2x3", "--size", "N=9,C=4", "--cell", "1x1x2/mpi/fp64/cpu"};
  const Request by_hand = Request::read(7, const_cast<char**>(argv));
  EXPECT_EQ(by_hand.cells, (std::vector<std::string>{"1x2x3/threads/fp64/cpu", "1x1x2/mpi/fp64/cpu"}));
  EXPECT_EQ(by_hand.sizes.at("N"), 9);
  setenv("CPIZE_MEASUREMENT", "/nowhere/m.json", 1);
  EXPECT_THROW(Request::read(1, const_cast<char**>(argv)), ConfigError);  // asked, but no cells
  setenv("CPIZE_CELLS", kCell.c_str(), 1);
  EXPECT_THROW(Request::read(5, const_cast<char**>(argv)), ConfigError);  // sizes by hand are no evidence
  EXPECT_EQ(Request::read(1, const_cast<char**>(argv)).cells, std::vector<std::string>{kCell});
  unsetenv("CPIZE_MEASUREMENT");
  unsetenv("CPIZE_CELLS");
}

}  // namespace
}  // namespace cpize::parity
