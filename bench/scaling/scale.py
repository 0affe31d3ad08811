#!/usr/bin/env python3
"""How the trunk scales over the GPUs of this machine; bench/scale.sh is how it is called.

Parts: `parity` of every port that the plan has code for, on the meshes of that many GPUs; `strong`: time, bytes and
peaks of the trunk and of one pairformer layer; `memory`: the largest N that fits; `report`: report.md of all that lies in
the folder. Results are merged into parity.json, strong.json and memory.json there, so that runs on several machines, or
of single parts, add up.

Exit codes: 0 everything measured and green; 1 something red or failed; 2 bad usage, or something is not built; 3 no
GPUs or too few.
"""
import datetime
import functools
import hashlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import launch
import largest
from options import UsageError, read_options

MESHES = {1: ["1x1x1"], 2: ["1x1x2", "1x2x1"], 4: ["1x2x2", "1x1x4"], 8: ["1x2x4", "1x1x8"]}  # the first is timed, too
OVER = 1.01  # what is sent beyond the closed form is a fault


@functools.lru_cache(maxsize=None)
def fingerprint(program):
    return hashlib.sha256(pathlib.Path(program).read_bytes()).hexdigest()[:16]


class NoGpus(Exception):
    pass


class Store:
    """One JSON file of the folder; rewritten after each result."""

    def __init__(self, folder, name, empty):
        self.path = folder / name
        self.content = json.loads(self.path.read_text()) if self.path.exists() else empty

    def save(self):
        beside = self.path.with_suffix(".new")
        beside.write_text(json.dumps(self.content, indent=1, sort_keys=True) + "\n")
        os.replace(beside, self.path)


