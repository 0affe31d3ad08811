# CPize::libtorch for this build: the torch wheel's headers and libraries as one interface target of our own.
#
# Input: CPIZE_TORCH_ROOT, a directory that holds include/, lib/ and version.py of a torch wheel (`.../torch`); CPIZE_CUDA.
include_guard(GLOBAL)
include(CPizeTorchTarget)

set(cpize_torch_abi 1) # that of GoogleTest, fmt, gemmi and whatever else comes from the system
cpize_torch_problem(cpize_problem "${CPIZE_TORCH_ROOT}" ${CPIZE_TORCH_VERSION} ${cpize_torch_abi} ${CPIZE_CUDA})
if(cpize_problem)
  message(FATAL_ERROR "CPize: ${cpize_problem}. Or unset CPIZE_TORCH_ROOT and Torch_DIR and configure CPize itself with "
                      "CPIZE_PROVISION=ON once, which puts one into ${CPIZE_CACHE}")
endif()
cpize_define_libtorch("${CPIZE_TORCH_ROOT}" ${cpize_torch_abi} ${CPIZE_CUDA})
