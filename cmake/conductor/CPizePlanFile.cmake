# The plan file: what the cpize tool knows of the plan. docs/conductor.md describes the schema.
include_guard(GLOBAL)

set(CPIZE_EVIDENCE_DIR "${CMAKE_BINARY_DIR}/cpize-evidence" CACHE PATH "the evidence store")

set(_CPIZE_STANDARD_MESHES 1x1x1 1x1x2 1x2x1 1x2x2 1x2x3 1x3x3 2x1x2)

# Sets WORLD_SIZE_<id>, PROCESSORS_<id>, CELLS_<id> and IMPLICIT_<id> from the plan's mesh.
macro(_cpize_settle_meshes)
  cmake_host_system_information(RESULT _cores QUERY NUMBER_OF_LOGICAL_CORES)
  set(_device cpu)
  if(front_backend STREQUAL "nccl")
    set(_device cuda)
  endif()
  set(_plan_cell "${front_dp}x${front_cp0}x${front_cp1}/${front_backend}/fp64/${_device}")
  list(TRANSFORM _CPIZE_STANDARD_MESHES APPEND "/threads/fp64/cpu" OUTPUT_VARIABLE _port_cells)
  list(APPEND _port_cells "${_plan_cell}")
  list(REMOVE_DUPLICATES _port_cells)
  foreach(id IN LISTS ids)
    set(CELLS_${id} "${_plan_cell}")
    if(PHASE_${id} MATCHES "^[23]$" AND VERB_${id} STREQUAL "parity")
      set(CELLS_${id} "${_port_cells}")
    endif()
    if(WORLD_SIZE_${id} STREQUAL "")
      set(WORLD_SIZE_${id} ${front_world})
      if(PHASE_${id} EQUAL 0 OR VERB_${id} STREQUAL "check" OR VERB_${id} STREQUAL "")
        set(WORLD_SIZE_${id} 1)
      endif()
    endif()
    # ranks as threads keep this many cores busy; asking for more than there are would only starve the test
    set(PROCESSORS_${id} ${WORLD_SIZE_${id}})
    if(_cores GREATER 0 AND PROCESSORS_${id} GREATER _cores)
      set(PROCESSORS_${id} ${_cores})
    endif()
    set(IMPLICIT_${id} "")
    if(PHASE_${id} GREATER 1)
      set(IMPLICIT_${id} ${gates})
    endif()
  endforeach()
endmacro()

macro(_cpize_write_plan)
  get_property(_tree GLOBAL PROPERTY _CPIZE_SERIAL_TREE)
  get_property(_lock GLOBAL PROPERTY _CPIZE_SERIAL_LOCK)
  _cpize_find_configure_inputs(_inputs)
  set(_before_6 "")
  set(_before_7 "")
  foreach(id IN LISTS order)
    if(PHASE_${id} LESS 6)
      list(APPEND _before_6 ${id})
    endif()
    if(PHASE_${id} LESS 7)
      list(APPEND _before_7 ${id})
    endif()
  endforeach()
  foreach(_name IN ITEMS _inputs _before_6 _before_7 front_focus)
    _cpize_json_list(_json${_name} "${${_name}}")
  endforeach()
  foreach(_name IN ITEMS plan_name CMAKE_SOURCE_DIR CMAKE_BINARY_DIR CMAKE_COMMAND CMAKE_CTEST_COMMAND CMAKE_GENERATOR CPIZE_EVIDENCE_DIR
                         CPIZE_ARGUMENTS _tree _lock front_data front_model front_ref)
    _cpize_json(_json_${_name} "${${_name}}")
  endforeach()
  if(multi_config)
    set(_multi true)
  else()
    set(_multi false)
  endif()
  set(_text "{\"schema\":1,\"name\":${_json_plan_name},
\"source\":${_json_CMAKE_SOURCE_DIR},\"build\":${_json_CMAKE_BINARY_DIR},
\"config\":\"$<CONFIG>\",\"multi\":${_multi},
\"cmake\":${_json_CMAKE_COMMAND},\"ctest\":${_json_CMAKE_CTEST_COMMAND},\"generator\":${_json_CMAKE_GENERATOR},
\"evidence_dir\":${_json_CPIZE_EVIDENCE_DIR},
\"decisions\":\"${CMAKE_SOURCE_DIR}/docs/cpize-decisions.jsonl\",
\"ledger\":\"${CMAKE_BINARY_DIR}/docs/cp_integration_plan.md\",
\"serial_tree\":${_json__tree},\"serial_lock\":${_json__lock},
\"configure_inputs\":${_json_inputs},
\"arguments\":${_json_CPIZE_ARGUMENTS},\"scope\":\"${front_scope}\",\"focus\":${_jsonfront_focus},\"mode\":\"${front_mode}\",
\"data\":${_json_front_data},\"launch\":\"${front_launch}\",\"backend\":\"${front_backend}\",
\"model\":${_json_front_model},\"ref\":${_json_front_ref},
\"dp\":${front_dp},\"cp\":[${front_cp0},${front_cp1}],\"world\":${front_world},
\"barriers\":{\"6\":${_json_before_6},\"7\":${_json_before_7}},
\"tasks\":[")
  set(_comma "")
  foreach(id IN LISTS ids)
    _cpize_task_json(_task ${id})
    string(APPEND _text "${_comma}\n ${_task}")
    set(_comma ",")
  endforeach()
  string(APPEND _text "\n]}\n")
  _cpize_plan_output(_output)
  file(GENERATE OUTPUT "${_output}" CONTENT "${_text}")
