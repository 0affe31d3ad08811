// Without CUDA there is nothing to replay.
#include "error/error.hpp"
#include "trunk/replay.hpp"

namespace cpize::trunk {

struct Replay::State {};

Replay::Replay(const Function&, const std::vector<at::Tensor>&) {
  throw ConfigError("this build has no CUDA graphs (CPIZE_CUDA is OFF)");
}
Replay::~Replay() = default;
Replay::Replay(Replay&&) noexcept = default;
Replay& Replay::operator=(Replay&&) noexcept = default;

const std::vector<at::Tensor>& Replay::operator()(const std::vector<at::Tensor>&) {
  throw ConfigError("this build has no CUDA graphs (CPIZE_CUDA is OFF)");
}

}  // namespace cpize::trunk
