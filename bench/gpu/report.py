#!/usr/bin/env python3
"""Tables from the Google Benchmark files of cpize_bench_gpu (docs/evidence/bench/*.json): docs/gpu_benchmark.md.

    bench/gpu/report.py docs/evidence/bench/*.json > docs/gpu_benchmark.md
"""
import collections
import json
import statistics
import sys


def main():
    runs = collections.defaultdict(list)
    skipped, aggregates = {}, collections.defaultdict(dict)
    for path in sys.argv[1:]:
        with open(path) as file:
            content = json.load(file)
        mesh = " (2x1)" if "2x1" in path else ""  # columns over two GPUs, unless the file says rows
        for run in content["benchmarks"]:
            name = run.get("run_name", run["name"]).replace("/", mesh + "/", 1)
            if run.get("error_occurred"):
                skipped[name] = run.get("error_message", "failed")
            elif run.get("run_type", "iteration") == "iteration":
                runs[name].append(run)
            elif run.get("aggregate_name") in ("median", "cv"):
                aggregates[name][run["aggregate_name"]] = run
    rows, median = collections.defaultdict(dict), {}
    for name, kept in aggregates.items():
        if name not in runs:
            block, kind, dtype, tokens, gpus = name.split("/")
            last, median[name] = kept["median"], kept["median"]["real_time"]
            rows[(block, dtype, kind)][(int(tokens[2:]), int(gpus[5:]))] = (
                median[name], 2 * kept["cv"]["real_time"], last["peak_bytes"], last["sent_bytes"], last["floor_ms"])
    for name, repeated in runs.items():
        block, kind, dtype, tokens, gpus = name.split("/")
        times = [run["real_time"] for run in repeated]
        median[name] = statistics.median(times)
        last = repeated[-1]
        rows[(block, dtype, kind)][(int(tokens[2:]), int(gpus[5:]))] = (
            median[name], (max(times) - min(times)) / median[name], last["peak_bytes"], last["sent_bytes"], last["floor_ms"])
    print("# Blocks on GPUs\n\nH200, torch 2.11.0, CUDA 13.0; 128 pair channels, batch 1; written by `bench/gpu/report.py` from "
          "`docs/evidence/bench/`. `forward` without gradients; `step`: forward, backward and the sum of parameter gradients. "
          "Median of the repetitions, spread (largest - smallest) / median, or two standard deviations where only those were kept; peak above inputs and parameters, of the fullest "
          "rank; sent by the busiest rank. The floor is what perfect kernels would take on one rank: bytes that must move at "
          "4.2 TB/s plus bf16 products at 788 TFLOP/s, exchanges not counted.")
    for (block, dtype, kind), cells in sorted(rows.items()):
        print(f"\n## {block}, {kind}, {dtype}\n\n| N | GPUs | ms | spread | of the floor | peak GiB | sent GiB | times one GPU |")
        print("|---|---|---|---|---|---|---|---|")
        for (tokens, gpus), (ms, spread, peak, sent, floor) in sorted(cells.items()):
            one = median.get(f"{block.split()[0]}/{kind}/{dtype}/N:{tokens}/gpus:1")
            faster = f"{one / ms:.2f}" if one and gpus > 1 else ""
            print(f"| {tokens} | {gpus} | {ms:.3g} | {spread:.0%} | {floor / ms:.0%} | {peak / 2**30:.2f} | "
                  f"{sent / 2**30:.2f} | {faster} |")
    if skipped:
        print("\nNot measured: " + "; ".join(f"{name} ({why})" for name, why in sorted(skipped.items())) + ".")


main()
