#!/usr/bin/env python3
"""`ctest -S CPizeDashboard.cmake` against a recording server: every field of every file of a whole dashboard of the toy project, and on a
small project the local verdict with five kinds of server, failed configures and builds, the three models."""
import argparse
import base64
import concurrent.futures
import io
import json
import os
import pathlib
import re
import tarfile
import time
import zlib

import scratch
from recording_server import Server
from scratch import check

SCRIPT = scratch.CONDUCTOR / "CPizeDashboard.cmake"
PHASES = [f"phase{n}" for n in range(8)]


def dashboard(source, server=None, expect=0, options=(), **variables):
    """Runs a dashboard in `source` and returns what it said; `expect` None takes any verdict."""
    os.environ.pop("HTTP_PROXY", None)  # the server is here
    if server:
        variables["CTEST_DROP_SITE"] = server.site
    defaults = dict(CPIZE_SUBMIT_RETRIES=0, CPIZE_SUBMIT_TIMEOUT=2, CTEST_SITE="a site", CTEST_BUILD_NAME="a build & more")
    status, said = scratch.run(["ctest", "-S", SCRIPT, f"-DCPIZE_CONFIGURE_OPTIONS={';'.join(options)}",
                                *(f"-D{name}={value}" for name, value in {**defaults, **variables}.items())], cwd=source)
    check(expect is None or (status == 0) == (expect == 0), f"the dashboard ended with {status}", said)
    return said


# ---- fields

def subprojects(root):
    found = [(s.get("name"), [label.text for label in s.findall("Label")]) for s in root.findall("Subproject")]
    check(found == [(p, [p]) for p in PHASES], "phases as subprojects", found)


def head(submission, project):
    """What every file says of itself, in its address and its root element."""
    q = submission.query
    check(submission.location == "/submit.php" and q["project"] == project, "address", submission.query)
    check(submission.intact(), f"{submission.part}: the sum of the content")
    if submission.part in ("Done", "Upload"):
        return submission.xml()
    check((q["build"], q["site"]) == ("a build & more", "a site") and re.fullmatch(r"\d{8}-\d{4}-Experimental", q["stamp"]), "address", q)
    root = submission.xml()
    check(root.tag == "Site", f"{submission.part}: root", root.tag)
    for name, value in (("BuildName", q["build"]), ("Name", q["site"]), ("BuildStamp", q["stamp"])):
        check(root.get(name) == value, f"{submission.part}: {name}", root.attrib)
    check(root.get("Generator").startswith("ctest-"), "generator", root.attrib)
    return root


def measurements(test):
    """{name: (type, value)} of one <Test>; attached files are decoded."""
    found = {}
    for m in test.find("Results").findall("NamedMeasurement"):
        value = m.find("Value").text or ""
        if m.get("type") == "file":
            check((m.get("encoding"), m.get("compression")) == ("base64", "tar/gzip"), "encoding", m.attrib)
            with tarfile.open(fileobj=io.BytesIO(base64.b64decode(value))) as tar:
                check(len(tar.getnames()) == 1, "one file an attachment", tar.getnames())
                value = (m.get("filename"), tar.extractfile(tar.getmembers()[0]).read())
        check(m.get("name") not in found, "one measurement a name", m.get("name"))
        found[m.get("name")] = (m.get("type"), value)
    return found


def number(found, name):
    check(found[name][0] == "numeric/double", f"type of {name}", found[name])
    return float(found[name][1])


def task_fields(test, task, folder, artifact):
    """The measurements of one task against its evidence on disk."""
    found = measurements(test)
    (summary,) = [f for f in folder.glob("*.json") if ".details." not in f.name and found["key"][1] in f.name]
    details = summary.with_suffix(".details.json")
    evidence, full = json.loads(summary.read_text()), json.loads(details.read_text())
    check(found["evidence"] == ("file", (summary.name, summary.read_bytes())), f"{task['id']}: evidence is attached", found["evidence"])
    check(found["details"] == ("file", (details.name, details.read_bytes())), f"{task['id']}: details are attached", found["details"])
    if task["artifact"]:
        check(found["artifact"] == ("file", (artifact.name, artifact.read_bytes())), f"{task['id']}: artifact", found.get("artifact"))
    cells = evidence["cells"]
    check(number(found, "cells") == len(cells) and found["key"] == ("text/string", evidence["key"]), "cells and key", found)
    worst = [c["worst"] for c in cells.values() if "worst" in c]
    if worst:
        for name, cell in cells.items():
            check(number(found, f"difference {name}") == cell["worst"]["difference"], f"difference of {name}", found)
        top = max(worst, key=lambda w: w["difference"] / w["tolerance"])
        check((number(found, "difference"), number(found, "tolerance")) == (top["difference"], top["tolerance"]), "the worst", found)
        name, _, cell = found["nearest its tolerance"][1].rpartition(" in ")
        same = [m["name"] for m in full["cells"][cell]["measured"]["measurements"] if m["difference"] == top["difference"]]
        check(name in same, "its name", found)
        check(number(found, "compared") == sum(c["compared"] for c in cells.values()), "compared", found)
        cell = found["counters of"][1]
        check(cell.startswith("1x2x2/threads/"), "counters of the plan's mesh", cell)
        for counter in full["cells"][cell]["measured"]["counters"]:
            check(number(found, counter["name"]) == counter["value"], f"counter {counter['name']}", found)
    value = test.find("Results/Measurement/Value")
    output = zlib.decompress(base64.b64decode(value.text)).decode() if value.get("encoding") == "base64" else value.text
    check("CTestMeasurement" not in output and f"{task['id']}: " in output, "the output is what people read", output)
    return found


