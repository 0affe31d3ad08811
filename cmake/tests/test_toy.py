#!/usr/bin/env python3
"""The toy plan from configure to green, under the three generators, in a path with a space: a cold `ctest -L phase5`, the firewall,
a red port, the guard. Under one generator the tool is built in the toy's own tree, by the bootstrap fixture."""
import argparse

import scratch
from scratch import check

CORRECTNESS = {"serial.lock", "map", "infra", "feature.pair", "feature.mask", "transition", "tri_mul_out", "tri_mul_in", "pair_block",
               "stop_and_go", "end_to_end", "resumed_end_to_end"}


def life(options, generator, own_tool):
    # one place for the sources of all generators, so that a compiler cache serves the second and the third
    source, build = scratch.copy_toy(options.directory / "the source"), scratch.fresh(options.directory / f"build {generator}")
    config = "Release" if "Multi" in generator else None
    variables = {} if config else {"CMAKE_BUILD_TYPE": "Release"}
    if options.launcher:
        variables["CMAKE_CXX_COMPILER_LAUNCHER"] = options.launcher
    scratch.configure(source, build, generator, None if own_tool else options.tool, **variables)
    run = lambda *arguments: scratch.ctest(build, *arguments, config=config)

    expected = CORRECTNESS | ({"cpize.bootstrap"} if own_tool else set())
    status, output, results = run("-L", "phase5", "-j1")
    check(status == 0 and set(results) == expected and set(results.values()) == {"Passed"}, "cold -L phase5 at -j1, configured only", output)
    status, output, results = run("-L", "phase7", "-j2")
    check(status == 0 and results.get("max_tokens") == "Passed" and results.get("cpize.before_phase7") == "Passed", "phases 6 and 7", output)

    port = source / "modules/trunk/tri_mul_in.cpp"
    text = port.read_text()
    port.write_text(text.replace("triangle(x)", "triangle(x) + 1e-3"))
    status, output, results = run("-L", "phase7", "-j2")
    check(status != 0 and results["tri_mul_in"] == "Failed" and results["tri_mul_out"] == "Passed", "a wrong port is red, its neighbour is not", output)
    for consumer in ("pair_block", "end_to_end", "cpize.before_phase6", "memory", "max_tokens"):
        check(results[consumer] == "Not Run", f"{consumer} does not run behind a red port", output)
    status, output, results = run("-L", "phase6", "-FA", ".")
    check(status != 0 and results["memory"] == "Failed", "without fixtures the guard refuses", output)
    build_target = ["cmake", "--build", build, *(["--config", config] if config else []), "--target", "memory_profile"]
    (source / "parity/memory.cpp").write_text((source / "parity/memory.cpp").read_text() + 'static_assert(true, "edited");\n')
    status, output = scratch.run(build_target)
    check(status != 0, "the firewall holds phase 6 back", output)

    port.write_text(text)
    status, output, results = run("-L", "phase7", "-j2")
    check(status == 0, "put right, all is green", output)
    check(scratch.run(build_target)[0] == 0, "and the firewall opens")
    return f"{len(results)} tests"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=scratch.pathlib.Path)
    parser.add_argument("--tool", type=scratch.pathlib.Path, required=True)
    parser.add_argument("--launcher", help="compiler launcher, such as ccache")
    options = parser.parse_args()
    return scratch.report([(generator, lambda generator=generator: life(options, generator, own_tool="Makefiles" in generator))
                           for generator in scratch.GENERATORS])


if __name__ == "__main__":
    raise SystemExit(main())
