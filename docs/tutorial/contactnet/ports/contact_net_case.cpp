// Parity of the whole: on random maps (the port's own proof), and on real ones (end_to_end).
#include "ports/contact_net.hpp"

#include "parity/harness/block_parity.hpp"
#include "reader/map_file.hpp"

using namespace cpize;
using namespace cpize::parity;

static BlockCase net(const std::string& name, const ValueSource& heights) {
  return BlockCase(name)
      .input<Pair>("height", {"B", "N", "N"})
      .values(heights)
      .masked_by("present")
      .mask<Single>("present", {"B", "N"})
      .output("score", {"B", "1"})
      .serial(
          [](const Sizes& s) {
            return model::ContactNet(model::Options{s["C"], 2, 3});
          },
          [](auto& block, const Tensors& in) {
            return Tensors{{"score", block(in["height"], in["present"])}};
          })
      .port(
          [](const Sizes& s) {
            return contactnet::ContactNet(model::Options{s["C"], 2, 3});
          },
          [](auto& block, const ShardedTensors& in) {
            return ShardedTensors{{"score", block(in.get<Pair>("height"), in.get<Single>("present"))}};
          })
      .contraction({"C", "C", "C", "C", "N", "C", "C", "C", "C", "N", "C", "C", "N", "N", "C", "C"})
      .padding_is_nan();
}

static BlockCase contact_net() { return net("contact_net", {}).cost_size({{"N", 48}, {"C", 32}}); }

/// The heights of real maps, repeated to any size.
static at::Tensor real_heights(const Sizes& s, at::Generator&) {
  std::vector<at::Tensor> maps;
  for (std::int64_t b = 0; b < s["B"]; ++b) {
    const auto map = reader::read_map(std::string(CONTACTNET_DATA) + (b % 2 ? "/valley.map" : "/ridge.map"));
    const at::Tensor one = at::tensor(map.height, at::kDouble).view({map.size, map.size});
    const std::int64_t times = s["N"] / map.size + 1;
    maps.push_back(one.repeat({times, times}).slice(0, 0, s["N"]).slice(1, 0, s["N"]));
  }
  return at::stack(maps);
}

static BlockCase real_maps() { return net("real_maps", real_heights); }

CPIZE_PARITY_MAIN(contact_net, real_maps)
