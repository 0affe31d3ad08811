# MPI: found or not. The backend over MPI is built where it is found (CPIZE_MPI), and the library says what it lacks elsewhere.
#
# CPIZE_MPIEXEC is the launcher of that MPI, for tests and for the plan. -DCPIZE_WITHOUT_MPI=ON builds without it.
include_guard(GLOBAL)

option(CPIZE_WITHOUT_MPI "Build as if there were no MPI" OFF)
set(CPIZE_MPI OFF)
if(NOT CPIZE_WITHOUT_MPI)
  set(MPI_CXX_SKIP_MPICXX ON) # as in provision/Debian.cmake
  find_package(MPI COMPONENTS CXX QUIET)
  if(MPI_CXX_FOUND)
    set(CPIZE_MPI ON)
  endif()
endif()
if(CPIZE_MPI)
  set(CPIZE_MPIEXEC "${MPIEXEC_EXECUTABLE}")
  message(STATUS "CPize: MPI ${MPI_CXX_VERSION} found: ${CPIZE_MPIEXEC}")
else()
  set(CPIZE_MPIEXEC "")
  message(STATUS "CPize: no MPI: built without the mpi backend")
endif()

# What mpirun needs to start tests anywhere: as root in a container, and with more ranks than cores.
set(CPIZE_MPI_ENVIRONMENT OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
    OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_hwloc_base_binding_policy=none
    OMPI_MCA_btl_vader_single_copy_mechanism=none # containers often forbid reading another process's memory
    ASAN_OPTIONS=detect_leaks=0) # those of MPI are not ours

# cpize_mpi_test(<name> RANKS <n> COMMAND <program> <arguments...>): a test that mpirun starts; none where there is no MPI.
function(cpize_mpi_test name)
  cmake_parse_arguments(PARSE_ARGV 1 T "" "RANKS;TIMEOUT" "COMMAND;LABELS")
  if(NOT CPIZE_MPI)
    return()
  endif()
  if(NOT T_TIMEOUT)
    set(T_TIMEOUT 120)
  endif()
  list(POP_FRONT T_COMMAND program)
  add_test(NAME ${name} COMMAND "${CPIZE_MPIEXEC}" -n ${T_RANKS} $<TARGET_FILE:${program}> ${T_COMMAND})
  set_tests_properties(${name} PROPERTIES LABELS "mpi;${T_LABELS}" TIMEOUT ${T_TIMEOUT} PROCESSORS ${T_RANKS}
    ENVIRONMENT "${CPIZE_MPI_ENVIRONMENT}")
endfunction()
