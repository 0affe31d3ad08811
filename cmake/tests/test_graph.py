#!/usr/bin/env python3
"""The test graph, the plan file, the front door and the firewall of the toy plan. The tool is a script that proves anything, so
what is looked at is the graph alone."""
import argparse
import json

import scratch
from scratch import check

GATES = {"map", "infra", "serial.lock"}
PORTS = {"transition", "tri_mul_out", "tri_mul_in", "pair_block"}
FEATURES = {"feature.pair", "feature.mask"}
LATE = {"stop_and_go", "end_to_end", "resumed_end_to_end"}


def plan_of(build, config=None):
    plan = json.loads((build / (f"cpize-plan-{config}.json" if config else "cpize-plan.json")).read_text())
    return plan, {task["id"]: task for task in plan["tasks"]}


def properties(build, config=None):
    """{test: {property: value}} of the whole tree."""
    _, output = scratch.run(["ctest", "--show-only=json-v1", *(["-C", config] if config else [])], cwd=build)
    return {test["name"]: {p["name"]: p["value"] for p in test["properties"]} for test in json.loads(output)["tests"]}


def gpu_case(options):
    def case():
        """RESOURCE_GROUPS are given when ctest starts, and only where that many GPUs exist."""
        root = scratch.fresh(options.directory / "graph gpus")
        source, build = scratch.copy_toy(root / "the source"), root / "the build"
        (source / "extra.cmake").write_text("cpize_task(one PHASE 1 KIND new GPUS 1 CHECK true)\ncpize_task(four PHASE 1 KIND new GPUS 4 CHECK true)\n")

        def groups(gpus, **environment):
            folder = root / f"machine{gpus}"
            for i in range(gpus):
                (folder / f"gpu{i}").mkdir(parents=True, exist_ok=True)
            _, output = scratch.run(["env", "-u", "CUDA_VISIBLE_DEVICES", "-u", "SLURM_JOB_ID", f"CPIZE_GPUS_DIR={folder}",
                                     *[f"{k}={v}" for k, v in environment.items()], "ctest", "--show-only=json-v1"], cwd=build)
            wanted = {}
            for test in json.loads(output)["tests"]:
                for p in test["properties"]:
                    if p["name"] == "RESOURCE_GROUPS":
                        wanted[test["name"]] = sum(sum(r["slots"] for r in g["requirements"]) for g in p["value"])
            return wanted

        scratch.configure(source, build, "Ninja", options.tool)
        check(groups(0) == {} and groups(2) == {"one": 1} and groups(8) == {"one": 1, "four": 4}, "GPUS", groups(8))
        check(groups(8, CUDA_VISIBLE_DEVICES="3,4") == {"one": 1} and groups(8, CUDA_VISIBLE_DEVICES="") == {}, "CUDA_VISIBLE_DEVICES bounds it")
        check(groups(8, SLURM_JOB_ID="1", SLURM_JOB_GPUS="2-5") == {"one": 1, "four": 4}, "what SLURM gave the job")
        check(groups(8, SLURM_JOB_ID="1") == {}, "a job without GPUS")
        status, output, results = scratch.ctest(build, "-R", "^(one|four)$", "-FA", ".", CPIZE_GPUS_DIR=str(root / "machine2"))
        check(status == 0 and results == {"one": "Passed", "four": "Passed"}, "too few GPUs: CTest does not refuse", output)
        scratch.configure(source, build, "Ninja", options.tool, CPIZE_BACKEND="nccl", CPIZE_ARGUMENTS="cp:(1,2)")
        two = groups(2)
        shared = groups(1, CPIZE_RANKS_PER_GPU="2")
        check(shared["end_to_end"] == 1 and "four" not in groups(2, CPIZE_RANKS_PER_GPU="2"), "ranks share a GPU, declared GPUs stay", shared)
        check(two["end_to_end"] == 2 and two["tri_mul_out"] == 2 and "end_to_end" not in groups(1), "a cell on NCCL: one GPU a rank", two)
        return f"{len(two)} tests of an NCCL plan ask for GPUs"
    return "GPUs as CTest's resource", case


