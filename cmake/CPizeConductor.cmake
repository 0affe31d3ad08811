# The conductor: a CP port as a build graph. Declarations in, an ordered plan, CTest tests and build targets out.
# This is the only file to include; docs/conductor.md is the manual. It needs no torch and no other CPize file.
# Guarded by directory, not globally: its variables must also reach a project that has CPize as a subdirectory.
include_guard(DIRECTORY)

foreach(_cpize_topic IN ITEMS
    Messages FrontDoor Plan Task Sugar Graph Order Paths Inputs Units PlanFile Gpus Tests Firewall)
  include("${CMAKE_CURRENT_LIST_DIR}/conductor/CPize${_cpize_topic}.cmake")
endforeach()
unset(_cpize_topic)
