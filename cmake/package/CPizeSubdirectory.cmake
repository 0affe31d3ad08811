# CPize as a subdirectory of another project: find_package(CPize) there gives what the installed package would, so that the same
# CMakeLists.txt serves both. Nothing is searched: the targets are those of this build.
include_guard(GLOBAL)

file(WRITE "${CMAKE_FIND_PACKAGE_REDIRECTS_DIR}/CPizeConfig.cmake"
"# Written by CPize, a subdirectory of this project.
include(\"${PROJECT_SOURCE_DIR}/cmake/CPizeConductor.cmake\")
include(\"${PROJECT_SOURCE_DIR}/cmake/package/CPizeHarness.cmake\")
set(CPIZE_CUDA ${CPIZE_CUDA})
set(CPIZE_MPIEXEC \"${CPIZE_MPIEXEC}\")
set(CPize_FOUND TRUE)
foreach(_cpize_component IN LISTS CPize_FIND_COMPONENTS)
  set(CPize_\${_cpize_component}_FOUND TRUE)
  if(NOT _cpize_component MATCHES \"^(Conductor|Library|Features|Harness)$\")
    set(CPize_FOUND FALSE)
    set(CPize_NOT_FOUND_MESSAGE \"CPize has no component '\${_cpize_component}'; there are: Conductor, Library, Features, Harness\")
  endif()
endforeach()
unset(_cpize_component)
")
include(CMakePackageConfigHelpers)
write_basic_package_version_file("${CMAKE_FIND_PACKAGE_REDIRECTS_DIR}/CPizeConfigVersion.cmake"
                                 VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion)

# By the names that they have in the package.
add_executable(CPize::tool ALIAS cpize)
add_executable(CPize::world ALIAS cpize-world)
