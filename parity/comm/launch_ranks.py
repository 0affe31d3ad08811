"""Starts one process a rank, as torchrun does: RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE and a fresh file to meet at.

    launch_ranks.py --world 2 PROGRAM ARGUMENTS...

Ends with 0 where all ranks do. Once one fails, the others have --grace seconds to end by themselves before they are killed."""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--world", type=int, required=True)
parser.add_argument("--grace", type=float, default=15)
parser.add_argument("command", nargs=argparse.REMAINDER)
given = parser.parse_args()

with tempfile.TemporaryDirectory() as folder:
    ranks = [subprocess.Popen(given.command, env={
        **os.environ, "RANK": str(r), "WORLD_SIZE": str(given.world), "LOCAL_RANK": str(r), "LOCAL_WORLD_SIZE": str(given.world),
        "CPIZE_RENDEZVOUS": str(pathlib.Path(folder) / "rendezvous")}) for r in range(given.world)]
    failed_at = None
    while any(rank.poll() is None for rank in ranks):
        if failed_at is None and any(rank.returncode for rank in ranks):
            failed_at = time.monotonic()
        if failed_at and time.monotonic() - failed_at > given.grace:
            for rank in ranks:
                if rank.poll() is None:
                    rank.kill()
        time.sleep(0.02)
codes = [rank.returncode for rank in ranks]
if any(codes):
    print(f"ranks ended with {codes}", file=sys.stderr)
sys.exit(1 if any(codes) else 0)