def whole(options):
    source = scratch.copy_toy(scratch.fresh(options.directory / "whole") / "the source")
    store = options.directory / "whole" / "evidence <R&D>"  # its path must survive XML
    port = source / "modules/trunk/tri_mul_in.cpp"
    port.write_text(port.read_text().replace("triangle(x)", "triangle(x) + 1e-13"))  # a difference that is no zero
    configure = [f"-DCPIZE_CMAKE_DIR={scratch.CONDUCTOR}", f"-DCPIZE_TOOL={options.tool}", f"-DCPIZE_EVIDENCE_DIR={store}"]
    if options.launcher:
        os.environ.update(CCACHE_BASEDIR=str(source), CCACHE_NOHASHDIR="1")
        configure.append(f"-DCMAKE_CXX_COMPILER_LAUNCHER={options.launcher}")
    with Server("good") as server:
        said = dashboard(source, server, options=configure)
        check(f"as build {Server.BUILD_ID}" in said and "Accepted is not recorded" in said and "green" in said, "what is said", said)
        check([p for p in server.parts() if p != "Update"] == ["Configure", "Build", "Test", "Notes", "Upload", "Done"], "parts, in order", server.parts())
        roots = {s.part: head(s, "toyfold") for s in server.submissions if s.part != "Update"}  # inside a clone there is one

    build = source / "build"
    plan = {t["id"]: t for t in json.loads((build / "cpize-plan.json").read_text())["tasks"]}
    for part in ("Configure", "Build", "Test"):
        subprojects(roots[part])
    configured = roots["Configure"].find("Configure")
    check(configured.findtext("ConfigureStatus") == "0" and "plan toyfold" in configured.findtext("Log"), "Configure", server.get("Configure").body)
    built = roots["Build"].find("Build")
    check(not built.findall("Error") and not built.findall("Warning") and built.findtext("BuildCommand"), "Build", server.get("Build").body)
    check(int(built.findtext("EndBuildTime")) >= int(built.findtext("StartBuildTime")) > 1e9, "times", server.get("Build").body)

    tests = {t.findtext("Name"): t for t in roots["Test"].findall("Testing/Test")}
    check({t.text for t in roots["Test"].findall("Testing/TestList/Test")} == {f"./{n}" for n in tests}, "list of tests")
    check(set(plan) <= set(tests) and {t.get("Status") for t in tests.values()} == {"passed"}, "every task passed", list(tests))
    for name, task in plan.items():
        labels = [label.text for label in tests[name].findall("Labels/Label")]
        check([p for p in labels if p in PHASES] == [f"phase{task['phase']}"], f"{name}: one phase", labels)
        task_fields(tests[name], task, store / name, build / task["artifact"])
    found = measurements(tests["tri_mul_in"])
    check(0 < number(found, "difference") < number(found, "tolerance"), "a difference that is no zero", found)

    notes = {pathlib.Path(n.get("Name")).name: n.findtext("Text") for n in roots["Notes"].iter("Note")}
    check(notes == {f.name: f.read_text() for f in (build / "docs").glob("*.md")} and "mem_report.md" in notes, "notes are the reports", notes)
    (file,) = roots["Upload"].iter("File")
    check(file.get("filename").endswith("cpize-plan.json") and base64.b64decode(file.findtext("Content")) == (build / "cpize-plan.json").read_bytes(), "the plan is uploaded")
    check(roots["Done"].tag == "Done" and roots["Done"].findtext("buildId") == str(Server.BUILD_ID), "Done", server.get("Done").body)

    port.write_text(port.read_text().replace("1e-13", "1e-3"))
    with Server("good") as server:
        said = dashboard(source, server, options=configure, expect=1)
        check("RED" in said and "tri_mul_in" in said, "red tests are named", said)
        tests = {t.findtext("Name"): t for t in server.get("Test").xml().findall("Testing/Test")}
    check((tests["tri_mul_in"].get("Status"), tests["tri_mul_out"].get("Status"), tests["pair_block"].get("Status")) == ("failed", "passed", "notrun"), "states", list(tests))
    found = task_fields(tests["tri_mul_in"], plan["tri_mul_in"], store / "tri_mul_in", build)
    check(number(found, "difference") > number(found, "tolerance"), "a red test shows by how much", found)

    status, said = scratch.run(["ctest", "-V", "-R", "^tri_mul_out$"], cwd=build)
    check(status == 0 and "CTestMeasurement" not in said, "outside a dashboard nothing is printed", said)
    return f"{len(plan)} tasks, {len(found)} measurements of a red port"


