# CPize::libtorch: the torch wheel's headers and libraries as one interface target of our own.
#
# Not find_package(Torch): with a CUDA wheel that is a hard error on a machine without a toolkit, and it changes flags,
# module paths and directory-scoped targets of whoever calls it. Here nothing but the target is defined.
#
# Input: CPIZE_TORCH_ROOT, a directory that holds include/, lib/ and version.py of a torch wheel (`.../torch`).
# Programs find the libraries by rpath, and those find the CUDA runtime beside them: no LD_LIBRARY_PATH.
include_guard(GLOBAL)

if(NOT EXISTS "${CPIZE_TORCH_ROOT}/include/ATen/ATen.h" OR NOT EXISTS "${CPIZE_TORCH_ROOT}/lib/libc10.so")
  message(FATAL_ERROR "CPize: CPIZE_TORCH_ROOT='${CPIZE_TORCH_ROOT}' holds no include/ATen/ATen.h and lib/libc10.so; "
                      "set it to the 'torch' directory of a torch ${CPIZE_TORCH_VERSION} wheel, or configure CPize itself "
                      "with CPIZE_PROVISION=ON once, which puts one into ${CPIZE_CACHE}")
endif()

# A wheel says its version in version.py, a libtorch archive in build-version, and both in Torch's CMake package.
function(cpize_read_torch_version out)
  set(version "")
  foreach(file IN ITEMS version.py build-version share/cmake/Torch/TorchConfigVersion.cmake)
    if(EXISTS "${CPIZE_TORCH_ROOT}/${file}" AND NOT version)
      file(STRINGS "${CPIZE_TORCH_ROOT}/${file}" line REGEX "^(__version__ = |set\\(PACKAGE_VERSION )?['\"]?[0-9]+\\.[0-9]"
           LIMIT_COUNT 1)
      if("${line}" MATCHES "([0-9]+\\.[0-9]+(\\.[0-9]+)?)")
        set(version "${CMAKE_MATCH_1}")
      endif()
    endif()
  endforeach()
  set(${out} "${version}" PARENT_SCOPE)
endfunction()

# No text file of the wheel says which ABI of std::string it was built with; the name of c10::Error's constructor does.
function(cpize_read_torch_abi out)
  set(library "${CPIZE_TORCH_ROOT}/lib/libc10.so")
  file(STRINGS "${library}" symbol REGEX "^_ZN3c105ErrorC[12]ENS_14SourceLocationE(NSt7__cxx1112basic_string|Ss)" LIMIT_COUNT 1)
  if(NOT symbol)
    message(FATAL_ERROR "CPize: cannot tell which std::string ABI ${library} uses: it lacks c10::Error's constructor")
  endif()
  set(${out} 0 PARENT_SCOPE)
  if(symbol MATCHES "__cxx11")
    set(${out} 1 PARENT_SCOPE)
  endif()
endfunction()

cpize_read_torch_version(cpize_torch_version)
if(NOT cpize_torch_version VERSION_EQUAL CPIZE_TORCH_VERSION)
  message(FATAL_ERROR "CPize: ${CPIZE_TORCH_ROOT} is torch '${cpize_torch_version}', but CPize is pinned to torch "
                      "${CPIZE_TORCH_VERSION} (cmake/CPizeVersions.cmake); unset CPIZE_TORCH_ROOT and Torch_DIR to use its own")
endif()
cpize_read_torch_abi(cpize_torch_abi)

add_library(cpize_libtorch INTERFACE)
add_library(CPize::libtorch ALIAS cpize_libtorch)
target_include_directories(cpize_libtorch SYSTEM INTERFACE
  "${CPIZE_TORCH_ROOT}/include" "${CPIZE_TORCH_ROOT}/include/torch/csrc/api/include")
target_link_libraries(cpize_libtorch INTERFACE "${CPIZE_TORCH_ROOT}/lib/libtorch_cpu.so" "${CPIZE_TORCH_ROOT}/lib/libc10.so")
target_compile_definitions(cpize_libtorch INTERFACE _GLIBCXX_USE_CXX11_ABI=${cpize_torch_abi})
# libtorch_cpu registers its operators when it is loaded: a program whose own code names no symbol of it still needs it,
# also where the compiler passes --as-needed by default.
target_link_options(cpize_libtorch INTERFACE
  "LINKER:--push-state,--no-as-needed,${CPIZE_TORCH_ROOT}/lib/libtorch_cpu.so,${CPIZE_TORCH_ROOT}/lib/libc10.so,--pop-state"
  "LINKER:-rpath,${CPIZE_TORCH_ROOT}/lib")
target_compile_features(cpize_libtorch INTERFACE cxx_std_20)
