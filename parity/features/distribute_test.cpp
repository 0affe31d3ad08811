// distribute: shards put together equal the full dictionary, are smaller than it, and stay consistent with each other.
#include "features/distribute.hpp"

#include <gtest/gtest.h>

#include <mutex>

#include "comm/run_ranks.hpp"
#include "features/msa_features.hpp"
#include "features/padding.hpp"
#include "features/read_fasta.hpp"
#include "features/read_structure.hpp"
#include "test_files.hpp"

namespace cpize::features {
namespace {

// Index ranges of part p of P of n elements: balanced, written out again on purpose.
std::pair<int64_t, int64_t> part(int64_t n, int64_t p, int64_t parts) { return {n * p / parts, n * (p + 1) / parts}; }

// What the rank at `c` must hold, by plain indexing of the full tensor.
at::Tensor expected_shard(const std::string& name, const at::Tensor& full, const MeshShape& mesh,
                          const Coordinates& c) {
  const auto [b0, b1] = part(full.size(0), c[cpize::Axis::dp], mesh.extent(cpize::Axis::dp));
  const auto batch = full.slice(0, b0, b1);
  const int64_t n = full.size(1), rows = mesh.extent(cpize::Axis::cp0), columns = mesh.extent(cpize::Axis::cp1);
  const int64_t i = c[cpize::Axis::cp0], j = c[cpize::Axis::cp1];
  const auto [r0, r1] = part(n, i, rows);
  if (feature_spec(name).layout == "Pair") {
    const auto [c0, c1] = part(n, j, columns);
    return batch.slice(1, r0, r1).slice(2, c0, c1);
  }
  // tokens of a single, rows of an MSA: both are the first dimension
  const auto [low, high] = part(n, i * columns + j, rows * columns);
  return batch.slice(1, low, high);
}

const std::vector<MeshShape>& meshes() {
  static const std::vector<MeshShape> all = {{1, 1, 1}, {1, 1, 2}, {1, 2, 1}, {1, 2, 2},
                                             {1, 2, 3}, {1, 3, 3}, {2, 1, 2}, {2, 2, 2}};
  return all;
}

std::string lysozyme_alignment() {
  const std::string query =
      "KVFGRCELAAAMKRHGLDNYRGYSLGNWVCAAKFESNFNTQATNRNTDGSTDYGILQINSRWWCNDGRTPGSRNLCNIPCSALLSSDITASVNCAKKIVSDGNGMNAWVAW"
      "RNRCKGTDVQAWIRGCRL";
  std::string text = ">query\n" + query + "\n";
  for (size_t row = 0; row < 4; ++row) {
    std::string hit = query;
    hit.replace(20 * row, 10, "----------");
    text += ">hit\n" + hit.insert(50 + row, "gg") + "\n";
  }
  return text;
}

Features batch_of(const std::vector<std::string>& files) {
  std::vector<Features> samples;
  for (const auto& file : files) {
    const Structure s = read_structure(file);
    const TokenisedStructure tokens = tokenise(s);
    samples.push_back(token_features(s, tokens, true));
    if (file.ends_with("1aki.cif")) {  // a made-up alignment of 5 rows
      const TemporaryFile a3m("x.a3m", lysozyme_alignment());
      add_msa_features(samples.back(), s, tokens,
                       read_alignments(s, {.of_entity = {}, .of_chain = {{"A", a3m.path()}}}));
    }
  }
  return collate(samples);
}

void expect_distribution(const Features& full, const MeshShape& shape) {
  SCOPED_TRACE(shape.str());
  std::mutex mutex;
  std::map<std::string, int64_t> elements;
  comm::run_ranks(shape, [&](const MeshPtr& mesh) {
    const ShardedFeatures shards = distribute(full, mesh);
    const std::lock_guard lock(mutex);
    EXPECT_EQ(shards.size(), full.size());
    for (const auto& [name, shard] : shards) {
      const auto& tensor = full.at(name);
      EXPECT_TRUE(at::equal(shard.local(), expected_shard(name, tensor, shape, mesh->coordinates()))) << name;
      EXPECT_EQ(shard.global(), tensor.sizes().vec()) << name;
      EXPECT_EQ(shard.local().scalar_type(), tensor.scalar_type()) << name;
      if (shape.size() > 1 && shard.local().numel() > 0) {
        EXPECT_LT(shard.local().storage().nbytes(), tensor.storage().nbytes()) << name;
      }
      elements[name] += shard.local().numel();
    }
    EXPECT_EQ(mesh->traffic().sent_bytes, 0);
    const Sharded<Single> index = feature_as<Single>(shards, "token_index");
    EXPECT_EQ(index.local().size(1), feature_as<Single>(shards, "token_pad_mask").local().size(1));
  });
  // neither layout is replicated anywhere: each element is on exactly one rank
  for (const auto& [name, tensor] : full) EXPECT_EQ(elements.at(name), tensor.numel()) << name;
}

TEST(Distribute, LysozymeAndOthersOnEveryMesh) {
  const Features one = batch_of({data_file("1aki.cif")});
  const Features two = batch_of({data_file("5ugo.cif"), data_file("1bna.cif")});
  for (const auto& mesh : meshes()) {
    expect_distribution(mesh.extent(cpize::Axis::dp) == 1 ? one : two, mesh);
    expect_distribution(two, mesh);
  }
}

TEST(Distribute, PaddingOnlyAndEmptyShards) {  // K23's size: 5 tokens on 3x3, padded to 9 and unpadded
  const TemporaryFile file("x.fasta", ">A|protein\nGACKL\n");
  const Structure s = read_fasta(file.path());
  const Features five = token_features(s, tokenise(s));
  expect_distribution(collate({five}), {1, 3, 3});
  const Features nine = collate({five}, 9);
  expect_distribution(nine, {1, 3, 3});
  int padding_only = 0;
  std::mutex mutex;
  comm::run_ranks({1, 3, 3}, [&](const MeshPtr& mesh) {
    const ShardedFeatures shards = distribute(nine, mesh);
    const auto mask = feature_as<Single>(shards, "token_pad_mask").local();
    const std::lock_guard lock(mutex);
    EXPECT_EQ(mask.numel(), 1);
    padding_only += mask.sum().item<float>() == 0 ? 1 : 0;
  });
  EXPECT_EQ(padding_only, 4);
}

TEST(Distribute, IsStrict) {
  const Features good = batch_of({data_file("1l2y.cif")});
  const auto error_of = [](const Features& features) {
    std::string message;
    comm::run_ranks({1, 1, 1}, [&](const MeshPtr& mesh) {
      try {
        distribute(features, mesh);
      } catch (const ContractError& error) {
        message = error.what();
      }
    });
    return message;
  };
  EXPECT_EQ(error_of(good), "");
  Features changed = good;
  changed["res_typ"] = good.at("res_type");
  expect_parts(error_of(changed), {"'res_typ'", "did you mean 'res_type'"});
  changed = good;
  changed["token_bonds"] = good.at("token_bonds").squeeze(-1);
  expect_parts(error_of(changed), {"token_bonds", "[N, N, 1]"});
  changed = good;
  changed["asym_id"] = good.at("asym_id").slice(1, 0, 19);
  EXPECT_NE(error_of(changed), "");
  changed = good;
  changed.erase("profile");
  expect_parts(error_of(changed), {"'profile' is absent"});
}

TEST(Distribute, FeatureAsChecksNameAndLayout) {
  const Features good = batch_of({data_file("1l2y.cif")});
  comm::run_ranks({1, 1, 1}, [&](const MeshPtr& mesh) {
    const ShardedFeatures shards = distribute(good, mesh);
    EXPECT_THROW(feature_as<Pair>(shards, "asym_id"), ContractError);
    EXPECT_THROW(feature_as<SingleRow>(shards, "asym_id"), ContractError);
    EXPECT_THROW(feature_as<Single>(shards, "asym_ids"), ContractError);
    EXPECT_NO_THROW(feature_as<Pair>(shards, "token_bonds"));
    EXPECT_THROW(feature_as<Msa>(shards, "msa"), ContractError);
  });
}

}  // namespace
}  // namespace cpize::features
