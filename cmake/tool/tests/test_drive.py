#!/usr/bin/env python3
"""Driving: waves, reds, reopenings, the ledger, what is left to do."""
import json
import os
import re

from toytree import TRUNK, Edited, Toy, arguments, check, scratch

options = arguments()
toy = Toy(options.scratch, options.tool)
LEDGER = "docs/cp_integration_plan.md"


def ledger_rows(page):
    """{task: its line}"""
    return {line.split(" | ")[3]: line for line in page.splitlines() if re.match(r"\| \d+ \|", line)}


def waves():
    said = toy.ok("drive")
    check([int(n) for n in re.findall(r"^wave (\d+):", said, re.M)] == list(range(1, 10)), "the ladder, wave by wave", said)
    check("all 14 tasks are green" in said, "the end", said)
    said = toy.ok("drive")
    check("wave" not in said and "0 newly measured, 14 reused" in said and said.endswith("all 14 tasks are green\n"), "again: nothing to do", said)
    check(toy.ok("drive", "-q") == "all 14 tasks are green\n", "quietly")


def pages():
    page = (toy.build / LEDGER).read_text()
    check((toy.source / LEDGER).read_text() == page, "drive copies the ledger into the sources")
    rows = ledger_rows(page)
    check(len(rows) == 14 and all("| done | green" in r for r in rows.values()), "fourteen rows", page)
    for private in (str(toy.root), os.uname().nodename, "/home", "/tmp"):
        check(private not in page, f"the ledger does not say {private}", page)
    check((toy.source / "docs/mem_report.md").exists(), "artifacts are published")
    stamp = (toy.build / LEDGER).stat().st_mtime_ns
    check("unchanged" in toy.ok("ledger") and (toy.build / LEDGER).stat().st_mtime_ns == stamp, "a date alone is no news")


def reopening():
    toy.ok("reopen", "transition", "--why", "memory | blow-up")
    toy.expect_not_done({"transition"} | TRUNK, "a task was reopened")
    check(toy.states()["transition"] == ("dirty", "reopened: memory | blow-up"), "its reason", str(toy.states()))
    toy.red("reopen", "tri_mul_in->transition", "--why", "x", expect=2, says="there is no edge .*: transition depends on feature.pair")
    toy.red("reopen", "nobody", "--why", "x", expect=2, says="no task 'nobody'")
    toy.red("reopen", "transitoin", "--why", "x", expect=2, says="did you mean transition")
    toy.red("reopen", "transition", expect=2, says="--why is required")
    toy.red("reopen", "tri_mul_out", "nobody", "--why", "x", expect=2, says="no task 'nobody'")
    check(toy.states()["tri_mul_out"][0] == "done", "half of a reopening is none")
    toy.ok("drive", "-q")
    said = toy.ok("reopen", "feature.mask->tri_mul_in", "--why", "seam")
    check("reopened feature.mask and tri_mul_in: seam; 7 more stand on it" in said, "what it costs", said)
    toy.expect_not_done({"feature.mask", "tri_mul_in", "tri_mul_out"} | TRUNK, "an edge was reopened")
    said = toy.ok("drive")
    check("wave 03: 1 of 1 green" in said, "only what is stale is proved", said)
    page = (toy.build / LEDGER).read_text()
    check("transition: memory \\| blow-up" in page and "feature.mask and tri_mul_in: seam" in page, "the reopenings are in the ledger", page)


def red():
    with Edited(toy, "modules/trunk/tri_mul_in.cpp", lambda t: t.replace("triangle(x);", "triangle(x) + 1e-3;")), Edited(
            toy, "modules/trunk/tri_mul_out.cpp"):
        said = toy.red("drive", says=r"wave 04: 1 of 2 green, red: tri_mul_in")
        check("tri_mul_in: over tolerance" in said and "7 of 14 tasks are not green, 6 of them wait" in said, "what and why", said)
        check(toy.states()["tri_mul_out"][0] == "done", "independent tasks go on")
        log = [json.loads(line) for line in (toy.build / "cpize-log.jsonl").read_text().splitlines()]
        check(any(e["event"] == "red" and e["task"] == "tri_mul_in" and "over tolerance" in e["why"] for e in log), "the log has the reason")
        row = ledger_rows((toy.build / LEDGER).read_text())["tri_mul_in"]
        check("| dirty | over tolerance: forward differs" in row, "the ledger has it too", row)
    toy.ok("drive", "-q")