class Scale:
    def __init__(self, o):
        self.o, self.faults = o, []
        if not o.build.is_dir():
            raise UsageError(f"{o.build} is no build tree; configure and build first: cmake --preset gpu && cmake --build "
                             "--preset gpu")
        plan = sorted(o.build.glob("cpize-plan*.json"))
        if not plan:
            raise UsageError(f"{o.build} has no cpize-plan.json: it is no build tree of this project, or was not configured")
        self.plan = json.loads(plan[0].read_text())
        self.gpu, self.memory = "", 0
        if o.backend == "threads":
            self.visible = [str(i) for i in range(o.gpus or 8)]
        else:
            self.visible = launch.visible_gpus()
            self._check_gpus()
            self.gpu, self.memory = launch.gpu_memory()
        here = len(self.visible)
        self.all_worlds = o.worlds or [w for w in MESHES if w <= here]
        self.parity_worlds = o.worlds or [w for w in self.all_worlds if w == max(self.all_worlds) or w == 4]
        for world in self.all_worlds:
            if world not in MESHES:
                raise UsageError(f"--worlds takes 1,2,4,8, not {world}")
            if world > here:
                raise NoGpus(f"{world} GPUs wanted, {here} here")
        try:
            o.out.mkdir(parents=True, exist_ok=True)
        except OSError as e:
            raise UsageError(f"cannot make the folder {o.out}: {e.strerror}")
        self.ports = self._ports() if "parity" in o.parts else []
        o.out, o.build = o.out.resolve(), o.build.resolve()  # programs run in the sources, as the tool runs them
        self.program = o.build / "bench" / "cpize_bench_scaling"
        if {"strong", "memory"} & set(o.parts):
            self._must_exist([(self.program, "cpize_bench_scaling")])

    def _check_gpus(self):
        if not self.plan.get("cuda"):
            raise UsageError(f"{self.o.build} was built without CUDA: configure with the preset gpu (-DCPIZE_CUDA=ON), or "
                             "ask for a dry run on the CPU: --backend threads")
        if not self.visible:
            raise NoGpus("no GPU is here (CUDA_VISIBLE_DEVICES, /proc/driver/nvidia/gpus, nvidia-smi); a dry run on the "
                         "CPU: --backend threads")
        if self.o.gpus is not None and not 1 <= self.o.gpus <= len(self.visible):
            raise NoGpus(f"--gpus {self.o.gpus}: {len(self.visible)} here")
        self.visible = self.visible[:self.o.gpus]

    def _must_exist(self, programs):
        absent = [target for path, target in programs if not os.access(path, os.X_OK)]
        if absent:
            raise UsageError(f"not built: {' '.join(absent)}; cmake --build {self.o.build} --target {' '.join(absent)}")

    def _ports(self):
        """Ports of the plan that have a parity program: (id, program)."""
        ports = {t["id"]: t for t in self.plan["tasks"] if t["phase"] == 3 and t["verb"] == "parity"}
        for name in self.o.ports or []:
            if name not in ports:
                raise UsageError(f"the plan has no port '{name}' with a parity program; there are: {' '.join(ports)}")
        chosen = [ports[name] for name in self.o.ports or ports]
        self._must_exist([(t["command"][0], t["target"]) for t in chosen])
        return [(t["id"], t["command"] + t["args"]) for t in chosen]

    def say(self, text):
        print(text, flush=True)

    def fault(self, text):
        self.faults.append(text)
        self.say(f"  RED: {text}")

    def run(self, command, world, limit=None, more=None):
        return launch.run([str(word) for word in command], self.o.backend, self.visible[:world], limit or self.o.timeout,
                          self.o.grace, self.plan["source"], more)

    def origin(self, program):
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%MZ")
        return {"when": now, "on": self.gpu or ("threads" if self.o.backend == "threads" else "GPU"),
                "program": fingerprint(program)}

    def has(self, entry, program):
        """Whether a stored entry may stand for a new measurement."""
        return bool(self.o.missing and entry and entry.get("program") == fingerprint(program)
                    and entry.get("error_message", "out of memory") == "out of memory")

    # Parity.

    def parity(self):
        store = Store(self.o.out, "parity.json", {"ports": {}})
        for world in self.parity_worlds:
            cells = [f"{mesh}/{self.o.backend}/{dtype}/{self.o.device}" for mesh in MESHES[world]
                     for dtype in self.o.dtypes]
            self.say(f"parity of {len(self.ports)} ports on {len(cells)} cells of {world} ranks: {' '.join(cells)}")
            for port, command in self.ports:
                known = store.content["ports"].setdefault(port, {})
                if all(self.has(known.get(cell), command[0]) and known[cell]["green"] for cell in cells):
                    self.say(f"  {port:<28} green before")
                    continue
                words = command + [word for cell in cells for word in ("--cell", cell)]
                ended = self.run(words, world)
                results = self._read_cells(ended, cells, self.origin(command[0]))
                known.update(results)
                store.save()
                red = [cell for cell in cells if not results[cell]["green"]]
                self.say(f"  {port:<28} {'green' if not red else 'RED'}, {ended.seconds:.1f} s")
                for cell in red:
                    self.fault(f"parity of {port} on {cell}: {results[cell]['why']}")

    def _read_cells(self, ended, cells, origin):
        """What the program printed: a line a cell, and below it what is wrong with it, each behind '!'."""
        results, current = {}, None
        for line in ended.text.splitlines():
            found = re.match(r"(\S+)\s+(ok|RED)\s+(\d+) compared(?:, worst (.*))?$", line)
            if found and found[1] in cells:
                current = results[found[1]] = origin | {"green": found[2] == "ok", "compared": int(found[3]),
                                                        "worst": (found[4] or "")[:160], "why": ""}
            elif line.strip().startswith("! ") and current is not None and not current["why"]:
                current["why"] = line.strip()[2:][:300]
        explained = ended.status == 0 or (ended.status == 1 and any(not of["green"] for of in results.values()))
        for cell in cells:
            if cell not in results or not explained:
                results[cell] = origin | {"green": False, "compared": 0, "worst": "", "why": ended.last_words()}
        return results

    # Strong scaling.

    def bench(self, world, tasks, extra, limit=None, more=None):
        """Runs cpize_bench_scaling on tasks (model, kind, N); (what it measured by task, how it ended)."""
        cell = f"{MESHES[world][0]}/{self.o.backend}/{self.o.dtype}/{self.o.device}"
        file = self.o.out / f".scaling.{os.getpid()}.json"
        file.unlink(missing_ok=True)
        command = [self.program, "--cell", cell, "--work", ",".join("/".join(map(str, t)) for t in tasks), "--out", file]
        command += ["--size", self.o.size] if self.o.size else []
        ended = self.run([*command, *extra], world, limit, more)
        measured = {}
        if file.exists():
            content = json.loads(file.read_text())
            file.unlink()
            for line in content["benchmarks"]:
                model, kind, _, tokens, _ = line["name"].split("/")
                line |= {"mesh": content["context"]["mesh"], "sizes": content["context"]["sizes"]}
                line |= self.origin(self.program)
                measured.setdefault((model, kind, int(tokens[2:])), []).append(line)
        return measured, ended

    def name(self, task, world):
        ranks = "threads" if self.o.backend == "threads" else "gpus"
        return f"{task[0]}/{task[1]}/{self.o.dtype}/N:{task[2]}/{ranks}:{world}"

    def strong(self):
        store = Store(self.o.out, "strong.json", {"context": {"executable": "cpize_bench_scaling"}, "benchmarks": []})
        for world in self.all_worlds:
            before = {b["name"]: b for b in store.content["benchmarks"]}
            left = [(model, kind, n) for model in self.o.models for kind in self.o.kinds for n in sorted(self.o.tokens)]
            left = [task for task in left if not self.has(before.get(self.name(task, world)), self.program)]
            self.say(f"strong scaling on {world} ranks, mesh {MESHES[world][0]}")
            while left:
                measured, ended = self.bench(world, left, ["--runs", self.o.runs, "--exposed"])
                lines = [line for task in left for line in measured.get(task, [])]
                for task in left:
                    if task in measured:
                        self._say_strong(task, world, measured[task])
                left = [task for task in left if task not in measured]
                if left and ended.out_of_memory:  # nor would a larger N of the same fit
                    too_large = [t for t in left if t[:2] == left[0][:2] and t[2] >= left[0][2]]
                    lines += [self._error(task, world, "out of memory") for task in too_large]
                    left = [task for task in left if task not in too_large]
                elif left:
                    lines.append(self._error(left[0], world, ended.last_words()))
                    self.fault(f"{self.name(left[0], world)}: {ended.last_words()}")
                    left = left[1:]
                names = {line["name"] for line in lines}
                store.content["benchmarks"] = [b for b in store.content["benchmarks"] if b["name"] not in names] + lines
                store.save()

    def _say_strong(self, task, world, lines):
        times = sorted(line["real_time"] for line in lines)
        last = lines[-1]
        share = last["sent_bytes"] / last["sent_bytes_formula"] if last["sent_bytes_formula"] else 1.0
        self.say(f"  {self.name(task, world):<44} {times[len(times) // 2]:10.2f} ms, peak {last['peak_bytes'] / 2**30:.3f} "
                 f"GiB, sent {last['sent_bytes'] / 2**30:.3f} GiB, {share:.0%} of the closed form")
        if share > OVER:
            self.fault(f"{self.name(task, world)} sent {last['sent_bytes']} bytes, the closed form allows "
                       f"{last['sent_bytes_formula']:.0f}")

    def _error(self, task, world, why):
        if why == "out of memory":
            self.say(f"  {self.name(task, world):<44} out of memory")
        return self.origin(self.program) | {"name": self.name(task, world), "run_type": "iteration", "error_occurred": True,
                                "error_message": why}

    # Memory scaling.

    def largest(self):
        store = Store(self.o.out, "memory.json", {"largest": {}})
        for world in self.all_worlds:
            for model in self.o.models:
                for kind in self.o.kinds:
                    ranks = "threads" if self.o.backend == "threads" else "gpus"
                    name = f"{model}/{kind}/{self.o.dtype}/{ranks}:{world}"
                    if self.has(store.content["largest"].get(name), self.program):
                        continue
                    store.content["largest"][name] = self.origin(self.program) | self._search(world, model, kind)
                    store.save()

    def _capacity(self):
        """(bytes of a rank, flags of the program, environment that limits it)."""
        if self.o.budget_mib:
            return self.o.budget_mib * 2**20, ["--budget-mib", self.o.budget_mib], {}
        if self.o.quick:  # a small share of the GPU: it runs out as the whole does, only sooner
            share = 0.04
            return share * self.memory, [], {"PYTORCH_CUDA_ALLOC_CONF": f"per_process_memory_fraction:{share}"}
        return 0.97 * self.memory, [], {}  # the driver's and NCCL's own

    def _search(self, world, model, kind):
        capacity, flags, more = self._capacity()
        search, begin, why, launches = largest.Search(self.o.start, self.o.step, capacity), time.monotonic(), "", 0
        lines = {}
        while not search.done():
            left = self.o.seconds - (time.monotonic() - begin)
            if left <= 0 and search.peaks:
                why = f"limit of {self.o.seconds:.0f} s"
                break
            tasks = [(model, kind, n) for n in search.next()]
            measured, ended = self.bench(world, tasks, ["--probe", *flags], max(left, 60), more)
            launches += 1
            for task in tasks:
                if task in measured:
                    line = measured[task][-1]
                    if self.o.budget_mib and line["peak_bytes"] > capacity:
                        search.failed(task[2])
                        break
                    lines[task[2]] = line
                    search.fitted(task[2], line["peak_bytes"])
                elif ended.out_of_memory:
                    search.failed(task[2])
                    break
                else:
                    why = ended.last_words()
                    break
            if ended.status not in (0, -1) and not ended.out_of_memory:
                self.fault(f"largest N of {model}/{kind} on {world} ranks: {ended.last_words()}")
            if why:
                break
        best = lines.get(search.fits)
        self.say(f"  largest N of {model}/{kind} on {world} ranks: {search.fits}"
                 + (f", {search.fails} does not fit" if search.fails else "") + (f" ({why})" if why else "")
                 + f", {time.monotonic() - begin:.0f} s in {launches} launches")
        return {"fits": search.fits, "does_not_fit": search.fails, "stopped": why, "mesh": MESHES[world][0],
                "peak_bytes": best["peak_bytes"] if best else 0, "milliseconds": best["real_time"] if best else 0,
                "budget_mib": self.o.budget_mib, "sizes": best["sizes"] if best else {},
                "probes": {str(n): peak for n, peak in sorted(search.peaks.items())}}

    def report(self):
        script = pathlib.Path(__file__).resolve().parent.parent / "gpu" / "report.py"
        made = subprocess.run([sys.executable, str(script), str(self.o.out)], capture_output=True, text=True)
        if made.returncode != 0:
            self.fault(f"the report failed: {made.stderr.strip().splitlines()[-1:]}")
            return
        (self.o.out / "report.md").write_text(made.stdout)
        self.say(f"report: {self.o.out / 'report.md'}")

    def all(self):
        begin = time.monotonic()
        self.say(f"{len(self.visible)} {'ranks as threads' if self.o.backend == 'threads' else self.gpu or 'GPUs'}; worlds "
                 f"{','.join(map(str, self.all_worlds))}; parts {','.join(self.o.parts)}")
        for part, measure in (("parity", self.parity), ("strong", self.strong), ("memory", self.largest),
                              ("report", self.report)):
            if part in self.o.parts:
                start = time.monotonic()
                measure()
                self.say(f"{part}: {time.monotonic() - start:.0f} s")
        self.say(f"{'everything is green' if not self.faults else f'{len(self.faults)} RED'} in "
                 f"{time.monotonic() - begin:.0f} s")
        for text in self.faults:
            self.say(f"  {text}")
        return 1 if self.faults else 0


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that no rank is left behind
    try:
        return Scale(read_options(__doc__)).all()
    except UsageError as e:
        print(f"scale.sh: {e}", file=sys.stderr)
        return 2
    except NoGpus as e:
        print(f"scale.sh: {e}", file=sys.stderr)
        return 3


if __name__ == "__main__":
    sys.exit(main())
