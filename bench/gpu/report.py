#!/usr/bin/env python3
"""Tables from the Google Benchmark files of cpize_bench_gpu (docs/evidence/bench/*.json): docs/gpu_benchmark.md.

    bench/gpu/report.py docs/evidence/bench/*.json > docs/gpu_benchmark.md
    bench/gpu/report.py docs/evidence/scale > docs/evidence/scale/report.md     a folder of bench/scale.sh
"""
import collections
import json
import pathlib
import statistics
import sys


def size(count):
    """Bytes in words."""
    unit, word = next((u for u in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")) if count >= u[0]), (1, "B"))
    return f"{count / unit:.3g} {word}"


def by_ranks(name):
    """(what, N, number of ranks) of model/kind/dtype/N:2048/gpus:4 (or threads:4; the largest N have no N)."""
    parts = name.split("/")
    tokens = next((int(part[2:]) for part in parts if part.startswith("N:")), 0)
    return "/".join(parts[:3]), tokens, int(parts[-1].split(":")[1])


def widths(entry):
    return ", ".join(f"{letter} = {value}" for letter, value in sorted(entry.get("sizes", {}).items()))


def strong_tables(benchmarks):
    runs, skipped = collections.defaultdict(list), {}
    for run in benchmarks:
        if run.get("error_occurred"):
            skipped[run["name"]] = run.get("error_message", "failed")
        else:
            runs[by_ranks(run["name"])].append(run)
    if runs:
        example = runs[sorted(runs)[0]][-1]
        print(f"\n## Strong scaling\n\nMedian of the repetitions, the slowest rank's; speed-up and efficiency against one "
              "rank at the same N. `step`: forward, backward and the sum of parameter gradients. Peak above inputs and "
              "parameters, of the fullest rank; sent by the busiest rank, against the closed forms that bound the parity "
              "cases. Exposed: communication beside which nothing else ran, in a recorded step; of a forward it is not "
              f"recorded. Widths: {widths(example)}.")
    median = {key: statistics.median(run["real_time"] for run in kept) for key, kept in runs.items()}
    for what in sorted({key[0] for key in runs}):
        print(f"\n### {what.replace('/', ', ')}\n\n| N | ranks | mesh | ms | spread | speed-up | efficiency | peak a rank | "
              "sent a rank | of the closed form | exposed ms | of the step |")
        print("|---|---|---|---|---|---|---|---|---|---|---|---|")
        for key in sorted(key for key in runs if key[0] == what):
            _, tokens, ranks = key
            times, last, ms = [run["real_time"] for run in runs[key]], runs[key][-1], median[key]
            one = median.get((what, tokens, 1))
            faster = [f"{one / ms:.2f}", f"{one / ms / ranks:.0%}"] if one else ["", ""]
            formula, sent = last["sent_bytes_formula"], last["sent_bytes"]
            exposed = last.get("exposed_ms")
            print("| " + " | ".join([
                str(tokens), str(ranks), last["mesh"], f"{ms:.4g}", f"{(max(times) - min(times)) / ms:.0%}", *faster,
                size(last["peak_bytes"]), size(sent), f"{sent / formula:.1%}" if formula else "",
                f"{exposed:.3g}" if exposed is not None else "", f"{exposed / ms:.0%}" if exposed is not None else ""]) + " |")
    for what, tokens, ranks in sorted(key for key in median if key[1:] == (4096, 4)):
        if one := median.get((what, 4096, 1)):
            faster = one / median[(what, 4096, 4)]
            print(f"\n{what} at N = 4096: four ranks are {faster:.2f} times one, goal 3.6: "
                  f"{'reached' if faster >= 3.6 else 'missed'}.")
    if skipped:
        print("\nNot measured: " + "; ".join(f"{name} ({why})" for name, why in sorted(skipped.items())) + ".")


def largest_table(found):
    budgets = {entry["budget_mib"] for entry in found.values()}
    print("\n## The largest N that fits\n\nOne run with everything that it needs in memory, inputs and parameters included"
          + (f"; within {', '.join(f'{b:g}' for b in sorted(budgets) if b)} MiB a rank" if any(budgets) else "")
          + ". Trunk: layers are checkpointed.\n\n| | ranks | mesh | fits | does not fit | times one rank | peak a rank | ms | "
            "search stopped |\n|---|---|---|---|---|---|---|---|---|")
    for name, entry in sorted(found.items(), key=lambda item: by_ranks(item[0])):
        what, _, ranks = by_ranks(name)
        one = found.get(name.rsplit(":", 1)[0] + ":1", {}).get("fits")
        times = f"{entry['fits'] / one:.2f}" if one else ""
        print(f"| {what} | {ranks} | {entry['mesh']} | {entry['fits']} | {entry['does_not_fit'] or 'not found'} | "
              f"{times} | {size(entry['peak_bytes'])} | {entry['milliseconds']:.4g} | "
              f"{entry['stopped'] or 'done'} |")


def parity_table(ports):
    cells = sorted({cell for port in ports.values() for cell in port}, key=lambda c: (len(c), c))
    red = [(port, cell, of[cell]["why"]) for port, of in sorted(ports.items()) for cell in sorted(of) if not of[cell]["green"]]
    count = sum(len(of) for of in ports.values())
    print(f"\n## Parity\n\n{count - len(red)} of {count} cells of {len(ports)} ports are green, against the serial blocks.\n\n"
          f"| port | {' | '.join(cells)} |\n|---|{'---|' * len(cells)}")
    for port, of in sorted(ports.items()):
        print(f"| {port} | " + " | ".join("" if c not in of else "green" if of[c]["green"] else "RED" for c in cells) + " |")
    for port, cell, why in red:
        print(f"\n{port} on {cell}: {why}")


def scaling(folder):
    def content(name):
        file = folder / name
        return json.loads(file.read_text()) if file.exists() else {}

    strong, found = content("strong.json").get("benchmarks", []), content("memory.json").get("largest", {})
    ports = content("parity.json").get("ports", {})
    cells = [cell for port in ports.values() for cell in port.values()]
    places = sorted({entry["on"] for entry in [*strong, *found.values(), *cells]})
    if not places:
        sys.exit(f"report.py: {folder} has no results of bench/scale.sh")
    print(f"# Scaling of the trunk\n\nOn {', '.join(places)}; written by `bench/gpu/report.py` from the results of "
          "`bench/scale.sh` in this folder.")
    if strong:
        strong_tables(strong)
    if found:
        largest_table(found)
    if ports:
        parity_table(ports)


def blocks():
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


if len(sys.argv) == 2 and pathlib.Path(sys.argv[1]).is_dir():
    scaling(pathlib.Path(sys.argv[1]))
else:
    blocks()
