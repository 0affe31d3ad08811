#!/usr/bin/env python3
"""Nothing is green that should not be: the guard, stale binaries, wrong ports, vacuous or unreadable measurements."""
import os
import shutil

from toytree import TRUNK, Edited, Toy, arguments, check, scratch

options = arguments()
toy = Toy(options.scratch, options.tool)
WRONG = ("modules/trunk/tri_mul_in.cpp", "return triangle(x);", "return triangle(x) + 1e-3;")
FORWARD = {"tri_mul_in"} | TRUNK


def wrong(text):
    return text.replace(WRONG[1], WRONG[2])


def nothing_measured(before):
    after = sorted(str(f) for f in (toy.build / "cpize-evidence").rglob("*.json"))
    check(after == before, "nothing was measured", str(set(after) ^ set(before)))


def evidence_files():
    return sorted(str(f) for f in (toy.build / "cpize-evidence").rglob("*.json"))


def empty_store():
    for words in (["-FA", ".", "-L", "phase6"], ["-E", "^(map|infra)$", "-L", "phase7", "-FA", "."], ["-FA", ".", "-R", "^tri_mul_in$"],
                  ["-FS", ".", "-L", "phase5"]):
        status, output, results = toy.ctest(*words, "-j2", "--output-on-failure")
        check(status != 0 and "Passed" not in results.values() and results, f"ctest {words} on an empty store", output)
        check("REFUSED" in output, f"ctest {words} says why", output)
    nothing_measured([])
    toy.red("gate", "--before", "6", says="GATE RED before phase 6: .*not green: never measured; run: cpize prove ")
    toy.red("prove", "max_tokens", says="max_tokens: REFUSED: .*run: cpize prove (map|serial.lock)")


def cold_run():
    status, output, results = toy.ctest("-L", "phase3", "-j2")
    check(status == 0, "ctest -L phase3 from a cold tree", output)
    wanted = {"serial.lock", "map", "infra", "feature.pair", "feature.mask", "transition", "tri_mul_out", "tri_mul_in", "pair_block"}
    check(set(results) - {"cpize.bootstrap"} == wanted, "it pulls its producers, map and infra, and nothing else", output)
    status, output, results = toy.ctest("-L", "phase7", "-j2")
    check(status == 0 and "max_tokens" in results, "the rest", output)


def stale_binary():
    """The binary is the right one's, the source is wrong, and nobody has built."""
    with Edited(toy, WRONG[0], wrong):
        toy.red("prove", "tri_mul_in", says=r"RED: over tolerance: forward differs by 0.001, allowed 1e-12 \(1e\+09 times\) \[1x1x1/threads")
        toy.red("gate", "tri_mul_in", says="over tolerance")
    check("fresh" in toy.ok("prove", "tri_mul_in"), "put back, the old evidence counts")


def old_time_stamp():
    """A wrong source that is put in place with an old time stamp: build tools see nothing to do."""
    source, other = toy.path(WRONG[0]), toy.root / "other.cpp"
    keep = source.read_text()
    other.write_text(wrong(keep))
    os.utime(other, (1_600_000_000, 1_600_000_000))
    shutil.copy2(source, toy.root / "right.cpp")
    os.replace(other, source)
    toy.red("prove", "tri_mul_in", says="over tolerance")
    toy.forget_evidence()
    os.utime(toy.root / "right.cpp", (1_600_000_000, 1_600_000_000))
    os.replace(toy.root / "right.cpp", source)
    toy.ok("drive", "-q")


def red_port():
    with Edited(toy, WRONG[0], wrong):
        status, output, results = toy.ctest("-L", "phase5", "-j2")
        check(status != 0 and results["tri_mul_in"] == "Failed", "the wrong port is red", output)
        for task in ("pair_block", "end_to_end", "resumed_end_to_end", "stop_and_go"):
            check(results[task] == "Not Run", f"{task} does not run", output)
        check(results["tri_mul_out"] == "Passed", "its sibling is green", output)
        before = evidence_files()
        for words in (["-FA", ".", "-L", "phase6"], ["-FA", ".", "-L", "phase7"], ["-E", "tri_mul_in", "-R", "^end_to_end$", "-FA", "."]):
            status, output, results = toy.ctest(*words, "--output-on-failure")
            check(status != 0 and "REFUSED" in output and "tri_mul_in is not green: over tolerance" in output,
                  f"ctest {words} on a red tree names the root", output)
        nothing_measured(before)
        toy.expect_not_done(FORWARD, "a wrong port")
        states = toy.states()
        check(states["tri_mul_in"][0] == "dirty" and "over tolerance" in states["tri_mul_in"][1], "its state", str(states))
        status, output = scratch.run(["cmake", "--build", toy.build, "--target", "memory_profile"])
        check(status != 0 and "GATE RED before phase 6" in output, "the firewall is a build target", output)
        status, output = scratch.run(["cmake", "--build", toy.build])
        check(status == 0, "a plain build of everything else passes", output)
    toy.expect_not_done(set(), "the port was put back")


