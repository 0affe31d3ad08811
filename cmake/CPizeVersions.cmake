# Every version that CPize pins, and its own, in one place.
set(CPIZE_VERSION 0.1.0)
set(CPIZE_TORCH_VERSION 2.11.0)
set(CPIZE_CUDA_WHEEL_VERSION 13.0) # nvidia-cuda-runtime, nvidia-cuda-cupti: what the torch wheel was built against
set(CPIZE_NCCL_VERSION 2.28.9)    # the header for machines without it; what runs is libtorch's own
set(CPIZE_GEMMI_VERSION 0.7.5)     # the oldest one accepted; Debian's 0.5.7 reads some files as empty, without an error
