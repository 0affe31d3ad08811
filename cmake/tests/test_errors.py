#!/usr/bin/env python3
"""Every configure error names the task, the file, the line and, where there is one, the nearest name."""
import argparse

import scratch

PREAMBLE = """cmake_minimum_required(VERSION 3.25)
project(wrong LANGUAGES NONE)
list(APPEND CMAKE_MODULE_PATH "${CPIZE_CMAKE_DIR}")
include(CPizeConductor)
"""
PLAN = """cpize_begin_plan(wrong)
add_executable(prog prog.cpp)
cpize_map_model(map PROPERTY prog)
cpize_verify_infra(infra PROPERTY prog)
cpize_shard_feature(pair PARITY prog)
cpize_port(block KIND new DEPENDS feature.pair PARITY prog)
cpize_prove(proof DEPENDS block PARITY prog)
"""
END = "cpize_end_plan()\n"

# name, text after the plan's common part (an @ marks the line that the message must name), front door, what the message says
DECLARATIONS = [
    ("misspelt keyword", "@cpize_port(a KIDN new)", "", ["{here}: task a: unknown keyword 'KIDN' (did you mean: KIND?)"]),
    ("misspelt keyword, several lines", "# a comment; with [ brackets\n@cpize_port(\n  a\n  KIDN new)", "", ["{here}: task a: unknown keyword 'KIDN'"]),
    ("swallowed by DEPENDS", "\n@cpize_port(a DEPENDS block RSIK high)", "", ["{here}: task a: unknown keyword 'RSIK', swallowed by DEPENDS (did you mean: RISK?)"]),
    ("swallowed by RISK", "@cpize_port(a RISK high \"windows\" KIDN new)", "", ["{here}: task a: unknown keyword 'KIDN', swallowed by RISK (did you mean: KIND?)"]),
    ("swallowed by a command", "@cpize_port(a PARITY prog argument DEPEND block)", "", ["{here}: task a: unknown keyword 'DEPEND', swallowed by PARITY (did you mean: DEPENDS?)"]),
    ("lower-case words after a value", "@cpize_port(a KIND new depends block)", "", ["{here}: task a: unknown keyword 'depends'"]),
    ("reason without quotes", "@cpize_port(a RISK high two words)", "", ["{here}: task a: RISK takes a level and one quoted reason without ';', and 'words' is too much"]),
    ("keyword without a value", "@cpize_port(a KIND new EFFORT PARITY prog)", "", ["{here}: task a: EFFORT without a value"]),
    ("keyword twice", "@cpize_port(a KIND new KIND adapt)", "", ["{here}: task a: KIND is given twice"]),
    ("phase of a short form", "@cpize_port(a PHASE 4)", "", ["{here}: task a: PHASE is given twice"]),
    ("no phase", "@cpize_task(a KIND new)", "", ["{here}: task a: PHASE is missing"]),
    ("bad value", "@cpize_port(a KIND nwe)", "", ["{here}: task a: KIND 'nwe' is not reuse, adapt, new (did you mean: new?)"]),
    ("bad phase", "@cpize_task(a PHASE 8)", "", ["{here}: task a: PHASE '8' is not 0 to 7"]),
    ("bad risk", "@cpize_port(a RISK hihg)", "", ["{here}: task a: RISK 'hihg' is not low, medium, high (did you mean: high?)"]),
    ("bad effort", "@cpize_port(a EFFORT much)", "", ["{here}: task a: EFFORT 'much' is not hours"]),
    ("bad id", "@cpize_port(a-b KIND new)", "", ["task a-b: an id is made of letters"]),
    ("id that a label filter would select", "@cpize_port(after_phase5 KIND new)", "", ["{here}: task after_phase5: label filters are regular expressions"]),
    ("duplicate id", "\n@cpize_port(block KIND new)", "", ["{here}: task block: duplicate id 'block'; first declared at CMakeLists.txt:10"]),
    ("duplicate feature", "@cpize_shard_feature(pair PARITY prog)", "", ["{here}: task feature.pair: duplicate id 'feature.pair'; first declared at CMakeLists.txt:9"]),
    ("two measurements", "@cpize_port(a PARITY prog PROPERTY prog)", "", ["{here}: task a: both PARITY and PROPERTY; a task has one measurement"]),
    ("PROFILE of a port", "@cpize_port(a PROFILE prog)", "", ["{here}: task a: PROFILE belongs to phase 6"]),
    ("BENCH of a port", "@cpize_port(a BENCH prog)", "", ["{here}: task a: BENCH belongs to phase 7"]),
    ("SOURCES and TARGET", "add_library(lib INTERFACE)\n@cpize_port(a SOURCES a.cpp TARGET lib)", "", ["{here}: task a: both SOURCES and TARGET"]),
    ("SOURCES over an existing target", "add_library(a INTERFACE)\n@cpize_port(a SOURCES a.cpp)", "", ["{here}: task a: SOURCES would make a library 'a'"]),
    ("CASE without an executable", "@cpize_port(a CASE prog.cpp)", "", ["{here}: task a: CASE names this task's file"]),
    ("CASE that does not exist", "@cpize_port(a PARITY prog CASE no.cpp)", "", ["{here}: task a: CASE 'no.cpp' does not exist"]),
    ("absolute artifact", "@cpize_port(a ARTIFACT /tmp/a.md)", "", ["{here}: task a: ARTIFACT '/tmp/a.md' is absolute"]),
]
EDGES = [
    ("unknown dependency", "@cpize_port(a\n  DEPENDS feature.pari)\ncpize_prove(q DEPENDS a)", "",
     ["{here}: task a: DEPENDS 'feature.pari', which no task declares (did you mean: feature.pair?)"]),
    ("all edge errors at once", "@cpize_port(a DEPENDS blok)\ncpize_port(b DEPENDS featur.pair)\ncpize_port(c PARITY no_such)", "",
     ["3 errors in plan wrong", "{here}: task a: DEPENDS 'blok'", "(did you mean: block?)", "task b: DEPENDS 'featur.pair'", "task c: PARITY 'no_such' is no target"]),
    ("cycle", "@cpize_port(c1 DEPENDS c3)\ncpize_port(c2 DEPENDS c1)\ncpize_port(c3 DEPENDS c2)\ncpize_port(behind DEPENDS c3)", "",
     ["dependency cycle in plan wrong", "c1 -> c3 -> c2 -> c1", "{here}: task c1", "CMakeLists.txt:13: task c2", "CMakeLists.txt:14: task c3"]),
    ("a task that needs itself", "@cpize_port(a DEPENDS a)", "", ["dependency cycle", "a -> a", "{here}: task a"]),
    ("later phase", "@cpize_port(a DEPENDS proof)\ncpize_prove(q DEPENDS a)", "",
     ["{here}: task a: phase 3 DEPENDS 'proof' of the later phase 5 (CMakeLists.txt:11)"]),
    ("out-of-scope producer", "cpize_port(loss SCOPE training DEPENDS block)\n@cpize_prove(a DEPENDS loss)", "",
     ["{here}: task a: SCOPE all DEPENDS 'loss' of SCOPE training, which is out of scope when a is not (CMakeLists.txt:12)"]),
    ("PARITY that is no target", "@cpize_prove(a DEPENDS block PARITY prgo)", "",
     ["{here}: task a: PARITY 'prgo' is no target (did you mean: prog?), and only CHECK accepts a command that is none"]),
    ("PARITY that is a library", "add_library(lib INTERFACE)\n@cpize_prove(a DEPENDS block PARITY lib)", "", ["{here}: task a: PARITY 'lib' is a library, not a program"]),
    ("CHECK that is nothing", "@cpize_prove(a DEPENDS block CHECK no-such-program-anywhere)", "", ["{here}: task a: CHECK 'no-such-program-anywhere' is neither a target nor a program"]),
    ("TARGET that is none", "@cpize_prove(a DEPENDS block TARGET no_lib)", "", ["{here}: task a: TARGET 'no_lib' is no target of this tree"]),
    ("nothing proves it", "@cpize_port(lonely DEPENDS feature.pair PARITY prog)", "", ["{here}: task lonely: nothing proves it"]),
    ("proved in training only", "cpize_prove(q SCOPE training DEPENDS r)\n@cpize_port(r DEPENDS block)", "inference", ["{here}: task r: nothing proves it", "(scope inference)"]),
    ("undeclared link", "add_library(lib STATIC lib.cpp)\ncpize_port(a TARGET lib)\nadd_library(user STATIC user.cpp)\ntarget_link_libraries(user PUBLIC lib)\n"
     "@cpize_port(b TARGET user)\ncpize_prove(q DEPENDS a b)", "",
     ["{here}: task b: links 'lib' of task a (CMakeLists.txt:13) but does not depend on it: add DEPENDS a"]),
    ("undeclared link through other libraries and conditions",
     "add_library(lib STATIC lib.cpp)\ncpize_port(a TARGET lib)\nadd_library(every INTERFACE)\ntarget_link_libraries(every INTERFACE $<$<CONFIG:Debug>:$<BUILD_INTERFACE:lib>>)\n"
     "add_library(named ALIAS every)\nadd_library(user STATIC user.cpp)\ntarget_link_libraries(user PRIVATE named)\n@cpize_port(b TARGET user)\ncpize_prove(q DEPENDS a b)", "",
     ["{here}: task b: links 'lib' of task a"]),
    ("undeclared link of an executable", "add_library(lib STATIC lib.cpp)\ncpize_port(a TARGET lib)\nadd_executable(shared prog.cpp)\ntarget_link_libraries(shared PRIVATE lib)\n"
     "@cpize_port(b PARITY shared)\ncpize_prove(q DEPENDS a b)", "", ["{here}: task b: links 'lib' of task a", "or CASE <file> if the executable is shared"]),
    ("profile without any proof", None, "", ["{here}: task m: phase 6 measures what is proved, and this plan has no task of phase 5"]),
]
FRONT_DOOR = [
    ("unknown focus", "", "trnk", ["CPIZE_ARGUMENTS: focus 'trnk' is neither a subsystem nor a task of plan wrong (did you mean: trunk?)", "CMakeLists.txt:5"]),
    ("focus near a task", "", "blcok", ["focus 'blcok'", "block"]),
    ("world of another size", "", "dp:2 cp:(2,2) CPIZE_WORLD=4", ["dp:2 cp:(2,2) is a world of 2*2*2 = 8, and CPIZE_WORLD is 4", "expected dp*a*b = 4"]),
    ("both modes", "", "--auto --manual-approve", ["'--manual-approve' contradicts '--auto'", "expected one of --automatic, --manual-approve"]),
    ("two meshes", "", "cp:(2,2) cp:(3,3)", ["'cp:(3,3)' contradicts 'cp:(2,2)'", "expected one mesh"]),
    ("a mesh and 2d", "", "2d cp:(2,2)", ["'cp:(2,2)' contradicts '2d'"]),
    ("two scopes", "", "training inference", ["'inference' contradicts 'training'", "expected one scope"]),
    ("two sources of data", "", "--random data:here", ["'data:here' contradicts '--random'"]),
    ("both launches", "", "--local --slurm", ["'--slurm' contradicts '--local'"]),
    ("misspelt token", "", "--randm", ["'--randm' is no known token (did you mean: --random?)"]),
    ("space in a mesh", "", "cp:(2, 2)", ["'cp:(2,' is no cp:(a,b)", "write it without spaces"]),
    ("mesh of nothing", "", "cp:(2,0)", ["'cp:(2,0)' is no cp:(a,b)"]),
    ("dp of nothing", "", "dp:0", ["'dp:0' is no dp:d"]),
    ("resume at configure", "", "resume", ["'resume' is for `cpize drive` only"]),
    ("more replicas than ranks", "", "dp:3 2d CPIZE_WORLD=2", ["dp:3 needs 3 ranks, and there are 2"]),
    ("focus that the scope leaves out", "cpize_prove(q SUBSYSTEM losses SCOPE training DEPENDS block)\n", "inference losses", ["focus 'losses' contradicts scope 'inference'"]),
    ("unknown backend", "", "CPIZE_BACKEND=thread", ["CPIZE_BACKEND 'thread' is not threads, mpi, nccl (did you mean: threads?)"]),
]
# whole files: name, text (after include), other files, expected
WHOLE = [
    ("task outside a plan", "@cpize_port(a KIND new)\n", {}, ["{here}: task a: declared outside a plan"]),
    ("task after the plan", PLAN + END + "@cpize_port(late KIND new)\n", {}, ["{here}: task late: declared after cpize_end_plan()"]),
    ("second plan", PLAN + "@cpize_begin_plan(other)\n", {}, ["{here}: plan other: plan wrong was begun before it (CMakeLists.txt:5)"]),
    ("plan never ended", PLAN.replace("cpize_begin", "@cpize_begin"), {}, ["plan wrong was begun and never ended", "{here}: call cpize_end_plan()"]),
    ("plan ended twice", PLAN + END + END, {}, ["cpize_end_plan() is called twice"]),
    ("end without a beginning", END, {}, ["cpize_end_plan() without cpize_begin_plan()"]),
    ("plan begun in a subdirectory", "add_subdirectory(sub)\n", {"sub/CMakeLists.txt": "cpize_begin_plan(inner)\n"}, ["cpize_begin_plan(inner) belongs in the top-level CMakeLists.txt"]),
    ("plan ended in a subdirectory", PLAN + "add_subdirectory(sub)\n", {"sub/CMakeLists.txt": END}, ["cpize_end_plan() belongs in the top-level CMakeLists.txt"]),
    ("misspelt keyword of the plan", "@cpize_begin_plan(wrong SERIAL_TRE src)\n", {}, ["{here}: plan wrong: 'SERIAL_TRE' is no keyword with a value (did you mean: SERIAL_TREE"]),
    ("serial tree that does not exist", "@cpize_begin_plan(wrong SERIAL_TREE nowhere)\n", {}, ["{here}: plan wrong: SERIAL_TREE", "is no directory"]),
    ("error in a subdirectory", PLAN + "add_subdirectory(sub)\n" + END, {"sub/CMakeLists.txt": "\n\ncpize_port(a DEPENDS blokc)\ncpize_port(b\n DEPENDS a)\n"},
     ["sub/CMakeLists.txt:3: task a: DEPENDS 'blokc', which no task declares (did you mean: block?)"]),
    ("tool that does not exist", PLAN + "set(CPIZE_TOOL /no/such/tool)\n" + END, {}, ["CPIZE_TOOL='/no/such/tool' is neither a target nor the absolute path"]),
    ("id made in a loop", PLAN + "foreach(name IN ITEMS x y)\n  @cpize_port(${name} DEPENDS blok)\nendforeach()\n" + END, {}, ["{here}: task x: DEPENDS 'blok'"]),
]


