#!/usr/bin/env python3
"""What the compiler gives each kernel: registers, stack, spills. Red where a kernel spills more than a few registers,
or where products of the tensor cores run one by one for want of them.

Writes a table (--out) that is committed as evidence: docs/evidence/kernels.md. Needs nvcc, no GPU.
"""
import argparse
import pathlib
import re
import subprocess
import sys

# Bytes a thread. A register or two at the head of a tile costs nothing that can be measured; inside a loop it would.
SPILL_LIMIT = 32

NAME = re.compile(r"Compiling entry function '([^']+)'")
FRAME = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
REGISTERS = re.compile(r"Used (\d+) registers")


def short(mangled):
    """The last readable part of a mangled name: edges_kernel, copy_kernel<uint4>."""
    found = re.search(r"\d+([a-z_]+_kernel|prepare_[a-z]+)(I(\d+)?([A-Za-z_0-9]+?)EEv)?", mangled)
    if not found:
        return mangled
    kind = re.search(r"copy_kernelI(\d+)(\w+?)EEv", mangled)
    return found.group(1) + (f"<{kind.group(2)[:int(kind.group(1))]}>" if kind else "")


def resources(nvcc, source, include):
    run = subprocess.run(
        [nvcc, "-O3", "-std=c++17", "-gencode=arch=compute_90a,code=sm_90a", "-Xptxas", "-v", "-I", str(include),
         "-cubin", "-o", "/dev/null", str(source)], capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f"{source}: does not compile\n{run.stderr}")
    if "instructions are serialized" in run.stderr:
        sys.exit(f"{source}: the compiler lets one warpgroup product wait for the other\n{run.stderr}")
    kernels, name, frame = [], None, None
    for line in run.stderr.splitlines():
        if found := NAME.search(line):
            name, frame = short(found.group(1)), None
        elif found := FRAME.search(line):
            frame = [int(x) for x in found.groups()]
        elif (found := REGISTERS.search(line)) and name and frame:
            kernels.append((name, int(found.group(1)), *frame))
            name = None
    if not kernels:
        sys.exit(f"{source}: the compiler said nothing of its kernels")
    return kernels


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--nvcc", required=True)
    options.add_argument("--source", required=True, type=pathlib.Path, help="the project's folder")
    options.add_argument("--out", type=pathlib.Path)
    options = options.parse_args()
    modules = options.source / "modules"
    rows, spilling = [], []
    for source in sorted(modules.rglob("*.cu")):
        for name, registers, stack, stores, loads in resources(options.nvcc, source, modules):
            rows.append(f"| {source.relative_to(options.source)} | {name} | {registers} | {stack} | {stores} | {loads} |")
            if max(stores, loads) > SPILL_LIMIT:
                spilling.append(f"{name}: {stores} bytes of spill stores, {loads} of loads, allowed {SPILL_LIMIT}")
    version = re.search(r"release ([\d.]+)", subprocess.run([options.nvcc, "--version"], capture_output=True, text=True).stdout)
    text = (f"# Kernels\n\nsm_90a, nvcc {version.group(1) if version else '?'}; a thread's figures, written by "
            "`parity/gpu/kernel_resources.py`.\n\n| source | kernel | registers | stack | spill stores | spill loads |\n"
            "|---|---|---|---|---|---|\n" + "\n".join(rows) + "\n")
    print(text)
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(text)
    if spilling:
        sys.exit("\n".join(spilling))


main()
