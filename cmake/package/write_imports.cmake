# Run by `cmake --install`: CPize<component>Imports.cmake, which is CPize<component>Targets.cmake without its file(GLOB): in a path
# with brackets the glob would find nothing, and the targets would have no files. The original stays as CMake wrote it, so that
# installing a second configuration into the same prefix still works.
file(READ "${CPIZE_EXPORT}Targets.cmake" text)
get_filename_component(name "${CPIZE_EXPORT}" NAME)
set(glob "file(GLOB _cmake_config_files \"\${CMAKE_CURRENT_LIST_DIR}/${name}Targets-*.cmake\")")
string(FIND "${text}" "${glob}" at)
if(at EQUAL -1)
  message(FATAL_ERROR "CPize: this CMake writes ${name}Targets.cmake in another way: ${CMAKE_VERSION}")
endif()
string(REPLACE "${glob}" "set(_cmake_config_files \"\")
foreach(_cmake_config_name IN ITEMS debug release relwithdebinfo minsizerel noconfig)
  if(EXISTS \"\${CMAKE_CURRENT_LIST_DIR}/${name}Targets-\${_cmake_config_name}.cmake\")
    list(APPEND _cmake_config_files \"\${CMAKE_CURRENT_LIST_DIR}/${name}Targets-\${_cmake_config_name}.cmake\")
  endif()
endforeach()
unset(_cmake_config_name)" text "${text}")
file(WRITE "${CPIZE_EXPORT}Imports.cmake" "${text}")
list(APPEND CMAKE_INSTALL_MANIFEST_FILES "${CPIZE_EXPORT}Imports.cmake")
