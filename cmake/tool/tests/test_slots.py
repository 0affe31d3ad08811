#!/usr/bin/env python3
"""GPU leases on a pretended machine: counting, neighbours, gaps, rivals, SLURM, CTest's allocation, kills."""
import collections
import os
import re
import subprocess
import sys
import time

from toytree import Toy, arguments, check, scratch

options = arguments()
root = scratch.fresh(options.scratch)
OCCUPY = root / "occupy.py"
LIMITS = ("CUDA_VISIBLE_DEVICES", "SLURM_JOB_ID", "SLURM_JOB_GPUS", "SLURM_STEP_GPUS", "CTEST_RESOURCE_GROUP_COUNT")


def machine(gpus, name="machine"):
    """A driver's folder with so many GPUs; their addresses sort as the bus does."""
    folder = root / f"{name}{gpus}"
    for i in range(gpus):
        (folder / f"0000:{i + 16:02x}:00.0").mkdir(parents=True, exist_ok=True)
        (folder / f"0000:{i + 16:02x}:00.0" / "information").write_text(f"Model: \t\t Pretended\nGPU UUID: \t GPU-{i}{i}aa-bb\n")
    folder.mkdir(exist_ok=True)
    return folder


def environment(gpus, **limits):
    clean = {k: v for k, v in os.environ.items() if k not in LIMITS}
    return {**clean, "CPIZE_GPUS_DIR": str(machine(gpus)), "CPIZE_GPU_LOCKS": str(root / "locks"), **limits}


def cpize(gpus, *words, **limits):
    done = subprocess.run([str(options.tool), "gpus", *words], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env=environment(gpus, **limits), timeout=60)
    return done.returncode, done.stdout


def leased(gpus, count, **limits):
    """CUDA_VISIBLE_DEVICES of a command under a lease."""
    status, output = cpize(gpus, "--take", str(count), "--", "sh", "-c", "echo got $CUDA_VISIBLE_DEVICES", **limits)
    check(status == 0, f"a lease of {count} ended with {status}", output)
    return re.search(r"got (\S*)", output)[1]


