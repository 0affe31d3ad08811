#!/usr/bin/env python3
"""Follows docs/tutorial/README.md: its files are written and its commands run, in the order of the text, in an empty folder, against
the installed package. What comes out must be the project that lies beside the text, and everything must be green."""
import argparse
import os
import pathlib
import re
import subprocess
import time

import scratch
from scratch import check

TUTORIAL = scratch.CONDUCTOR.parent / "docs/tutorial"
PROJECT = TUTORIAL / "contactnet"
BLOCK = re.compile(r"^```(\w+)(?: (>> )?(\S+))?\n(.*?)^```$", re.S | re.M)


def script_of(text):
    """The text as a shell script: blocks of `sh` are commands, blocks with a path are files (>> appends), others are to be read."""
    lines = ["set -euo pipefail"]
    for language, append, path, body in BLOCK.findall(text):
        if path:
            lines += [f'mkdir -p "$(dirname {path})"', f"cat >{'>' if append else ''} {path} <<'END_OF_BLOCK'", body.rstrip("\n"), "END_OF_BLOCK"]
        elif language == "sh":
            for command in body.strip().splitlines():
                drive = command.startswith("cpize drive")
                lines += ['began=$(date +%s)', command, 'echo "drive took $(($(date +%s) - began)) s"'] if drive else [command]
    return "\n".join(lines) + "\n"


def compare(folder):
    for file in sorted(f for f in PROJECT.rglob("*") if f.is_file()):
        made = folder / file.relative_to(PROJECT)
        check(made.exists(), f"the text makes {file.relative_to(PROJECT)}")
        check(made.read_bytes() == file.read_bytes(), f"{file.relative_to(PROJECT)} is what the text makes", made.read_text(errors="replace"))
    for file in (f for f in folder.rglob("*") if f.is_file() and f.relative_to(folder).parts[0] not in ("build", "docs")):
        check((PROJECT / file.relative_to(folder)).exists(), f"{file.relative_to(folder)} is in the project, too")


def follow(options):
    text = (TUTORIAL / "README.md").read_text()
    folder = scratch.fresh(options.directory / "contactnet")
    environment = {**os.environ, "CPIZE": str(scratch.CONDUCTOR.parent), "PREFIX": str(options.prefix), "CPIZE_TORCH_ROOT": str(options.torch)}
    if options.launcher: # ccache takes a precompiled header only so
        environment |= {"CMAKE_CXX_COMPILER_LAUNCHER": options.launcher, "CXXFLAGS": "-fpch-preprocess",
                        "CCACHE_SLOPPINESS": "pch_defines,time_macros,include_file_mtime,include_file_ctime"}
    script = options.directory / "tutorial.sh"
    script.write_text(script_of(text))
    began = time.time()
    done = subprocess.run(["bash", script], cwd=folder, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=3000)
    check(done.returncode == 0, "every command of the text succeeds", done.stdout[-8000:])
    check(re.search(r"all \d+ tasks are green", done.stdout), "drive ends all green", done.stdout[-4000:])
    compare(folder)
    took = re.search(r"drive took \d+ s", done.stdout)
    written = sum(body.count("\n") for language, _, path, body in BLOCK.findall(text) if path)
    return f"{len(text.splitlines())} lines of text, {written} of them files; {took.group()}, everything {time.time() - began:.0f} s"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("--prefix", type=pathlib.Path, required=True, help="where CPize is installed")
    parser.add_argument("--torch", type=pathlib.Path, required=True)
    parser.add_argument("--launcher", help="compiler launcher, such as ccache")
    options = parser.parse_args()
    options.directory.mkdir(parents=True, exist_ok=True)
    return scratch.report([("tutorial", lambda: follow(options))])


if __name__ == "__main__":
    raise SystemExit(main())