# ---- a small project of its own, which has no compiler: many dashboards in a few seconds

def small(directory, tool, text=""):
    source = scratch.fresh(directory)
    (source / "CMakeLists.txt").write_text(f"""cmake_minimum_required(VERSION 3.25)
Project ( small LANGUAGES NONE )
set(CPIZE_TOOL "{tool}")
include("{scratch.CONDUCTOR}/CPizeConductor.cmake")
cpize_begin_plan(small)
cpize_port(block CHECK ${{CMAKE_COMMAND}} -E true)
cpize_prove(whole DEPENDS block CHECK ${{CMAKE_COMMAND}} -E true)
{text}cpize_end_plan()
""")
    return source


def servers(options):
    """The verdict is the local one, whatever the server is (five kinds)."""
    sources = {"green": small(options.directory / "green", options.tool),
               "red": small(options.directory / "red", options.tool, "add_test(NAME bad COMMAND ${CMAKE_COMMAND} -E false)\n")}
    says = {"silent": "not delivered to", "none": "not delivered to", "500": "not delivered to", "empty": "no receipt.*Accepted is not recorded|not delivered to",
            "good": f"as build {Server.BUILD_ID}: .*Accepted is not recorded"}

    def case(verdict, mode):
        with Server(mode) as server:
            said = dashboard(sources[verdict], server, expect=0 if verdict == "green" else 1, CTEST_BINARY_DIRECTORY=f"build {mode}")
        check(re.search(says[mode], said), f"{mode}: '{says[mode]}'", said)
        check(("RED: 1 tests failed or could not run: bad" in said) == (verdict == "red"), f"{mode}: verdict", said)
        check(mode in ("good", "empty") or "ccepted" not in said, f"{mode}: nothing is said to be accepted", said)
        check("as build" not in said or mode == "good", f"{mode}: no receipt", said)
        check(not server.submissions or "Done" in server.parts(), "the dashboard ends", server.parts())

    with concurrent.futures.ThreadPoolExecutor(4) as pool:  # most of the time is waiting for servers
        for done in [pool.submit(case, verdict, mode) for mode in says for verdict in sources]:
            done.result()
    said = dashboard(sources["green"])
    check("no server is named" in said, "without any server", said)
    return "green and red, five servers each"


def failures(options):
    source = small(options.directory / "failures", options.tool, "include(extra.cmake OPTIONAL)\n")

    def submitted(expected, reason, **variables):
        with Server("good") as server:
            said = dashboard(source, server, expect=1, **variables)
            check(f"RED: {reason}" in said, reason, said)
            check([p for p in server.parts() if p not in ("Update", "Notes", "Upload")] == expected, reason, server.parts())
            return server

    (source / "extra.cmake").write_text("message(FATAL_ERROR \"no such <library>\")\n")
    configure = submitted(["Configure", "Done"], "the configure failed").get("Configure").xml().find("Configure")
    check(configure.findtext("ConfigureStatus") != "0" and "no such <library>" in configure.findtext("Log"), "a failed configure", configure)
    (source / "extra.cmake").write_text('add_custom_target(broken ALL COMMAND ${CMAKE_COMMAND} -E echo "it breaks" COMMAND ${CMAKE_COMMAND} -E false)\n')
    build = submitted(["Configure", "Build", "Done"], "the build failed").get("Build").xml().find("Build")
    check("it breaks" in "".join(e.findtext("Text") + (e.findtext("PostContext") or "") for e in build.findall("Error")), "a failed build", build)
    (source / "extra.cmake").unlink()
    submitted(["Configure", "Build", "Test", "Done"], "no test ran", CPIZE_LABELS="^phase8$")
    with Server("good") as server:
        dashboard(source, server, CPIZE_LABELS="^phase3$")
        names = {t.findtext("Name") for t in server.get("Test").xml().findall("Testing/Test")}
        check(names == {"block"}, "labels select", names)
    for variables, says in ((dict(MODEL="Weekly"), "Experimental, Nightly, Continuous"), (dict(CPIZE_INTERVAL="soon"), "is no number"),
                            (dict(CTEST_SOURCE_DIRECTORY=options.directory), "has no CMakeLists.txt"), (dict(CPIZE_DURATION=5), "Continuous")):
        said = dashboard(source, expect=1, **variables)
        check(says in said, says, said)


