# What `cmake --install` writes. Included last by the top-level CMakeLists.txt, when every target exists.
#
#   Conductor  the .cmake files, the `cpize` tool and the templates of `cpize scaffold`; needs no torch
#   Library    modules/ (but features) and lifecycle/
#   Features   modules/features: readers and token features; needs gemmi
#   Harness    parity/harness, parity/phases, the attribution of profile/, cpize-world: what proves a port
#
# One export set a component. Nothing that is installed names this tree, the prefix, torch or MPI: CPizeConfig.cmake finds
# itself by its own place, and torch and MPI where it is used.
include_guard(GLOBAL)
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(cpize_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/CPize")
set(cpize_include_dir "${CMAKE_INSTALL_INCLUDEDIR}/cpize")
set(cpize_work "${PROJECT_BINARY_DIR}/package")

# Which component a library of ours is in: by its folder. "" for what only this project's own proofs use.
function(cpize_component_of out library)
  get_target_property(directory cpize_${library} SOURCE_DIR)
  file(RELATIVE_PATH folder "${PROJECT_SOURCE_DIR}" "${directory}")
  set(component "")
  if(folder STREQUAL "modules/features")
    set(component Features)
  elseif(folder MATCHES "^(modules/|lifecycle$)")
    set(component Library)
  elseif(folder MATCHES "^parity/(harness|phases)$" OR library STREQUAL "attribution")
    set(component Harness)
  endif()
  set(${out} "${component}" PARENT_SCOPE)
endfunction()

# Header-only libraries that no public header names serve the build alone; a consumer need not have them.
function(cpize_hide_build_links target)
  get_target_property(links ${target} INTERFACE_LINK_LIBRARIES)
  if(links)
    list(TRANSFORM links REPLACE "^(.*(nlohmann_json::nlohmann_json|fmt::fmt-header-only|CPize::nccl|cpize_nccl).*)$" "$<BUILD_INTERFACE:\\1>")
    set_property(TARGET ${target} PROPERTY INTERFACE_LINK_LIBRARIES "${links}")
  endif()
endfunction()

get_property(cpize_libraries GLOBAL PROPERTY CPIZE_LIBRARIES)
foreach(library IN LISTS cpize_libraries)
  cpize_component_of(component ${library})
  if(component)
    cpize_hide_build_links(cpize_${library})
    install(TARGETS cpize_${library} EXPORT CPize${component} COMPONENT ${component}
            ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" INCLUDES DESTINATION "${cpize_include_dir}")
  endif()
endforeach()

# Programs. cpize-world starts where this build's libtorch lies; elsewhere LD_LIBRARY_PATH says where another one is.
set_target_properties(cpize PROPERTIES EXPORT_NAME tool)
set_target_properties(cpize-world PROPERTIES EXPORT_NAME world INSTALL_RPATH_USE_LINK_PATH TRUE)
install(TARGETS cpize EXPORT CPizeConductor COMPONENT Conductor RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
install(TARGETS cpize-world EXPORT CPizeHarness COMPONENT Harness RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")

foreach(component IN ITEMS Conductor Library Features Harness)
  install(EXPORT CPize${component} NAMESPACE CPize:: FILE CPize${component}Targets.cmake COMPONENT ${component}
          DESTINATION "${cpize_package_dir}")
  install(CODE "set(CPIZE_EXPORT \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${cpize_package_dir}/CPize${component}\")
include(\"${CMAKE_CURRENT_LIST_DIR}/write_imports.cmake\")" COMPONENT ${component})
endforeach()

# Headers are found as they are here: "layout/redistribute.hpp", "parity/harness/block_parity.hpp".
set(headers FILES_MATCHING PATTERN "*.hpp" PATTERN "*.cuh")
install(DIRECTORY modules/ DESTINATION "${cpize_include_dir}" COMPONENT Library ${headers} PATTERN "features" EXCLUDE PATTERN "plan" EXCLUDE)
install(DIRECTORY lifecycle DESTINATION "${cpize_include_dir}" COMPONENT Library ${headers})
install(DIRECTORY modules/features DESTINATION "${cpize_include_dir}" COMPONENT Features ${headers} PATTERN "data" EXCLUDE)
install(DIRECTORY parity/harness parity/phases DESTINATION "${cpize_include_dir}/parity" COMPONENT Harness
        ${headers} PATTERN "tests" EXCLUDE)
install(FILES profile/scope_tracker.hpp profile/memory_attribution.hpp profile/operation_tally.hpp profile/step.hpp
        profile/step_memory.hpp profile/step_times.hpp
        DESTINATION "${cpize_include_dir}/profile" COMPONENT Harness)
install(DIRECTORY cmake/tool/templates DESTINATION "${CMAKE_INSTALL_DATADIR}/cpize" COMPONENT Conductor OPTIONAL)

# The package itself.
configure_file(CPizeConfig.cmake.in "${cpize_work}/CPizeConfig.cmake" @ONLY)
configure_file("${CMAKE_CURRENT_LIST_DIR}/CPizeLibraryFacts.cmake.in" "${cpize_work}/CPizeLibraryFacts.cmake" @ONLY)
write_basic_package_version_file("${cpize_work}/CPizeConfigVersion.cmake" VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion)
install(FILES "${cpize_work}/CPizeConfig.cmake" "${cpize_work}/CPizeConfigVersion.cmake" cmake/CPizeConductor.cmake
        cmake/package/CPizeFindLibrary.cmake cmake/CPizeTorchTarget.cmake
        DESTINATION "${cpize_package_dir}" COMPONENT Conductor)
install(DIRECTORY cmake/conductor DESTINATION "${cpize_package_dir}" COMPONENT Conductor FILES_MATCHING PATTERN "*.cmake")
install(FILES cmake/CPizeDashboard.cmake DESTINATION "${cpize_package_dir}" COMPONENT Conductor OPTIONAL)
install(FILES cmake/package/CPizeHarness.cmake DESTINATION "${cpize_package_dir}" COMPONENT Harness)
install(FILES "${cpize_work}/CPizeLibraryFacts.cmake" DESTINATION "${cpize_package_dir}" COMPONENT Library)

# What the libraries were made from, so that an upgrade of CPize makes the evidence of what links them stale.
install(CODE "set(CPIZE_SOURCE \"${PROJECT_SOURCE_DIR}\")
set(CPIZE_FINGERPRINT_FILE \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${cpize_package_dir}/CPizeFingerprint.cmake\")
include(\"${CMAKE_CURRENT_LIST_DIR}/write_fingerprint.cmake\")" COMPONENT Library)
