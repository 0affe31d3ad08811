#!/usr/bin/env python3
"""Cells that need a launcher or GPUs, on pretended machines: measured, not measurable here, collected, stale, asked for."""
import os
import re
import shutil
import signal
import time

from toytree import Edited, Toy, arguments, check, scratch, wait_until

options = arguments()
root = options.scratch
PORT, FEATURE = "transition", "feature.pair"
GPU_CELLS = ["1x2x2/mpi/fp64/cuda"] + [f"{m}/nccl/{d}/cuda" for m in ("1x1x1", "1x1x2", "1x2x1") for d in ("fp64", "fp32", "bf16")]
MPIRUN = r"""#!/bin/sh
echo "mpirun $*" >> "$TOY_TRACE"
[ "$1" = -n ] || exit 9
shift 2
exec "$@"
"""


def machine(gpus):
    folder = root / f"machine{gpus}"
    for i in range(gpus):
        (folder / f"0000:{i + 16:02x}:00.0").mkdir(parents=True, exist_ok=True)
    folder.mkdir(parents=True, exist_ok=True)
    return {"CPIZE_GPUS_DIR": str(folder), "CPIZE_GPU_LOCKS": str(root / "locks"), "TOY_TRACE": str(root / "trace")}


def traced():
    path = root / "trace"
    lines = path.read_text().splitlines() if path.exists() else []
    path.unlink(missing_ok=True)
    return lines


for name in ("CUDA_VISIBLE_DEVICES", "SLURM_JOB_ID", "CTEST_RESOURCE_GROUP_COUNT"):
    os.environ.pop(name, None)
os.environ.update(machine(0))
scratch.fresh(root)
mpirun = root / "mpirun"
toy = Toy(root / "toy", options.tool)
mpirun.write_text(MPIRUN)
mpirun.chmod(0o755)


def prove(task=PORT, **environment):
    return toy.ok("prove", task, **environment)


def without_anything():
    """Neither mpirun nor CUDA: reported, and nothing waits for it."""
    for task in ("serial.lock", "map", "infra", FEATURE, "feature.mask"):
        prove(task)
    said = prove()
    check("8 cells" not in said and "7 cells" in said and "11 not measurable here (the build has no CUDA; no mpirun)" in said, "what a port's proof says", said)
    said = toy.ok("gate", PORT)
    for cell in ["1x2x2/mpi/fp64/cpu"] + GPU_CELLS:
        check(re.search(re.escape(cell) + ": not measurable here: ", said), f"the gate names {cell}", said)
    check("1 not measurable here (no mpirun)" in toy.ok("gate", FEATURE) or "1x2x2/mpi/fp64/cpu: not measurable" in toy.ok("gate", FEATURE), "a feature needs no GPU")
    state, why = toy.states()[PORT]
    check(state == "done" and "11 not measurable here" in why, "status", why)
    toy.ok("ledger")
    ledger = (toy.build / "docs/cp_integration_plan.md").read_text()
    check("green; 11 not measurable here (the build has no CUDA; no mpirun)" in ledger, "the ledger says it too", ledger)
    check(traced() and "fresh" in prove() and not traced(), "nothing is measured again")


def with_mpirun():
    """A missing cell alone is measured alone, by the launcher."""
    toy.cmake(f"-DCPIZE_MPIEXEC={mpirun}")
    toy.red("gate", PORT, says="missing: not measured on 1x2x2/mpi/fp64/cpu")
    traced()
    said = prove(FEATURE) + prove("feature.mask") + prove()
    check(f"{PORT}: measuring 1 cell over mpi on 4 ranks, cpu" in said, "the launcher's cell alone", said)
    lines = traced()
    check(len([l for l in lines if l.startswith("mpirun -n 4 ")]) == 3, "one launch a task", lines)
    check(len([l for l in lines if l == f"{PORT} rank  of  on : 1x2x2/mpi/fp64/cpu"]) == 1, "CPIZE_CELLS", lines)
    check("8 cells" in said and "10 not measurable here (the build has no CUDA)" in said, "ten are left", said)
    mpirun.chmod(0o644)
    said = toy.ok("gate", PORT)
    check("not measurable" in said and "mpi/fp64/cpu:" not in said, "evidence stays when the launcher goes", said)
    mpirun.chmod(0o755)


