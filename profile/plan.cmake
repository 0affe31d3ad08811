# Memory and time of what is not written yet.
cpize_profile(trunk_memory       SUBSYSTEM trunk  EFFORT 2  DEPENDS recycling
              RISK medium "the budget of a backward pass, recomputation included"  ARTIFACT docs/trunk_mem_report.md)
cpize_profile(trunk_compute      SUBSYSTEM trunk  EFFORT 3  DEPENDS recycling  ARTIFACT docs/trunk_nsys_report.md)
cpize_profile(prediction_memory  SUBSYSTEM model  EFFORT 2  DEPENDS predicting_model  ARTIFACT docs/prediction_mem_report.md)
cpize_profile(prediction_compute  SUBSYSTEM model  EFFORT 3  DEPENDS predicting_model
              RISK medium "200 steps: host overhead must not show"  ARTIFACT docs/prediction_nsys_report.md)
cpize_profile(training_memory    SUBSYSTEM model  SCOPE training  EFFORT 2  DEPENDS training_model  ARTIFACT docs/training_mem_report.md)
cpize_profile(training_compute   SUBSYSTEM model  SCOPE training  EFFORT 3  DEPENDS training_model  ARTIFACT docs/training_nsys_report.md)
