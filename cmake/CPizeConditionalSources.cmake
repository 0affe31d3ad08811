# Sources that depend on what this build has: CUDA (CPIZE_CUDA) and MPI (CPIZE_MPI).
include_guard(GLOBAL)

set(_cpize_conditional CUDA_SOURCES NO_CUDA_SOURCES CUDA_LINKS MPI_SOURCES NO_MPI_SOURCES MPI_LINKS)

# _cpize_add_sources(<target> <parsed prefix>): sources, whatever this build has of CUDA and MPI. The sources that it leaves out
# belong to the target all the same (property CPIZE_KEY_SOURCES): a task's key is the same on every machine.
function(_cpize_add_sources target prefix)
  set(conditional "")
  foreach(what IN ITEMS CUDA MPI)
    set(chosen NO_${what})
    if(CPIZE_${what})
      set(chosen ${what})
      target_link_libraries(${target} PRIVATE ${${prefix}_${what}_LINKS})
    endif()
    target_sources(${target} PRIVATE ${${prefix}_${chosen}_SOURCES})
    list(APPEND conditional ${${prefix}_${what}_SOURCES} ${${prefix}_NO_${what}_SOURCES})
  endforeach()
  list(TRANSFORM conditional PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/" REGEX "^[^/]")
  if(conditional)
    set_property(TARGET ${target} PROPERTY CPIZE_KEY_SOURCES "${conditional}")
  endif()
endfunction()
