#!/usr/bin/env python3
"""kill -9 of `cpize drive` over CPize's own plan, at random moments: nothing lost, nothing half-written, no false green.

    kills_real.py --source . --tree DIR [--kills 200] [--seed N]     makes DIR/source and DIR/build, or uses what is there
    kills_real.py --build DIR [--kills 200]                          in an existing build tree, whose sources are edited meanwhile

It proves the real ports, so each drive builds and measures for minutes; a kill falls anywhere in that. Drives that were killed
are resumed, evidence is thrown away from time to time, and now and then a port is made wrong: then it and what stands on it must
not be green whatever was killed. Other victims than drive (ctest, a proof, a measured program, a compiler) are killed in between.
"""
import argparse
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests"))
import scratch  # noqa: E402
from scratch import check  # noqa: E402

parser = argparse.ArgumentParser()
parser.add_argument("--source", type=pathlib.Path, help="a checkout to copy")
parser.add_argument("--tree", type=pathlib.Path, help="where the copy and its build tree are, or will be made")
parser.add_argument("--build", type=pathlib.Path, default=os.environ.get("CPIZE_KILL_BUILD"), help="a built tree to use as it is")
parser.add_argument("--kills", type=int, default=int(os.environ.get("CPIZE_KILLS", "200")))
parser.add_argument("--seed", type=int, default=int(os.environ.get("CPIZE_TEST_SEED", "20240229")))
parser.add_argument("variables", nargs="*", help="-D options of the configure, after --")
options = parser.parse_args()
dice = random.Random(options.seed)

PORT = "modules/trunk/transition.cpp"
BUILDS = re.compile(r"/?(ninja|cmake|ccache|cc1plus|collect2|ld|as|sh|[cg]\+\+(-\d+)?|[\w-]+-(g|c)\+\+(-\d+)?)$")  # these may outlive a kill: they hold the build lock
RETURN = re.compile(r"(at::Tensor TransitionImpl::forward_local\(.*?\n  return )(?!1\.001)", re.DOTALL)


