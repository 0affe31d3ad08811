#include "parity/harness/feature_case.hpp"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <limits>
#include <mutex>
#include <optional>

#include "error/error.hpp"
#include "parity/harness/assemble.hpp"
#include "parity/harness/bits.hpp"
#include "parity/harness/environment.hpp"
#include "parity/harness/ranks.hpp"

namespace cpize::parity {
namespace {

/// One feature as all ranks hold it.
struct Distributed {
  Spec spec;
  Shape global;
  std::vector<at::Tensor> locals;

  Box box(const MeshShape& mesh, int rank) const { return box_of(spec, global, mesh, mesh.coordinates(rank)); }
};

std::map<std::string, Distributed> distribute(const FeatureCase& features, const Tensors& full,
                                              const Setting& setting) {
  std::map<std::string, Distributed> all;
  for (const auto& row : features.features()) all[row.name].locals.resize(setting.mesh.size());
  std::mutex mutex;
  const auto reports = on_every_rank(setting, [&](const MeshPtr& rank_mesh) {
    const ShardedTensors mine = features.distributor()(full, rank_mesh);
    RankReport report;
    const std::lock_guard lock(mutex);
    for (auto& [name, d] : all) {
      const AnySharded& x = mine[name];
      d.spec = x.spec();
      d.global = x.global();
      report.tensors[name] = x.local().detach().clone();
    }
    return report;
  });
  for (std::size_t rank = 0; rank < reports.size(); ++rank)
    for (const auto& [name, local] : reports[rank].tensors) all[name].locals[rank] = local;
  return all;
}

/// Empty if every rank's shard holds the bits of `full` in its box, and the shards together are `full`.
std::string not_equal(const Distributed& d, const at::Tensor& full, const MeshShape& mesh) {
  if (d.global != full.sizes().vec()) return "the global shape is not that of the full tensor";
  for (int rank = 0; rank < mesh.size(); ++rank)
    if (!same_bits(d.locals[rank], narrow_to(full, d.box(mesh, rank))))
      return "rank " + std::to_string(rank) + " holds other values";
  return same_bits(assemble(d.locals, d.spec, d.global, mesh), full) ? "" : "the assembled tensor differs";
}

double largest_difference(const Distributed& d, const at::Tensor& full, const MeshShape& mesh) {
  const at::Tensor assembled = assemble(d.locals, d.spec, d.global, mesh);
  if (assembled.sizes() != full.sizes()) return std::numeric_limits<double>::quiet_NaN();
  if (full.numel() == 0) return 0;
  return (assembled.to(at::kDouble) - full.to(at::kDouble)).abs().max().item<double>();
}

std::string not_sharded(const Distributed& d, const MeshShape& mesh) {
  for (Axis axis : all_axes) {
    if (mesh.extent(axis) == 1) continue;
    bool cuts = false;
    for (int dim = 0; dim < d.spec.rank; ++dim)
      for (int i = 0; i < d.spec.cut[dim].axes; ++i) {
        if (d.spec.cut[dim].axis[i] != axis) continue;
        for (const auto& local : d.locals) cuts = cuts || local.size(dim) < d.global[dim];
      }
    if (!cuts) return std::string(name_of(axis)) + " cuts nothing";
  }
  return "";
}

std::string not_smaller(const Distributed& d, const MeshShape& mesh) {
  if (mesh.size() == 1) return "";
  std::int64_t global = 1;
  for (const auto n : d.global) global *= n;
  for (int rank = 0; rank < mesh.size(); ++rank)
    if (d.locals[rank].numel() >= global) return "rank " + std::to_string(rank) + " holds the whole tensor";
  return "";
}

/// Valid places of a [B,N]-masked tensor, in its full shape.
at::Tensor valid_places(const FeatureRow& row, const Shape& shape, const at::Tensor& mask) {
  at::Tensor valid = at::ones(shape, at::kBool);
  for (const int dim : row.mask_dims) {
    Shape view(shape.size(), 1);
    view[0] = mask.size(0);
    view[dim] = mask.size(1);
    valid = valid.logical_and(mask.ne(0).view(view));
  }
  return valid;
}

std::string masks_wrong(const FeatureRow& row, const Distributed& d, const Tensors& full, const MeshShape& mesh) {
  const at::Tensor& mask = full[row.mask.empty() ? row.name : row.mask];
  if (!mask.eq(0).logical_or(mask.eq(1)).all().item<bool>()) return "the mask holds other values than 0 and 1";
  if (mask.eq(mask.flatten()[0]).all().item<bool>()) return "nothing is padded, or everything";
  if (row.mask.empty()) return "";
  const at::Tensor valid = valid_places(row, d.global, mask);
  for (int rank = 0; rank < mesh.size(); ++rank) {
    const at::Tensor padding = narrow_to(valid, d.box(mesh, rank)).logical_not();
    if (!d.locals[rank].eq(row.padding).logical_or(padding.logical_not()).all().item<bool>())
      return "rank " + std::to_string(rank) + " holds other values than the padding's where the mask is 0";
  }
  return "";
}

std::string indices_wrong(const FeatureRow& row, const Distributed& d, const Tensors& full, const MeshShape& mesh) {
  if (row.index_limit == 0 && !row.own_index) return "";
  const at::Tensor valid =
      row.mask.empty() ? at::ones(d.global, at::kBool) : valid_places(row, d.global, full[row.mask]);
  for (int rank = 0; rank < mesh.size(); ++rank) {
    const Box box = d.box(mesh, rank);
    const at::Tensor &local = d.locals[rank], here = narrow_to(valid, box), nowhere = here.logical_not();
    if (row.index_limit > 0 &&
        !local.ge(0).logical_and(local.lt(row.index_limit)).logical_or(nowhere).all().item<bool>())
      return "rank " + std::to_string(rank) + " holds an index outside [0, " + std::to_string(row.index_limit) + ")";
    if (row.own_index) {
      const int dim = row.mask_dims.empty() ? 1 : row.mask_dims[0];
      Shape view(d.global.size(), 1);
      view[dim] = box.size[dim];
      const at::Tensor own = at::arange(box.low[dim], box.low[dim] + box.size[dim]).view(view);
      if (!local.eq(own).logical_or(nowhere).all().item<bool>())
        return "rank " + std::to_string(rank) + " holds other numbers than its elements' global ones";
    }
  }
  return "";
}

/// Swaps two unlike shards of equal shape (of one rank: two parts); false if all are alike.
bool swap_two(Distributed& d, const MeshShape& mesh) {
  for (int a = 0; a < mesh.size(); ++a)
    for (int b = a + 1; b < mesh.size(); ++b)
      if (d.locals[a].sizes() == d.locals[b].sizes() && d.box(mesh, a).low != d.box(mesh, b).low &&
          !same_bits(d.locals[a], d.locals[b])) {
        std::swap(d.locals[a], d.locals[b]);
        return true;
      }
  for (int rank = 0; rank < mesh.size(); ++rank)
    for (std::int64_t dim = 0; dim < d.locals[rank].dim(); ++dim) {
      const at::Tensor turned = d.locals[rank].roll(1, dim);
      if (same_bits(turned, d.locals[rank])) continue;
      d.locals[rank] = turned;
      return true;
    }
  return false;
}

/// The same shapes and dtypes with values that differ everywhere (masks: an irregular pattern of 0 and 1), for features
/// whose real values are alike on all ranks.
Tensors tagged(const FeatureCase& features, const Tensors& full) {
  Tensors tags = full;
  for (const auto& row : features.features()) {
    const at::Tensor& x = full[row.name];
    const at::Tensor number = at::arange(x.numel(), at::kLong).view(x.sizes());
    const bool mask = row.mask.empty();
    tags.set(row.name, (mask ? number.mul(7919).remainder(13).lt(6) : number).to(x.scalar_type()));
  }
  return tags;
}

std::string swap_verdict(const FeatureCase& features, const Tensors& full,
                         const std::map<std::string, Distributed>& honest, const Setting& setting) {
  const MeshShape& mesh = setting.mesh;
  std::optional<std::map<std::string, Distributed>> by_tags;
  Tensors tags;
  for (const auto& row : features.features()) {
    Distributed spoiled = honest.at(row.name);
    at::Tensor expected = full[row.name];
    if (!swap_two(spoiled, mesh)) {
      if (!by_tags) {
        tags = tagged(features, full);
        by_tags = distribute(features, tags, setting);
      }
      spoiled = by_tags->at(row.name);
      expected = tags[row.name];
      if (!not_equal(spoiled, expected, mesh).empty()) return "missed: " + row.name + " depends on its values";
      if (!swap_two(spoiled, mesh)) return "missed: " + row.name + " has no two shards that differ";
    }
    if (not_equal(spoiled, expected, mesh).empty()) return "missed: " + row.name;
  }
  return "caught";
}

void measure_cell(const FeatureCase& features, const Setting& setting, Cell& cell) {
  const MeshShape& mesh = setting.mesh;
  const Tensors full = features.source()(2 * mesh.extent(Axis::dp));
  const auto all = distribute(features, full, setting);
  std::map<std::string, std::string> facts{{"sharding_active", ""},
                                           {"local_smaller_than_global", ""},
                                           {"assembled_equal", ""},
                                           {"masks_consistent", ""},
                                           {"indices_consistent", ""}};
  for (const auto& row : features.features()) {
    const Distributed& d = all.at(row.name);
    const auto see = [&](const char* fact, const std::string& against) {
      if (!against.empty() && facts[fact].empty()) facts[fact] = row.name + ": " + against;
    };
    cell.difference({"assembled " + row.name, largest_difference(d, full[row.name], mesh), 0, "a copy is exact"});
    see("sharding_active", not_sharded(d, mesh));
    see("local_smaller_than_global", not_smaller(d, mesh));
    see("assembled_equal", not_equal(d, full[row.name], mesh));
    see("masks_consistent", masks_wrong(row, d, full, mesh));
    see("indices_consistent", indices_wrong(row, d, full, mesh));
  }
  for (const auto& [name, against] : facts) cell.fact(name, fact_unless(against));
  cell.sabotage("swap_shards", swap_verdict(features, full, all, setting));
}

}  // namespace

FeatureCase& FeatureCase::full(Source source) {
  source_ = std::move(source);
  return *this;
}

FeatureCase& FeatureCase::distribute(Distribute distribute) {
  distribute_ = std::move(distribute);
  return *this;
}

FeatureCase& FeatureCase::feature(FeatureRow row) {
  features_.push_back(std::move(row));
  return *this;
}

Measurement measure_features(const FeatureCase& features, const Request& request) {
  if (!features.source() || !features.distributor() || features.features().empty())
    throw ContractError("feature case " + features.name() + ": needs full(), distribute() and a feature()");
  at::set_num_threads(1);
  Measurement measurement("feature");
  describe_environment(measurement);
  measurement.detail("case", features.name());
  for (const auto& name : request.cells) {
    const CellName cell = CellName::parse(name);
    cell.require_fp64_cpu();
    measure_cell(features, Setting::of(cell), measurement.cell(name));
  }
  return measurement;
}

}  // namespace cpize::parity
