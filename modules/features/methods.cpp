#include "features/methods.hpp"

#include <utility>

#include "features/text.hpp"

namespace cpize::features {

namespace {

const std::vector<std::pair<std::string, int>>& methods() {
  static const std::vector<std::pair<std::string, int>> all = {{"md", 0},
                                                               {"x-ray diffraction", kDefaultMethod},
                                                               {"electron microscopy", 2},
                                                               {"solution nmr", 3},
                                                               {"solid-state nmr", kOtherMethod},
                                                               {"neutron diffraction", kOtherMethod},
                                                               {"electron crystallography", kOtherMethod},
                                                               {"fiber diffraction", kOtherMethod},
                                                               {"powder diffraction", kOtherMethod},
                                                               {"infrared spectroscopy", kOtherMethod},
                                                               {"fluorescence transfer", kOtherMethod},
                                                               {"epr", kOtherMethod},
                                                               {"theoretical model", kOtherMethod},
                                                               {"solution scattering", kOtherMethod},
                                                               {"other", kOtherMethod},
                                                               {"afdb", 5},
                                                               {"boltz-1", 6}};
  return all;
}

}  // namespace

std::optional<int> method_id(std::string_view name) {
  const std::string wanted = to_lower(name);
  for (const auto& [known, id] : methods()) {
    if (known == wanted) return id;
  }
  return std::nullopt;
}

const std::vector<std::string>& method_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const auto& [name, id] : methods()) all.push_back(name);
    return all;
  }();
  return names;
}

}  // namespace cpize::features