def does_not_build():
    with Edited(toy, WRONG[0], lambda t: t + "this is no C++\n"):
        said = toy.red("prove", "tri_mul_in", says="RED: trunk_parity does not build")
        check("error" in said, "the end of the build's log is shown", said)
        toy.red("gate", "tri_mul_in", says="does not build")
        toy.red("prove", "pair_block", says="REFUSED: its producer tri_mul_in is not green: trunk_parity does not build")
    toy.ok("prove", "tri_mul_in")


def odd_programs():
    """Crashes, skips, silence, unreadable and vacuous reports are red, with the reason; none of them is a skip."""
    main = "parity/trunk/transition.cpp"
    head = '''#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include "parity/measure.hpp"
static int but(const std::string& from, const std::string& to) {
  const int status = measure("block", 1, 1);
  std::ifstream in(environment("CPIZE_MEASUREMENT"));
  std::string s{std::istreambuf_iterator<char>(in), {}};
  s.replace(s.find(from), from.size(), to);
  std::ofstream(environment("CPIZE_MEASUREMENT")) << s;
  return status;
}
'''
    case = next(line for line in toy.path(main).read_text().splitlines() if "transition" in line and "(" in line).split("(")[0]
    for body, says in [
            ("return 77;", "the program exited with 77"),
            ("std::abort();", "the program was killed by signal 6"),
            ("return 0;", "the program wrote no measurement"),
            ('std::ofstream(environment("CPIZE_MEASUREMENT")) << "{\\"schema\\":1,\\"cells\\":{"; return 0;', "the measurement cannot be read"),
            ('std::ofstream(environment("CPIZE_MEASUREMENT")) << "{}"; return 0;', 'no "schema": 1'),
            ('return measure("block", NAN, 1);', "not a number: forward has the difference null"),
            ('return measure("block", INFINITY, 1);', "not a number"),
            ('return measure("property", 1, 1);', "vacuous: a task of phase 3 needs the facts of 'block', the program reported 'property'"),
            (r'return but(R"("masks_vary":"yes")", R"("masks_vary":"no: all ones")");', r"vacuous: not masks_vary \(all ones\) \[1x1x1/"),
            (r'return but(R"("swap_shards":"caught")", R"("swap_shards":"missed: equal shards")");', r"sabotage missed: swap_shards \(equal shards\)"),
            (r'return but(R"("value":8,"bound":8)", R"("value":9,"bound":8)");', r"over bound: sent_bytes.forward is 9, allowed 8 \(1.12 times\)"),
            ('setenv("CPIZE_CELLS", "1x1x1/threads/fp64/cpu", 1); return measure("block", 1, 1);',
             r"the program did not measure this cell \[1x1x2/threads/fp64/cpu\]")]:
        with Edited(toy, main, lambda _: head + case + "() { " + body + " }\n"):
            toy.red("prove", "transition", says="transition: RED: .*" + says)
            toy.red("gate", "transition", says=says)
    toy.expect_not_done(set(), "the program was put back")


def artifact():
    page = toy.build / "docs/mem_report.md"
    page.write_text(page.read_text() + "edited\n")
    toy.red("gate", "memory", says="artifact changed since it was written: docs/mem_report.md")
    page.unlink()
    toy.red("gate", "memory", says="artifact missing: docs/mem_report.md")
    toy.red("prove", "max_tokens", says="REFUSED: its producer memory is not green: artifact missing")
    toy.ok("prove", "memory")
    toy.ok("gate", "max_tokens")


raise SystemExit(scratch.report([(f.__name__, f) for f in [
    empty_store, cold_run, stale_binary, old_time_stamp, red_port, does_not_build, odd_programs, artifact]]))
