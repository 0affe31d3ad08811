# Short forms of cpize_task(), one for each kind of task; each only sets the phase and the usual subsystem.
include_guard(DIRECTORY)

# Phase 0: what the model computes. FACTORY names the target that composes it; its sources count for the key.
function(cpize_map_model id)
  _cpize_declare_in("data" "${id}" PHASE 0 ${ARGN})
endfunction()

# Phase 1: ranks, libraries and collectives of the machine at hand.
function(cpize_verify_infra id)
  _cpize_declare_in("infra" "${id}" PHASE 1 ${ARGN})
endfunction()

# Phase 2: distribution of one feature. Its id is feature.<name>, so that a port says DEPENDS feature.msa.
function(cpize_shard_feature name)
  _cpize_declare_in("data" "feature.${name}" PHASE 2 ${ARGN})
endfunction()

# Phase 3: one block of the model.
function(cpize_port id)
  _cpize_declare_in("" "${id}" PHASE 3 ${ARGN})
endfunction()

# Phase 4: checkpoints, resume, trainer, predictor.
function(cpize_lifecycle id)
  _cpize_declare_in("lifecycle" "${id}" PHASE 4 ${ARGN})
endfunction()

# Phase 5: the whole model against serial, and properties.
function(cpize_prove id)
  _cpize_declare_in("" "${id}" PHASE 5 ${ARGN})
endfunction()

# Phase 6: memory and time, attributed.
function(cpize_profile id)
  _cpize_declare_in("" "${id}" PHASE 6 ${ARGN})
endfunction()

# Phase 7: how large and how fast.
function(cpize_benchmark id)
  _cpize_declare_in("" "${id}" PHASE 7 ${ARGN})
endfunction()

function(_cpize_declare_in subsystem id)
  set(preset "")
  if(subsystem AND NOT "SUBSYSTEM" IN_LIST ARGN)
    set(preset SUBSYSTEM ${subsystem})
  endif()
  _cpize_declare("${id}" "${CMAKE_CURRENT_LIST_FILE}" ${preset} ${ARGN})
endfunction()