def make_tree():
    """A copy of the sources with a build tree inside, configured and built as far as the plan needs it."""
    source = options.tree / "source"
    if not (source / "CMakeLists.txt").exists():
        skipped = shutil.ignore_patterns("build*", ".git", "__pycache__")
        shutil.copytree(options.source, source, ignore=skipped)
    build = source / "build"
    if not (build / "cpize-plan.json").exists():
        run(["cmake", "-S", source, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", *options.variables])
    return build


def run(command):
    done = subprocess.run([str(c) for c in command], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    check(done.returncode == 0, f"{' '.join(map(str, command))} ended with {done.returncode}", done.stdout[-4000:])
    return done.stdout


class Real:
    def __init__(self, build):
        self.build = build.resolve()
        self.plan = json.loads((self.build / "cpize-plan.json").read_text())
        self.source = pathlib.Path(self.plan["source"])
        self.tasks = {t["id"]: t for t in self.plan["tasks"] if t["in_scope"]}
        run(["cmake", "--build", self.build, "--target", "cpize", *sorted({f"cpize_phase{t['phase']}" for t in self.tasks.values() if t["phase"] < 6})])
        self.tool = self.build / "cmake/tool/cpize"
        self.port = self.source / PORT
        self.text = self.port.read_text()
        self.port_text(wrong=True)  # the pattern must match before anything is killed

    def cpize(self, *words):
        done = subprocess.run([self.tool, *words, "--plan", self.build], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return done.returncode, done.stdout

    def start(self):
        return subprocess.Popen([self.tool, "drive", "-q", "--automatic", "--plan", self.build], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                text=True, start_new_session=True)

    def states(self):
        status, said = self.cpize("status")
        check(status == 0, "status", said)
        return {m[1]: m[2] for m in re.finditer(r"^\s*\d+\s+\d+\s+\d (\S+)\s+(\S+)", said, re.M) if m[1] in self.tasks}

    def done(self):
        return {task for task, state in self.states().items() if state == "done"}

    def port_text(self, wrong, mark=""):
        text = self.text
        if wrong:
            text, changed = RETURN.subn(r"\g<1>1.001 * ", text, count=1)
            check(changed == 1, f"{PORT} has no forward_local() to make wrong")
        return text + (f'\nstatic_assert(true, "the tests of kills were here: {mark}");\n' if mark else "")

    def behind_port(self):
        reached = {"transition"}
        while True:
            more = {i for i, t in self.tasks.items() if reached & set(t["depends"])} - reached
            if not more:
                return reached
            reached |= more

    def processes(self):
        """{pid: command line} of what a drive of this tree has started and is still there."""
        found, parents = {}, {}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                stat = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
                line = open(f"/proc/{pid}/cmdline").read().replace("\0", " ")
            except OSError:
                continue
            parents[int(pid)] = int(stat[1])
            if stat[0] != "Z" and str(self.build) in line and int(pid) != os.getpid() and "kills_real" not in line:
                found[int(pid)] = line
        return found

    def forget(self, tasks):
        for task in tasks:
            shutil.rmtree(pathlib.Path(self.plan["evidence_dir"]) / task, ignore_errors=True)

    def invariants(self, wrong, kept, decisions):
        """Every file that a reader would take is whole, nothing is lost, and a wrong port is not green, nor what stands on it."""
        for f in pathlib.Path(self.plan["evidence_dir"]).rglob("*.json"):
            text = f.read_text()
            summary = json.loads(text)
            check(len(text) <= 4096 or ".details." in f.name, f"{f.name} is a small summary")
            check(summary["key"] in f.name and summary["task"] == f.parent.name, f"{f} says what it is")
        for line in (self.build / "cpize-log.jsonl").read_text().splitlines():
            json.loads(line)
        check(pathlib.Path(self.plan["decisions"]).read_text() == decisions, "nobody decided anything")
        for page in (self.build / "docs").glob("*.md"):
            check(page.read_text().endswith("\n"), f"{page.name} is whole")
        states = self.states()
        lost = {t for t in kept if states[t] == "dirty" or states[t] == "todo"}
        check(not lost, f"what was proved is lost: {sorted(lost)}")
        done = {t for t, s in states.items() if s == "done"}
        if wrong:
            false = done & self.behind_port()
            check(not false, f"false greens: {sorted(false)}")
            status, said = self.cpize("gate", "transition")
            check(status == 1, "the gate of a wrong port", said)
        return done


def kill(real, drive):
    """kill -9 of drive and its group, or of something that it started; returns what was killed."""
    if dice.random() < 0.8:
        os.killpg(drive.pid, signal.SIGKILL)
        return "drive"
    others = [(pid, line) for pid, line in real.processes().items() if pid != drive.pid]
    if not others:
        os.killpg(drive.pid, signal.SIGKILL)
        return "drive"
    pid, line = dice.choice(others)
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return "nothing"
    name = pathlib.Path(line.split()[0]).name
    return {"ctest": "ctest", "cpize": "a proof"}.get(name, "a compiler or builder" if BUILDS.match(name) else "a program")


def killed():
    real = Real(pathlib.Path(options.build) if options.build else make_tree())
    decisions_file = pathlib.Path(real.plan["decisions"])
    decisions = decisions_file.read_text() if decisions_file.exists() else ""
    began = time.monotonic()
    trunk = {t for t, task in real.tasks.items() if task["subsystem"] == "trunk"}
    victims, wrong, drive, kept = {}, False, None, set()
    kills = rounds = midway = edits = wrongs = forgotten = 0
    try:
        while kills < options.kills:
            drive = real.start()
            time.sleep(dice.uniform(0.05, 9.0 if dice.random() < 0.8 else 30.0))
            if drive.poll() is None:
                victim = kill(real, drive)
                victims[victim] = victims.get(victim, 0) + 1
                kills += victim == "drive"
                if victim != "drive":  # drive goes on without its victim, and is killed too
                    time.sleep(dice.uniform(0.1, 2.0))
                    if drive.poll() is None:
                        os.killpg(drive.pid, signal.SIGKILL)
                        kills += 1
            drive.communicate()
            check(wait_gone(real), "what drive started dies with it", str(real.processes()))
            done = real.invariants(wrong, kept, decisions)
            midway += 0 < len(done) < len(real.tasks)
            kept = done
            finished = drive.returncode in (0, 1)
            if wrong and finished:
                check(drive.returncode == 1, "a drive over a wrong port is red")
            rounds += 1
            if finished or rounds % 8 == 0:  # a new situation: the port edited, made wrong or right, or evidence gone
                if wrong or edits <= forgotten:
                    edits += 1
                    wrong = not wrong
                    wrongs += wrong
                    real.port.write_text(real.port_text(wrong, str(edits)))
                    kept = kept - real.behind_port()
                else:
                    forgotten += 1
                    some = set(dice.sample(sorted(trunk), dice.randint(1, len(trunk))))
                    real.forget(some)
                    kept = kept & real.done()
        real.port.write_text(real.port_text(False, "right"))
        drive = real.start()
        said, _ = drive.communicate()
        check(drive.returncode == 0 and "tasks are green" in said, "it goes on to the end", said)
        check(real.done() == set(real.tasks), "everything is green", str(real.states()))
        left = [str(f) for f in (real.build / "cpize-logs").glob("*.measurement.json*")]
        check(not left, "measurement files are left over", str(left))
        status, said = real.cpize("gate")
        check(status == 0, "every gate", said)
    finally:
        if drive and drive.poll() is None:
            os.killpg(drive.pid, signal.SIGKILL)
        real.port.write_text(real.text)
    other = ", ".join(f"{n} of {v}" for v, n in sorted(victims.items()) if v != "drive")
    return (f"{kills} kills of drive ({other or 'nothing else'}), {midway} midway, {edits} edits, {wrongs} of them wrong, evidence thrown away {forgotten} times, "
            f"{time.monotonic() - began:.0f} s")


def wait_gone(real, seconds=10):
    end = time.monotonic() + seconds
    while any(not BUILDS.match(pathlib.Path(line.split()[0]).name) for line in real.processes().values() if line.strip()):
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


raise SystemExit(scratch.report([(f"{options.kills} kills over the real plan", killed)]))
