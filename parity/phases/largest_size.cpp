#include "parity/phases/largest_size.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "error/error.hpp"

namespace cpize::parity {

const SizeProbe& MaxTokens::largest() const {
  return *std::find_if(probes.begin(), probes.end(), [this](const SizeProbe& p) { return p.tokens == fits; });
}

MaxTokens find_max_tokens(std::int64_t budget, const std::function<SizeProbe(std::int64_t)>& measure,
                          std::int64_t smallest, double resolution) {
  MaxTokens found;
  const auto probe = [&](std::int64_t tokens) {
    found.probes.push_back(measure(tokens));
    const bool fits = found.probes.back().peak_bytes <= budget;
    (fits ? found.fits : found.does_not_fit) = tokens;
    return fits;
  };
  if (!probe(smallest))
    throw ConfigError("a step at " + std::to_string(smallest) + " tokens holds " +
                      std::to_string(found.probes.back().peak_bytes) + " bytes, more than the budget of " +
                      std::to_string(budget));
  const auto done = [&] {
    const auto step =
        std::max<std::int64_t>(1, static_cast<std::int64_t>(resolution * static_cast<double>(found.fits)));
    return found.does_not_fit > 0 && found.does_not_fit - found.fits <= step;
  };
  while (!done()) {
    const auto& from = found.largest();
    const double n = static_cast<double>(from.tokens), peak = static_cast<double>(from.peak_bytes);
    const auto reach = [&](double bytes) { return static_cast<std::int64_t>(n * std::sqrt(bytes / peak)); };
    const auto limit = std::max(found.fits + 1, reach(1.1 * static_cast<double>(budget)));
    // Constants make small sizes look dearer than they are, so the guess is low at first and improves as it grows.
    std::int64_t next = reach(static_cast<double>(budget));
    if (next <= found.fits * (1 + resolution)) next = found.fits + std::max<std::int64_t>(1, found.fits / 100);
    next = std::clamp(next, found.fits + 1, limit);
    if (found.does_not_fit > 0 && next >= found.does_not_fit) next = (found.fits + found.does_not_fit) / 2;
    probe(next);
  }
  return found;
}

}  // namespace cpize::parity
