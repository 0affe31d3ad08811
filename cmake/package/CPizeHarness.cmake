# Functions for a project that proves ports of its own.

# cpize_parity_case(<name> SOURCES <case.cpp>... [LINKS <the port's library>...])
# The executable parity_<name>, with the harness. Its case file ends with CPIZE_PARITY_MAIN or has a main() of its own.
function(cpize_parity_case name)
  cmake_parse_arguments(PARSE_ARGV 1 P "" "" "SOURCES;LINKS")
  add_executable(parity_${name} ${P_SOURCES})
  target_link_libraries(parity_${name} PRIVATE CPize::parity ${P_LINKS})
endfunction()

# cpize_precompile_torch(<target>...): these targets share one precompiled header of torch. It takes half a minute once and saves
# most of the time of every file. The targets must be compiled with the same definitions and options.
function(cpize_precompile_torch)
  if(NOT TARGET cpize_torch_headers)
    file(WRITE "${CMAKE_BINARY_DIR}/CMakeFiles/cpize_torch_headers.cpp" "// The torch headers, compiled once.\n")
    add_library(cpize_torch_headers OBJECT "${CMAKE_BINARY_DIR}/CMakeFiles/cpize_torch_headers.cpp")
    target_link_libraries(cpize_torch_headers PRIVATE CPize::libtorch)
    target_precompile_headers(cpize_torch_headers PRIVATE
      <ATen/ATen.h> <torch/csrc/autograd/custom_function.h> <torch/csrc/distributed/c10d/Backend.hpp>
      <torch/nn/modules/linear.h> <torch/nn/modules/normalization.h> <functional> <map> <memory> <string> <vector>)
  endif()
  foreach(target IN LISTS ARGN)
    target_precompile_headers(${target} REUSE_FROM cpize_torch_headers)
  endforeach()
endfunction()
