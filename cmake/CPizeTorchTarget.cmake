# Functions that judge a torch and make CPize::libtorch of it. For CPizeLibtorch.cmake and for the installed package.
#
# Not find_package(Torch): with a CUDA wheel that is a hard error on a machine without a toolkit, and it changes flags,
# module paths and directory-scoped targets of whoever calls it. Here nothing but the target is defined.
include_guard(DIRECTORY)

# A wheel says its version in version.py, a libtorch archive in build-version, and both in Torch's CMake package.
function(cpize_read_torch_version out root)
  set(version "")
  foreach(file IN ITEMS version.py build-version share/cmake/Torch/TorchConfigVersion.cmake)
    if(EXISTS "${root}/${file}" AND NOT version)
      file(STRINGS "${root}/${file}" line REGEX "^(__version__ = |set\\(PACKAGE_VERSION )?['\"]?[0-9]+\\.[0-9]" LIMIT_COUNT 1)
      if("${line}" MATCHES "([0-9]+\\.[0-9]+(\\.[0-9]+)?)")
        set(version "${CMAKE_MATCH_1}")
      endif()
    endif()
  endforeach()
  set(${out} "${version}" PARENT_SCOPE)
endfunction()

# No text file of the wheel says which ABI of std::string it was built with; the name of c10::Error's constructor does.
# 0 or 1; "" where libc10.so has no such constructor.
function(cpize_read_torch_abi out root)
  file(STRINGS "${root}/lib/libc10.so" symbol REGEX "^_ZN3c105ErrorC[12]ENS_14SourceLocationE(NSt7__cxx1112basic_string|Ss)" LIMIT_COUNT 1)
  set(abi "")
  if(symbol MATCHES "__cxx11")
    set(abi 1)
  elseif(symbol)
    set(abi 0)
  endif()
  set(${out} "${abi}" PARENT_SCOPE)
endfunction()

# cpize_torch_problem(<out> <root> <version> <abi> <cuda>): why this torch cannot be used, or "".
function(cpize_torch_problem out root version abi cuda)
  if(NOT EXISTS "${root}/include/ATen/ATen.h" OR NOT EXISTS "${root}/lib/libc10.so")
    set(${out} "'${root}' holds no include/ATen/ATen.h and lib/libc10.so; set CPIZE_TORCH_ROOT to the 'torch' directory of a torch ${version} wheel" PARENT_SCOPE)
    return()
  endif()
  cpize_read_torch_version(found "${root}")
  if(NOT found VERSION_EQUAL version)
    set(${out} "'${root}' is torch '${found}', and CPize is pinned to torch ${version}; set CPIZE_TORCH_ROOT to one of that version" PARENT_SCOPE)
    return()
  endif()
  cpize_read_torch_abi(found "${root}")
  if(found STREQUAL "")
    set(${out} "cannot tell which std::string ABI '${root}/lib/libc10.so' has: it lacks c10::Error's constructor" PARENT_SCOPE)
  elseif(NOT found STREQUAL abi)
    set(${out} "'${root}' was built with _GLIBCXX_USE_CXX11_ABI=${found}, and CPize and the libraries beside it use the std::string of \
_GLIBCXX_USE_CXX11_ABI=${abi}: programs would not link. Use a torch with that ABI (of libtorch archives the one called cxx11-abi; every wheel since 2.7)"
        PARENT_SCOPE)
  elseif(cuda AND NOT EXISTS "${root}/lib/libtorch_cuda.so")
    set(${out} "this CPize is built for CUDA, and '${root}' is a torch without it (no lib/libtorch_cuda.so)" PARENT_SCOPE)
  else()
    set(${out} "" PARENT_SCOPE)
  endif()
endfunction()

# cpize_define_libtorch(<root> <abi> <cuda>): CPize::libtorch. Imported, so that installed targets name it and not its paths.
# Programs find the libraries by rpath, and those find the CUDA runtime beside them: no LD_LIBRARY_PATH.
function(cpize_define_libtorch root abi cuda)
  set(lib "${root}/lib")
  add_library(CPize::libtorch INTERFACE IMPORTED GLOBAL)
  target_include_directories(CPize::libtorch SYSTEM INTERFACE "${root}/include" "${root}/include/torch/csrc/api/include")
  target_link_libraries(CPize::libtorch INTERFACE "${lib}/libtorch_cpu.so" "${lib}/libc10.so")
  target_compile_definitions(CPize::libtorch INTERFACE _GLIBCXX_USE_CXX11_ABI=${abi})
  target_compile_features(CPize::libtorch INTERFACE cxx_std_20)
  # libtorch_cpu registers its operators when it is loaded: a program whose own code names no symbol of it still needs it,
  # also where the compiler passes --as-needed by default.
  target_link_options(CPize::libtorch INTERFACE
    "LINKER:--push-state,--no-as-needed,${lib}/libtorch_cpu.so,${lib}/libc10.so,--pop-state" "LINKER:-rpath,${lib}")
  # The GPU half as well. A wheel without its NVIDIA dependencies links too (their symbols are left to the loader), but its
  # programs only start where those are.
  if(cuda)
    target_link_libraries(CPize::libtorch INTERFACE "${lib}/libtorch_cuda.so" "${lib}/libc10_cuda.so" CUDA::cudart)
    target_link_options(CPize::libtorch INTERFACE
      "LINKER:--push-state,--no-as-needed,${lib}/libtorch_cuda.so,${lib}/libc10_cuda.so,--pop-state"
      LINKER:--allow-shlib-undefined)
  endif()
endfunction()
