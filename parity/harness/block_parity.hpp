// measure_block: proves one port on every cell asked for; CPIZE_PARITY_MAIN makes a program of it.
#pragma once
#include <functional>

#include "parity/harness/block_case.hpp"
#include "parity/harness/request.hpp"

namespace cpize::parity {

/// Profile "block": every run of runs_for() compared, facts, poison, sabotage and costs, for every cell asked for.
Measurement measure_block(const BlockCase& block, const Request& request);

/// One cell; `overrides` are sizes given by hand (then the facts say what they leave out).
void measure_block_cell(const BlockCase& block, const Setting& setting,
                        const std::map<std::string, std::int64_t>& overrides, Cell& cell);

/// Intra-op threads of this process: one where ranks share the CPU, its share of the cores where they compute on a GPU
/// and the CPU only makes inputs and the truth.
void set_threads_for(const Setting& setting);

/// main() of an executable with one case, or of several in one: the first argument then names the case.
int block_main(int argc, char** argv, const std::vector<std::function<BlockCase()>>& cases);

/// The cases of this program, as CPIZE_PARITY_MAIN names them; of all its files.
using CaseMakers = std::vector<std::function<BlockCase()>>;
CaseMakers& registered_cases();
struct RegisterCases {
  explicit RegisterCases(const CaseMakers& cases) {
    registered_cases().insert(registered_cases().end(), cases.begin(), cases.end());
  }
};

}  // namespace cpize::parity

/// At global scope: CPIZE_PARITY_MAIN(tri_mul_out_case), or several cases separated by commas. The main() is weak: a
/// program of many case files (bench) brings its own and finds them in registered_cases().
#define CPIZE_PARITY_MAIN(...)                                                       \
  static const cpize::parity::RegisterCases cpize_register_cases{{__VA_ARGS__}};     \
  __attribute__((weak)) int main(int argc, char** argv) {                            \
    return cpize::parity::block_main(argc, argv, cpize::parity::registered_cases()); \
  }
