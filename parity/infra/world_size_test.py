"""More parallelism asked for than processes started: an error in seconds that names both numbers and the launch line; missing ranks:
a bounded wait that lists them. The control comes first: without it nothing below means anything.

    world_size_test.py --program cpize-world [--mpiexec mpirun] [--default-bound]
"""
import argparse
import concurrent.futures
import itertools
import os
import pathlib
import socket
import subprocess
import tempfile
import time

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--program", required=True)
parser.add_argument("--mpiexec", default="")
parser.add_argument("--default-bound", action="store_true", help="only: how long one rank waits for the others by default")
given = parser.parse_args()

LAUNCHERS = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_", "SLURM_", "OMPI_COMM_", "PMI", "CPIZE_")
clean = {name: value for name, value in os.environ.items() if not name.startswith(LAUNCHERS)}
scratch = tempfile.TemporaryDirectory(prefix="cpize-world-")
numbers = itertools.count()


def fresh_file():
    return str(pathlib.Path(scratch.name) / f"rendezvous{next(numbers)}")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def start(*arguments, launcher=(), **environment):
    return subprocess.Popen([*launcher, given.program, *arguments], env={**clean, **{k: str(v) for k, v in environment.items()}},
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def end(process, seconds):
    try:
        return process.communicate(timeout=seconds)[0], process.returncode
    except subprocess.TimeoutExpired:
        process.kill()
        output = process.communicate()[0]
        raise AssertionError(f"hung for {seconds} s: {process.args}\n{output}")


def mpirun(n):
    return [given.mpiexec, "-n", str(n)]


def expect(what, process, seconds, status, parts, at_least=0.0):
    began = time.monotonic()
    output, got = end(process, seconds)
    took = time.monotonic() - began
    right = got == 0 if status == 0 else got != 0
    missing = [part for part in parts if part not in output]
    if not right or missing or took < at_least:
        raise AssertionError(f"{what}: ended with {got} after {took:.1f} s, does not say {missing}\n{output}")
    print(f"ok: {what}: {got} after {took:.1f} s")


def torchrun(rank, world, *arguments, **environment):
    return start("--mesh", "2x2", *arguments, RANK=rank, WORLD_SIZE=world, LOCAL_RANK=rank, **environment)


if given.default_bound:
    expect("one of four, by default", torchrun(0, 4, CPIZE_RENDEZVOUS=fresh_file()), 60, 1, ["1 of 4 ranks", "within 30"], at_least=29)
    raise SystemExit(0)

def meeting_at(where):
    return {"CPIZE_RENDEZVOUS": fresh_file()} if where == "file" else {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port()}


def controls_at(where):
    meeting = meeting_at(where)
    ranks = [torchrun(r, 4, "--meet", "--join-timeout", "30", **meeting) for r in range(4)]
    for r, process in enumerate(ranks):
        expect(f"control: rank {r} of 4 meets the others over a {where}", process, 60, 0, ["all 4 ranks met"])


def absent_at(where):
    expect(f"rank 0 of 4 alone at a {where}", torchrun(0, 4, "--join-timeout", "2", **meeting_at(where)), 20, 1,
           ["1 of 4 ranks", "absent: rank 1, 2, 3", "--nproc-per-node 4"], at_least=2)
    meeting = meeting_at(where)
    two = [torchrun(r, 4, "--join-timeout", "3", **meeting) for r in (0, 2)]
    for process in two:
        expect(f"two of 4 at a {where}", process, 20, 1, ["2 of 4 ranks", "absent: rank 1, 3"])


def under_mpirun():
    expect("control: four for 2x2", start("--mesh", "2x2", launcher=mpirun(4)), 90, 0, ["rank 3: dp 0, cp0 1, cp1 1", "over mpi", "passed"])
    for n in (3, 5):
        expect(f"{n} for 2x2", start("--mesh", "2x2", launcher=mpirun(n)), 30, 1, ["needs 4 ranks", f"but {n} were started", "mpirun -n 4 "])
    expect("--world against mpirun", start("--mesh", "2x2", "--world", "4", launcher=mpirun(3)), 30, 1,
           ["4 (--world 4) against 3 (OMPI_COMM_WORLD_SIZE=3)", "mpirun -n 4 "])
    expect("peer copies where there may be no GPU", start("--mesh", "1x2", launcher=mpirun(2), CPIZE_PEER_COPIES=1), 90, 0, ["over mpi", "passed"])
    expect("threads under mpirun", start("--mesh", "2x2", "--backend", "threads", launcher=mpirun(2)), 30, 1, ["2 processes were started"])


def alone():
    expect("control: threads", start("--mesh", "2x2"), 60, 0, ["rank 3: dp 0, cp0 1, cp1 1", "over threads"])
    expect("mpi without a launcher", start("--mesh", "2x2", "--backend", "mpi"), 30, 1, ["needs 4 ranks", "1 process was started", "mpirun -n 4 "])
    expect("rank 4 of 4", torchrun(4, 4, CPIZE_RENDEZVOUS=fresh_file()), 20, 1, ["rank 4 (RANK=4)", "world of 4 (WORLD_SIZE=4)", "0 to 3"])
    expect("torchrun of 2 for 2x2", torchrun(0, 2, CPIZE_RENDEZVOUS=fresh_file()), 20, 1, ["needs 4 ranks", "2 were started", "--nproc-per-node 4"])
    expect("nowhere to meet", torchrun(0, 4), 20, 1, ["CPIZE_RENDEZVOUS", "MASTER_ADDR"])
    expect("SLURM against torchrun", start("--mesh", "2x2", RANK=0, WORLD_SIZE=4, SLURM_PROCID=0, SLURM_NTASKS=2), 20, 1,
           ["4 (WORLD_SIZE=4) against 2 (SLURM_NTASKS=2)", "launch with"])
    for name, value, words in (("CPIZE_TIMEOUT", "soon", "is no time"), ("CPIZE_PEER_COPIES", "yes", "is neither 0 nor 1"),
                               ("CPIZE_RANKS_PER_GPU", "0", "is no number from 1 to 64"), ("CPIZE_RANKS_PER_GPU", "2.5", "is no number")):
        expect(f"{name}={value}", start("--mesh", "2x2", **{name: value}), 20, 1, [f"{name}={value} {words}"])


def server_absent():
    expect("the serving rank is absent", torchrun(1, 4, "--join-timeout", "2", MASTER_ADDR="127.0.0.1", MASTER_PORT=free_port()), 30, 1, ["absent: rank 0"])


# most of the time is waiting for ranks that do not come
with concurrent.futures.ThreadPoolExecutor(4) as pool:
    parts = [pool.submit(part) for part in ([under_mpirun] if given.mpiexec else []) + [alone, server_absent]]
    parts += [pool.submit(part, where) for where in ("file", "port") for part in (controls_at, absent_at)]
failed = [str(part.exception()) for part in parts if part.exception()]
scratch.cleanup()
raise SystemExit("\n".join(failed) or 0)
