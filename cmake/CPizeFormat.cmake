# Formatting: the target `format` rewrites our sources, the test `format` checks them. Both look the files up when they
# run, so a new file is covered without configuring again.
include_guard(GLOBAL)

find_program(CPIZE_CLANG_FORMAT clang-format)
set(cpize_format_script "-DCLANG_FORMAT=${CPIZE_CLANG_FORMAT}" "-DSOURCE=${PROJECT_SOURCE_DIR}"
    -P "${PROJECT_SOURCE_DIR}/cmake/scripts/format_sources.cmake")
add_custom_target(format COMMAND "${CMAKE_COMMAND}" ${cpize_format_script} VERBATIM COMMENT "clang-format")
add_test(NAME format COMMAND "${CMAKE_COMMAND}" -DCHECK=ON ${cpize_format_script})
set_tests_properties(format PROPERTIES LABELS format TIMEOUT 120)
