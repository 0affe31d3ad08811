# Functions for a project that proves ports of its own.

# cpize_parity_case(<name> SOURCES <case.cpp>... [LINKS <the port's library>...])
# The executable parity_<name>, with the harness. Its case file ends with CPIZE_PARITY_MAIN or has a main() of its own.
function(cpize_parity_case name)
  cmake_parse_arguments(PARSE_ARGV 1 P "" "" "SOURCES;LINKS")
  add_executable(parity_${name} ${P_SOURCES})
  target_link_libraries(parity_${name} PRIVATE CPize::parity ${P_LINKS})
endfunction()

# cpize_precompile_torch(): every target so far that links CPize or torch, in this directory and below, shares one precompiled header
# of torch. It takes half a minute once and saves most of the time of every file. A target that is compiled with other options than
# the rest includes the headers as text.
function(cpize_precompile_torch)
  set(directories "${CMAKE_CURRENT_SOURCE_DIR}")
  set(targets "")
  while(directories)
    list(POP_FRONT directories directory)
    get_property(here DIRECTORY "${directory}" PROPERTY BUILDSYSTEM_TARGETS)
    get_property(below DIRECTORY "${directory}" PROPERTY SUBDIRECTORIES)
    list(APPEND targets ${here})
    list(APPEND directories ${below})
  endwhile()
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    _cpize_links_torch(torch ${target})
    if(torch AND type MATCHES "^(STATIC_LIBRARY|SHARED_LIBRARY|OBJECT_LIBRARY|EXECUTABLE)$" AND NOT target MATCHES "^cpize")
      if(NOT TARGET cpize_torch_headers)
        file(WRITE "${CMAKE_BINARY_DIR}/CMakeFiles/cpize_torch_headers.cpp" "// The torch headers, compiled once.\n")
        add_library(cpize_torch_headers OBJECT "${CMAKE_BINARY_DIR}/CMakeFiles/cpize_torch_headers.cpp")
        target_link_libraries(cpize_torch_headers PRIVATE CPize::libtorch)
        target_precompile_headers(cpize_torch_headers PRIVATE
          <ATen/ATen.h> <torch/csrc/autograd/custom_function.h> <torch/csrc/distributed/c10d/Backend.hpp>
          <torch/nn/modules/linear.h> <torch/nn/modules/normalization.h> <functional> <map> <memory> <string> <vector>)
      endif()
      target_precompile_headers(${target} REUSE_FROM cpize_torch_headers)
    endif()
  endforeach()
endfunction()

# Whether a target links CPize or its torch, directly or through targets of the project.
function(_cpize_links_torch out target)
  get_target_property(direct ${target} LINK_LIBRARIES)
  get_target_property(interface ${target} INTERFACE_LINK_LIBRARIES)
  set(found FALSE)
  foreach(link IN LISTS direct interface)
    if(link MATCHES "CPize::")
      set(found TRUE)
    elseif(TARGET "${link}" AND NOT found)
      _cpize_links_torch(found "${link}")
    endif()
  endforeach()
  set(${out} ${found} PARENT_SCOPE)
endfunction()
