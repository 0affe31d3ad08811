# gemmi reads and writes mmCIF. An installed one (with its CMake package, at least the pinned version) wins; else the
# source archive is built once, as a static library, and installed into the cache.
include_guard(GLOBAL)
include(provision/Python)

# cpize_find_gemmi([SILENT]) sets CPIZE_GEMMI_FOUND in the caller; gemmi_DIR then leads every find_package(gemmi CONFIG)
# to it. Debian's 0.5.7 has no CMake package, so CONFIG mode cannot take it.
function(cpize_find_gemmi)
  # What an earlier configure took from another cache is not the user's choice.
  if(gemmi_DIR AND gemmi_DIR STREQUAL "${CPIZE_GEMMI_DIR_PROVISIONED}")
    unset(gemmi_DIR CACHE)
  endif()
  unset(CPIZE_GEMMI_DIR_PROVISIONED CACHE)
  set(own "${CPIZE_CACHE}/gemmi-${CPIZE_GEMMI_VERSION}")
  find_package(gemmi ${CPIZE_GEMMI_VERSION} CONFIG QUIET PATHS "${own}")
  if(gemmi_FOUND)
    cmake_path(IS_PREFIX own "${gemmi_DIR}" from_cache)
    if(from_cache)
      set(CPIZE_GEMMI_DIR_PROVISIONED "${gemmi_DIR}" CACHE INTERNAL "gemmi_DIR as provisioning set it")
    endif()
    if(ARGC EQUAL 0)
      cpize_say("gemmi ${gemmi_VERSION}" found "${gemmi_DIR}")
    endif()
  endif()
  set(CPIZE_GEMMI_FOUND ${gemmi_FOUND} PARENT_SCOPE)
endfunction()

# Builds into the cache; its lock is held. Another configure may have been faster.
function(cpize_provision_gemmi)
  set(name "gemmi-${CPIZE_GEMMI_VERSION}")
  cpize_find_gemmi()
  if(CPIZE_GEMMI_FOUND)
    return()
  endif()
  cpize_need_python_environment()
  string(TIMESTAMP start "%s" UTC)
  message(STATUS "CPize: building gemmi ${CPIZE_GEMMI_VERSION} (about a minute)")
  cpize_new_partial(${name} partial)
  # pip insists on looking at the package's metadata, for which it fetches gemmi's (small) build requirements as well
  cpize_pip("${partial}" "gemmi's source archive could not be downloaded. Configure again when the network is there, or set gemmi_DIR."
            download --quiet --no-deps --no-binary gemmi --dest "${partial}" gemmi==${CPIZE_GEMMI_VERSION})
  file(ARCHIVE_EXTRACT INPUT "${partial}/${name}.tar.gz" DESTINATION "${partial}/source")
  set(generator "Unix Makefiles")
  find_program(CPIZE_NINJA ninja)
  mark_as_advanced(CPIZE_NINJA)
  if(CPIZE_NINJA)
    set(generator Ninja)
  endif()
  set(remedy "Building gemmi failed; set gemmi_DIR to use another installation.")
  cpize_run_step("${remedy}"
    COMMAND "${CMAKE_COMMAND}" -S "${partial}/source/${name}" -B "${partial}/build" -G "${generator}"
            -DCMAKE_BUILD_TYPE=Release "-DCMAKE_INSTALL_PREFIX=${partial}/${name}" -DCMAKE_INSTALL_LIBDIR=lib
            "-DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER}" -DCMAKE_POSITION_INDEPENDENT_CODE=ON
            -DBUILD_SHARED_LIBS=OFF -DBUILD_GEMMI_PROGRAM=OFF
            # its default holds no machine code but one compiler's intermediate form, which another compiler cannot link
            -DCMAKE_INTERPROCEDURAL_OPTIMIZATION=OFF)
  cmake_host_system_information(RESULT cores QUERY NUMBER_OF_LOGICAL_CORES)
  cpize_run_step("${remedy}" COMMAND "${CMAKE_COMMAND}" --build "${partial}/build" --parallel ${cores})
  cpize_run_step("${remedy}" COMMAND "${CMAKE_COMMAND}" --install "${partial}/build")
  cpize_commit_partial("${partial}" ${name} ${name}) # its CMake package finds itself, wherever it lies
  cpize_find_gemmi(SILENT)
  if(NOT CPIZE_GEMMI_FOUND)
    message(FATAL_ERROR "CPize: gemmi was built, but find_package does not find it in ${CPIZE_CACHE}/${name}")
  endif()
  cpize_say("gemmi ${CPIZE_GEMMI_VERSION}" built "${CPIZE_CACHE}/${name}" ${start})
endfunction()
