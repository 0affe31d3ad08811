// Experimental methods as the model numbers them: the values of the feature `method_feature`.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cpize::features {

inline constexpr int kMethods = 12;
/// What a structure without a stated method counts as: X-ray diffraction.
inline constexpr int kDefaultMethod = 1;
/// Any experimental method without a number of its own.
inline constexpr int kOtherMethod = 4;

/// The id of a method's name, case does not matter: MD 0, X-ray diffraction 1, electron microscopy 2, solution NMR 3,
/// the other methods that _exptl.method may name 4 (neutron diffraction, solid-state NMR ...; also "other"), AFDB 5,
/// Boltz-1 6. The ids 7 to 11 are reserved. Any other name is nothing.
std::optional<int> method_id(std::string_view name);

/// The names that method_id knows, for messages.
const std::vector<std::string>& method_names();

}  // namespace cpize::features
