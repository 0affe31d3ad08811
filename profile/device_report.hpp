// docs/nsys_report.md of cells on GPUs: the GPU's time by scope, exposed communication and idle time by name.
#pragma once
#include "profile/device_times.hpp"

namespace cpize::profile {

/// Scopes with exposed communication (or, the second, with idle time before them), largest first, at most `most`:
/// "tri_mul_out forward 1.20 ms, ..."; "none" where there is none.
std::string exposed_by_name(const DeviceTimes& times, std::size_t most = 4);
std::string idle_by_name(const DeviceTimes& times, std::size_t most = 4);

/// One cell; `scopes` are those of the model, in the order of the table; `trace` the file beside the report, or "".
std::string device_section(const std::string& title, const DeviceTimes& times, const std::vector<std::string>& scopes,
                           const std::string& trace);

/// The whole report.
std::string device_report(const std::string& model, const std::vector<std::string>& sections, const std::string& gpu);

}  // namespace cpize::profile
