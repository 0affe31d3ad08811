# cpize_build_report: prints whether the precompiled header is really reused and whether ccache really hits.
#
# The second needs two more build trees: they are made afresh below <build>/build-report, with a cache of their own, so that
# the figures describe this build system and not what the user's cache happens to hold.
include_guard(GLOBAL)

add_custom_target(cpize_build_report
  COMMAND "${CMAKE_COMMAND}" "-DBUILD=${CMAKE_BINARY_DIR}" -P "${PROJECT_SOURCE_DIR}/cmake/scripts/check_pch.cmake"
  COMMAND "${CMAKE_COMMAND}" "-DSOURCE=${PROJECT_SOURCE_DIR}" "-DWORK=${CMAKE_BINARY_DIR}/build-report"
          "-DCCACHE=${CPIZE_CCACHE}" "-DTORCH=${CPIZE_TORCH_ROOT}" "-DCACHE=${CPIZE_CACHE}"
          "-DBUILD_TYPE=${CMAKE_BUILD_TYPE}"
          -P "${PROJECT_SOURCE_DIR}/cmake/scripts/report_ccache.cmake"
  USES_TERMINAL VERBATIM COMMENT "Precompiled header and ccache")
add_dependencies(cpize_build_report cpize_buildcheck_torch)