def with_gpus():
    """One process a GPU, told where to meet; GPUs that are too few are said so."""
    toy.cmake("-DCPIZE_CUDA=ON")
    check("10 not measurable here (no GPU)" in toy.ok("gate", PORT) or "not measurable here: no GPU" in toy.ok("gate", PORT), "a build with CUDA, no GPU")
    traced()
    said = prove(**machine(1))
    lines = traced()
    check("12 cells" in said and "6 not measurable here (2 GPUs needed, 1 here)" in said, "one GPU", said)
    check(f"{PORT} rank 0 of 1 on 0: " + " ".join(f"1x1x1/nccl/{d}/cuda" for d in ("fp64", "fp32", "bf16")) in lines, "a world of one", lines)
    check(f"{PORT} rank  of  on 0: 1x2x2/mpi/fp64/cuda" in lines and len(lines) == 3, "ranks of MPI share a GPU", lines)
    said = prove(**machine(4), CUDA_VISIBLE_DEVICES="2,3")
    lines = traced()
    cells = " ".join(f"{m}/nccl/{d}/cuda" for m in ("1x1x2", "1x2x1") for d in ("fp64", "fp32", "bf16"))
    check(sorted(lines) == [f"{PORT} rank {r} of 2 on 2,3: {cells}" for r in range(2)], "a world of two", lines)
    check("18 cells" in said and "not measurable" not in said, "everything is there", said)
    check(not list((toy.build / "cpize-logs").glob("rendezvous*")), "no meeting file is left")


def beyond_the_required():
    """--cell measures what no gate asks for, once, and keeps it; what cannot be measured here is refused before anything runs."""
    four = "1x2x2/nccl/bf16/cuda"
    traced()
    toy.red("prove", PORT, "--cell", four, expect=2, says="4 GPUs needed, 2 here", **machine(2))
    toy.red("prove", PORT, "--cell", "2x2", expect=2, says="is no cell", **machine(4))
    check(not traced(), "nothing ran")
    said = toy.ok("prove", PORT, "--cell", four, **machine(4))
    lines = traced()
    check(len(lines) == 4 and all(l.endswith(f"on 0,1,2,3: {four}") for l in lines), "a world of four, that cell alone", lines)
    check("green" in said and "fresh" in toy.ok("prove", PORT, "--cell", four, **machine(4)) and not traced(), "once", said)
    check(four not in toy.ok("gate", PORT), "no gate reads it")
    three = "1x1x3/nccl/bf16/cuda"
    toy.red("prove", PORT, "--cell", three, expect=2, says="3 GPUs needed, 2 here", **machine(2))
    toy.ok("prove", PORT, "--cell", three, CPIZE_RANKS_PER_GPU="2", **machine(2))
    lines = traced()
    check(len(lines) == 3 and all(l.endswith(f"on 0,1: {three}") for l in lines), "two ranks share a GPU", lines)
    check("ranks a GPU" not in toy.ok("evidence", PORT), "none of the required cells did")
    toy.red("prove", PORT, "--cell", "1x3x1/nccl/bf16/cuda", expect=2, says="CPIZE_RANKS_PER_GPU=two is no number", CPIZE_RANKS_PER_GPU="two", **machine(2))


def travels():
    """Collected evidence counts on a machine without GPUs while the key is the same; then it is stale, and nothing waits."""
    said = toy.ok("evidence", "--collect", **machine(2))
    check("12 cells of 1 tasks collected" in said, "collected", said)
    folder = toy.source / "docs/evidence"
    summaries = list(folder.glob("cells.*.jsonl"))
    check(len(summaries) == 1 and len(summaries[0].read_text().splitlines()) == 1, "one line a task", str(summaries))
    check(len(summaries[0].read_text()) <= 4097, "a summary is at most 4 KB")
    text = "".join(f.read_text() for f in folder.iterdir())
    check(text.count('"ranks_per_gpu":"2"') == 2, "a shared GPU is a fact, in the summary and in the details", text)
    check(str(root) not in text and os.uname().nodename not in text, "no path and no host name is written")
    toy.forget_evidence()
    for task in ("serial.lock", "map", "infra", FEATURE, "feature.mask"):
        prove(task)
    said = prove()
    check("18 cells" in said and "not measurable" not in said, "measured here, and collected", said)
    with Edited(toy, "modules/trunk/transition.cpp"):
        said = prove()
        check("8 cells" in said and "10 not measurable here (no GPU), 10 of them stale" in said, "another key", said)
        said = toy.ok("gate", PORT)
        check("1x1x2/nccl/bf16/cuda: stale, not measurable here: no GPU" in said, "the gate says stale", said)
        said = toy.ok("evidence", PORT)
        check(re.search("1x2x2/mpi/fp64/cuda +stale, not measurable here: no GPU", said), "evidence says stale", said)
    check("fresh" in prove() and "18 cells" in prove(), "put back, it counts again")
    red = "modules/trunk/transition.cpp"
    text = toy.path(red).read_text()
    toy.path(red).write_text(text.replace("return ", "return 1e-3 + ", 1))
    toy.red("prove", PORT, says="over tolerance", **machine(2))
    said = toy.red("evidence", "--collect", says="not collected, red", **machine(2))
    toy.path(red).write_text(text)
    shutil.rmtree(folder)


