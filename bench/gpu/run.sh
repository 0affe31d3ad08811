#!/bin/bash
# The GPU benchmarks that are committed: one JSON file a mesh, on as many GPUs as there are (one and two); and the peers.
#
#   bench/gpu/run.sh build-gpu docs/evidence/bench
set -e
program=$1/bench/cpize_bench_gpu out=$2
mkdir -p "$out"
gpus=$(ls /proc/driver/nvidia/gpus | wc -l)

# alone NAME FLAGS..: one process. pair NAME FLAGS..: one process a GPU, which meet over a file.
alone() { name=$1; shift; "$program" "$@" --benchmark_out="$out/$name.json" --benchmark_report_aggregates_only=false; }
pair() {
  name=$1; shift
  meeting=$(mktemp -u)
  for rank in 1 0; do
    RANK=$rank WORLD_SIZE=2 LOCAL_RANK=$rank LOCAL_WORLD_SIZE=2 CPIZE_RENDEZVOUS=$meeting \
      "$program" "$@" --benchmark_out="$out/$name.json" --benchmark_report_aggregates_only=false &
    pids[$rank]=$!
  done
  wait "${pids[0]}" && wait "${pids[1]}"
  rm -f "$meeting"
}

alone one_bf16 --dtypes bf16 --tokens 512,1024,2048,4096 --runs 7
alone one_bf16_triangle_8192 --blocks tri_mul_out --dtypes bf16 --tokens 8192 --runs 3
alone one_bf16_plain --blocks tri_mul_out,tri_att_start,transition --plain --dtypes bf16 --tokens 1024,2048 --runs 3 --benchmark_filter=plain
alone one_bf16_library --blocks tri_att_start_library --dtypes bf16 --tokens 512,1024,2048 --runs 5
alone one_bf16_graph --blocks pairformer_layer --graph --dtypes bf16 --tokens 256,512,1024 --runs 7 --benchmark_filter=graph
alone one_fp32 --dtypes fp32 --tokens 512,1024,2048 --runs 3
if [ "$gpus" -ge 2 ]; then
  pair two_bf16 --mesh 1x2 --dtypes bf16 --tokens 512,1024,2048,4096 --runs 7
  pair two_bf16_triangle_8192 --mesh 1x2 --blocks tri_mul_out --dtypes bf16 --tokens 8192 --runs 3
fi
# Others on the same GPU, where python3 has torch with CUDA.
if python3 -c 'import torch, sys; sys.exit(not torch.cuda.is_available())' 2>/dev/null; then
  "$(dirname "$0")/peers.py" > "$out/peers.json"
fi