def generator_case(options, generator):
    def case():
        root = scratch.fresh(options.directory / f"graph {generator}")  # a path with a space, always
        source, build = scratch.copy_toy(root / "the source"), root / "the build"
        config = "Debug" if "Multi" in generator else None
        scratch.configure(source, build, generator, options.tool)
        select = lambda *arguments: scratch.listed(build, *arguments, config=config)
        check(select("-L", "phase0") == {"map", "serial.lock"}, "-L phase0", select("-L", "phase0"))
        check(select("-L", "phase2") == GATES | FEATURES, "-L phase2", select("-L", "phase2"))
        check(select("-L", "phase3") == GATES | FEATURES | PORTS, "-L phase3 runs producers, map and infra, nothing else", select("-L", "phase3"))
        check(select("-R", "^tri_mul_out$") == GATES | FEATURES | {"tri_mul_out"}, "one port", select("-R", "^tri_mul_out$"))
        check(select("-L", "phase5") == GATES | FEATURES | PORTS | LATE, "-L phase5 is all of correctness", select("-L", "phase5"))
        everything = GATES | FEATURES | PORTS | LATE | {"memory", "cpize.before_phase6"}
        check(select("-L", "phase6") == everything, "-L phase6", select("-L", "phase6"))
        check(select("-L", "phase7") == everything | {"max_tokens", "cpize.before_phase7"}, "-L phase7", select("-L", "phase7"))
        check(select("-L", "wave01") == {"map", "serial.lock"}, "-L wave01", select("-L", "wave01"))

        tests = properties(build, config)
        plan, tasks = plan_of(build, config)
        check(set(tasks) <= set(tests), "every task has a test of its name")
        costs = [tests[t["id"]]["COST"] for t in sorted(plan["tasks"], key=lambda t: t["rank"])]
        check(costs == sorted(costs, reverse=True) and costs[-1] > 0, "COST falls with the rank and is never zero", costs)
        check(costs[-2] > tests["cpize.before_phase7"]["COST"] > costs[-1], "the barrier lies between its phases", costs)
        for name in ("cpize.before_phase6", "cpize.before_phase7"):
            check(tests[name]["LABELS"] == ["barrier"], f"{name} carries no phase label", tests[name]["LABELS"])
        port = tests["tri_mul_out"]
        check(set(port["LABELS"]) == {"phase3", "wave04", "kind-adapt", "risk-medium", "subsystem-trunk", "task-tri_mul_out"}, "labels", port["LABELS"])
        check(port["TIMEOUT"] > tasks["tri_mul_out"]["timeout"], "CTest's timeout is the backstop", port["TIMEOUT"])
        check(1 <= port["PROCESSORS"] <= 4, "processors are the busy threads", port["PROCESSORS"])
        check(plan["multi"] == (config is not None) and plan["config"] == (config or ""), "configuration in the plan", plan["config"])
        return f"{len(tests)} tests"
    return f"selection and properties, {generator}", case


def plan_file(options):
    source, build = scratch.copy_toy(options.directory / "plan file"), scratch.fresh(options.directory / "plan file build")
    (source / "extra.cmake").write_text("include(\"${CMAKE_CURRENT_LIST_DIR}/more.cmake\")\n")
    (source / "more.cmake").write_text('cpize_prove(extra RISK high "a \\"quoted\\" reason, with \\\\ and $<genex>" EFFORT 0.5 DEPENDS pair_block\n'
                                       '            CHECK ${CMAKE_COMMAND} -E echo "two words" \\"q\\")\n')
    scratch.configure(source, build, tool=options.tool, CPIZE_ARGUMENTS="dp:2 cp:(1,2) --random model:/some/model ref:/some/ref")
    plan, tasks = plan_of(build)
    inputs = {scratch.os.path.relpath(path, source) for path in plan["configure_inputs"]}
    check(inputs == {"CMakeLists.txt", "modules/CMakeLists.txt", "modules/trunk/CMakeLists.txt", "parity/CMakeLists.txt", "extra.cmake", "more.cmake"},
          "configure inputs, those included from included files too", inputs)
    check((plan["dp"], plan["cp"], plan["world"], plan["data"], plan["model"], plan["ref"]) == (2, [1, 2], 4, "random", "/some/model", "/some/ref"), "front door", plan)
    extra = tasks["extra"]
    check(extra["risk_reason"] == 'a "quoted" reason, with \\ and $<genex>', "text survives", extra["risk_reason"])
    check(extra["args"] == ["-E", "echo", "two words", '"q"'] and extra["target"] == "" and extra["effort"] == 0.5, "a command that is no target", extra)
    check(extra["where"] == "more.cmake:1", "where", extra["where"])
    check(extra["cells"] == ["2x1x2/threads/fp64/cpu"], "cells of a proof", extra["cells"])
    cells = [f"{m}/threads/fp64/cpu" for m in "1x1x1 1x1x2 1x2x1 1x2x2 1x2x3 1x3x3 2x1x2".split()] + ["1x2x2/mpi/fp64/cpu"]
    check(tasks["feature.pair"]["cells"] == cells, "cells of a feature", tasks["feature.pair"]["cells"])
    gpus = ["1x2x2/mpi/fp64/cuda"] + [f"{m}/nccl/{d}/cuda" for m in ("1x1x1", "1x1x2", "1x2x1") for d in ("fp64", "fp32", "bf16")]
    check(tasks["tri_mul_out"]["cells"] == cells + gpus, "cells of a port", tasks["tri_mul_out"]["cells"])
    check(tasks["end_to_end"]["cells"] == ["2x1x2/threads/fp64/cpu", "1x2x2/mpi/fp64/cpu"], "cells of a proof with the harness", tasks["end_to_end"]["cells"])
    check((plan["mpiexec"], plan["cuda"]) == ("", False) and plan["collected_evidence"] == str(source / "docs/evidence"), "what cells need", plan)
    units = {u["target"]: u for u in tasks["tri_mul_in"]["units"]}
    check(set(units) == {"triangle_incoming", "layout", "trunk_parity", "serial"}, "units: own library, what it links, the executable", units)
    check(units["trunk_parity"]["sources"] == "../../parity/trunk/tri_mul_in.cpp", "of a shared executable only the CASE", units["trunk_parity"])
    check(tasks["pair_block"]["foreign"] == ["transition", "tri_mul_out", "tri_mul_in"], "other tasks' libraries are foreign", tasks["pair_block"])
    check({u["target"] for u in tasks["pair_block"]["units"]} == {"pair_block", "pair_block_parity", "serial"}, "and no units", tasks["pair_block"]["units"])
    check(tasks["pair_block"]["implicit"] and set(tasks["pair_block"]["implicit"]) == GATES and tasks["infra"]["implicit"] == [], "implicit edges")
    check(set(plan["barriers"]["7"]) - set(plan["barriers"]["6"]) == {"memory"} and "extra" in plan["barriers"]["6"], "barriers", plan["barriers"])


