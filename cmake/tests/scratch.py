"""Scratch trees for the tests of the conductor: configure, ctest, and what they said."""
import os
import pathlib
import re
import shutil
import subprocess

TESTS = pathlib.Path(__file__).resolve().parent
CONDUCTOR = TESTS.parent
os.environ.pop("CPIZE_DASHBOARD", None)  # a dashboard that runs these tests wants no measurements of theirs
GENERATORS = ["Ninja", "Unix Makefiles", "Ninja Multi-Config"]


class Failure(Exception):
    """A check that did not hold."""


def check(holds, what, shown=""):
    if not holds:
        raise Failure(f"{what}\n{shown}")


def run(command, cwd=None, timeout=300, **environment):
    """(exit status, standard output and error together)."""
    done = subprocess.run([str(c) for c in command], cwd=cwd, timeout=timeout, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, env={**os.environ, **environment})
    return done.returncode, done.stdout


def fresh(directory):
    directory = pathlib.Path(directory)
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    return directory


def copy_toy(directory):
    """A pristine copy of the toy project."""
    shutil.rmtree(directory, ignore_errors=True)
    shutil.copytree(TESTS / "toy", directory)
    return pathlib.Path(directory)


def configure(source, build, generator="Ninja", tool=None, expect=0, **variables):
    """Configures and returns the output; `tool` None leaves CPIZE_TOOL out, so that the tree builds its own."""
    command = ["cmake", "-S", source, "-B", build, "-G", generator, f"-DCPIZE_CMAKE_DIR={CONDUCTOR}"]
    if tool:
        command.append(f"-DCPIZE_TOOL={tool}")
    status, output = run(command + [f"-D{name}={value}" for name, value in variables.items()])
    check(expect is None or (status == 0) == (expect == 0), f"configure ended with {status}", output)
    return output


def ctest(build, *arguments, config=None, **environment):
    """(exit status, output, {test: 'Passed' | 'Failed' | 'Not Run'})."""
    status, output = run(["ctest", *(["-C", config] if config else []), *arguments], cwd=build, **environment)
    results = dict(re.findall(r"Test +#\d+: (\S+) \.*\s*(?:\*\*\*)?(Passed|Failed|Not Run|Timeout|Exception)", output))
    return status, output, results


def listed(build, *arguments, config=None):
    """The tests that a ctest command would run."""
    _, output = run(["ctest", "-N", *(["-C", config] if config else []), *arguments], cwd=build)
    return set(re.findall(r"Test +#\d+: (\S+)", output))


def always_green_tool(directory):
    """A tool that proves anything: for tests that look at the graph alone."""
    path = pathlib.Path(directory) / "always-green"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\nexit 0\n")
    path.chmod(0o755)
    return path


def report(cases):
    """Runs [(name, function)], prints one line each, and returns the exit status of the test."""
    failed = 0
    for name, function in cases:
        try:
            said = function()
            print(f"ok    {name}{': ' + said if said else ''}", flush=True)
        except (Failure, subprocess.SubprocessError, OSError, KeyError, ValueError) as error:
            failed += 1
            print(f"FAIL  {name}: {error}", flush=True)
    print(f"{len(cases) - failed} of {len(cases)} cases hold")
    return 1 if failed or not cases else 0
