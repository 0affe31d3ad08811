#!/usr/bin/env python3
"""What is called when a task is red: its arguments, repairs, bounds, timeouts, delegates, the log."""
import json

from toytree import TRUNK, Toy, arguments, check, scratch

options = arguments()
toy = Toy(options.scratch, options.tool)
PORT, RIGHT = "modules/trunk/tri_mul_in.cpp", toy.path("modules/trunk/tri_mul_in.cpp").read_text()
HELP = toy.root / "help me.sh"
EDIT = f"""echo "static_assert(true, \\"round $CPIZE_ROUND\\");" >> {PORT}\n"""  # it counts, and repairs nothing


def break_port(by="1e-3"):
    toy.path(PORT).write_text(RIGHT.replace("triangle(x);", f"triangle(x) + {by};"))


def helper(text):
    HELP.write_text("#!/bin/sh\n" + text)
    HELP.chmod(0o755)
    return ["--on-red", f'"{HELP}" first']


def log(event):
    return [e for e in map(json.loads, (toy.build / "cpize-log.jsonl").read_text().splitlines()) if e["event"] == event]


def repaired():
    """The command is told the task and its evidence, repairs the port, and the drive goes on to the end."""
    break_port()
    (toy.root / "right.cpp").write_text(RIGHT)
    words = helper(f"""
test "$1" = first && test "$2" = tri_mul_in && test "$CPIZE_TASK" = tri_mul_in || exit 9
grep -q '"over tolerance' "$3" && test "$3" = "$CPIZE_EVIDENCE" || exit 10
case "$CPIZE_WHY" in "over tolerance: forward differs"*) ;; *) exit 11 ;; esac
test "$CPIZE_PHASE" = 3 && test -f "$CPIZE_PLAN" && test -f "$CPIZE_LOG" && test "$CPIZE_ROUND" = 1 && test "$CPIZE_ROUNDS" = 3 || exit 12
test "$PWD" = "{toy.source}" && test -d "$CPIZE_BUILD_DIR" || exit 13
echo repairing
cp "{toy.root}/right.cpp" {PORT}
""")
    said = toy.ok("drive", *words)
    check("wave 04: 2 of 3 green, red: tri_mul_in" in said, "it was red", said)
    check("tri_mul_in: on-red 1 of 3: the command exited with 0 after" in said and "proved again" in said, "the command", said)
    check("all 14 tasks are green" in said, "the end", said)
    check((toy.build / "cpize-logs/tri_mul_in.on-red.1.log").read_text() == "repairing\n", "its output is kept")
    end = log("on_red_end")[-1]
    check(end["exit"] == 0 and end["changed"] and "<build>" in end["log"], "the log", str(end))


def bounded():
    """It edits and never repairs: three rounds, then red. One that edits nothing is called once."""
    break_port()
    said = toy.red("drive", *helper(EDIT), says="7 of 14 tasks are not green")
    check([f"on-red {n} of 3" in said for n in (1, 2, 3, 4)] == [True, True, True, False] and said.count("proved again") == 3, "three rounds", said)
    break_port("2e-3")
    said = toy.red("drive", *helper(EDIT), "--on-red-rounds", "1", says="on-red 1 of 1")
    check(said.count("on-red") == 1, "one round", said)
    break_port("3e-3")
    said = toy.red("drive", *helper("exit 7\n"), says="exited with 7 .*; its key is the same, it stays red")
    check(said.count("on-red") == 1, "no second call without a change", said)
    break_port("4e-3")
    check("on-red" not in toy.red("drive", *helper("exit 7\n"), "--on-red-rounds", "0"), "none")
    toy.expect_not_done({"tri_mul_in"} | TRUNK, "all this")


def hanging():
    break_port("5e-3")
    said = toy.red("drive", *helper("sleep 60\n"), "--on-red-timeout", "1", says="the command ran past its limit of 1 s after 1")
    check(log("on_red_end")[-1]["timed_out"], "the log says so", said)


def build_failure():
    """A port that does not compile: no evidence yet, the build's log instead."""
    toy.path(PORT).write_text(RIGHT + "nonsense;\n")
    said = toy.ok("drive", *helper(f'''
test -z "$3" && grep -q nonsense "$CPIZE_LOG" || exit 9
cp "{toy.root}/right.cpp" {PORT}
'''))
    check("on-red 1 of 3" in said and "all 14" in said, "repaired", said)


def configure():
    """A command may change what the plan was read from: configured again, and on."""
    break_port("6e-3")
    said = toy.ok("drive", *helper(f'echo "# more" >> modules/trunk/CMakeLists.txt\ncp "{toy.root}/right.cpp" {PORT}\n'))
    check("modules/trunk/CMakeLists.txt changed: configure done" in said and "all 14" in said, "configured again", said)
    break_port("7e-3")
    said = toy.red("drive", *helper('echo "cpize_prot(x)" >> modules/trunk/CMakeLists.txt\n'), says="configure exited with 1")
    check("the plan cannot be configured" in said, "it says where to look", said)
    toy.replace("modules/trunk/CMakeLists.txt", "cpize_prot(x)\n", "")
    toy.cmake()


def delegates():
    """A command per phase, from the cache or the environment; --on-red is for the other phases."""
    break_port("8e-3")
    toy.cmake("-DCPIZE_DELEGATE_3=echo delegate; echo")
    said = toy.red("drive", "--on-red", "echo general", says="on-red 1 of 3")
    check((toy.build / "cpize-logs/tri_mul_in.on-red.1.log").read_text().startswith("delegate\ntri_mul_in "), "the phase's own", said)
    toy.red("drive", CPIZE_DELEGATE_3="echo environment", says="on-red 1 of 3")
    check((toy.build / "cpize-logs/tri_mul_in.on-red.1.log").read_text().startswith("environment tri_mul_in "), "the environment's wins")
    toy.cmake("-DCPIZE_DELEGATE_3=")
    toy.red("drive", "--on-red", "echo general", CPIZE_DELEGATE_5="false", says="on-red 1 of 3")
    check((toy.build / "cpize-logs/tri_mul_in.on-red.1.log").read_text().startswith("general tri_mul_in "), "phase 5's is not phase 3's")
    toy.path(PORT).write_text(RIGHT)
    check("on-red" not in toy.ok("drive", "--on-red", "false"), "nobody is called without need")


raise SystemExit(scratch.report([(f.__name__, f) for f in [repaired, bounded, hanging, build_failure, configure, delegates]]))
