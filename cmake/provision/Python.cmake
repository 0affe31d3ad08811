# The Python environment in the cache whose pip fetches the torch wheel and gemmi's source archive. Nothing that CPize
# builds or runs needs Python.
include_guard(GLOBAL)

# The system's interpreter rather than whatever shim comes first in PATH: the environment has to outlive shell settings.
find_program(CPIZE_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
find_program(CPIZE_PYTHON python3)
mark_as_advanced(CPIZE_PYTHON)

# Whether the environment exists; it appears in the cache complete or not at all.
function(cpize_have_python_environment out)
  set(${out} FALSE PARENT_SCOPE)
  if(EXISTS "${CPIZE_CACHE}/venv/bin/python")
    execute_process(COMMAND "${CPIZE_CACHE}/venv/bin/python" -m pip --version RESULT_VARIABLE status OUTPUT_QUIET
                    ERROR_QUIET)
    if(status STREQUAL "0")
      set(${out} TRUE PARENT_SCOPE)
    endif()
  endif()
endfunction()

# Debian splits the module that creates environments into a package of its own.
function(cpize_python_can_create_environment out)
  set(${out} FALSE PARENT_SCOPE)
  if(CPIZE_PYTHON)
    execute_process(COMMAND "${CPIZE_PYTHON}" -c "import venv, ensurepip" RESULT_VARIABLE status OUTPUT_QUIET ERROR_QUIET)
    if(status STREQUAL "0")
      set(${out} TRUE PARENT_SCOPE)
    endif()
  endif()
endfunction()

# Creates the environment unless it is there. The lock of the cache is held. Its scripts name the directory where they
# were made, so after the rename only `venv/bin/python -m pip` is used, which does not.
function(cpize_need_python_environment)
  cpize_have_python_environment(have)
  if(have)
    return()
  endif()
  if(NOT CPIZE_PYTHON)
    message(FATAL_ERROR "CPize: no python3 found, which is needed to fetch libtorch; install it, or set CPIZE_TORCH_ROOT "
                        "and gemmi_DIR to existing installations")
  endif()
  string(TIMESTAMP start "%s" UTC)
  cpize_new_partial(venv partial)
  cpize_run_step("Creating a Python environment failed; is the package python3-venv installed?"
                 COMMAND "${CPIZE_PYTHON}" -m venv "${partial}/venv")
  cpize_commit_partial("${partial}" venv venv)
  cpize_say("Python environment" built "${CPIZE_CACHE}/venv" ${start})
endfunction()

# cpize_pip(<partial directory> <remedy> <pip arguments...>): temporary files stay inside the partial directory.
# env(1), because it becomes the command that it runs; `cmake -E env` would stay between, and only it would die with us.
function(cpize_pip partial remedy)
  cpize_run_step("${remedy}"
    COMMAND env -u PYTHONPATH -u PYTHONHOME -u PIP_TARGET -u PIP_USER "TMPDIR=${partial}/tmp"
            PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
            "${CPIZE_CACHE}/venv/bin/python" -m pip ${ARGN} --progress-bar off)
endfunction()
