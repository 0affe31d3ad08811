# What the life of the whole model needs beyond stop_and_go.
cpize_lifecycle(load_checkpoint  KIND new  EFFORT 4  DEPENDS predicting_model
                RISK high "a key that does not load is a random weight: architecture checked, missing and unexpected keys listed"
                CITES "Boltz-2, state dict of the released checkpoint")
cpize_lifecycle(predictor  SCOPE inference  ROLE composition  KIND new  EFFORT 5  DEPENDS predicting_model load_checkpoint
                RISK medium "a bad input is one agreed decision of all ranks"  CITES "Boltz-2, boltz2 Boltz2.predict_step")
cpize_lifecycle(write_prediction  SCOPE inference  KIND new  EFFORT 5  DEPENDS predictor
                RISK medium "structures that other programs read, matrices written shard by shard"  CITES "Boltz-2, write BoltzWriter")
cpize_lifecycle(collate  SCOPE training  KIND adapt  EFFORT 3
                DEPENDS feature.msa feature.atom_to_token feature.coords feature.symmetries
                RISK medium "samples of unequal size, atom numbers rewritten, a skipped sample is agreed")
cpize_lifecycle(optimizer  SCOPE training  KIND reuse  EFFORT 2  DEPENDS training_model
                RISK medium "groups by substrings of names, with surprises"  CITES "Boltz-2, boltz2 Boltz2.configure_optimizers")
cpize_lifecycle(ema  SCOPE training  KIND reuse  EFFORT 1  DEPENDS training_model  CITES "Boltz-2, ema EMA")
cpize_lifecycle(trainer  SCOPE training  ROLE composition  KIND adapt  EFFORT 6  DEPENDS collate optimizer ema stop_and_go
                RISK high "loss denominators, clipping and learning rate with data parallelism")
cpize_lifecycle(replicas_agree  SCOPE training  KIND reuse  EFFORT 1  DEPENDS trainer
                RISK medium "weights that drift apart by rank give no error")
cpize_lifecycle(resume_on_another_mesh  SCOPE training  KIND adapt  EFFORT 2  DEPENDS trainer
                RISK medium "streams of draws continue, whatever the mesh")
cpize_lifecycle(fine_tuning  SCOPE training  KIND adapt  EFFORT 2  DEPENDS trainer load_checkpoint
                RISK low "confidence from the trunk's weights, frozen parameters stay frozen")
cpize_lifecycle(validation  SCOPE training  ROLE composition  KIND adapt  EFFORT 3  DEPENDS trainer validation_metrics
                RISK medium "averaged weights swapped in and back out on every rank")