endmacro()

# An include directory under $<COMPILE_LANGUAGE:..> makes CMake write one plan a language; only one may have the plan's name.
function(_cpize_plan_output out)
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  list(REMOVE_ITEM languages NONE)
  set(output "${plan_file}")
  list(LENGTH languages count)
  if(count GREATER 1)
    list(GET languages 0 main)
    if("CXX" IN_LIST languages)
      set(main CXX)
    endif()
    string(REGEX REPLACE "[.]json$" "$<$<NOT:$<COMPILE_LANGUAGE:${main}>>:.$<COMPILE_LANGUAGE>>.json" output "${plan_file}")
  endif()
  set(${out} "${output}" PARENT_SCOPE)
endfunction()

function(_cpize_task_json out id)
  set(program "")
  set(arguments "${COMMAND_${id}}")
  list(POP_FRONT arguments program)
  if(TARGET "${program}")
    set(program "\"$<TARGET_FILE:${program}>\"")
  elseif(program)
    _cpize_json_list(program "${program}" EVALUATED)
    string(REGEX REPLACE "^.(.*).$" "\\1" program "${program}")
  endif()
  _cpize_is_built_here(here "${BUILD_${id}}")
  set(build "")
  if(here)
    set(build "${BUILD_${id}}")
  endif()
  _cpize_where(place ${id})
  foreach(key IN ITEMS DEPENDS IMPLICIT FOREIGN CITES INPUTS CELLS CASE)
    _cpize_json_list(json_${key} "${${key}_${id}}")
  endforeach()
  _cpize_json_list(json_arguments "${arguments}" EVALUATED)
  foreach(key IN ITEMS RISK_REASON DELEGATE ARTIFACT FACTORY)
    _cpize_json(json_${key} "${${key}_${id}}")
  endforeach()
  list(JOIN CASE_${id} " " case)
  set(in_scope false)
  if(IN_${id})
    set(in_scope true)
  endif()
  set(${out} "{\"id\":\"${id}\",\"phase\":${PHASE_${id}},\"subsystem\":\"${SUBSYSTEM_${id}}\",\"scope\":\"${SCOPE_${id}}\",\"delegate\":${json_DELEGATE},\
\"kind\":\"${KIND_${id}}\",\"risk\":\"${RISK_${id}}\",\"risk_reason\":${json_RISK_REASON},\"role\":\"${ROLE_${id}}\",\"effort\":${EFFORT_${id}},\
\"world_size\":${WORLD_SIZE_${id}},\"gpus\":${GPUS_${id}},\"depends\":${json_DEPENDS},\"implicit\":${json_IMPLICIT},\"foreign\":${json_FOREIGN},\
\"cites\":${json_CITES},\"artifact\":${json_ARTIFACT},\"factory\":${json_FACTORY},\"inputs\":${json_INPUTS},\"case\":\"${case}\",\
\"verb\":\"${VERB_${id}}\",\"command\":[${program}],\"target\":\"${build}\",\"args\":${json_arguments},\"cells\":${json_CELLS},\
\"wave\":${WAVE_${id}},\"rank\":${RANK_${id}},\"fan_in\":${FAN_IN_${id}},\"direct\":${DIRECT_${id}},\"chain\":${CHAIN_${id}},\"in_scope\":${in_scope},\
\"timeout\":${TIMEOUT_${id}},\"where\":\"${place}\",\"dir\":\"${DIR_${id}}\",\"units\":[${UNITS_${id}}]}" PARENT_SCOPE)
endfunction()

# Text as a JSON string. "$<" is written as an escape, since file(GENERATE) would evaluate it.
function(_cpize_json out text)
  if("${text}" MATCHES "[\\\"\n\t$]")
    string(REPLACE "\\" "\\\\" text "${text}")
    string(REPLACE "\"" "\\\"" text "${text}")
    string(REPLACE "\n" "\\n" text "${text}")
    string(REPLACE "\t" "\\t" text "${text}")
    string(REPLACE "$<" "\\u0024<" text "${text}")
  endif()
  set(${out} "\"${text}\"" PARENT_SCOPE)
endfunction()

# A list as a JSON array; with EVALUATED, generator expressions in it are left for CMake to evaluate.
function(_cpize_json_list out values)
  set(array "")
  foreach(value IN LISTS values)
    if(ARGC GREATER 2 AND value MATCHES "[$]<")
      list(APPEND array "\"${value}\"")
    else()
      _cpize_json(value "${value}")
      list(APPEND array "${value}")
    endif()
  endforeach()
  list(JOIN array "," array)
  set(${out} "[${array}]" PARENT_SCOPE)
endfunction()
