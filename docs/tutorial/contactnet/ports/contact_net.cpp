#include "ports/contact_net.hpp"

#include "map/scope.hpp"

namespace contactnet {

using namespace cpize;

ContactNetImpl::ContactNetImpl(const model::Options& o)
    : embed(register_module("embed", torch::nn::Linear(1, o.channels))),
      lift(register_module("lift", torch::nn::Linear(o.channels, o.channels))),
      rows(register_module("rows", RowAttention(o.channels, o.heads, o.reach))),
      columns(register_module("columns", ColumnAttention(o.channels, o.heads, o.reach))),
      head(register_module("head", PooledHead(o.channels))) {}

Sharded<PerMap> ContactNetImpl::forward(const Sharded<Pair>& height, const Sharded<Single>& present) {
  const auto scoped = [](const char* name, auto step) {
    const map::Scope scope(name);
    return step();
  };
  auto x = scoped("embed", [&] {
    const at::Tensor padding = cells_of(present).local().eq(0);
    return height.with(lift(at::silu(embed(height.local().masked_fill(padding, 0).unsqueeze(-1)))));
  });
  x = scoped("rows", [&] { return x.with(x.local() + rows(x, present).local()); });
  x = scoped("columns", [&] { return x.with(x.local() + columns(x, present).local()); });
  return scoped("head", [&] { return head(x, present); });
}

}  // namespace contactnet
