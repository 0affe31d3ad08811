// Phase 0: what the serial model consists of. The factory puts the scopes; the model stays as it is.
#include "model/contact_net.hpp"

#include "map/scope.hpp"
#include "parity/phases/map_case.hpp"

using namespace cpize;

static map::MappedModel mapped_net(const map::AxisSizes& n) {
  auto net = model::ContactNet(model::Options{n.at("C"), 1, 2});
  map::MappedModel mapped;
  mapped.features["height"] = at::ones({n.at("B"), n.at("N"), n.at("N")});
  mapped.features["present"] = at::ones({n.at("B"), n.at("N")});
  for (const auto& item : net->named_parameters()) mapped.parameters.emplace_back(item.key(), item.value());
  mapped.run = [net](const map::InstrumentedFeatures& read) mutable {
    const auto scoped = [](const char* name, auto step) {
      const map::Scope scope(name);
      return step();
    };
    auto x = scoped("embed", [&] { return net->lift(at::silu(net->embed(read("height").unsqueeze(-1)))); });
    x = x + scoped("rows", [&] { return net->rows(x, read("present")); });
    x = x + scoped("columns", [&] { return net->columns(x.transpose(1, 2), read("present")).transpose(1, 2); });
    scoped("head", [&] { return net->head(x, read("present")); });
  };
  return mapped;
}

static parity::MapCase contact_net() {
  return parity::MapCase("contact net", mapped_net)
      .axis("B", 2, 3)
      .axis("N", 7, 13)
      .axis("C", 11, 17)  // base and grown sizes differ from each other, so that no axis is taken for another
      .feature("height", {.layout = "Pair", .mask = "present", .index_space = "none"})
      .feature("present", {.layout = "Single", .mask = "", .index_space = "none"})
      .scopes({"embed", "rows", "columns", "head"});
}

CPIZE_MAP_MAIN(contact_net)
