// Golden operations of the template module.
#include "parity/serial/operations/operations.hpp"
#include "serial/template_module.hpp"

namespace cpize::parity {
namespace {

GoldenOperation template_module(const GoldenCase&, GoldenArguments& arguments) {
  serial::TemplateModuleOptions options;
  options.template_dim = arguments.integer("template_dim");
  options.template_blocks = arguments.integer("template_blocks");
  options.pairformer.dropout = arguments.number("dropout");  // of training; the vectors are of evaluation
  options.pairformer.pairwise_head_width = arguments.integer("pairwise_head_width");
  options.pairformer.pairwise_num_heads = arguments.integer("pairwise_num_heads");
  serial::TemplateModule block(arguments.integer("token_z"), options);
  return {block.ptr(), [block](GoldenArguments& in) mutable {
            const auto source = [&in](const std::string& name) { return in.input("feats." + name); };
            return safetensors::Tensors{
                {"u", block(in.input("z"), serial::TemplateFeatures::from(source), in.input("pair_mask"))}};
          }};
}

}  // namespace

GoldenOperations template_operations() {
  return {
      {"boltz.model.modules.trunkv2.TemplateModule", template_module},
  };
}

}  // namespace cpize::parity
