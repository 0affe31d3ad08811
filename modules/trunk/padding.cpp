#include "trunk/padding.hpp"

#include "layout/redistribute.hpp"

namespace cpize::trunk {

Sharded<Pair> pair_mask(const Sharded<Single>& token_pad_mask) {
  const auto rows = redistribute<SingleRow>(token_pad_mask);
  const auto columns = redistribute<SingleCol>(token_pad_mask);
  const Shape& tokens = token_pad_mask.global();
  return wrap<Pair>(rows.local().unsqueeze(2) * columns.local().unsqueeze(1), {tokens[0], tokens[1], tokens[1]},
                    token_pad_mask.mesh());
}

}  // namespace cpize::trunk