def no_code():
    toy.path("extra.cmake").write_text("cpize_task(later PHASE 7 KIND new DEPENDS memory)\ncpize_task(text PHASE 1 KIND new CHECK \"${CMAKE_SOURCE_DIR}/program\")\n")
    program = toy.path("program")
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    toy.cmake()
    program.unlink()
    said = toy.red("drive", says=r"later: no code yet \(declared at .*extra.cmake:1\)")
    check("text: the program could not be started" in said, "a program that is not there", said)
    check(toy.states()["later"] == ("todo", toy.states()["later"][1]) and toy.states()["later"][1].startswith("no code yet"), "a todo", str(toy.states()))
    toy.red("prove", "later", says="no code yet")
    toy.path("extra.cmake").write_text("cpize_task(needs PHASE 1 KIND new INPUTS absent.bin CHECK true)\n")
    toy.cmake()
    toy.path("extra.cmake").write_text("cpize_task(fails PHASE 1 KIND new CHECK sh \"${CMAKE_SOURCE_DIR}/fails.sh\")\n")
    toy.path("fails.sh").write_text("echo the disk is full >&2\nexit 4\n")
    toy.cmake()
    toy.red("prove", "fails", says="fails: RED: the program exited with 4: the disk is full")
    toy.path("extra.cmake").write_text("cpize_task(needs PHASE 1 KIND new INPUTS absent.bin CHECK true)\n")
    toy.cmake()
    toy.red("prove", "needs", expect=3, says="BLOCKED: input missing: absent.bin")
    toy.red("drive", expect=3, says="needs: input missing: absent.bin")
    check(toy.states()["needs"][0] == "blocked", "its state", str(toy.states()))
    toy.path("extra.cmake").unlink()
    toy.cmake()


def focus():
    toy.cmake("-DCPIZE_ARGUMENTS=transition")
    states = toy.states()
    check(states["tri_mul_in"][0] == "out-of-scope" and states["transition"][0] == "done", "a focus", str(states))
    toy.red("prove", "tri_mul_in", expect=2, says="out of scope")
    toy.red("gate", "--before", "6", says="no proof of phase 5 is in scope")
    toy.cmake("-DCPIZE_ARGUMENTS=")
    toy.expect_not_done(set(), "the whole model again")


def decisions_are_never_dropped():
    file = toy.path("docs/cpize-decisions.jsonl")
    old = file.read_text()
    file.write_text(old + '{"event":"reopen","tas')
    toy.red("status", expect=2, says=r"cpize-decisions.jsonl:\d+: not a decision; decisions are never dropped")
    file.write_text(old.rstrip("\n"))
    toy.ok("reopen", "tri_mul_out", "--why", "a last line without an end")
    check(len(file.read_text().splitlines()) == len(old.splitlines()) + 1, "a line of its own", file.read_text())


def usage():
    for words, says in [(["drive", "--manual", "--auto"], "either automatic or manual"), (["drive", "manual", "automatic"], "not both"),
                        (["drive", "backwards"], "does not know the mode 'backwards'"), (["approve", "--wave", "99"], "the plan has no wave 99"),
                        (["gate", "map", "--before", "6"], "not both"), (["gate", "--before", "9"], "a phase from 1 to 7"),
                        (["prove"], "task is required"), (["nonsense"], "")]:
        toy.red(*words, expect=2, says=says)
    status, output = scratch.run([toy.cpize, "status"], cwd=toy.root)
    check(status == 2 or (toy.build / "cpize-plan.json").exists(), "a plan is found in build/", output)
    status, output = scratch.run([toy.cpize, "status", "--plan", toy.source], cwd=toy.root)
    check(status == 2 and "configure first" in output, "no plan", output)


raise SystemExit(scratch.report([(f.__name__, f) for f in [
    waves, pages, reopening, red, no_code, focus, usage, decisions_are_never_dropped]]))