def languages_and_conditions(options):
    source, build = scratch.copy_toy(options.directory / "languages"), scratch.fresh(options.directory / "languages build")
    top = (source / "CMakeLists.txt").read_text().replace("project(toyfold CXX)", "project(toyfold C CXX)")
    (source / "CMakeLists.txt").write_text(top)
    (source / "extra.cmake").write_text("""target_include_directories(layout PUBLIC $<$<COMPILE_LANGUAGE:CXX>:${CMAKE_SOURCE_DIR}/docs>)
target_compile_definitions(layout PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:PANELS=2>")
target_compile_options(layout INTERFACE $<$<CONFIG:Debug>:-Og>)
add_library(objects OBJECT modules/serial/serial.cpp)
target_sources(layout PRIVATE $<TARGET_OBJECTS:objects>)
""")
    scratch.configure(source, build, tool=options.tool)
    _, tasks = plan_of(build)
    units = {u["target"]: u for u in tasks["tri_mul_out"]["units"]}
    check(str(source / "docs") in units["layout"]["includes"], "an include directory under a condition", units["layout"])
    check(units["layout"]["flags"] == "$<$<COMPILE_LANGUAGE:CXX>:PANELS=2> $<$<CONFIG:Debug>:-Og>", "flags as written", units["layout"]["flags"])
    check("objects" in units, "a library whose objects are taken", units)


def small_plans(options):
    """Only phase 3, no gates, commands that are no targets; a quoted list of producers; a plan of nothing."""
    source, build = scratch.fresh(options.directory / "small"), scratch.fresh(options.directory / "small build")
    text = f"""cmake_minimum_required(VERSION 3.25)
project(small LANGUAGES NONE)
include("{scratch.CONDUCTOR}/CPizeConductor.cmake")
cpize_begin_plan(small)
"""
    (source / "CMakeLists.txt").write_text(text + """cpize_port(attention KIND new RISK high "two axes" CHECK ${CMAKE_COMMAND} -E true)
cpize_port(pooling CHECK true)
cpize_port(block DEPENDS "attention;pooling" CHECK true)
cpize_port(planned DEPENDS block)
cpize_end_plan()
""")
    scratch.configure(source, build, tool=options.tool)
    check(scratch.listed(build, "-L", "phase3") == {"attention", "pooling", "block", "planned"}, "a plan of ports alone")
    check(properties(build)["block"]["FIXTURES_REQUIRED"] == ["attention", "pooling"], "a quoted list is a list", properties(build)["block"])
    _, tasks = plan_of(build)
    check(tasks["planned"]["verb"] == "" and tasks["planned"]["target"] == "" and tasks["block"]["world_size"] == 1, "a task without code is todo", tasks["planned"])
    (source / "CMakeLists.txt").write_text(text + "cpize_end_plan()\n")
    scratch.configure(source, build, tool=options.tool)
    check(plan_of(build)[0]["tasks"] == [], "a plan of nothing is a plan")


