#!/usr/bin/env python3
"""Edits, kills and rivals while something is measured."""
import os
import re
import signal
import subprocess
import time

from toytree import TRUNK, Edited, Toy, arguments, check, code, scratch, wait_until

options = arguments()
toy = Toy(options.scratch, options.tool)


def running(task):
    """Processes that measure this task in this tree, and are not zombies."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            environment = open(f"/proc/{pid}/environ", "rb").read().split(b"\0")
            state = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0]
        except OSError:
            continue
        if f"CPIZE_TASK={task}".encode() in environment and f"CPIZE_BUILD_DIR={toy.build}".encode() in environment and state != "Z":
            found.append(int(pid))
    return found


def two_ctests():
    """Two at once from a cold tree: both green, and every task is measured once."""
    for target in ("feature_parity", "trunk_parity", "pair_block_parity"):
        scratch.run(["cmake", "--build", toy.build, "--target", target])
    commands = [subprocess.Popen(["ctest", "-L", "phase5", "-j2", "-V"], cwd=toy.build, text=True, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, env={**os.environ, "TOY_MS": "100"}) for _ in range(2)]
    outputs = [c.communicate()[0] for c in commands]
    check(all(c.returncode == 0 for c in commands), "both are green", "\n".join(o[-1500:] for o in outputs))
    measured = re.findall(r"\d+: (\S+): measuring", "".join(outputs))
    check(len(measured) == len(set(measured)) == 12, "every task is measured once", str(sorted(measured)))


def edit_during_measurement():
    source = "modules/trunk/transition.cpp"
    with Edited(toy, source):
        before = toy.evidence("transition")
        proof = toy.start("prove", "transition", TOY_MS="1500")
        wait_until(lambda: running("transition"), "the program runs")
        with Edited(toy, source, lambda t: t + code("edited again")):
            output = proof.communicate()[0]
            check(proof.returncode == 1 and "changed while it was measured; nothing recorded" in output, "the edit is noticed", output)
            check(toy.evidence("transition") == before, "nothing was recorded")
    check("fresh" in toy.ok("prove", "transition"), "put back, it is fresh")


def killed_proof():
    with Edited(toy, "modules/trunk/transition.cpp", lambda t: t + code("killed")):
        proof = toy.start("prove", "transition", TOY_MS="60000")
        wait_until(lambda: running("transition"), "the program runs")
        check(toy.states()["transition"][0] == "in_flight", "its state while it runs")
        proof.send_signal(signal.SIGKILL)
        proof.wait()
        wait_until(lambda: not running("transition"), "the program dies with its proof", 5)
        check(toy.states()["transition"][0] == "dirty", "the lock is free again")
        toy.ok("prove", "transition")


def killed_ctest():
    """ctest killed: neither the proof nor the program outlives it."""
    with Edited(toy, "modules/trunk/transition.cpp", lambda t: t + code("ctest")):
        run = subprocess.Popen(["ctest", "-R", "^transition$", "-FA", "."], cwd=toy.build, stdout=subprocess.DEVNULL, env={**os.environ, "TOY_MS": "60000"})
        wait_until(lambda: running("transition"), "the program runs")
        run.kill()
        run.wait()
        wait_until(lambda: not running("transition"), "the program dies with ctest", 5)
        wait_until(lambda: toy.states()["transition"][0] != "in_flight", "the lock is free again", 5)


def orphan_counts():
    """A program's own child that outlives the kill still holds the task: nobody measures beside it."""
    toy.path("extra.cmake").write_text("cpize_task(orphan PHASE 1 KIND new CHECK /bin/sh \"${CMAKE_SOURCE_DIR}/orphan.sh\" TIMEOUT 1)\n")
    toy.path("orphan.sh").write_text("sleep 0.05\n[ -e pid ] && exit 0\nsetsid sh -c 'echo $$ > pid; exec sleep 3' &\nsleep 60\n")
    toy.cmake()
    toy.red("prove", "orphan", says="orphan: RED: the program ran past its limit of 1 s")
    check(toy.states()["orphan"][0] == "in_flight", "the orphan holds the lock")
    began = time.monotonic()
    said = toy.ok("prove", "orphan")
    check("in flight elsewhere, waiting" in said and time.monotonic() - began > 0.5, "the next one waits for it", said)


def closed_input():
    toy.path("extra.cmake").write_text("cpize_task(reads PHASE 1 KIND new CHECK /bin/cat TIMEOUT 5)\n")
    toy.cmake()
    toy.ok("prove", "reads")
    toy.path("extra.cmake").unlink()
    toy.cmake()


def drive_beside_ctest():
    toy.forget_evidence()
    test = subprocess.Popen(["ctest", "-L", "phase5", "-j2", "--output-on-failure"], cwd=toy.build, text=True, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, env={**os.environ, "TOY_MS": "50"})
    drive = toy.start("drive", TOY_MS="50")
    wait_until(lambda: (toy.build / "cpize-locks/drive.lock").exists(), "drive runs")
    time.sleep(0.1)
    toy.red("drive", expect=2, says="another drive runs on this tree")
    outputs = [test.communicate()[0], drive.communicate()[0]]
    check(test.returncode == 0 and drive.returncode == 0, "both are green", "\n".join(outputs))
    toy.expect_not_done(set(), "both")


raise SystemExit(scratch.report([(f.__name__, f) for f in [
    two_ctests, edit_during_measurement, killed_proof, killed_ctest, orphan_counts, closed_input, drive_beside_ctest]]))
