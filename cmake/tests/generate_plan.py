#!/usr/bin/env python3
"""generate_plan.py N DIR [--seed S]: a project with a plan of N tasks over the eight phases, in the proportions of a real port.

Every task's only input is the text file in/<id>.txt that holds its difference; one small program measures them all, so that the
time of a run is the conductor's own. Every task of phases 2 to 4 is needed by a proof, as a plan demands."""
import argparse
import pathlib
import random

SHARES = [0.005, 0.01, 0.15, 0.6, 0.05, 0.075, 0.05, 0.06]
PROFILES = ["map", "infra", "feature", "block", "lifecycle", "block", "profile", "bench"]

PROGRAM = r"""// Measures every cell of CPIZE_CELLS: the difference is the number in in/<task>.txt.
#include "parity/measure.hpp"

int main(int argc, char** argv) {
    if (argc < 3) return 2;
    double difference = 9;
    std::ifstream("in/" + std::string(argv[1]) + ".txt") >> difference;
    return measure(argv[2], difference, 0);
}
"""


def tasks(count, rng):
    """[(id, phase, producers)], each phase with at least one task; producers precede."""
    sizes = [max(1, round(count * share)) for share in SHARES]
    sizes[3] += count - sum(sizes)
    phases = [[f"p{phase}t{k:03d}" for k in range(size)] for phase, size in enumerate(sizes)]
    producers = {}
    for phase, names in enumerate(phases):
        for k, name in enumerate(names):
            needs = set()
            if phase > 1:
                needs.update(rng.choice(phases[phase - 1]) for _ in range(rng.randint(1, 2)))
            if phase == 3 and k and rng.random() < 0.75:
                needs.update(rng.choice(names[max(0, k - 25):k]) for _ in range(rng.randint(1, 2)))
            if phase > 3 and k and rng.random() < 0.2:
                needs.add(rng.choice(names[:k]))
            producers[name] = needs
    # what nobody needs is proved by one of the proofs
    for phase in (2, 3, 4):
        needed = set().union(*producers.values())
        for name in phases[phase]:
            if name not in needed:
                producers[rng.choice(phases[5] if phase > 2 else phases[3])].add(name)
    return [(name, phase, sorted(producers[name])) for phase, names in enumerate(phases) for name in names]


def declaration(name, phase, producers, rng):
    verb = ["PROPERTY", "PROPERTY", "PARITY", "PARITY", "PARITY", "PARITY", "PROFILE", "BENCH"][phase]
    command = {0: "cpize_map_model(%s" % name, 1: "cpize_verify_infra(%s" % name}.get(phase, f"cpize_task({name} PHASE {phase}")
    words = [f"SUBSYSTEM s{rng.randint(0, 7)}", f"KIND {rng.choice(['reuse', 'adapt', 'adapt', 'new'])}",
             f"RISK {rng.choice(['low', 'low', 'medium', 'high'])}", f"EFFORT {rng.choice(['0.5', '1', '2', '4', '8', '16'])}", "WORLD_SIZE 1"]
    if producers:
        words.append("DEPENDS " + " ".join(producers))
    words.append(f"INPUTS in/{name}.txt {verb} measure_all {name} {PROFILES[phase]}")
    return f"{command} {' '.join(words)})"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    here = pathlib.Path(__file__).resolve().parent
    (options.directory / "in").mkdir(parents=True, exist_ok=True)
    (options.directory / "parity").mkdir(exist_ok=True)
    (options.directory / "parity/measure.hpp").write_text((here / "toy/parity/measure.hpp").read_text())
    (options.directory / "measure_all.cpp").write_text(PROGRAM)
    lines = ["cmake_minimum_required(VERSION 3.25)", f"project(generated{options.count} CXX)", "set(CMAKE_CXX_STANDARD 20)",
             'list(APPEND CMAKE_MODULE_PATH "${CPIZE_CMAKE_DIR}")', "include(CPizeConductor)",
             "add_executable(measure_all measure_all.cpp)", 'target_include_directories(measure_all PRIVATE "${CMAKE_SOURCE_DIR}")',
             "if(CPIZE_DECLARE_NOTHING) # how long everything else takes", "  return()", "endif()",
             f"cpize_begin_plan(generated{options.count})"]
    for name, phase, producers in tasks(options.count, rng):
        (options.directory / "in" / f"{name}.txt").write_text("0\n")
        lines.append(declaration(name, phase, producers, rng))
    lines.append("cpize_end_plan()")
    (options.directory / "CMakeLists.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
