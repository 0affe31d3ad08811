# CPIZE_CUDA: whether this build has GPU kernels and NCCL. It needs a CUDA Toolkit (nvcc) and a CUDA build of libtorch, but no
# GPU: what is built runs where the driver and the wheel's CUDA libraries are.
#
# With CPIZE_CUDA: language CUDA (C++17, for CPIZE_CUDA_ARCHITECTURES), the toolkit's targets (CUDA::cudart), CPize::nccl (nccl.h).
# Without it nothing here is looked for. Sources that depend on it are named in both cases, see cpize_library in CPizeBuild.cmake.
#
# More about a kernel: -DCMAKE_CUDA_FLAGS="-Xptxas -v" shows registers and spills when it is compiled.
include_guard(GLOBAL)

option(CPIZE_CUDA "Build GPU kernels and the NCCL backend" OFF)
set(CPIZE_CUDA_ARCHITECTURES 90a CACHE STRING "what the kernels are compiled for: 90a is H100 and H200 with wgmma and TMA")

if(NOT CPIZE_CUDA)
  return()
endif()

# nvcc is not always in PATH, though the toolkit lies where everybody puts it.
if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
  find_program(CPIZE_NVCC nvcc HINTS "$ENV{CUDA_HOME}/bin" "$ENV{CUDA_PATH}/bin" PATHS /usr/local/cuda/bin)
  mark_as_advanced(CPIZE_NVCC)
  if(NOT CPIZE_NVCC)
    message(FATAL_ERROR "CPize: CPIZE_CUDA is ON, but there is no nvcc in PATH, CUDA_HOME or /usr/local/cuda. Install CUDA Toolkit 13, "
                        "or set CMAKE_CUDA_COMPILER, or configure with -DCPIZE_CUDA=OFF.")
  endif()
  set(CMAKE_CUDA_COMPILER "${CPIZE_NVCC}")
endif()
set(CMAKE_CUDA_ARCHITECTURES "${CPIZE_CUDA_ARCHITECTURES}")
set(CMAKE_CUDA_RUNTIME_LIBRARY Shared) # the one that libtorch uses as well
set(CMAKE_CUDA_STANDARD 17)            # CMake 3.25 knows no later dialect of nvcc 13
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(CMAKE_CUDA_EXTENSIONS OFF)
enable_language(CUDA)
find_package(CUDAToolkit ${CPIZE_CUDA_WHEEL_VERSION} REQUIRED)

# nccl.h: beside torch (its own dependency), in the toolkit, on the system, else the provisioned wheel. Only the header is
# needed: the library is the one that libtorch_cuda loads.
function(cpize_find_nccl)
  get_filename_component(beside_torch "${CPIZE_TORCH_ROOT}" DIRECTORY)
  find_path(CPIZE_NCCL_INCLUDE_DIR nccl.h
            HINTS "${beside_torch}/nvidia/nccl/include" "${beside_torch}/nvidia/cu13/include" ${CUDAToolkit_INCLUDE_DIRS}
                  "${CPIZE_CACHE}/nccl-${CPIZE_NCCL_VERSION}/nvidia/nccl/include")
  mark_as_advanced(CPIZE_NCCL_INCLUDE_DIR)
endfunction()

cpize_find_nccl()
if(NOT CPIZE_NCCL_INCLUDE_DIR AND CPIZE_PROVISION)
  include(provision/Nccl)
  cpize_provision_nccl()
  cpize_find_nccl()
endif()
if(NOT CPIZE_NCCL_INCLUDE_DIR)
  message(FATAL_ERROR "CPize: CPIZE_CUDA is ON, but nccl.h is nowhere: install NCCL's development files, or set CPIZE_NCCL_INCLUDE_DIR")
endif()
add_library(cpize_nccl INTERFACE IMPORTED GLOBAL)
add_library(CPize::nccl ALIAS cpize_nccl)
target_include_directories(cpize_nccl SYSTEM INTERFACE "${CPIZE_NCCL_INCLUDE_DIR}")
message(STATUS "CPize: CUDA ${CMAKE_CUDA_COMPILER_VERSION} for ${CPIZE_CUDA_ARCHITECTURES}, nccl.h in ${CPIZE_NCCL_INCLUDE_DIR}")
