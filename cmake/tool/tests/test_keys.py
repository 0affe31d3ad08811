#!/usr/bin/env python3
"""What makes evidence stale, and what does not."""
import re
import shutil
import time

import audit_headers
from toytree import TRUNK, Edited, Toy, arguments, check, code, scratch

options = arguments()
toy = Toy(options.scratch, options.tool)
AFTER_PORT = TRUNK
AFTER_TRIANGLE = TRUNK | {"tri_mul_out", "tri_mul_in"}
ALL = AFTER_TRIANGLE | {"transition"}


def everything_green():
    toy.ok("drive")
    toy.expect_not_done(set(), "the first drive")


def nothing_stale():
    toy.append("docs/notes.md", "a comment\n")
    for f in toy.source.rglob("*.?pp"):
        f.touch()
    toy.expect_not_done(set(), "an edit in docs/ and a touch of every source")


def edits():
    for name, wanted in [
            ("modules/trunk/tri_mul_out.cpp", AFTER_PORT | {"tri_mul_out"}),
            ("modules/trunk/transition.hpp", AFTER_PORT | {"transition"}),  # pair_block includes it too
            ("modules/trunk/tri_common.hpp", AFTER_TRIANGLE),
            ("modules/layout/spec.hpp", AFTER_TRIANGLE),  # behind an angle include
            ("modules/layout/redistribute.cpp", AFTER_TRIANGLE),  # behind a link
            ("parity/trunk/transition.cpp", AFTER_PORT | {"transition"}),  # CASE of a shared executable
            ("data/weights.txt", AFTER_PORT | {"transition"}),  # INPUTS
            ("data/sequence.txt", ALL | {"feature.pair", "feature.mask"}),
            ("modules/trunk/pair_block.cpp", AFTER_PORT),
            ("parity/memory.cpp", {"memory", "max_tokens"}),
            ("parity/tokens.cpp", {"max_tokens"})]:
        with Edited(toy, name):
            toy.expect_not_done(wanted, f"an edit of {name}")
            first = next(t for t in sorted(wanted) if toy.states()[t][1].startswith("stale: "))
            check(f"stale: {name} changed" in toy.states()[first][1], "the reason names the file", toy.states()[first][1])
            toy.red("gate", "max_tokens", says="GATE RED max_tokens: stale")
        toy.expect_not_done(set(), f"{name} was put back")


def comments_and_layout():
    """What the compiler does not read makes nothing stale, and nothing is measured again; the next edit of code does."""
    for name in ("modules/trunk/tri_mul_out.cpp", "modules/trunk/tri_common.hpp", "parity/trunk/transition.cpp"):
        before = {task: toy.evidence(task) for task in ALL}
        old = toy.path(name).read_text()
        edited = "// A new first line.\n\n" + re.sub(r"; *\n", " ;\n\n\n", old).replace(") {", ")\n{  // why\n") + "/* the\n end */\n"
        with Edited(toy, name, lambda _: edited):
            check("// why" in edited, f"{name} has a comment more", edited)
            toy.expect_not_done(set(), f"comments in {name}")
            toy.ok("gate", "max_tokens")
            said = toy.ok("prove", "transition") + toy.ok("prove", "tri_mul_out")
            check(said.count("fresh") == 2 and "measuring" not in said, "the evidence counts as it is", said)
            check({task: toy.evidence(task) for task in ALL} == before, "nothing was recorded")
            toy.append(name, code())
            check({"max_tokens"} < toy.not_done(), f"code in {name}", str(toy.states()))
            toy.red("gate", "max_tokens", says=f"GATE RED max_tokens: stale.*{name} changed")
        toy.expect_not_done(set(), f"{name} was put back")


def deep_reason():
    with Edited(toy, "modules/layout/spec.hpp"):
        why = toy.states()["memory"][1]
        check(re.search(r"stale through tri_mul_\w+: modules/layout/spec.hpp changed", why), "the reason names the root", why)
        said = toy.ok("key", "tri_mul_in")
        check("changed modules/layout/spec.hpp" in said, "key shows what changed", said)


def shadowing_header():
    new = toy.path("layout/redistribute.hpp")
    new.parent.mkdir()
    shutil.copy(toy.path("modules/layout/redistribute.hpp"), new)
    toy.expect_not_done(AFTER_TRIANGLE, "a header that shadows <layout/redistribute.hpp>")
    shutil.rmtree(new.parent)
    toy.expect_not_done(set(), "the shadowing header is gone")


