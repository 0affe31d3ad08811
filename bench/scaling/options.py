"""The options of bench/scale.sh, and what is taken where one is not given."""
import argparse
import pathlib

MODELS, KINDS = ["trunk", "pairformer_layer"], ["forward", "step"]
TINY = "C=16,token_s=24,D=4,H=2,M=8,heads=4,S=16,blocks=2,bins=8"  # widths of dry runs on the CPU


class UsageError(Exception):
    pass


def listed(text):
    return [part for part in text.split(",") if part]


def numbers(text):
    values = listed(text)
    if not values or not all(value.isdigit() and int(value) > 0 for value in values):
        raise argparse.ArgumentTypeError(f"'{text}' is no list of positive numbers")
    return [int(value) for value in values]


def read_options(description):
    p = argparse.ArgumentParser(prog="scale.sh", description=description,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("build", type=pathlib.Path, help="the build tree (preset gpu: build-gpu)")
    p.add_argument("out", type=pathlib.Path, help="the folder of the results")
    p.add_argument("--backend", choices=["nccl", "threads"], default="nccl", help="threads: a dry run on the CPU, fp64")
    p.add_argument("--quick", action="store_true", help="a dry run: small N, few layers, parity in fp64, a small memory")
    p.add_argument("--gpus", type=int, help="how many to use; all that are here where not given (threads: 8 ranks)")
    p.add_argument("--worlds", type=numbers, help="numbers of GPUs measured, of 1,2,4,8; all up to --gpus where not "
                                                  "given (parity: the largest, and 4 beside 8)")
    p.add_argument("--parts", type=listed, default=["parity", "strong", "memory", "report"])
    p.add_argument("--missing", action="store_true", help="leave out what the folder has, green and by the same programs")
    p.add_argument("--ports", type=listed, help="of parity; all of the plan where not given")
    p.add_argument("--dtypes", type=listed, help="of parity: fp64,bf16 where not given")
    p.add_argument("--models", type=listed, default=MODELS)
    p.add_argument("--kinds", type=listed, default=KINDS)
    p.add_argument("--tokens", type=numbers, help="of strong scaling: 2048,4096 where not given")
    p.add_argument("--runs", type=int, help="timed runs of each: 3 where not given")
    p.add_argument("--size", default="", help="other widths, as cpize_bench_scaling takes them: blocks=8,S=2048")
    p.add_argument("--start", type=int, help="the smallest N of the search for the largest")
    p.add_argument("--step", type=int, help="largest N are multiples of this: 64 where not given")
    p.add_argument("--seconds", type=float, default=150, help="limit of one search for the largest N")
    p.add_argument("--timeout", type=float, default=900, help="limit of one program")
    p.add_argument("--grace", type=float, default=20, help="how long the other ranks have to end when one failed")
    p.add_argument("--budget-mib", type=float, default=0, help="largest N within these bytes a rank, not the whole memory")
    o = p.parse_args()
    for name, given, known in (("--parts", o.parts, ["parity", "strong", "memory", "report"]),
                               ("--models", o.models, MODELS), ("--kinds", o.kinds, KINDS),
                               ("--dtypes", o.dtypes or [], ["fp64", "fp32", "bf16"])):
        for one in given:
            if one not in known:
                raise UsageError(f"{name} takes {','.join(known)}, not '{one}'")
    threads = o.backend == "threads"
    small = o.quick or threads
    o.tokens = o.tokens or ([16, 32] if threads else [256, 512] if o.quick else [2048, 4096])
    o.runs = o.runs or (2 if small else 3)
    o.dtypes = o.dtypes or (["fp64"] if small else ["fp64", "bf16"])
    o.size = ",".join(filter(None, [TINY if threads else "blocks=1,S=128" if o.quick else "", o.size]))
    o.start = o.start or (8 if threads else 256 if o.quick else 1024)
    o.step = o.step or (8 if threads else 64)
    if threads and not o.budget_mib:
        o.budget_mib = 2
    o.device, o.dtype = ("cpu", "fp64") if threads else ("cuda", "bf16")
    return o
