#!/usr/bin/env python3
"""The second computation of the order agrees with CMake's, and sees every kind of difference."""
import json

from toytree import Toy, arguments, check, scratch

options = arguments()
toy = Toy(options.scratch, options.tool)
PLAN = toy.build / "cpize-plan.json"


def agrees():
    check("14 tasks, 14 in scope, 9 waves: agrees" in toy.ok("plan", "--verify"), "the toy's plan")
    said = toy.ok("plan")
    check("wave 04  phase 3  fan-out: 3 independent tasks" in said and "wave 01  phase 0  2 tasks" in said, "waves as a table", said)


def differs():
    right = PLAN.read_text()

    def task(plan, name):
        return next(t for t in plan["tasks"] if t["id"] == name)

    def swap_ranks(plan):
        a, b = task(plan, "tri_mul_in"), task(plan, "tri_mul_out")
        a["rank"], b["rank"] = b["rank"], a["rank"]

    changes = [
        (lambda p: task(p, "memory").update(wave=7), "memory: wave is 7 in the plan, computed 8"),
        (swap_ranks, "tri_mul_in: rank is 8 in the plan, computed 7"),
        (lambda p: task(p, "pair_block").update(fan_in=4), "pair_block: fan_in is 4 in the plan, computed 5"),
        (lambda p: task(p, "pair_block").update(direct=1), "pair_block: direct is 1 in the plan, computed 2"),
        (lambda p: task(p, "map").update(chain=1), "map: chain is 1 in the plan, computed 0"),
        (lambda p: p["barriers"].update({"6": ["end_to_end"]}), "the barrier before phase 6 does not wait for resumed_end_to_end"),
        (lambda p: p["barriers"].pop("7"), "the plan has no barrier before phase 7"),
        (lambda p: p["barriers"]["6"].append("max_tokens"), "the barrier before phase 6 waits for max_tokens of phase 7"),
        (lambda p: task(p, "feature.pair").update(implicit=["map"]), "feature.pair lacks an edge to the gate infra of phase 1"),
        (lambda p: task(p, "tri_mul_in").update(depends=["end_to_end"]), "depends on end_to_end of phase 5"),
        (lambda p: task(p, "resumed_end_to_end").update(depends=["pair_block"]), "nothing of phase 5 proves stop_and_go")]
    for change, says in changes:
        plan = json.loads(right)
        change(plan)
        PLAN.write_text(json.dumps(plan))
        status, output = toy.tool("plan", "--verify")
        cycle = "dependency cycle" in output  # the edge to a later phase closes one
        check((status == 1 and says in output) or (status == 2 and cycle and "end_to_end" in says), f"'{says}' is seen", output)
    for change, says in [(lambda p: p.update(schema=2), "plan schema 2, this tool reads 1"), (lambda p: p.pop("tasks"), "not a plan"),
                         (lambda p: task(p, "memory").update(depends=["nobody"]), "memory names the task 'nobody'"),
                         (lambda p: p["tasks"].append(p["tasks"][0]), "two tasks are called")]:
        plan = json.loads(right)
        change(plan)
        PLAN.write_text(json.dumps(plan))
        toy.red("plan", "--verify", expect=2, says=says)
    PLAN.write_text(right)
    toy.ok("plan", "--verify")
    return f"{len(changes)} differences"


raise SystemExit(scratch.report([(f.__name__, f) for f in [agrees, differs]]))