def macro_include():
    with Edited(toy, "modules/trunk/tri_mul_out.cpp", lambda t: '#define CODE "trunk/tri_common.hpp"\n#include CODE\n' + t):
        toy.red("prove", "tri_mul_out", says=r"cannot follow modules/trunk/tri_mul_out.cpp:2: #include CODE; name the header in INPUTS")
        lists = "modules/trunk/CMakeLists.txt"
        with Edited(toy, lists, lambda t: t.replace("SOURCES tri_mul_out.cpp", "SOURCES tri_mul_out.cpp INPUTS tri_common.hpp")):
            toy.red("gate", "tri_mul_out", says=f"the plan is older than {lists}: configure first")
            toy.red("prove", "tri_mul_out", says="configure first")
            toy.cmake()
            toy.ok("prove", "tri_mul_out")
    toy.cmake()
    toy.expect_not_done(set(), "the macro include is gone")


def definition():
    lists = "modules/trunk/CMakeLists.txt"
    with Edited(toy, lists, lambda t: t + "target_compile_definitions(tri_mul_out PRIVATE CHUNK=2)\n"):
        toy.cmake()
        toy.expect_not_done(AFTER_PORT | {"tri_mul_out"}, "a new definition")
    toy.cmake()
    toy.expect_not_done(set(), "the definition is gone")


def missing_cell():
    toy.cmake("-DCPIZE_ARGUMENTS=cp:(1,3)")
    states = toy.states()
    check(states["tri_mul_out"] == ("dirty", "missing: not measured on 1x1x3/threads/fp64/cpu"), "a new mesh", str(states))
    for task in ["serial.lock", "map", "infra", "feature.pair", "feature.mask"]:
        toy.ok("prove", task)
    said = toy.ok("prove", "tri_mul_out")
    check("measuring 1 cell\n" in said and "(8 cells" in said, "the missing cell alone is measured", said)
    toy.cmake("-DCPIZE_ARGUMENTS=")
    toy.expect_not_done(set(), "the old mesh again")


def other_place():
    """The keys do not depend on where the project lies; evidence of another machine counts."""
    ours = toy.ok("key")
    there = Toy(options.scratch / "other place", options.tool)
    check(there.ok("key") == ours, "keys in another directory", ours)
    store = toy.build / "cpize-evidence"
    for f in store.rglob("*.json"):
        machine = f.name.split(".")[1]
        to = there.build / "cpize-evidence" / f.parent.name / f.name.replace(machine, "0badcafe")
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_text(f.read_text().replace(machine, "0badcafe"))
    states = there.states()
    missing = {t for t, (s, w) in states.items() if s != "done" and w.startswith("artifact missing")}
    check(missing == {"map", "infra", "memory", "max_tokens"}, "only what leaves an artifact is measured again", str(states))
    check(states["tri_mul_out"] == ("dirty", "behind map: artifact missing: docs/current_code_structure.md"), "the others are green", str(states))
    damaged = next((there.build / "cpize-evidence" / "transition").glob("*badcafe.json"))
    damaged.write_text(damaged.read_text()[:-40])
    check("damaged" in there.states()["transition"][1], "half a file is no evidence", str(there.states()["transition"]))


def bounded():
    for f in (toy.build / "cpize-evidence").rglob("*.json"):
        if ".details." not in f.name:
            check(f.stat().st_size <= 4096, f"{f.name} has {f.stat().st_size} bytes")


def headers():
    scratch.run(["cmake", "--build", toy.build, "--target", "trunk_parity", "pair_block_parity"])
    objects, missing = audit_headers.audit(toy.build, toy.cpize)
    check(objects >= 8 and not missing, f"{objects} objects", "\n".join(missing))
    with Edited(toy, "modules/trunk/tri_mul_out.cpp", lambda t: t + '#include "trunk/hidden.hpp"\n'):
        toy.path("modules/trunk/hidden.hpp").write_text("#pragma once\n")
        scratch.run(["cmake", "--build", toy.build, "--target", "tri_mul_out"])
    _, missing = audit_headers.audit(toy.build, toy.cpize)
    check(any("hidden.hpp" in m for m in missing), "the audit sees a header that the key does not hold", "\n".join(missing))
    return f"{objects} objects"


def fast():
    toy.ok("drive")
    began = time.monotonic()
    status, output, results = toy.ctest("-L", "phase7")
    seconds = time.monotonic() - began
    check(status == 0 and set(results.values()) == {"Passed"} and "max_tokens" in results, "fresh ctest -L phase7", output)
    check(seconds <= 1.0, f"fresh ctest -L phase7 took {seconds:.2f} s")
    return f"{seconds:.2f} s, {len(results)} tests"


raise SystemExit(scratch.report([(f.__name__, f) for f in [
    everything_green, nothing_stale, edits, comments_and_layout, deep_reason, shadowing_header, macro_include, definition, missing_cell, other_place,
    headers, fast, bounded]]))
