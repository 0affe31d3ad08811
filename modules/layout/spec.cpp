#include "layout/spec.hpp"

namespace cpize {

std::string Spec::str() const {
  std::string text = "[";
  for (int d = 0; d < rank; ++d) {
    if (d > 0) text += ", ";
    if (cut[d].axes == 0) text += "-";
    for (int i = 0; i < cut[d].axes; ++i) text += (i > 0 ? " " : "") + std::string(name_of(cut[d].axis[i]));
  }
  text += "]";
  std::string sums;
  for (Axis a : all_axes)
    if (is_partial(a)) sums += (sums.empty() ? "" : " ") + std::string(name_of(a));
  if (!sums.empty()) text += " partial (" + sums + ")";
  if (memory_order != Spec{}.memory_order) {
    text += " stored (";
    for (int d = 0; d < max_dims; ++d) text += (d > 0 ? " " : "") + std::to_string(memory_order[d]);
    text += ")";
  }
  return text;
}

}  // namespace cpize