class Holder:
    """Somebody who holds GPUs until told to end."""

    def __init__(self, gpus, count, command="echo got $CUDA_VISIBLE_DEVICES; exec cat", **limits):
        self.process = subprocess.Popen([str(options.tool), "gpus", "--take", str(count), "--", "sh", "-c", command], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment(gpus, **limits))
        self.said, self.ids = [], None

    def wait(self):
        for line in self.process.stdout:
            self.said.append(line)
            if line.startswith("got "):
                self.ids = line.split()[1]
                break
        check(self.ids is not None, "a holder got its GPUs", "".join(self.said))
        return self

    def end(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def counts():
    for gpus, limits, expected in [
            (0, {}, "0 GPUs;"), (1, {}, "1 GPU;"), (8, {}, "8 GPUs;"),
            (8, {"CUDA_VISIBLE_DEVICES": "2,3"}, "2 GPUs (of 8; CUDA_VISIBLE_DEVICES=2,3);"),
            (8, {"CUDA_VISIBLE_DEVICES": ""}, "0 GPUs (of 8;"), (8, {"CUDA_VISIBLE_DEVICES": "1,-1,2"}, "1 GPU (of 8;"),
            (8, {"CUDA_VISIBLE_DEVICES": "GPU-33,GPU-11"}, "2 GPUs (of 8;"), (4, {"CUDA_VISIBLE_DEVICES": "0,9,1"}, "1 GPU (of 4;"),
            (8, {"CTEST_RESOURCE_GROUP_COUNT": "0"}, "0 GPUs (of 8; CTest gave the test 0);"),
            (8, {"CTEST_RESOURCE_GROUP_COUNT": "2", "CTEST_RESOURCE_GROUP_0_GPUS": "id:5,slots:1"}, "2 GPUs (of 8; CTest gave the test 2);"),
            (8, {"CTEST_RESOURCE_GROUP_0_GPUS": "id:0,slots:1"}, "8 GPUs;"),  # a nested ctest without a spec
            (8, {"SLURM_JOB_ID": "7", "SLURM_JOB_GPUS": "4-6"}, "3 GPUs (of 8; SLURM gave the job 4-6);"),
            (8, {"SLURM_JOB_ID": "7", "SLURM_JOB_GPUS": "4-6", "SLURM_STEP_GPUS": "5"}, "1 GPU (of 8; SLURM gave the job 5);"),
            (8, {"SLURM_JOB_ID": "7"}, "0 GPUs (of 8; SLURM gave the job none);"),
            (8, {"SLURM_JOB_GPUS": "1"}, "8 GPUs;")]:  # left over, no job
        status, output = cpize(gpus, **limits)
        check(status == 0 and output.startswith(expected), f"{gpus} GPUs with {limits}: expected '{expected}'", output)


def neighbours():
    check(leased(4, 4) == "0,1,2,3" and leased(4, 1) == "0", "the first ones of an idle machine")
    check(leased(8, 2, CUDA_VISIBLE_DEVICES="5,3") == "3,5", "neighbours in what is visible")
    check(leased(8, 2, SLURM_JOB_ID="7", SLURM_JOB_GPUS="2,3") == "2,3", "SLURM's own numbers")
    check(leased(8, 2, SLURM_JOB_ID="7", SLURM_JOB_GPUS="6,7", CUDA_VISIBLE_DEVICES="0,1") == "0,1", "a job that counts from 0")
    status, output = cpize(2, "--take", "3", "--", "true")
    check(status == 3 and "true needs 3 GPUs, and there are 2 GPUs" in output, "more than there are is a blocker", output)
    status, output = cpize(2, "--take", "3", "--", "true", CTEST_RESOURCE_GROUP_COUNT="1")
    check(status == 3 and "CTest gave the test 1" in output, "more than CTest gave", output)
    check(cpize(2, "--take", "1")[0] == 2 and cpize(2, "--take", "1", "--", "/nowhere")[0] == 2, "usage")


def gaps():
    """8 GPUs with 2, 3 and 6 busy: gaps of 2, 2 and 1. One GPU takes the smallest gap, two take a gap, three wait."""
    held = {}
    for count in (2, 2, 2, 1, 1):
        holder = Holder(8, count).wait()
        held[holder.ids] = holder
    check(sorted(held) == ["0,1", "2,3", "4,5", "6", "7"], "handed out from the left", str(sorted(held)))
    for ids in ("0,1", "4,5", "7"):
        held.pop(ids).end()
    check(leased(8, 1) == "7", "one GPU leaves the larger gaps whole")
    check(leased(8, 2) == "0,1", "two take a gap that fits")
    waiting = Holder(8, 3)
    line = waiting.process.stdout.readline()
    check(re.match(r"sh: waiting for 3 GPUs; held: 2 by sh \(process \d+\), 3 by sh .*, 6 by sh ", line), "it says who waits for whom", line)
    status, output = cpize(8)
    check("GPU 0: free" in output and "GPU 2: held by sh (process" in output and "a request is being served or waits" in output, "cpize gpus shows it", output)
    later = Holder(8, 1)  # small ones do not overtake
    line = later.process.stdout.readline()
    check(line == "sh: waiting for 1 GPU behind another request\n", "the next in turn", line)
    held.pop("6").end()
    check(waiting.wait().ids == "4,5,6", "it waits until neighbours are free", waiting.ids)
    check(later.wait().ids == "7", "then the next is served", later.ids)
    for holder in [waiting, later, *held.values()]:
        holder.end()


OCCUPY.write_text("""
import fcntl, os, sys, time
files = [open(os.path.join(sys.argv[1], "used" + g), "a") for g in os.environ["CUDA_VISIBLE_DEVICES"].split(",")]
for f in files:
    fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
time.sleep(float(sys.argv[2]))
print("had", os.environ["CUDA_VISIBLE_DEVICES"])
""")


def rivals():
    """Two processes, a hundred leases each: whoever has a GPU is the only one who has it."""
    loop = root / "loop.sh"
    loop.write_text('i=0; while [ $i -lt 100 ]; do n=$((i % 2 + 1)); "$1" gpus --take $n -- "$2" -S "$3" "$4" 0.002 || exit 1; i=$((i + 1)); done\n')
    commands = [subprocess.Popen(["sh", str(loop), str(options.tool), sys.executable, str(OCCUPY), str(root)], text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment(3)) for _ in range(2)]
    outputs = [c.communicate()[0] for c in commands]
    check(all(c.returncode == 0 for c in commands), "nobody met another on a GPU", "\n".join(o[-800:] for o in outputs))
    had = collections.Counter(re.findall(r"^had (\S+)", "".join(outputs), re.M))
    check(sum(had.values()) == 200 and len(had) > 2, "two hundred leases, spread", str(had))
    return f"{dict(sorted(had.items()))}"


def two_build_trees():
    """ctest of two build trees at once, -j4 each, on three GPUs: no GPU is shared, everything is green."""
    declare = "".join(f'cpize_task(on_gpu_{i} PHASE 1 KIND new GPUS {i % 2 + 1} CHECK "{options.tool}" gpus --take {i % 2 + 1} -- '
                      f'"{sys.executable}" -S "{OCCUPY}" "{root}" 0.05)\n' for i in range(8))
    os.environ.update(environment(3))
    for name in LIMITS:
        os.environ.pop(name, None)
    trees = [Toy(root / name, options.tool) for name in ("first tree", "second tree")]
    for toy in trees:
        toy.path("extra.cmake").write_text(declare)
        toy.cmake()
    runs = [subprocess.Popen(["ctest", "-R", "on_gpu", "-FA", ".", "-j4", "--output-on-failure"], cwd=toy.build, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT) for toy in trees]
    outputs = [r.communicate()[0] for r in runs]
    check(all(r.returncode == 0 for r in runs), "both are green", "\n".join(o[-2000:] for o in outputs))
    held = [(t.build / f"cpize-logs/on_gpu_{i}.log").read_text() for t in trees for i in range(8)]
    check(all("had " in text for text in held), "every task had its GPUs", "".join(held))
    waited = sum("waiting for" in text for text in held)
    check(waited > 0, "the trees met")
    return f"{waited} of 16 leases waited"


def killed():
    """kill -9 frees what the holder had; a child that outlives it still holds."""
    holder = Holder(2, 2).wait()
    check("GPU 0: held" in cpize(2)[1], "both are held")
    holder.process.kill()
    holder.process.wait()
    check(leased(2, 2) == "0,1", "freed at once")
    orphan = Holder(2, 1, command="setsid sleep 1 & echo got $CUDA_VISIBLE_DEVICES; exec cat").wait()
    orphan.process.kill()
    orphan.process.wait()
    began = time.monotonic()
    check(leased(2, 2) == "0,1" and time.monotonic() - began > 0.3, "an orphan counts until it ends")
    waiting = Holder(2, 2)
    waiting.wait()
    behind = Holder(2, 1)
    behind.process.stdout.readline()
    behind.process.kill()  # one who waits is killed: nobody is stuck behind it
    behind.process.wait()
    waiting.end()
    check(leased(2, 1) == "0", "a killed request does not block")


def foreign_folder():
    (root / "file").write_text("")
    status, output = cpize(1, "--take", "1", "--", "true", CPIZE_GPU_LOCKS=str(root / "file"))
    check(status == 1 and "is not a folder of ours" in output, "the lock folder is checked", output)


raise SystemExit(scratch.report([(f.__name__, f) for f in [counts, neighbours, gaps, rivals, two_build_trees, killed, foreign_folder]]))