def models(options):
    """Nightly begins with an empty tree, Continuous goes on; a project's own CTestConfig.cmake, and the command line over it."""
    source = small(options.directory / "models", options.tool)
    with Server("good") as mine, Server("good") as theirs:
        (source / "CTestConfig.cmake").write_text(f'set(CTEST_PROJECT_NAME Theirs)\nset(CTEST_SUBMIT_URL "http://{theirs.site}/submit.php?project=Theirs")\n'
                                                  'set(CTEST_NIGHTLY_START_TIME "01:00:00 UTC")\n')
        dashboard(source, mine, MODEL="Nightly")
        check(mine.parts() and not theirs.parts() and mine.get("Done").query["project"] == "Theirs", "the command line names the server", theirs.parts())
        check(mine.get("Test").query["stamp"].endswith("-Nightly"), "stamp", mine.get("Test").query)
        tree = source / "build-dashboard"
        (tree / "left").write_text("over")
        dashboard(source, MODEL="Continuous")
        check((tree / "left").exists() and theirs.get("Test").query["stamp"].endswith("-Continuous"), "Continuous keeps the tree", theirs.parts())
        dashboard(source, MODEL="Nightly")
        check(not (tree / "left").exists() and not (source / "build").exists(), "Nightly empties its own tree")
        for generator in scratch.GENERATORS[1:]:
            said = dashboard(source, CTEST_CMAKE_GENERATOR=generator, CTEST_BINARY_DIRECTORY=f"build {generator}")
            check("green" in said, generator, said)


def updates(options):
    """Continuous with CPIZE_UPDATE: a second pass when somebody pushed, and the verdict is that of the newest sources."""
    def git(directory, *words):
        status, said = scratch.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=directory)
        check(status == 0, " ".join(words), said)
        return said.strip()

    origin = small(options.directory / "origin", options.tool, "include(extra.cmake OPTIONAL)\n")
    git(origin, "init", "-q")
    git(origin, "add", ".")
    git(origin, "commit", "-q", "-m", "first")
    clone = scratch.fresh(options.directory / "clone")
    git(clone, "clone", "-q", str(origin), ".")
    with Server("good") as server, concurrent.futures.ThreadPoolExecutor(1) as pool:
        run = pool.submit(dashboard, clone, server, expect=1, MODEL="Continuous", CPIZE_UPDATE="ON", CPIZE_INTERVAL=1, CPIZE_DURATION=8)
        while "Done" not in server.parts() and not run.done():
            time.sleep(0.05)
        (origin / "extra.cmake").write_text("add_test(NAME bad COMMAND ${CMAKE_COMMAND} -E false)\n")
        git(origin, "add", ".")
        git(origin, "commit", "-q", "-m", "second")
        said = run.result()
    check("1 tests failed or could not run: bad" in said, "the second pass is red", said)
    check(server.parts().count("Done") == 2, "a pass for each change, and no other", server.parts())
    tests = [{t.findtext("Name") for t in s.xml().findall("Testing/Test")} for s in server.submissions if s.part == "Test"]
    check(tests == [{"block", "whole"}, {"block", "whole", "bad"}], "what ran", tests)
    revisions = [s.xml().findtext("Revision") for s in server.submissions if s.part == "Update"]
    check(revisions[-1] == git(origin, "rev-parse", "HEAD") and len(set(revisions)) == 2, "revisions", revisions)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("--tool", type=pathlib.Path, required=True)
    parser.add_argument("--launcher", help="compiler launcher, such as ccache")
    parser.add_argument("--only")
    options = parser.parse_args()
    options.directory, options.tool = options.directory.resolve(), options.tool.resolve()
    cases = [f for f in (whole, failures, models, updates, servers) if options.only in (None, f.__name__)]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:  # those that wait most, for silent servers and for a push, do so meanwhile
        waiting = {f: pool.submit(f, options) for f in (servers, updates) if f in cases}
        return scratch.report([(f.__name__, waiting[f].result if f in waiting else lambda f=f: f(options)) for f in cases])


if __name__ == "__main__":
    raise SystemExit(main())
