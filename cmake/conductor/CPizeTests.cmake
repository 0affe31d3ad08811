# CTest's view of the plan: one test a task, which is also the setup of the fixture that its consumers require.
include_guard(DIRECTORY)

set(CPIZE_TEST_MARGIN 1800 CACHE STRING "seconds that CTest's TIMEOUT allows a task's test beyond the task's own: builds, waiting for locks")
mark_as_advanced(CPIZE_TEST_MARGIN)

macro(_cpize_make_tests)
  _cpize_choose_fixtures()
  list(LENGTH order _count)
  _cpize_make_bootstrap_test()
  foreach(id IN LISTS order)
    add_test(NAME ${id} COMMAND ${tool} prove ${id} --plan "${plan_file}")
    # an explicit cost always wins over CTest's own history; twice the inverse rank leaves room for the barriers in between
    math(EXPR _cost "2 * (${_count} - ${RANK_${id}}) + 2")
    math(EXPR _timeout "${TIMEOUT_${id}} + ${CPIZE_TEST_MARGIN}")
    set(_wave ${WAVE_${id}})
    if(_wave LESS 10)
      set(_wave 0${_wave}) # `ctest -L wave1` would select wave 10 too
    endif()
    set_tests_properties(${id} PROPERTIES
      FIXTURES_SETUP ${id}
      FIXTURES_REQUIRED "${FIXTURES_${id}}"
      LABELS "phase${PHASE_${id}};wave${_wave};kind-${KIND_${id}};risk-${RISK_${id}};subsystem-${SUBSYSTEM_${id}};task-${id}"
      COST ${_cost}
      PROCESSORS ${PROCESSORS_${id}}
      TIMEOUT ${_timeout})
  endforeach()
  _cpize_make_barrier_tests()
  _cpize_make_gpu_groups()
  _cpize_forget_failed_tests()
endmacro()

# A tool of this very tree is built by the first test, so that plain ctest works right after the configure.
macro(_cpize_make_bootstrap_test)
  if(tool_built_here)
    find_program(CPIZE_FLOCK flock) # two ctests at once must not run two builds at once
    mark_as_advanced(CPIZE_FLOCK)
    set(_alone "")
    if(CPIZE_FLOCK)
      file(MAKE_DIRECTORY "${CMAKE_BINARY_DIR}/cpize-locks")
      set(_alone "${CPIZE_FLOCK}" "${CMAKE_BINARY_DIR}/cpize-locks/build.lock") # the lock under which the tool builds
    endif()
    add_test(NAME cpize.bootstrap
      COMMAND ${_alone} ${CMAKE_COMMAND} --build "${CMAKE_BINARY_DIR}" --config $<CONFIG> --target ${tool})
    math(EXPR _cost "2 * ${_count} + 4")
    set_tests_properties(cpize.bootstrap PROPERTIES
      FIXTURES_SETUP cpize.bootstrap LABELS bootstrap COST ${_cost} TIMEOUT ${CPIZE_TEST_MARGIN})
  endif()
endmacro()

# Barriers carry no phase label: `ctest -L phase5` is correctness and nothing else.
macro(_cpize_make_barrier_tests)
  foreach(phase IN ITEMS 6 7)
    if(has_phase_${phase} OR (phase EQUAL 6 AND has_phase_7))
      add_test(NAME cpize.before_phase${phase} COMMAND ${tool} gate --before ${phase} --plan "${plan_file}")
      set(_rank ${_count})
      foreach(id IN LISTS order)
        if(NOT PHASE_${id} LESS phase)
          math(EXPR _rank "${RANK_${id}} - 1")
          break()
        endif()
      endforeach()
      math(EXPR _cost "2 * (${_count} - ${_rank}) + 1")
      set_tests_properties(cpize.before_phase${phase} PROPERTIES
        FIXTURES_SETUP cpize.before_phase${phase}
        FIXTURES_REQUIRED "${BARRIER_${phase}}"
        LABELS barrier
        COST ${_cost}
        TIMEOUT 300)
    endif()
  endforeach()
endmacro()

# `ctest --rerun-failed` selects by number: after a change of the plan it would run other tests than those that failed.
function(_cpize_forget_failed_tests)
  string(SHA256 hash "${order}")
  if(NOT hash STREQUAL "${_CPIZE_ORDER_HASH}")
    file(GLOB logs "${CMAKE_BINARY_DIR}/Testing/Temporary/LastTestsFailed*.log")
    if(logs)
      file(REMOVE ${logs})
    endif()
    set(_CPIZE_ORDER_HASH "${hash}" CACHE INTERNAL "order of the tasks at the last configure")
  endif()
endfunction()
