#!/usr/bin/env python3
"""kill -9 of drive, fifty times at any moment: nothing half-written, no false green, and it goes on to the end."""
import json
import os
import random
import time

from toytree import Toy, arguments, check, code, scratch

options = arguments()
toy = Toy(options.scratch, options.tool)
KILLS = 50
PORT, RIGHT, WRONG = "modules/trunk/tri_mul_in.cpp", "return triangle(x);", "return triangle(x) + 1e-3;"
TEXT = toy.path(PORT).read_text()
dice = random.Random(int(os.environ.get("CPIZE_TEST_SEED", "20240229")))


def write_port(number, wrong):
    toy.path(PORT).write_text((TEXT.replace(RIGHT, WRONG) if wrong else TEXT) + code(f"edit {number}"))


def invariants(wrong):
    """Every file that a reader would take is whole, and the wrong port is not green, nor is anything behind it."""
    store = toy.build / "cpize-evidence"
    for f in store.rglob("*.json"):
        json.loads(f.read_text())
    for log in (toy.build / "cpize-log.jsonl", toy.source / "docs/cpize-decisions.jsonl"):
        for line in log.read_text().splitlines() if log.exists() else []:
            json.loads(line)
    page = toy.build / "docs/cp_integration_plan.md"
    check(not page.exists() or page.read_text().rstrip().endswith("Nothing."), "the ledger is whole", page.read_text() if page.exists() else "")
    if wrong:
        for task in ("tri_mul_in", "pair_block", "end_to_end", "memory", "max_tokens"):
            status, output = toy.tool("gate", task)
            check(status == 1, f"a false green of {task}", output)


def seconds_of_a_drive():
    """How long the shortest useful drive takes here: kills are spread over that, whatever the machine."""
    write_port("timing", False)
    start = time.monotonic()
    toy.ok("drive", "-q", TOY_MS="20")
    return time.monotonic() - start


def killed():
    toy.ok("drive", "-q")
    span = seconds_of_a_drive()
    landed = midway = greens = 0
    wrong = False
    for number in range(KILLS):
        if number % 2 == 0:  # between edits, one drive goes on where a killed one stopped
            wrong = number % 12 in (4, 6)
            write_port(number, wrong)
        if number % 16 == 9:
            toy.forget_evidence()
        drive = toy.start("drive", "-q", TOY_MS="20")
        time.sleep(dice.uniform(0.0, 0.9 * span))
        ran = drive.poll() is None
        drive.kill()
        drive.communicate()
        landed += ran
        invariants(wrong)
        states = toy.states()
        counts = [s for s, _ in states.values()]
        midway += ran and 0 < counts.count("done") < len(counts)
        greens += states["tri_mul_in"][0] == "done"
        if wrong and number % 2 == 1:
            toy.red("drive", "-q", says="tri_mul_in: over tolerance")
    write_port(KILLS, False)
    said = toy.ok("drive", "-q")
    check("all 14 tasks are green" in said, "it goes on to the end", said)
    toy.expect_not_done(set(), "the last drive")
    check(landed >= KILLS // 2 and midway >= 5, f"{landed} kills landed, {midway} midway")
    left = [str(f) for f in toy.build.rglob("*.measurement.json")]
    check(not left, "measurement files are left over", str(left))
    return f"{landed} of {KILLS} kills landed, {midway} midway, {greens} with the port proved"


raise SystemExit(scratch.report([("fifty kills", killed)]))
