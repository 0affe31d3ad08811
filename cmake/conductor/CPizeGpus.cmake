# GPUs as a resource of CTest, counted when ctest starts: the machine that tests need not be the one that configured.
# CTest counts; which GPUs a test gets is decided by the tool, under locks (cmake/tool/src/slots.hpp).
include_guard(DIRECTORY)

set(_CPIZE_GPUS_FOLDER "${CMAKE_CURRENT_LIST_DIR}/gpus")

# CTest 3.25 cannot generate a resource specification while it runs, but it includes scripts: the first one writes the
# specification, before the tests are declared; the second, of a subdirectory, gives RESOURCE_GROUPS afterwards, and
# only where that many GPUs exist, so that no test is `Not Run` for a GPU that it could do without.
macro(_cpize_make_gpu_groups)
  set(_users "")
  foreach(id IN LISTS order)
    _cpize_gpu_counts(_counts ${id})
    if(_counts)
      list(JOIN _counts "," _counts)
      list(APPEND _users "${id}=${_counts}")
    endif()
  endforeach()
  get_property(_others GLOBAL PROPERTY _CPIZE_GPU_USERS)
  list(APPEND _users ${_others})
  if(_users)
    set(_folder "${CMAKE_BINARY_DIR}/cpize-gpus")
    configure_file("${_CPIZE_GPUS_FOLDER}/count.cmake" "${_folder}/count.cmake" COPYONLY)
    configure_file("${_CPIZE_GPUS_FOLDER}/groups.cmake" "${_folder}/groups.cmake" @ONLY)
    set_property(DIRECTORY "${CMAKE_SOURCE_DIR}" APPEND PROPERTY TEST_INCLUDE_FILES "${_folder}/count.cmake")
    file(CONFIGURE OUTPUT "${_folder}/late/CMakeLists.txt" CONTENT "# only its TEST_INCLUDE_FILES count\n" @ONLY)
    add_subdirectory("${_folder}/late" "${_folder}/late")
    set_property(DIRECTORY "${_folder}/late" APPEND PROPERTY TEST_INCLUDE_FILES "${_folder}/groups.cmake")
  endif()
endmacro()

# A test of the project's own that takes GPUs (through `cpize gpus --take`), declared before cpize_end_plan(): a number of GPUs, or
# of ranks ("2r"), which may share them (CPIZE_RANKS_PER_GPU). Where CTest counts GPUs, a test that asks for none gets none.
function(cpize_test_uses_gpus test count)
  set_property(GLOBAL APPEND PROPERTY _CPIZE_GPU_USERS "${test}=${count}")
endfunction()

# How many GPUs a task can use: what GPUS declares, or one number for each cell on a GPU (NCCL: one GPU a rank; MPI
# ranks may share one). At most the largest number that the machine has is asked for.
function(_cpize_gpu_counts out id)
  set(counts "")
  if(GPUS_${id} GREATER 0)
    set(counts ${GPUS_${id}})
  else()
    foreach(cell IN LISTS CELLS_${id})
      if(cell MATCHES "^([0-9]+)x([0-9]+)x([0-9]+)/([a-z]+)/[a-z0-9]+/cuda$")
        set(count 1)
        if(CMAKE_MATCH_4 STREQUAL "nccl")
          math(EXPR count "${CMAKE_MATCH_1} * ${CMAKE_MATCH_2} * ${CMAKE_MATCH_3}")
          string(APPEND count "r")
        endif()
        list(APPEND counts ${count})
      endif()
    endforeach()
    list(REMOVE_DUPLICATES counts)
    list(SORT counts COMPARE NATURAL)
  endif()
  set(${out} "${counts}" PARENT_SCOPE)
endfunction()