def a_real_launcher():
    """Four processes of Open MPI, where there is one; when the limit passes, or the tool is killed, none of them is left."""
    launcher = shutil.which("mpirun.openmpi") or shutil.which("mpirun")
    if not launcher:
        return "no mpirun here"
    toy.cmake(f"-DCPIZE_MPIEXEC={launcher}")
    source = "parity/trunk/transition.cpp"
    text, pids = toy.path(source).read_text(), root / "mpi pids"
    case = next(line for line in text.splitlines() if "transition" in line and "(" in line).split("(")[0]
    head = '#include <fstream>\n#include <sys/prctl.h>\n#include <signal.h>\n#include <unistd.h>\n#include "parity/measure.hpp"\n' + case + "() {\n"
    toy.path(source).write_text(head + '  return measure("block", 1, 1);\n}\n')
    traced()
    said = prove()
    ranks = sorted(l for l in traced() if " rank  " not in l)
    check(ranks == [f"{PORT} rank {r} of  on : 1x2x2/mpi/fp64/cpu" for r in range(4)], "four ranks", f"{ranks} {said}")
    hang = f'  if (!environment("OMPI_COMM_WORLD_RANK").empty()) {{\n    prctl(PR_SET_PDEATHSIG, SIGKILL);\n    std::ofstream("{pids}", std::ios::app) << std::to_string(getpid()) + "\\n" << std::flush;\n    sleep(300);\n  }}\n'
    toy.path(source).write_text(head + hang + '  return measure("block", 1, 1);\n}\n')
    pids.unlink(missing_ok=True)
    process = toy.start("prove", PORT)
    wait_until(lambda: pids.exists() and len(pids.read_text().split()) == 4, "four ranks run", 90)
    processes = [int(p) for p in pids.read_text().split()]
    process.send_signal(signal.SIGKILL)
    process.wait()
    wait_until(lambda: not any(os.path.exists(f"/proc/{p}") for p in processes), "no rank is left")
    toy.path(source).write_text(text)
    return "four ranks of " + launcher


def asked_for():
    """A plan over NCCL waits for its GPUs."""
    toy.cmake("-DCPIZE_BACKEND=nccl", "-DCPIZE_ARGUMENTS=cp:(1,2)")
    said = toy.red("prove", "map", expect=3, says="map: BLOCKED: .*1x1x2/nccl/fp64/cuda.*not measurable here: no GPU|map: BLOCKED: no cell")
    state, why = toy.states()["map"]
    check(state == "blocked", "state", f"{state} {why}")
    toy.red("drive", expect=3, says="2 ranks over NCCL, which need 2 GPUs, and here: 1 GPU", **machine(1))
    prove("map", CPIZE_RANKS_PER_GPU="2", **machine(1))
    check(re.search("nccl/.*green.*, 2 ranks a GPU", toy.ok("evidence", "map")), "evidence says that ranks share a GPU")
    prove("infra", **machine(2))
    check("ranks a GPU" not in toy.ok("evidence", "infra"), "with a GPU each they do not")
    toy.cmake("-DCPIZE_BACKEND=threads", "-DCPIZE_ARGUMENTS=")


def ends_as_one():
    """A failing rank ends the launch with its status; a killed tool leaves no rank behind."""
    toy.cmake("-DCPIZE_BACKEND=threads", "-DCPIZE_ARGUMENTS=")
    pids = root / "pids"
    source = "parity/trunk/transition.cpp"
    text = toy.path(source).read_text()
    case = next(line for line in text.splitlines() if "transition" in line and "(" in line).split("(")[0]
    head = '#include <cstdlib>\n#include <fstream>\n#include <unistd.h>\n#include "parity/measure.hpp"\n' + case + "() {\n"

    def program(body):
        toy.path(source).write_text(head + '  const std::string rank = environment("RANK"), world = environment("WORLD_SIZE");\n' + body + '  return measure("block", 1, 1);\n}\n')

    program('  if (world == "2") { if (rank == "1") return 7; sleep(60); }\n')
    start = time.monotonic()
    said = toy.red("prove", PORT, says=r"RED: the program exited with 7 \[1x1x2/nccl/fp64/cuda\]", **machine(2))
    check(time.monotonic() - start < 40, "peers do not wait for ever", said)
    program(f'  if (world == "2") {{ std::ofstream("{pids}", std::ios::app) << getpid() << std::endl; sleep(300); }}\n')
    pids.unlink(missing_ok=True)
    process = toy.start("prove", PORT, **machine(2))
    wait_until(lambda: pids.exists() and len(pids.read_text().split()) == 2, "two ranks run", 60)
    ranks = [int(p) for p in pids.read_text().split()]
    process.send_signal(signal.SIGKILL)
    process.wait()
    wait_until(lambda: not any(os.path.exists(f"/proc/{p}") for p in ranks), "no rank is left")
    toy.path(source).write_text(text)


raise SystemExit(scratch.report([(f.__name__, f) for f in [without_anything, with_mpirun, with_gpus, beyond_the_required, travels, asked_for, ends_as_one, a_real_launcher]]))
