#include "profile/trace_events.hpp"

#include <cmath>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>

#include "error/error.hpp"

namespace cpize::profile {
namespace {

using Json = nlohmann::json;

std::optional<TraceEvent::Kind> kind_of(const std::string& category) {
  if (category == "cpu_op") return TraceEvent::Kind::operation;
  if (category == "user_annotation") return TraceEvent::Kind::annotation;
  if (category == "cuda_runtime" || category == "cuda_driver") return TraceEvent::Kind::launch;
  if (category == "kernel") return TraceEvent::Kind::kernel;
  if (category == "gpu_memcpy" || category == "gpu_memset") return TraceEvent::Kind::copy;
  return {};
}

std::int64_t number_or(const Json& object, const char* key, std::int64_t otherwise) {
  const auto at = object.find(key);
  return at != object.end() && at->is_number_integer() ? at->get<std::int64_t>() : otherwise;
}

/// Microseconds with three decimals: whole nanoseconds.
std::int64_t nanoseconds(const Json& microseconds) { return std::llround(microseconds.get<double>() * 1000); }

}  // namespace

std::vector<TraceEvent> parse_chrome_trace(std::string_view text, const std::string& file) {
  std::vector<TraceEvent> events;
  try {
    const Json trace = Json::parse(text);
    for (const auto& e : trace.at("traceEvents")) {
      if (e.value("ph", "") != "X") continue;
      const auto kind = kind_of(e.value("cat", ""));
      if (!kind) continue;
      TraceEvent event;
      event.kind = *kind;
      event.name = e.at("name");
      event.begin = nanoseconds(e.at("ts"));
      event.end = event.begin + nanoseconds(e.at("dur"));
      event.track = e.at("tid").is_number_integer() ? e.at("tid").get<std::int64_t>() : -1;
      if (const auto args = e.find("args"); args != e.end()) {
        event.correlation = number_or(*args, "correlation", -1);
        event.sequence = number_or(*args, "Sequence number", -1);
        event.forward_thread = number_or(*args, "Fwd thread id", 0);
      }
      events.push_back(std::move(event));
    }
  } catch (const Json::exception& e) {
    throw InputError(file, "is no Chrome trace: " + std::string(e.what()));
  }
  return events;
}

std::vector<TraceEvent> read_chrome_trace(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw InputError(file, "cannot be read");
  return parse_chrome_trace(std::string(std::istreambuf_iterator<char>(in), {}), file);
}

}  // namespace cpize::profile