def try_text(options, name, text, arguments, files, expected):
    def case():
        source = scratch.fresh(options.directory / "source")
        build = scratch.fresh(options.directory / "build")
        whole = PREAMBLE + text
        line = whole[:whole.index("@")].count("\n") + 1 if "@" in whole else 0
        whole = whole.replace("@", "")
        (source / "CMakeLists.txt").write_text(whole)
        for file in ("prog.cpp", "lib.cpp", "user.cpp", "a.cpp"):
            (source / file).write_text("")
        for file, content in files.items():
            (source / file).parent.mkdir(exist_ok=True)
            (source / file).write_text(content)
        words = arguments.split(" ")
        variables = dict(word.split("=") for word in words if "=" in word)
        output = scratch.configure(source, build, tool=options.tool, expect=1,
                                   CPIZE_ARGUMENTS=" ".join(word for word in words if "=" not in word), **variables)
        flat = " ".join(output.split())
        for text_expected in expected:
            text_expected = text_expected.replace("{here}", f"CMakeLists.txt:{line}")
            scratch.check(text_expected in flat, f"the error does not say: {text_expected}", output)
    return name, case


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=scratch.pathlib.Path)
    options = parser.parse_args()
    options.tool = scratch.always_green_tool(options.directory)
    cases = []
    for name, text, arguments, expected in DECLARATIONS + EDGES:
        body = PLAN + text + "\n" + END if text is not None else PLAN.replace("cpize_prove(proof DEPENDS block PARITY prog)", "@cpize_profile(m DEPENDS block PROFILE prog)") + END
        cases.append(try_text(options, name, body, arguments, {}, expected))
    for name, text, arguments, expected in FRONT_DOOR:
        cases.append(try_text(options, name, PLAN.replace("block KIND", "block SUBSYSTEM trunk KIND") + text + END, arguments, {}, expected))
    for name, text, files, expected in WHOLE:
        cases.append(try_text(options, name, text, "", files, expected))
    return scratch.report(cases)


if __name__ == "__main__":
    raise SystemExit(main())
