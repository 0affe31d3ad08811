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
