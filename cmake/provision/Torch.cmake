# libtorch: an existing one wins, else the wheel is unpacked into the cache (about 1.2 GB, no dependencies but the two
# small CUDA libraries that libtorch_cpu itself loads).
#
# In order: CPIZE_TORCH_ROOT (the 'torch' directory of a wheel), Torch_DIR (.../share/cmake/Torch), Torch_ROOT, each as
# CMake variable or environment variable; then <cache>/torch-<version>/torch; then the torch of the python3 in PATH, if it is of
# the pinned version. CPizeLibtorch.cmake checks the version.
include_guard(GLOBAL)
include(provision/Python)

# The 'torch' directory of the python3 in PATH, "" where it has none of the pinned version.
function(cpize_find_python_torch out)
  set(${out} "" PARENT_SCOPE)
  find_program(CPIZE_PYTHON_IN_PATH python3)
  mark_as_advanced(CPIZE_PYTHON_IN_PATH)
  if(NOT CPIZE_PYTHON_IN_PATH)
    return()
  endif()
  execute_process(
    COMMAND "${CPIZE_PYTHON_IN_PATH}" -c "import importlib.util as u, os; s = u.find_spec('torch'); print(os.path.dirname(s.origin) if s and s.origin else '')"
    RESULT_VARIABLE status OUTPUT_VARIABLE root ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT status STREQUAL "0" OR NOT EXISTS "${root}/include/ATen/ATen.h" OR NOT EXISTS "${root}/version.py")
    return()
  endif()
  file(STRINGS "${root}/version.py" version REGEX "^__version__ = " LIMIT_COUNT 1)
  if(version MATCHES "['\"]${CPIZE_TORCH_VERSION}([^0-9.]|$)")
    set(${out} "${root}" PARENT_SCOPE)
  endif()
endfunction()

# Sets CPIZE_TORCH_ROOT and CPIZE_TORCH_FOUND in the caller.
function(cpize_find_torch)
  set(own "${CPIZE_CACHE}/torch-${CPIZE_TORCH_VERSION}/torch")
  set(root "")
  # What an earlier configure took from the cache is not the user's choice: the version or the cache may have changed.
  if(CPIZE_TORCH_ROOT AND NOT CPIZE_TORCH_ROOT STREQUAL "${CPIZE_TORCH_ROOT_PROVISIONED}")
    set(root "${CPIZE_TORCH_ROOT}")
  elseif(DEFINED ENV{CPIZE_TORCH_ROOT})
    set(root "$ENV{CPIZE_TORCH_ROOT}")
  elseif(Torch_DIR)
    set(root "${Torch_DIR}/../../..")
  elseif(DEFINED ENV{Torch_DIR})
    set(root "$ENV{Torch_DIR}/../../..")
  elseif(Torch_ROOT)
    set(root "${Torch_ROOT}")
  elseif(DEFINED ENV{Torch_ROOT})
    set(root "$ENV{Torch_ROOT}")
  endif()

  if(root)
    get_filename_component(root "${root}" REALPATH)
    unset(CPIZE_TORCH_ROOT_PROVISIONED CACHE)
  else()
    set(root "${own}")
    if(NOT EXISTS "${own}/include/ATen/ATen.h")
      cpize_find_python_torch(theirs)
      if(theirs)
        set(root "${theirs}")
      endif()
    endif()
    set(CPIZE_TORCH_ROOT_PROVISIONED "${root}" CACHE INTERNAL "CPIZE_TORCH_ROOT as provisioning set it")
  endif()
  set(CPIZE_TORCH_ROOT "${root}" CACHE PATH "the 'torch' directory of a torch wheel" FORCE)
  set(CPIZE_TORCH_FOUND TRUE PARENT_SCOPE)
  if(EXISTS "${root}/include/ATen/ATen.h" OR NOT root STREQUAL own)
    cpize_say(libtorch found "${root}")
  else()
    set(CPIZE_TORCH_FOUND FALSE PARENT_SCOPE)
  endif()
endfunction()

# Downloads into the cache; its lock is held. Another configure may have been faster.
function(cpize_provision_torch)
  set(name "torch-${CPIZE_TORCH_VERSION}")
  if(EXISTS "${CPIZE_CACHE}/${name}/torch/include/ATen/ATen.h")
    cpize_say(libtorch found "${CPIZE_CACHE}/${name}")
    return()
  endif()
  cpize_need_python_environment()
  string(TIMESTAMP start "%s" UTC)
  message(STATUS "CPize: downloading libtorch ${CPIZE_TORCH_VERSION} (about 0.5 GB, 1.2 GB unpacked)")
  cpize_new_partial(${name} partial)
  cpize_pip("${partial}" "libtorch could not be downloaded. Configure again when the network is there, or set CPIZE_TORCH_ROOT."
            install --quiet --no-deps --no-compile --target "${partial}/${name}" torch==${CPIZE_TORCH_VERSION}
            nvidia-cuda-runtime==${CPIZE_CUDA_WHEEL_VERSION}.* nvidia-cuda-cupti==${CPIZE_CUDA_WHEEL_VERSION}.*)
  if(NOT EXISTS "${partial}/${name}/torch/lib/libtorch_cpu.so")
    message(FATAL_ERROR "CPize: the torch ${CPIZE_TORCH_VERSION} wheel for this Python holds no torch/lib/libtorch_cpu.so")
  endif()
  cpize_commit_partial("${partial}" ${name} ${name})
  cpize_say("libtorch ${CPIZE_TORCH_VERSION}" downloaded "${CPIZE_CACHE}/${name}" ${start})
endfunction()
