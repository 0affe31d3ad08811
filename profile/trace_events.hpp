// TraceEvents: the events of a Chrome trace as Kineto writes it, as far as attribution needs them.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cpize::profile {

struct TraceEvent {
  enum class Kind : std::uint8_t {
    operation,   // of libtorch on the host, nodes of the autograd engine among them
    annotation,  // a range that a program names: scopes, exchanges
    launch,      // a call of CUDA's runtime or driver
    kernel,      // on a GPU
    copy         // on a GPU: memcpy, memset
  };
  Kind kind = Kind::operation;
  std::string name;
  std::int64_t begin = 0, end = 0;  // nanoseconds, one clock for host and GPU
  std::int64_t track = 0;           // host: the thread; GPU: the stream
  std::int64_t correlation = -1;    // the same for a launch and what it launched
  std::int64_t sequence = -1;       // of the autograd node that an operation makes or runs
  std::int64_t forward_thread = 0;  // of a node that runs: who made it
};

/// Reads `text`, a trace of one process; other events are left out. InputError naming `file` where it is none.
std::vector<TraceEvent> parse_chrome_trace(std::string_view text, const std::string& file);
std::vector<TraceEvent> read_chrome_trace(const std::string& file);

}  // namespace cpize::profile
