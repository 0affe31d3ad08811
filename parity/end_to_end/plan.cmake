# Proofs of the whole trunk, of prediction and of training.
set(trunk recycling distogram bfactor)
cpize_prove(property.trunk_precision  SUBSYSTEM trunk  EFFORT 3  DEPENDS ${trunk}
            RISK medium "error quantiles in fp32 and bf16 against the serial model's own")

cpize_prove(prediction_end_to_end  SUBSYSTEM model  ROLE composition  EFFORT 4  DEPENDS predicting_model load_checkpoint
            RISK high "coordinates after 200 steps within the budget of fp64")
cpize_prove(written_prediction  SUBSYSTEM model  SCOPE inference  ROLE composition  EFFORT 2  DEPENDS write_prediction)
cpize_prove(steered_prediction  SUBSYSTEM model  SCOPE inference  ROLE composition  EFFORT 3  DEPENDS steering predicting_model)
cpize_prove(affinity_end_to_end  SUBSYSTEM model  SCOPE inference  ROLE composition  EFFORT 2  DEPENDS affinity_module predicting_model)
cpize_prove(property.prediction_mesh  SUBSYSTEM model  EFFORT 2  DEPENDS predicting_model
            RISK high "the same input alone, after another one, and on another mesh: the same structure")
cpize_prove(property.prediction_padding  SUBSYSTEM model  EFFORT 1  DEPENDS predicting_model)
cpize_prove(property.prediction_precision  SUBSYSTEM model  EFFORT 3  DEPENDS predicting_model)

cpize_prove(training_end_to_end  SUBSYSTEM model  SCOPE training  ROLE composition  EFFORT 4
            DEPENDS trainer replicas_agree resume_on_another_mesh
            RISK high "losses and every parameter after ten steps, with data parallelism")
cpize_prove(fine_tuned_end_to_end  SUBSYSTEM model  SCOPE training  ROLE composition  EFFORT 2  DEPENDS fine_tuning)
cpize_prove(validation_end_to_end  SUBSYSTEM model  SCOPE training  ROLE composition  EFFORT 2  DEPENDS validation)