def scope_and_focus(options):
    source, build = scratch.copy_toy(options.directory / "focus"), scratch.fresh(options.directory / "focus build")
    (source / "extra.cmake").write_text("cpize_port(losses SUBSYSTEM losses KIND reuse DEPENDS feature.pair SCOPE training)\n"
                                        "cpize_prove(loss_proof SCOPE training SUBSYSTEM losses DEPENDS losses)\n")
    configure = lambda arguments: scratch.configure(source, build, tool=options.tool, CPIZE_ARGUMENTS=arguments)
    out_of = lambda: {t["id"] for t in plan_of(build)[0]["tasks"] if not t["in_scope"]}
    configure("")
    check(out_of() == set(), "all", out_of())
    configure("inference")
    check(out_of() == {"losses", "loss_proof", "stop_and_go", "resumed_end_to_end"}, "inference", out_of())
    check(not scratch.listed(build, "-R", "losses"), "no test out of scope")
    configure("tri_mul_in")
    check(out_of() == {t["id"] for t in plan_of(build)[0]["tasks"]} - GATES - FEATURES - {"tri_mul_in"}, "focus on one task", out_of())
    configure("losses end_to_end")
    plan, tasks = plan_of(build)
    check("max_tokens" in out_of() and plan["focus"] == ["losses", "end_to_end"], "focus on a subsystem and a task", out_of())
    check(tasks["loss_proof"]["rank"] < tasks["end_to_end"]["rank"] or tasks["loss_proof"]["wave"] == tasks["end_to_end"]["wave"], "order", tasks)
    configure("trunk")
    plan, tasks = plan_of(build)
    check(tasks["losses"]["in_scope"] is False and tasks["losses"]["rank"] == 0, "out of scope has no rank", tasks["losses"])
    configure("")
    check(out_of() == set(), "a wider focus includes everything again", out_of())

    # the plan's own focus: what it works on unless the arguments say otherwise
    top = source / "CMakeLists.txt"
    top.write_text(top.read_text().replace("SERIAL_TREE modules/serial)", "SERIAL_TREE modules/serial  FOCUS tri_mul_in loss_proof)"))
    everything = {t["id"] for t in plan_of(build)[0]["tasks"]}
    told = configure("cp:(1,2)")
    plan, _ = plan_of(build)
    check("the plan's focus tri_mul_in loss_proof" in told and plan["focus"] == ["tri_mul_in", "loss_proof"], "the plan's focus", told)
    check(out_of() == everything - GATES - FEATURES - {"tri_mul_in", "losses", "loss_proof"}, "it holds for arguments without a focus", out_of())
    configure("inference")
    check(out_of() == everything - GATES - FEATURES - {"tri_mul_in"}, "a scope leaves part of it out, without a contradiction", out_of())
    configure("tri_mul_out")
    check(plan_of(build)[0]["focus"] == ["tri_mul_out"], "a focus in the arguments replaces it")
    configure("all")
    check(out_of() == set() and plan_of(build)[0]["focus"] == [], "all is all", out_of())
    top.write_text(top.read_text().replace("FOCUS tri_mul_in", "FOCUS tri_mul_im"))
    told = scratch.configure(source, build, tool=options.tool, expect=1, CPIZE_ARGUMENTS="")
    check("cpize_begin_plan: FOCUS: focus 'tri_mul_im' is neither" in told and "tri_mul_in" in told, "a misspelt one is an error", told)


