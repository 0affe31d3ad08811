# Memory and time of what is not written yet.
cpize_profile(prediction_memory  SUBSYSTEM model  EFFORT 2  DEPENDS predicting_model  ARTIFACT docs/prediction_mem_report.md)
cpize_profile(prediction_compute  SUBSYSTEM model  EFFORT 3  DEPENDS predicting_model
              RISK medium "200 steps: host overhead must not show"  ARTIFACT docs/prediction_nsys_report.md)
cpize_profile(training_memory    SUBSYSTEM model  SCOPE training  EFFORT 2  DEPENDS training_model  ARTIFACT docs/training_mem_report.md)
cpize_profile(training_compute   SUBSYSTEM model  SCOPE training  EFFORT 3  DEPENDS training_model  ARTIFACT docs/training_nsys_report.md)
