#include "parity/harness/named_tensors.hpp"

#include "error/error.hpp"

namespace cpize::parity {

void detail::no_such_name(const std::string& kind, const std::string& name, const std::vector<std::string>& known) {
  std::string all;
  for (const auto& k : known) all += (all.empty() ? "" : ", ") + k;
  throw ContractError("parity case: no " + kind + " is called '" + name +
                      "'; there are: " + (all.empty() ? "none" : all));
}

std::string str(const Sizes& sizes) {
  std::string text;
  for (const auto& [name, value] : sizes) text += (text.empty() ? "" : " ") + name + "=" + std::to_string(value);
  return text;
}

}  // namespace cpize::parity
