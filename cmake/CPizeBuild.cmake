# How CPize compiles its own code: warnings are errors, one shared precompiled header, ccache.
include_guard(GLOBAL)
include(CPizeConditionalSources)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
# A precompiled header is bound to -fPIC; executables compiled with -fPIE could not reuse the one of the libraries.
set(CMAKE_CXX_COMPILE_OPTIONS_PIE "-fPIC")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

find_program(CPIZE_CCACHE ccache)
if(CPIZE_CCACHE)
  # ccache caches a compilation with a precompiled header only under these sloppiness flags and with -fpch-preprocess, and
  # a second build tree or clone finds what the first one made only where paths below a common base are made relative.
  set(cpize_ccache_base "${PROJECT_SOURCE_DIR}")
  cmake_path(IS_PREFIX PROJECT_SOURCE_DIR "${CMAKE_BINARY_DIR}" NORMALIZE cpize_build_inside_source)
  if(NOT cpize_build_inside_source)
    set(cpize_ccache_base "${CMAKE_BINARY_DIR}")
  endif()
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND};-E;env" "CCACHE_BASEDIR=${cpize_ccache_base}"
      "CCACHE_DEPEND=true" # the compiler's dependency file serves as the manifest: no second run of the preprocessor
      "CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime" "${CPIZE_CCACHE}")
endif()

# A warning ends our own build, not that of a project that has CPize as a subdirectory and another compiler.
set(cpize_werror "")
if(PROJECT_IS_TOP_LEVEL)
  set(cpize_werror "-Werror;")
endif()
add_library(cpize_compile_options INTERFACE)
target_compile_options(cpize_compile_options INTERFACE
  "$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;${cpize_werror}-Winvalid-pch;-fpch-preprocess>"
  "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra;-Werror=all-warnings;-lineinfo>")
target_include_directories(cpize_compile_options INTERFACE "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/modules")

# The torch headers, compiled once (about 30 s) and reused by every torch-using target. Only what most files use: each header
# in here costs every translation unit the templates that it leaves to instantiate (an empty file takes 1.2 s with ATen
# alone, 2.8 s with this set, 5.3 s with torch/torch.h).
add_library(cpize_torch_pch OBJECT "${CMAKE_CURRENT_LIST_DIR}/torch_pch.cpp")
target_link_libraries(cpize_torch_pch PRIVATE cpize_compile_options CPize::libtorch)
target_precompile_headers(cpize_torch_pch PRIVATE
  <ATen/ATen.h> <torch/csrc/autograd/custom_function.h> <torch/csrc/distributed/c10d/Backend.hpp> <torch/nn/module.h>
  <functional> <map> <memory> <string> <vector>)

# cpize_library(<name> [NO_TORCH] SOURCES ... [LINKS ...]
#               [CUDA_SOURCES ...] [NO_CUDA_SOURCES ...] [CUDA_LINKS ...] [MPI_SOURCES ...] [NO_MPI_SOURCES ...] [MPI_LINKS ...])
# A static library `cpize_<name>` with the alias CPize::<name>; its headers are included as "<folder>/<header>.hpp".
# CUDA_SOURCES (.cu or .cpp) are compiled with CPIZE_CUDA, NO_CUDA_SOURCES without; likewise MPI. Where both define the same
# functions, callers need no macro. CUDA_LINKS and MPI_LINKS are for libraries from outside (CPize::nccl, MPI::MPI_CXX): a project
# target that only some builds link would make keys differ.
function(cpize_library name)
  cmake_parse_arguments(PARSE_ARGV 1 L "NO_TORCH" "" "SOURCES;LINKS;${_cpize_conditional}")
  set(target cpize_${name})
  if(L_SOURCES)
    add_library(${target} STATIC ${L_SOURCES})
    set(scope PUBLIC)
    target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:cpize_compile_options>) # our warnings are nobody else's
    target_include_directories(${target} PUBLIC "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/modules;${PROJECT_SOURCE_DIR}>")
    _cpize_add_sources(${target} L)
    if(NOT L_NO_TORCH)
      target_precompile_headers(${target} REUSE_FROM cpize_torch_pch)
    endif()
  else()
    add_library(${target} INTERFACE)
    set(scope INTERFACE)
    target_include_directories(${target} INTERFACE "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/modules;${PROJECT_SOURCE_DIR}>")
  endif()
  add_library(CPize::${name} ALIAS ${target})
  set_property(TARGET ${target} PROPERTY EXPORT_NAME ${name})
  set_property(GLOBAL APPEND PROPERTY CPIZE_LIBRARIES ${name}) # what can be installed: package/CPizeInstall.cmake
  target_compile_features(${target} ${scope} cxx_std_20)
  target_link_libraries(${target} ${scope} ${L_LINKS})
  if(NOT L_NO_TORCH)
    target_link_libraries(${target} ${scope} CPize::libtorch)
  endif()
endfunction()

# cpize_executable(<name> [NO_TORCH] SOURCES ... [LINKS ...]), with the same conditional sources
function(cpize_executable name)
  cmake_parse_arguments(PARSE_ARGV 1 E "NO_TORCH" "" "SOURCES;LINKS;${_cpize_conditional}")
  add_executable(${name} ${E_SOURCES})
  _cpize_add_sources(${name} E)
  target_link_libraries(${name} PRIVATE cpize_compile_options ${E_LINKS})
  if(NOT E_NO_TORCH)
    target_link_libraries(${name} PRIVATE CPize::libtorch)
    target_precompile_headers(${name} REUSE_FROM cpize_torch_pch)
  endif()
endfunction()
