// Layout: a Spec as a type. Written like the shape: for every dimension, the mesh axes that cut it.
//
//   struct Pair : Layout<TokenPair, On<dp>, On<cp0>, On<cp1>> {};
//
// The family says which layouts share a global shape: `redistribute` between families does not compile.
#pragma once
#include <concepts>

#include "layout/spec.hpp"

namespace cpize {

/// The mesh axes that cut one dimension, outermost first; On<> for a whole one.
template <Axis... axes>
struct On {
  static constexpr Spec::Cut cut = [] {
    Spec::Cut c;
    ((c.axis[c.axes++] = axes), ...);
    return c;
  }();
};

constexpr Spec make_spec(std::initializer_list<Spec::Cut> cuts) {
  Spec s;
  for (const auto& c : cuts) s.cut[s.rank++] = c;
  return s;
}

/// The same layout, its shards stored with dimension order[0] outermost, and so on.
constexpr Spec stored(Spec s, std::array<std::int8_t, Spec::max_dims> order) {
  s.memory_order = order;
  return s;
}

/// The same cuts, holding partial sums on `a`. Only an axis that cuts nothing can be partial: anything else is no
/// layout.
constexpr Spec with_partial(Spec s, Axis a) {
  if (s.sharded(a)) throw "an axis that cuts a dimension cannot be partial";
  s.partial[index_of(a)] = true;
  return s;
}

template <class Family_, class... Dims>
struct Layout {
  using Family = Family_;
  static constexpr Spec spec = make_spec({Dims::cut...});
};

/// L, holding partial sums over `axes`: `redistribute<L>` of it adds them up.
template <class L, Axis... axes>
struct Partial {
  using Family = typename L::Family;
  static constexpr Spec spec = [] {
    Spec s = L::spec;
    ((s = with_partial(s, axes)), ...);
    return s;
  }();
};

template <class L>
concept IsLayout = requires {
  typename L::Family;
  { L::spec } -> std::convertible_to<Spec>;
};

}  // namespace cpize
