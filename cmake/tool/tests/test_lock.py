#!/usr/bin/env python3
"""The serial tree is locked by content; locking again is an act with a reason."""
import json

from toytree import Edited, Toy, arguments, check, scratch

options = arguments()
toy = Toy(options.scratch, options.tool, lock=False)
DECISIONS = "docs/cpize-decisions.jsonl"
for name in (DECISIONS, "docs/cpize-serial.lock"):
    toy.path(name).unlink(missing_ok=True)


def first_lock():
    toy.red("lock", says="never locked; run: cpize lock --update --why")
    toy.red("prove", "serial.lock", says="never locked")
    toy.red("lock", "--update", expect=2, says="needs a reason")
    toy.red("lock", "--why", "x", expect=2, says="goes with --update")
    toy.ok("lock", "--update", "--why", "as published")
    toy.ok("lock")
    toy.ok("drive", "-q")


def changed():
    with Edited(toy, "modules/serial/serial.cpp"):
        toy.red("lock", says="serial.cpp changed")
        toy.red("prove", "serial.lock", says="serial.cpp changed")
        toy.red("prove", "tri_mul_in", says="REFUSED: the gate serial.lock is not green")
        status, output, results = toy.ctest("-L", "phase3", "-j2")
        check(results["serial.lock"] == "Failed" and results["tri_mul_in"] == "Not Run" and status != 0, "everything waits for the lock", output)
    new = toy.path("modules/serial/more.hpp")
    new.write_text("#pragma once\n")
    toy.red("lock", says="more.hpp is new")
    new.unlink()
    toy.path("modules/serial/.swap").write_text("an editor's file")
    toy.ok("lock")
    toy.path("modules/serial/.swap").unlink()
    toy.expect_not_done(set(), "the tree was put back")


def again():
    toy.append("modules/serial/serial.cpp", "// promote_types instead of a cast\n")
    said = toy.ok("lock", "--update", "--why", "promote_types")
    check("serial.cpp changed" in said, "it says what changed", said)
    lines = [json.loads(line) for line in toy.path(DECISIONS).read_text().splitlines()]
    check([d["why"] for d in lines if d["event"] == "lock"] == ["as published", "promote_types"], "the reasons are kept", str(lines))
    check("nothing to do" in toy.ok("lock", "--update", "--why", "again"), "an unchanged tree is not locked again")
    toy.ok("drive", "-q")


def missing():
    toy.path("modules/serial").rename(toy.path("modules/elsewhere"))
    toy.red("lock", expect=3, says="the serial tree <source>/modules/serial is missing")
    toy.red("drive", expect=3, says="is missing")
    toy.path("modules/elsewhere").rename(toy.path("modules/serial"))


raise SystemExit(scratch.report([(f.__name__, f) for f in [first_lock, changed, again, missing]]))
