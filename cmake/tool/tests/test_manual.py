#!/usr/bin/env python3
"""Manual mode: a stop before each wave, approvals, what withdraws them, and the one question at a terminal."""
import json
import os
import pty
import re
import subprocess

from toytree import Edited, Toy, arguments, check, scratch

options = arguments()
toy = Toy(options.scratch, options.tool)
DECISIONS = toy.path("docs/cpize-decisions.jsonl")


def decisions(event):
    return [d for d in map(json.loads, DECISIONS.read_text().splitlines()) if d["event"] == event]


def done():
    return {task for task, (state, _) in toy.states().items() if state == "done"}


def wave_by_wave():
    said = toy.red("drive", "--manual", expect=4, says=r"wave 01: 2 of 2 green; 2 of 14 tasks done")
    check("2 of 14 tasks are done; next is wave 02, phase 1:\n  infra (" in said, "summary and next wave", said)
    check("to approve: cpize approve --wave 2" in said and said.endswith("wave 02 awaits approval\n"), "how to go on", said)
    check(done() == {"map", "serial.lock"}, "nothing of the next wave", str(done()))
    check(toy.states()["infra"] == ("blocked", "wave 2 awaits approval; never measured") and toy.states()["transition"][0] == "todo",
          "a decision is what it waits for", str(toy.states()))
    said = toy.red("drive", expect=4, says="wave 02 awaits approval")  # the mode is remembered
    check("wave 02:" not in said, "asking twice is no approval", said)
    stops = 0
    while True:
        toy.ok("approve")
        status, said = toy.tool("drive")
        if status == 0:
            break
        check(status == 4, f"ended with {status}", said)
        stops += 1
        check(stops < 10, "it comes to an end", said)
    check(stops == 7 and "all 14 tasks are green" in said, f"{stops} more stops", said)
    check("nothing waits for approval" in toy.ok("approve"), "nothing left")
    check([d["wave"] for d in decisions("approve")] == list(range(2, 10)), "approvals are decisions")
    check(decisions("mode")[-1]["mode"] == "manual", "so is the mode")
    page = (toy.source / "docs/cp_integration_plan.md").read_text()
    check("| mode | manual |" in page and "approve wave 3 (feature." in page, "the ledger tells both", page)
    log = [json.loads(line) for line in (toy.build / "cpize-log.jsonl").read_text().splitlines()]
    check(sum(e["event"] == "end" and e["exit"] == 4 for e in log) == 9, "the log has every stop")


def edits_and_reopenings():
    with Edited(toy, "modules/trunk/transition.cpp"):
        check("all 14" in toy.ok("drive"), "an edit needs no new approval: the wave was approved")
    toy.ok("reopen", "tri_mul_in", "--why", "memory")
    said = toy.red("drive", expect=4, says="next is wave 04, phase 3:\n  tri_mul_in \\(adapt, risk medium: new all-to-all\\)")
    check("transition" not in said.split("next is")[1], "only what was reopened", said)
    check("approved wave 04: tri_mul_in" in toy.ok("approve", "--why", "the budget holds"), "approve it")
    toy.ok("drive")
    check(decisions("approve")[-1]["why"] == "the budget holds", "the reason is kept")


def ahead():
    toy.ok("reopen", "end_to_end", "memory", "--why", "again")
    memory_wave = next(int(line.split()[1]) for line in toy.ok("status").splitlines() if re.search(r" memory ", line))
    check("memory" in toy.ok("approve", "--wave", str(memory_wave)), "ahead of its turn")
    check("approved already" in toy.ok("approve", "--wave", str(memory_wave)), "twice")
    toy.red("drive", expect=4, says="end_to_end")
    toy.ok("approve")
    check("all 14" in toy.ok("drive"), "no second stop for what was approved ahead")


def red_in_manual_mode():
    with Edited(toy, "modules/trunk/tri_mul_in.cpp", lambda t: t.replace("triangle(x);", "triangle(x) + 1e-3;")):
        said = toy.red("drive", says="tri_mul_in: over tolerance")
        check("7 of 14 tasks are not green, 6 of them wait" in said, "a red is no stop for approval", said)
    toy.ok("drive")


def automatic_again():
    toy.ok("reopen", "transition", "--why", "once more")
    toy.red("drive", expect=4)
    check("all 14" in toy.ok("drive", "--automatic"), "on the command line")
    toy.ok("reopen", "transition", "--why", "once more")
    check("all 14" in toy.ok("drive"), "remembered too")


def front_door():
    toy.cmake("-DCPIZE_ARGUMENTS=--manual")
    toy.ok("reopen", "transition", "--why", "once more")
    toy.red("drive", expect=4)
    toy.ok("drive", "--auto")
    toy.ok("reopen", "transition", "--why", "once more")
    toy.red("drive", expect=4, says="awaits approval")  # what the plan says outlasts one command line
    toy.ok("approve")
    toy.ok("drive")
    toy.cmake("-DCPIZE_ARGUMENTS=")


def at_a_terminal(answer):
    """Runs drive at a pseudo terminal, answers its question, returns (exit status, what it said)."""
    master, slave = pty.openpty()
    process = subprocess.Popen([str(toy.cpize), "drive", "--plan", str(toy.build)], stdin=slave, stdout=slave, stderr=slave, close_fds=True)
    os.close(slave)
    os.write(master, answer)
    said = b""
    while True:
        try:
            part = os.read(master, 4096)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        said += part
    os.close(master)
    return process.wait(timeout=60), said.decode().replace("\r\n", "\n")


def asked_once():
    def forget_mode():
        DECISIONS.write_text("".join(line + "\n" for line in DECISIONS.read_text().splitlines() if '"mode"' not in line))
    forget_mode()
    toy.ok("reopen", "transition", "--why", "once more")
    check("all 14" in toy.ok("drive"), "no terminal: automatic, nobody is asked")
    toy.ok("reopen", "transition", "--why", "once more")
    status, said = at_a_terminal(b"perhaps\nm\n")
    check(status == 4 and said.count("[automatic]") == 2 and "wave 04 awaits approval" in said, "asked, until it is an answer", said)
    check(decisions("mode")[-1] == {**decisions("mode")[-1], "mode": "manual", "why": "answered to drive"}, "the answer is a decision")
    status, said = at_a_terminal(b"")
    check(status == 4 and "[automatic]" not in said, "asked once", said)
    forget_mode()
    status, said = at_a_terminal(b"\n")
    check(status == 0 and "all 14" in said, "the default goes on", said)
    return "manual and automatic"


raise SystemExit(scratch.report([(f.__name__, f) for f in [
    wave_by_wave, edits_and_reopenings, ahead, red_in_manual_mode, automatic_again, front_door, asked_once]]))
