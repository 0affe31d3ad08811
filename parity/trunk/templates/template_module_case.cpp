// Parity of the template module in training mode: features of templates, the stack with serial's dropout, their mean.
#include "trunk/templates/template_module.hpp"

#include <algorithm>

#include "parity/harness/block_parity.hpp"
#include "parity/trunk/pairformer/pairformer_case.hpp"
#include "parity/trunk/templates/random_templates.hpp"
#include "random/draw.hpp"
#include "serial/padding.hpp"
#include "serial/template_module.hpp"
#include "trunk/padding.hpp"

using namespace cpize;
using namespace cpize::parity;

namespace {

template <class Options>
Options template_options(const Sizes& s) {
  Options options;
  options.template_dim = s["V"];
  options.template_blocks = 1;
  options.pairformer.pairwise_head_width = s["D"];
  options.pairformer.pairwise_num_heads = s["H"];
  return options;
}

/// The stack sees pairs of V channels.
CostPoint inside(CostPoint p) {
  p.sizes.set("C", p.sizes["V"]);
  return p;
}
/// What it holds is in fp32 at least: dropout's factors are, and so is z behind the first of them.
CostPoint held(CostPoint p) {
  p.element_bytes = std::max(4., p.element_bytes);
  return inside(p);
}
/// In bf16 an attention's z travels in fp32 therefore, there and back; all else as without dropout.
double wide_rows_bytes(const CostPoint& p) {
  if (p.element_bytes >= 4) return 0;
  double bytes = 0;
  for (const Axis along : {cp0, cp1})
    bytes += (4 / p.element_bytes - 1) * attention_rows_bytes(p, along, static_cast<double>(p.sizes["C"]));
  return bytes;
}
double stack_forward_bytes(const CostPoint& p) { return pair_track_forward_bytes(p) + wide_rows_bytes(p); }
double stack_backward_bytes(const CostPoint& p) { return pair_track_backward_bytes(p) + wide_rows_bytes(p); }
double templates(const CostPoint& p) { return static_cast<double>(p.sizes["T"]); }

/// 54 numbers of a feature a token and template, in fp32 at least; the token mask and the counts of templates.
double feature_bytes(const CostPoint& p) {
  const double numbers = 54 * std::max(4., p.element_bytes) / p.element_bytes;
  return token_bytes(p, templates(p) * numbers) + pair_mask_bytes(p) + 8 * templates(p) * p.q();
}

std::vector<std::string> sums() {
  std::vector<std::string> all = pairformer_sums(1, false);
  std::ranges::replace(all, "C", "V");
  const std::vector<std::string> around{"C", "C", "8", "V", "T", "V"};
  all.insert(all.end(), around.begin(), around.end());
  return all;
}

}  // namespace

static BlockCase template_module() {
  const random::Stream root(13, "template_module", 1);
  BlockCase block = pair_track("template_module");
  block.feature<Single>("asym_id", {"B", "N"}).values(token_ids(2)).masked_by("mask");
  return with_templates(std::move(block), "mask")
      .size("V",
            12)  // unlike C; a LayerNorm of fewer channels meets rows of nearly no variance, which serial rounds apart
      .size("T", 3)
      .precision_size({{"N", 23}, {"C", 16}, {"D", 8}, {"V", 16}, {"T", 2}})
      .fused_size({{"N", 97}, {"C", 128}, {"D", 32}, {"H", 4}, {"V", 64}, {"T", 2}})
      .serial(
          [](const Sizes& s) {
            return serial::TemplateModule(s["C"], template_options<serial::TemplateModuleOptions>(s));
          },
          [root](auto& block, const Tensors& in) {
            const serial::Dropout dropout(random::uniform_source(root, in["z"].device()));
            return Tensors{{"z_out", block(in["z"], serial_templates(in), serial::pair_mask(in["mask"]), dropout)}};
          })
      .port(
          [](const Sizes& s) {
            return trunk::TemplateModule(s["C"], template_options<trunk::TemplateModuleOptions>(s));
          },
          [root](auto& block, const ShardedTensors& in) {
            return ShardedTensors{{"z_out", block(in.get<Pair>("z"), port_templates(in),
                                                  trunk::pair_mask(in.get<Single>("mask")), trunk::Dropout(root))}};
          })
      .contraction(sums())
      .cost_size({{"N", 144}, {"C", 24}, {"V", 48}, {"T", 2}, {"D", 12}, {"H", 4}})
      .bound("sent_bytes.forward",
             [](const CostPoint& p) { return templates(p) * stack_forward_bytes(inside(p)) + feature_bytes(p); })
      .bound("sent_bytes.backward", [](const CostPoint& p) { return templates(p) * stack_backward_bytes(inside(p)); })
      .bound("peak_bytes.forward",
             // 1 b(C) of the normed z or of the result; projected z, v and the sum; one block of the stack
             [](const CostPoint& p) {
               const CostPoint v = held(p);
               return v.b() * (static_cast<double>(p.sizes["C"]) / static_cast<double>(p.sizes["V"]) + 3) +
                      pair_track_forward_peak(v);
             })
      .bound("peak_bytes.step",
             [](const CostPoint& p) {
               const CostPoint v = held(p);
               return v.b() * (2 * static_cast<double>(p.sizes["C"]) / static_cast<double>(p.sizes["V"]) + 3) +
                      (templates(p) - 1) * (pair_track_saved(v) + 2 * v.b()) + pair_track_step(v);
             })
      .bound("saved_bytes", [](const CostPoint& p) {
        const CostPoint v = held(p);
        return v.b() * (static_cast<double>(p.sizes["C"]) / static_cast<double>(p.sizes["V"]) + 3) +
               templates(p) * (pair_track_saved(v) + 2 * v.b());
      });
}

CPIZE_PARITY_MAIN(template_module)