def meshes(options):
    source, build = scratch.copy_toy(options.directory / "mesh"), scratch.fresh(options.directory / "mesh build")

    def mesh(arguments, **variables):
        output = scratch.configure(source, build, tool=options.tool, CPIZE_ARGUMENTS=arguments, **variables)
        plan, _ = plan_of(build)
        scratch.run(["cmake", build, "-UCPIZE_WORLD", "-UCPIZE_BACKEND"])
        return (plan["dp"], *plan["cp"]), output

    found, output = mesh("")
    check(found == (1, 2, 2) and "default for threads" in output, "default mesh, said", output)
    for arguments, world, expected in [("2d", 6, (1, 2, 3)), ("2d", 7, (1, 1, 7)), ("2d", 9, (1, 3, 3)), ("dp:2 2d", 8, (2, 2, 2)), ("", 12, (1, 3, 4)), ("cp:(3,1)", 3, (1, 3, 1)),
                                       ("cp:(2,1) dp:3", 6, (3, 2, 1))]:
        found, output = mesh(arguments, CPIZE_WORLD=world)
        check(found == expected, f"'{arguments}' with {world} ranks: {expected}", f"{found}\n{output}")
    _, said = mesh("cp:(1,2) --slurm trunk --auto training data:/d", CPIZE_BACKEND="mpi")
    plan, _ = plan_of(build)
    check((plan["launch"], plan["scope"], plan["data"], plan["mode"], plan["focus"]) == ("slurm", "training", "/d", "automatic", ["trunk"]), "order of tokens is free", plan)


def failed_list(options):
    source, build = scratch.copy_toy(options.directory / "failed"), scratch.fresh(options.directory / "failed build")
    scratch.configure(source, build, tool=options.tool)
    log = build / "Testing/Temporary/LastTestsFailed.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text("3:infra\n")
    scratch.configure(source, build, tool=options.tool)
    check(log.exists(), "the list of failed tests stays while the order stays")
    (source / "extra.cmake").write_text("cpize_prove(extra KIND reuse DEPENDS pair_block CHECK true)\n")
    scratch.configure(source, build, tool=options.tool)
    check(not log.exists(), "a new order forgets the failed tests, which ctest knows by number only")


def firewall(options):
    red = options.directory / "red"
    red.write_text('#!/bin/sh\n[ "$1" = gate ] && { echo "GATE RED"; exit 1; }\nexit 0\n')
    red.chmod(0o755)
    source = scratch.copy_toy(options.directory / "firewall")
    (source / "extra.cmake").write_text("add_executable(own_benchmark parity/tokens.cpp)\n")
    said = []
    for generator in scratch.GENERATORS:
        build = scratch.fresh(options.directory / "firewall build")
        scratch.configure(source, build, generator, red)
        config = ["--config", "Debug"] if "Multi" in generator else []
        make = lambda target: scratch.run(["cmake", "--build", build, *config, "--target", target])
        exists = lambda name: any(p.is_file() for p in build.rglob(name))
        status, output = make("memory_profile")
        check(status != 0 and "GATE RED" in output and not exists("memory.cpp.o"), f"{generator}: phase 6 is not even compiled while red", output)
        status, output = make("cpize_phase7")
        check(status != 0 and not exists("token_benchmark"), f"{generator}: phase 7 is not built while red", output)
        status, output = make("own_benchmark")
        check(status == 0, f"{generator}: a developer's own benchmark builds", output)
        status, output = make("cpize_phase0")
        check(status == 0 and exists("mapper"), f"{generator}: phase 0 builds", output)
        if generator == "Ninja":
            status, output = make("all")
            check(status == 0 and not exists("token_benchmark") and exists("end_to_end_parity"), "a plain build is green on a fresh clone", output)
        said.append(generator)
    return ", ".join(said)


def paths(options):
    """CTest -j1 walks every path; the planner must know how many there are."""
    for count, expected in ((200, False), (800, True)):
        source, build = scratch.fresh(options.directory / f"paths {count}"), scratch.fresh(options.directory / f"paths build {count}")
        scratch.run(["python3", scratch.TESTS / "generate_plan.py", count, source])
        output = scratch.configure(source, build, tool=options.tool)
        tests = properties(build)
        known = {}

        def walk(name):
            if name not in known:
                known[name] = sum(1 + walk(setup) for setup in tests[name].get("FIXTURES_REQUIRED", []))
            return known[name]

        total = sum(walk(name) for name in tests)
        check((total > 20_000_000) == ("paths" in output and "CPize: the test graph" in output), f"{count} tasks, {total} paths: warned if too many", output)
        check(not expected or total > 20_000_000, "the large plan is large enough to warn", total)
        check(expected or total < 20_000_000, "200 tasks run at -j1", total)
    return f"{total} at {count} tasks"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=scratch.pathlib.Path)
    options = parser.parse_args()
    options.tool = scratch.always_green_tool(options.directory)
    cases = [generator_case(options, generator) for generator in scratch.GENERATORS]
    for function in (plan_file, languages_and_conditions, small_plans, scope_and_focus, meshes, failed_list, firewall, paths):
        cases.append((function.__name__, lambda function=function: function(options)))
    cases.append(gpu_case(options))
    return scratch.report(cases)


if __name__ == "__main__":
    raise SystemExit(main())
