# How large and how fast the rest of the model is.
cpize_benchmark(trunk_blocks       SUBSYSTEM trunk  EFFORT 4  GPUS 1  DEPENDS memory compute
                RISK medium "peers beside ours, on the same chip and in the same dtype"  ARTIFACT docs/trunk_benchmark.md)
cpize_benchmark(trunk_scale        SUBSYSTEM trunk  EFFORT 4  GPUS 8  DEPENDS trunk_blocks
                RISK high "strong and memory scaling from one GPU to eight"  ARTIFACT docs/trunk_scale.md)
cpize_benchmark(prediction_speed   SUBSYSTEM model  EFFORT 3  GPUS 1  DEPENDS prediction_compute  ARTIFACT docs/prediction_benchmark.md)
cpize_benchmark(prediction_tokens  SUBSYSTEM model  EFFORT 3  GPUS 8  DEPENDS prediction_memory
                RISK medium "the largest complex that a mesh predicts"  ARTIFACT docs/prediction_tokens.md)
cpize_benchmark(training_speed     SUBSYSTEM model  SCOPE training  EFFORT 3  GPUS 8  DEPENDS training_compute training_memory
                ARTIFACT docs/training_benchmark.md)
