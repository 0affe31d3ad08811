#!/usr/bin/env python3
"""The installed package and its consumers, a case a call: install, then the others. Every path has a space and brackets in it.

Nothing is built in the tree that is installed from; consumers are built in scratch trees."""
import argparse
import os
import pathlib
import re
import shutil
import subprocess

import scratch
from scratch import check

CONSUMERS = scratch.TESTS / "package"
SOURCE = scratch.CONDUCTOR.parent
FOREIGN = ("CPIZE_TORCH_ROOT", "Torch_DIR", "Torch_ROOT", "XDG_CACHE_HOME", "CUDACXX", "CUDA_HOME", "CUDA_PATH")
ABI_SYMBOL = "_ZN3c105ErrorC1ENS_14SourceLocationE"


class Package:
    def __init__(self, options):
        self.options = options
        self.work = options.directory / "strange [place] (1)"
        self.prefix = self.work / "second home"
        self.torch = options.torch

    def consume(self, consumer, name, expect=0, generator="Ninja", prefix=None, environment=None, **variables):
        """Configures a copy of a consumer; (build directory, output)."""
        source = self.work / f"{consumer} source"
        if not source.exists():
            shutil.copytree(CONSUMERS / consumer, source)
        build = scratch.fresh(self.work / f"build {name}")
        variables.setdefault("CMAKE_PREFIX_PATH", prefix or self.prefix)
        if "Multi" not in generator:
            variables.setdefault("CMAKE_BUILD_TYPE", "Release")
        if self.options.launcher and consumer == "library_consumer":
            variables.setdefault("CMAKE_CXX_COMPILER_LAUNCHER", self.options.launcher)
        command = ["cmake", "-S", source, "-B", build, "-G", generator, "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"]
        command += [f"-D{key}={value}" for key, value in variables.items()]
        # nothing of this machine's torch is found unless a case says so
        given = {key: value for key, value in os.environ.items() if key not in FOREIGN}
        environment = {**given, "PATH": without("nvcc"), "CPIZE_CACHE": str(self.work / "no cache"), "HOME": str(self.work / "no home"),
                       **(environment or {})}
        done = subprocess.run([str(c) for c in command], env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
        check((done.returncode == 0) == (expect == 0), f"configure ended with {done.returncode}", done.stdout)
        return build, done.stdout

    def build_and_test(self, build, generator="Ninja", run_ctest=True):
        config = ["--config", "Release"] if "Multi" in generator else []
        status, output = scratch.run(["cmake", "--build", build, *config], timeout=600)
        check(status == 0, "the consumer builds", output)
        if not run_ctest:
            return output
        status, tested, results = scratch.ctest(build, "-j2", "--output-on-failure", config="Release" if config else None)
        check(status == 0 and results and set(results.values()) == {"Passed"}, "ctest of the consumer", tested)
        return output


def without(program):
    """PATH without the directories that hold a program."""
    return os.pathsep.join(d for d in os.environ["PATH"].split(os.pathsep) if not (pathlib.Path(d) / program).exists())


def install(package):
    """K33: no installed file names a path that will be gone."""
    scratch.fresh(package.work)
    first = package.work / "first"
    status, output = scratch.run(["cmake", "--install", package.options.build, "--prefix", first])
    check(status == 0, "cmake --install", output)
    first.rename(package.prefix)
    gone = [str(p) for p in (first, package.options.build, SOURCE, package.torch)]
    gone += [str(p) for p in (package.options.build.resolve(), package.torch.parent.parent)]
    files = [f for f in package.prefix.rglob("*") if f.is_file()]
    for file in files:
        content = file.read_bytes()
        for path in gone if b"\0" not in content else [str(first)]: # a binary may know its torch: by rpath, and in torch's messages
            check(path.encode() not in content, f"{file.relative_to(package.prefix)} names {path}")
    text = "".join(f.read_text() for f in package.prefix.rglob("*.cmake"))
    for word in ("-Werror", "nlohmann_json::", "fmt::"):
        check(word not in text, f"the package says {word}")
    headers = package.prefix / "include/cpize"
    for file in headers.rglob("*.hpp"):
        for name in re.findall(r'^#include "(.+)"', file.read_text(), re.M):
            check((headers / name).exists(), f"{file.relative_to(headers)} includes {name}, which is installed")
    status, output = scratch.run([package.prefix / "bin/cpize", "--version"])
    check(status == 0 and re.search(r"cpize \d+\.\d+\.\d+", output), "cpize --version", output)
    return f"{len(files)} files"


def conductor(package, generator):
    """Without torch, in any generator: configure, build, ctest, and the plan's second computation."""
    build, _ = package.consume("conductor_consumer", f"conductor {generator}", generator=generator)
    output = package.build_and_test(build, generator)
    check("unused" in output and "-Werror" not in output, "a warning of the consumer stays a warning", output)
    plan = build / ("cpize-plan-Release.json" if "Multi" in generator else "cpize-plan.json")
    for verb in (["plan", "--verify"], ["status"]):
        status, output = scratch.run([package.prefix / "bin/cpize", *verb, "--plan", plan])
        check(status == 0, " ".join(verb), output)
    return ""


def library(package, generator):
    """K34 (c): a CUDA torch and no nvcc. The stranger's port is proved, infra by the installed program."""
    build, _ = package.consume("library_consumer", f"library {generator}", generator=generator, CPIZE_TORCH_ROOT=package.torch)
    package.build_and_test(build, generator)
    check("-Werror" not in (build / "compile_commands.json").read_text(), "no flag of CPize's own build reaches the consumer")
    check("1x2x2" in (build / "docs/cp_infra.md").read_text(), "the installed program wrote its document")
    plan = (build / ("cpize-plan-Release.json" if "Multi" in generator else "cpize-plan.json")).read_text()
    check('"mpiexec":""' not in plan or not shutil.which("mpiexec"), "where there is MPI the plan launches with it", plan)
    check(plan.count("CPize ") >= 3, "the package's content is in the keys", plan)
    return ""


def torch_absent(package):
    """K34 (a): the library says what to set; the conductor does not mind."""
    no_python = fake_python(package, "")
    path = {"PATH": f"{no_python}{os.pathsep}{without('nvcc')}"}
    _, output = package.consume("conductor_consumer", "no torch conductor", environment=path)
    _, output = package.consume("library_consumer", "no torch", expect=1, environment=path)
    check("CPize: without Library: no torch: set CPIZE_TORCH_ROOT" in output and "Library was not found" in output, "a line says why", output)
    source = package.work / "needs library"
    shutil.rmtree(source, ignore_errors=True)
    source.mkdir()
    (source / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.25)\nproject(p CXX)\nfind_package(CPize REQUIRED COMPONENTS ${ASK})\n")
    for ask, words in (("Library", ["Library: no torch: set", "CPIZE_TORCH_ROOT"]), ("Harness", ["Harness: it needs", "no torch"]),
                       ("Librarry", ["no component 'Librarry'", "Conductor, Library, Features, Harness"])):
        status, output = scratch.run(["cmake", "-S", source, "-B", scratch.fresh(source / "b"), f"-DASK={ask}", f"-DCMAKE_PREFIX_PATH={package.prefix}"],
                                     **path, CPIZE_CACHE=str(package.work / "no"), HOME=str(package.work), XDG_CACHE_HOME="")
        flat = " ".join(output.split())
        check(status != 0 and all(word in flat for word in words), f"asked for {ask}", output)
    return ""


def fake_python(package, location):
    """A python3 that looks a torch up and finds it at `location`; imports of torch would fail."""
    place = package.work / f"python {'with' if location else 'without'}"
    place.mkdir(exist_ok=True)
    program = place / "python3"
    program.write_text(f"#!/bin/sh\necho '{location}'\n")
    program.chmod(0o755)
    return place


def cpu_torch(package):
    """A torch without its CUDA libraries, made of links into the one at hand."""
    root = package.work / "cpu torch/torch"
    if not root.exists():
        (root / "lib").mkdir(parents=True)
        for name in ("include", "version.py", "share"):
            if (package.torch / name).exists():
                (root / name).symlink_to(package.torch / name)
        for library in (package.torch / "lib").iterdir():
            if "cuda" not in library.name.replace("libcudart", ""):
                (root / "lib" / library.name).symlink_to(library)
        if (package.torch.parent / "nvidia").exists():
            (root.parent / "nvidia").symlink_to(package.torch.parent / "nvidia")
    return root


def torch_cpu(package):
    """K34 (b): a CPU torch, found as the torch of python3, builds and proves."""
    root = cpu_torch(package)
    check(not (root / "lib/libtorch_cuda.so").exists() and (root / "lib/libtorch_cpu.so").exists(), "the torch has no CUDA libraries")
    path = f"{fake_python(package, root)}{os.pathsep}{without('nvcc')}"
    build, output = package.consume("library_consumer", "cpu torch", environment={"PATH": path})
    check("libtorch" in output and str(root) in output, "the torch of python3 is found, not imported", output)
    package.build_and_test(build)
    return ""


def fake_torch(package, name, version, symbol):
    root = package.work / name
    (root / "include/ATen").mkdir(parents=True, exist_ok=True)
    (root / "lib").mkdir(exist_ok=True)
    (root / "include/ATen/ATen.h").write_text("")
    (root / "version.py").write_text(f"__version__ = '{version}'\n")
    (root / "lib/libc10.so").write_bytes(b"\0" + symbol.encode() + b"\0")
    return root


def torch_foreign(package):
    """K34 (d): a torch of the other std::string ABI, or of another version, is named at configure, with what to do."""
    old = fake_torch(package, "old abi torch", package.options.torch_version, ABI_SYMBOL + "Ss")
    other = fake_torch(package, "other torch", "2.3.1", ABI_SYMBOL + "NSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE")
    for root, words in ((old, ["_GLIBCXX_USE_CXX11_ABI=0", "_GLIBCXX_USE_CXX11_ABI=1", "would not link"]), (other, ["torch '2.3.1'", "pinned"])):
        _, output = package.consume("library_consumer", f"foreign {root.name}", expect=1, CPIZE_TORCH_ROOT=root)
        check(all(word in " ".join(output.split()) for word in words), "the package names it", output)
        # CPize's own build says the same, by way of Torch_DIR
        status, output = scratch.run(["cmake", "-S", SOURCE, "-B", scratch.fresh(package.work / "own build"), "-G", "Ninja",
                                      "-DCPIZE_PROVISION=OFF", f"-DTorch_DIR={root}/share/cmake/Torch"])
        check(status != 0 and all(word in " ".join(output.split()) for word in words), "CPize's own configure names it", output)
    return ""


def multiarch(package):
    """CMAKE_INSTALL_LIBDIR with one more level, installed from a second tree that borrows what the first one built."""
    tree, prefix = scratch.fresh(package.work / "multiarch build"), package.work / "multiarch [prefix]"
    status, output = scratch.run(["cmake", "-S", SOURCE, "-B", tree, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DCPIZE_PROVISION=OFF",
                                  "-DCMAKE_INSTALL_LIBDIR=lib/x86_64-linux-gnu", f"-DCPIZE_TORCH_ROOT={package.torch}"])
    check(status == 0, "configure", output)
    for built in [*package.options.build.rglob("libcpize_*.a"), package.options.build / "cmake/tool/cpize", package.options.build / "parity/infra/cpize-world"]:
        place = tree / built.relative_to(package.options.build)
        if "strange" not in str(place.relative_to(tree)):
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(built, place)
    status, output = scratch.run(["cmake", "--install", tree, "--prefix", package.work / "multiarch first"])
    check(status == 0, "cmake --install", output)
    shutil.rmtree(prefix, ignore_errors=True)
    (package.work / "multiarch first").rename(prefix)
    shutil.rmtree(tree)
    check((prefix / "lib/x86_64-linux-gnu/cmake/CPize/CPizeConfig.cmake").exists() and not (prefix / "lib/cmake").exists(), "where the package lies")
    build, _ = package.consume("conductor_consumer", "multiarch", prefix=prefix)
    package.build_and_test(build)
    _, output = package.consume("library_consumer", "multiarch library", prefix=prefix, CPIZE_TORCH_ROOT=package.torch)
    check("without Library" not in output and "without Harness" not in output, "every target's file is where the package says", output) # what it builds, others have built
    return ""


def subdirectory(package):
    build, _ = package.consume("subdirectory_consumer", "subdirectory", CPIZE_SOURCE=SOURCE, CPIZE_TORCH_ROOT=package.torch,
                               CPIZE_TOOL=package.prefix / "bin/cpize", gemmi_DIR=package.options.gemmi, CMAKE_PREFIX_PATH="")
    package.build_and_test(build)
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("case")
    parser.add_argument("--build", type=pathlib.Path, help="the build tree to install from")
    parser.add_argument("--torch", type=pathlib.Path, help="the torch that it was built with")
    parser.add_argument("--torch-version")
    parser.add_argument("--gemmi", type=pathlib.Path, help="gemmi_DIR")
    parser.add_argument("--launcher", help="compiler launcher, such as ccache")
    options = parser.parse_args()
    package = Package(options)
    word, _, generator = options.case.partition(":")
    cases = {f.__name__: f for f in (install, conductor, library, torch_absent, torch_cpu, torch_foreign, multiarch, subdirectory)}
    return scratch.report([(options.case, lambda: cases[word](package, *([generator] if generator else [])))])


if __name__ == "__main__":
    raise SystemExit(main())
