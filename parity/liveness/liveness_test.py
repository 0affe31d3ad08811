"""Random faults in worlds of processes: every surviving rank ends, in time, with the first cause, and nobody is left behind.

    liveness_test.py --program cpize-liveness --faults 4 [--seed 1] --mpiexec mpirun [--world 4]
    liveness_test.py --program cpize-liveness --faults 10 --backend nccl --world 2          one process a GPU, started here

The bound from the fault to the end of the launcher: the timeout of a collective (--timeout), 4 s in which ranks tell each other, and 6 s
for the launcher and a busy machine.
"""
import argparse
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import uuid

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--program", required=True)
parser.add_argument("--faults", type=int, required=True)
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--backend", default="mpi", choices=["mpi", "nccl"])
parser.add_argument("--mpiexec", default="mpirun")
parser.add_argument("--world", type=int, default=4)
parser.add_argument("--timeout", type=float, default=5.0)
given = parser.parse_args()
BOUND = given.timeout + 4 + 6
LONGEST = 60  # of a whole run, start included: later than that is a hang


def processes_of(mark):
    """Processes that carry this run's mark in their environment."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/environ"):
        try:
            if f"CPIZE_LIVENESS_RUN={mark}".encode() in path.read_bytes() and path.parent.joinpath("stat").read_text().split(") ")[1][0] != "Z":
                found.append(int(path.parent.name))
        except (OSError, IndexError):
            continue
    return found


def by_mpirun(environment, seed):
    """(exit status of each rank or [the launcher's], output, when it ended)"""
    command = [given.mpiexec, "-n", str(given.world), given.program, "--backend", "mpi", "--seed", str(seed)]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
    try:
        output = process.communicate(timeout=LONGEST)[0]
    except subprocess.TimeoutExpired:
        for pid in processes_of(environment["CPIZE_LIVENESS_RUN"]):
            os.kill(pid, signal.SIGKILL)
        return None, process.communicate()[0], time.monotonic()
    return [process.returncode], output, time.monotonic()


def one_a_gpu(environment, seed):
    """What torchrun does: once one rank failed, and the others had time to say so, the rest is killed (a stopped one)."""
    with tempfile.TemporaryDirectory() as folder:
        log = open(pathlib.Path(folder) / "log", "w+")
        ranks = [subprocess.Popen([given.program, "--backend", "nccl", "--seed", str(seed)], stdout=log, stderr=log, env={
            **environment, "RANK": str(r), "WORLD_SIZE": str(given.world), "LOCAL_RANK": str(r), "LOCAL_WORLD_SIZE": str(given.world),
            "CPIZE_RENDEZVOUS": str(pathlib.Path(folder) / "rendezvous")}) for r in range(given.world)]
        began, first_end = time.monotonic(), None
        while any(r.poll() is None for r in ranks) and time.monotonic() - began < LONGEST:
            if first_end is None and any(r.returncode for r in ranks):
                first_end = time.monotonic()
            if first_end and time.monotonic() - first_end > BOUND:
                break
            time.sleep(0.02)
            if first_end and sum(r.returncode is None for r in ranks) == 1 and time.monotonic() - first_end > 4:
                break  # only the stopped one is left
        ended = time.monotonic()
        hung = time.monotonic() - began >= LONGEST
        for r in ranks:
            if r.returncode is None:
                r.kill()
                r.wait()
        log.seek(0)
        output = log.read()
        log.close()
        return None if hung else [r.returncode for r in ranks], output, ended


def judge(plan, codes, output):
    """What is wrong with how this run ended; None where nothing is."""
    kind, rank = re.match(r"(.*) on rank (\d+) of", plan).groups()
    if kind == "skipped sample":
        counts = re.findall(r"rank \d+ done: (\d+) steps, (\d+) skipped", output)
        return None if not any(codes) and counts == [("4", "1")] * given.world else f"not skipped alike: {codes} {counts}"
    if not any(codes):
        return "the launcher ended with 0"
    if kind == "SIGKILL" and given.backend == "mpi":  # mpirun ends the others itself, at once
        return None if f"process rank {rank} " in output and "signal 9" in output else "the killed rank is not named"
    cause = {"failing allocation": r"can't allocate memory|out of memory", "unreadable file": "msa.a3m: planted: not readable",
             "non-finite loss": "is (nan|inf)", "exception": f"planted exception on rank {rank}", "early return": f"rank {rank} ",
             "SIGSTOP": f"rank {rank}", "SIGKILL": f"rank {rank} gave no sign|rank that serves"}[kind]
    gone = {int(rank)} if kind in ("SIGSTOP", "SIGKILL") else set()
    for r in set(range(given.world)) - gone:
        said = re.findall(rf"^cpize: rank {r} of {given.world}: (.*)$", output, re.MULTILINE)
        if kind == "early return" and r == int(rank) and not said:
            continue  # mpirun may end it while it waits for the others
        if not said or not re.search(cause, said[0]):
            return f"rank {r} does not say the cause ({cause}): {said}"
    if given.backend == "nccl":
        for r in set(range(given.world)) - gone:
            if codes[r] == 0 and not (kind == "early return" and r == int(rank)):
                return f"rank {r} ended with 0"
    return None


red, worst, kinds = 0, (0.0, ""), {}
for seed in range(given.seed, given.seed + given.faults):
    mark = uuid.uuid4().hex
    environment = {**os.environ, "CPIZE_TIMEOUT": str(given.timeout), "CPIZE_LIVENESS_RUN": mark}
    codes, output, ended = (by_mpirun if given.backend == "mpi" else one_a_gpu)(environment, seed)
    plan = re.search(r"^plan: (.*)$", output, re.MULTILINE)
    at = re.search(r"^fault at ([\d.]+)$", output, re.MULTILINE)
    wrong = None
    if codes is None:
        wrong = f"HANG: not over after {LONGEST} s"
    elif not plan or not at:
        wrong = "the fault did not happen"
    else:
        took = ended - float(at.group(1))
        wrong = judge(plan.group(1), codes, output)
        if not wrong and took > BOUND:
            wrong = f"took {took:.1f} s to end, more than {BOUND} s"
        if "skipped" not in plan.group(1) and took > worst[0]:
            worst = took, plan.group(1)
        kind = plan.group(1).split(" on rank")[0]
        kinds[kind] = kinds.get(kind, 0) + 1
    deadline = time.monotonic() + 3
    while processes_of(mark) and time.monotonic() < deadline:
        time.sleep(0.05)
    if not wrong and processes_of(mark):
        wrong = f"left behind: {processes_of(mark)}"
    if wrong:
        red += 1
        print(f"RED seed {seed}: {plan.group(1) if plan else '?'}: {wrong}\n{output}", flush=True)
print(f"{given.faults} faults over {given.backend}, world of {given.world}: {red} red; worst time to end {worst[0]:.2f} s ({worst[1]}), "
      f"bound {BOUND:g} s; {kinds}")
sys.exit(1 if red else 0)
