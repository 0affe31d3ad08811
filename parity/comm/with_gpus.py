"""Runs a command with so many GPUs of its own (`cpize gpus --take`), or ends with 77, which CTest shows as skipped, where this machine has
fewer. Ranks that share a GPU (CPIZE_RANKS_PER_GPU) need fewer.

    with_gpus.py --tool cpize --gpus 2 COMMAND ARGUMENTS..."""
import argparse
import os
import pathlib
import sys

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--tool", required=True)
parser.add_argument("--gpus", type=int, required=True)
parser.add_argument("command", nargs=argparse.REMAINDER)
given = parser.parse_args()

visible = os.environ.get("CUDA_VISIBLE_DEVICES")
here = len(list(pathlib.Path("/proc/driver/nvidia/gpus").glob("*"))) if visible is None else len([v for v in visible.split(",") if v])
share = os.environ.get("CPIZE_RANKS_PER_GPU") or "1"
if not (share.isdecimal() and 1 <= int(share) <= 64):
    sys.exit(f"CPIZE_RANKS_PER_GPU={share} is no number from 1 to 64")
needed = -(-given.gpus // int(share))
if here < needed:
    print(f"skipped: {needed} GPUs are needed, {here} are here")
    sys.exit(77)
os.execv(given.tool, [given.tool, "gpus", "--take", str(needed), "--", *given.command])
