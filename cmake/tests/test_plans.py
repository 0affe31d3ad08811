#!/usr/bin/env python3
"""Generated plans of 50, 200 and 800 tasks: the tool's independent order agrees, configuring is fast, and a cold
`ctest -L phase5` runs all of correctness at -j1 and at -j2."""
import argparse
import os
import random
import time

import scratch
from scratch import check

LIMIT_S = 0.25  # the conductor's own share of configuring 200 tasks


def generate(options, count, seed=1):
    name = f"plan of {count}, seed {seed}"
    source, build = options.directory / name, options.directory / f"{name}, build"
    if not source.exists():
        status, output = scratch.run(["python3", scratch.TESTS / "generate_plan.py", count, source, "--seed", seed])
        check(status == 0, "the plan is generated", output)
    return source, build


def verified(options, count, seed, arguments=""):
    source, build = generate(options, count, seed)
    scratch.configure(source, build, tool=options.tool, CPIZE_ARGUMENTS=arguments)
    started = time.perf_counter()
    status, output = scratch.run([options.tool, "plan", "--verify", "--plan", build / "cpize-plan.json"])
    check(status == 0 and "agrees" in output, "plan --verify agrees", output)
    return f"{output.strip()} in {1e3 * (time.perf_counter() - started):.0f} ms"


def tampered(options):
    """The second computation must be able to disagree."""
    source, build = generate(options, 50)
    scratch.configure(source, build, tool=options.tool, CPIZE_ARGUMENTS="")
    plan = scratch.pathlib.Path(build / "cpize-plan.json")
    text = plan.read_text()
    first, second = (f'"rank":{n},' for n in (20, 21))
    plan.write_text(text.replace(first, '"rank":@,').replace(second, first).replace('"rank":@,', second))
    status, output = scratch.run([options.tool, "plan", "--verify", "--plan", plan])
    plan.write_text(text)
    check(status != 0, "two exchanged ranks are seen", output)


def configure_time(options):
    source, build = generate(options, 200)
    scratch.configure(source, build, tool=options.tool, CPIZE_ARGUMENTS="")

    def seconds(declare_nothing):
        best = 1e9
        for _ in range(5):  # processor time, so that a busy machine does not matter much
            before = os.times()
            scratch.run(["cmake", f"-DCPIZE_DECLARE_NOTHING={declare_nothing}", build])
            after = os.times()
            best = min(best, after.children_user + after.children_system - before.children_user - before.children_system)
        return best

    nothing, everything = seconds("ON"), seconds("OFF")
    check(everything - nothing <= LIMIT_S, f"200 tasks cost {everything - nothing:.3f} s to configure, more than {LIMIT_S} s")
    return f"{everything - nothing:.3f} s for 200 tasks, of {everything:.3f} s"


def cold_run(options, jobs):
    source, build = generate(options, 200)
    scratch.configure(source, build, tool=options.tool, CPIZE_ARGUMENTS="")
    scratch.shutil.rmtree(build / "cpize-evidence", ignore_errors=True)
    wanted = scratch.listed(build, "-L", "phase5")
    started = time.perf_counter()
    status, output, results = scratch.ctest(build, "-L", "phase5", f"-j{jobs}")
    cold = time.perf_counter() - started
    check(status == 0 and set(results) == wanted and set(results.values()) == {"Passed"}, "a cold run of phase 5 is green", output)
    check(not any(name.startswith(("p6", "p7", "cpize.")) for name in results), "nothing of phases 6 and 7 ran", results)
    started = time.perf_counter()
    status, output, _ = scratch.ctest(build, "-L", "phase5", f"-j{jobs}")
    check(status == 0, "and again", output)
    return f"{len(results)} tests, cold {cold:.1f} s, fresh {time.perf_counter() - started:.1f} s"


def conditional_sources(options):
    """A kernel counts in the key whether or not this configuration compiles it, and so does its stand-in."""
    source = scratch.copy_toy(options.directory / "conditional")
    trunk = source / "modules/trunk"
    (trunk / "panel.cuh").write_text("#define PANEL 8\n")
    (trunk / "kernel.cu").write_text('#include "panel.cuh"\n__global__ void kernel() {}\n')
    (trunk / "no_kernel.cpp").write_text("int no_kernel;\n")
    with (trunk / "CMakeLists.txt").open("a") as lists:
        lists.write(f"""
include("{scratch.CONDUCTOR}/CPizeConditionalSources.cmake")
set(L_CUDA_SOURCES kernel.cu)
set(L_NO_CUDA_SOURCES no_kernel.cpp)
_cpize_add_sources(triangle_incoming L)
""")
    build = scratch.fresh(options.directory / "conditional build")

    def keys(cuda):
        scratch.configure(source, build, tool=options.tool, CPIZE_CUDA=cuda)
        status, output = scratch.run([options.tool, "key", "--plan", build / "cpize-plan.json"])
        check(status == 0, "keys", output)
        return {line.split()[1]: line.split()[0] for line in output.splitlines() if line.strip()}

    commands = {cuda: (keys(cuda), "no_kernel.cpp" in (build / "build.ninja").read_text()) for cuda in ("ON", "OFF")}
    check(commands["OFF"][1] and not commands["ON"][1], "the stand-in is compiled only without CUDA", commands)
    check(commands["ON"][0] == commands["OFF"][0] and len(commands["ON"][0]) == 14, "the same keys with and without CUDA", commands)
    before = commands["OFF"][0]
    for name in ("kernel.cu", "panel.cuh", "no_kernel.cpp"):
        text = (trunk / name).read_text()
        (trunk / name).write_text(text + 'static_assert(true, "edited");\n')
        for cuda in ("ON", "OFF"):
            after = keys(cuda)
            stale = {task for task in before if before[task] != after[task]}
            check("tri_mul_in" in stale and "tri_mul_out" not in stale, f"an edit of {name} is seen with CUDA {cuda}", stale)
        (trunk / name).write_text(text)
    return f"{len(before)} keys"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=scratch.pathlib.Path)
    parser.add_argument("--tool", type=scratch.pathlib.Path, required=True)
    parser.add_argument("--only-configure-time", action="store_true")
    options = parser.parse_args()
    scratch.fresh(options.directory)
    if options.only_configure_time:
        return scratch.report([("configure time", lambda: configure_time(options))])
    rng = random.Random(7)
    cases = [(f"verify {count} tasks, seed {seed}", lambda count=count, seed=seed: verified(options, count, seed))
             for count, seed in ((50, 1), (50, rng.randint(2, 999)), (50, rng.randint(2, 999)), (200, 1), (200, 5), (800, 1))]
    cases += [("verify with a focus", lambda: verified(options, 200, 1, "s3")), ("verify with a focus on a task", lambda: verified(options, 200, 1, "p3t050 s1")),
              ("an exchanged rank", lambda: tampered(options)),
              ("keys with and without CUDA", lambda: conditional_sources(options)), ("configure time", lambda: configure_time(options)),
              ("cold phase 5 at -j1", lambda: cold_run(options, 1)), ("cold phase 5 at -j2", lambda: cold_run(options, 2))]
    return scratch.report(cases)


if __name__ == "__main__":
    raise SystemExit(main())
