"""A scratch copy of the toy project, configured, with its serial tree locked, and what the tool says about it."""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests"))
import scratch  # noqa: E402
from scratch import check  # noqa: E402, F401

TRUNK = {"pair_block", "stop_and_go", "end_to_end", "resumed_end_to_end", "memory", "max_tokens"}  # what needs every port


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tool", required=True, type=pathlib.Path)
    parser.add_argument("--scratch", required=True, type=pathlib.Path)
    return parser.parse_args()


class Toy:
    def __init__(self, root, tool, generator="Ninja", lock=True, **variables):
        self.root, self.cpize = scratch.fresh(root), tool.resolve()
        self.source, self.build = self.root / "source", self.root / "build"
        scratch.copy_toy(self.source)
        if shutil.which("ccache"):  # the same few files are compiled in every scratch tree
            os.environ.update(CCACHE_BASEDIR=str(self.root), CCACHE_NOHASHDIR="1")
            variables["CMAKE_CXX_COMPILER_LAUNCHER"] = "ccache"
        scratch.configure(self.source, self.build, generator, self.cpize, **variables)
        if lock:
            self.ok("lock", "--update", "--why", "a scratch copy")

    # ---- the tool
    def tool(self, *words, **environment):
        return scratch.run([self.cpize, *words, "--plan", self.build], cwd=self.build, **environment)

    def start(self, *words, **environment):
        return subprocess.Popen([str(self.cpize), *words, "--plan", str(self.build)], cwd=self.build, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**os.environ, **environment})

    def ok(self, *words, **environment):
        status, output = self.tool(*words, **environment)
        check(status == 0, f"cpize {' '.join(words)} ended with {status}", output)
        return output

    def red(self, *words, expect=1, says="", **environment):
        """The command must fail with this exit status and say this (a regular expression)."""
        status, output = self.tool(*words, **environment)
        check(status == expect, f"cpize {' '.join(words)} ended with {status}, expected {expect}", output)
        check(re.search(says, output), f"cpize {' '.join(words)} does not say '{says}'", output)
        return output

    def states(self):
        """{task: (state, why)}"""
        found = {}
        for line in self.ok("status").splitlines():
            m = re.match(r"\s*\d+\s+\d+\s+\d (\S+)\s+(\S+)\s*(.*)$", line)
            if m:
                found[m[1]] = (m[2], m[3])
        check(len(found) >= 14, "status lists too few tasks", str(found))
        return found

    def not_done(self):
        return {task for task, (state, _) in self.states().items() if state not in ("done", "out-of-scope")}

    def expect_not_done(self, wanted, after):
        got = self.not_done()
        check(got == set(wanted), f"after {after}", f"too many: {sorted(got - set(wanted))}, missing: {sorted(set(wanted) - got)}")

    def ctest(self, *words, **environment):
        return scratch.ctest(self.build, *words, **environment)

    def cmake(self, *words):
        status, output = scratch.run(["cmake", ".", *words], cwd=self.build)
        check(status == 0, "configure", output)
        return output

    # ---- files of the copy
    def path(self, name):
        return self.source / name

    def append(self, name, text):
        with self.path(name).open("a") as f:
            f.write(text)

    def replace(self, name, old, new):
        text = self.path(name).read_text()
        check(old in text, f"{name} lacks '{old}'", text)
        self.path(name).write_text(text.replace(old, new))

    def evidence(self, task):
        """{file name: summary}, details left out."""
        folder = self.build / "cpize-evidence" / task
        return {f.name: json.loads(f.read_text()) for f in sorted(folder.glob("*.json")) if ".details." not in f.name}

    def forget_evidence(self):
        shutil.rmtree(self.build / "cpize-evidence", ignore_errors=True)


def code(word="edited"):
    """An edit of C++ that counts and changes nothing; a comment would not count."""
    return f'static_assert(true, "{word}");\n'


class Edited:
    """with Edited(toy, name): edits a file, and puts the old content back at the end, with a new time stamp."""

    def __init__(self, toy, name, change=lambda text: text + code()):
        self.path, self.change = toy.path(name), change

    def __enter__(self):
        self.old = self.path.read_text()
        new = self.change(self.old)
        check(new != self.old, f"the edit of {self.path.name} changes nothing")
        self.path.write_text(new)

    def __exit__(self, *_):
        self.path.write_text(self.old)


def wait_until(holds, what, seconds=20):
    end = time.monotonic() + seconds
    while not holds():
        check(time.monotonic() < end, f"waited {seconds} s for: {what}")
        time.sleep(0.02)
