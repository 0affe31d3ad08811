#!/usr/bin/env python3
"""cpize scaffold: what it writes, that it compiles against the library's headers, that it is red until written, what it refuses."""
import argparse
import pathlib
import subprocess

import toytree
from toytree import check, scratch

parser = argparse.ArgumentParser()
parser.add_argument("--tool", required=True, type=pathlib.Path)
parser.add_argument("--scratch", required=True, type=pathlib.Path)
parser.add_argument("--cpize", required=True, type=pathlib.Path, help="the sources whose headers the result is compiled against")
parser.add_argument("--compiler", default="c++")
parser.add_argument("--torch", default="", help="torch's include directories, separated by ';'")
options = parser.parse_args()
toy = toytree.Toy(options.scratch, options.tool)


def declare(text):
    toy.path("extra.cmake").write_text(text)
    toy.cmake()


def syntax(files, *roots):
    """g++ -fsyntax-only of files of the project, in one unit. CPize's headers come first: the toy has a folder layout/ of its own."""
    unit = toy.root / "unit.cpp"
    unit.write_text("".join(f'#include "{toy.path(name)}"\n' for name in files))
    torch = [word for d in options.torch.split(";") if d for word in ("-isystem", d)]
    include = [f"-I{r}" for r in [options.cpize / "modules", options.cpize, *roots]]
    done = subprocess.run([options.compiler, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Werror", *include, *torch,
                           str(unit)], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    check(done.returncode == 0, f"{files} compile", done.stdout[:3000])


def port():
    folder = toy.path("modules/axial")
    folder.mkdir()
    lists = folder / "CMakeLists.txt"
    lists.write_text("# ports (of the axial kind)\n"
                     "if(TRUE)\n"
                     "  cpize_port(axial_attention  SUBSYSTEM axial  KIND new  RISK high \"windows (and rows)\" # all of them :)\n"
                     "             DEPENDS feature.pair)\n"
                     "endif()\n")
    toy.replace("CMakeLists.txt", "cpize_prove(end_to_end  DEPENDS pair_block", "cpize_prove(end_to_end  DEPENDS pair_block axial_attention")
    declare("add_subdirectory(modules/axial)\n")
    check(toy.states()["axial_attention"][1].startswith("no code yet"), "declared and empty")
    said = toy.ok("scaffold", "axial_attention")
    files = ["modules/axial/axial_attention.hpp", "modules/axial/axial_attention.cpp", "parity/axial/axial_attention_case.cpp", "docs/ports/axial_attention.md"]
    for name in files:
        check(f"wrote   {name}\n" in said and toy.path(name).exists(), f"wrote {name}", said)
    check("changed modules/axial/CMakeLists.txt" in said and "cpize prove axial_attention" in said, "and what to do next", said)
    check(lists.read_text() == "# ports (of the axial kind)\n"
          "if(TRUE)\n"
          "  cpize_port(axial_attention  SUBSYSTEM axial  KIND new  RISK high \"windows (and rows)\" # all of them :)\n"
          "             DEPENDS feature.pair\n"
          "             SOURCES axial_attention.cpp  PARITY parity_axial_attention)\n"
          "  target_include_directories(axial_attention PUBLIC \"${CMAKE_SOURCE_DIR}/modules\")\n"
          "  target_link_libraries(axial_attention PUBLIC CPize::layout)\n"
          "  cpize_parity_case(axial_attention SOURCES \"../../parity/axial/axial_attention_case.cpp\" LINKS axial_attention)\n"
          "endif()\n", "the CMake lines", lists.read_text())
    header = toy.path(files[0]).read_text()
    check("namespace toyfold {" in header and "class AxialAttentionImpl" in header and "TORCH_MODULE(AxialAttention);" in header, "names", header)
    check("| needs | feature.pair |" in toy.path(files[3]).read_text(), "the page")
    for name in files[1:3]:
        check("{{" not in toy.path(name).read_text().replace("{{\"", ""), "every word is filled in", toy.path(name).read_text())
    syntax(files[1:3], toy.source / "modules")


def refusals():
    kept = toy.path("modules/axial/axial_attention.cpp").read_text()
    toy.red("scaffold", "axial_attention", expect=2, says="axial_attention.cpp, .*_case.cpp, .*already; nothing written")  # not configured again yet
    check(toy.path("modules/axial/axial_attention.cpp").read_text() == kept, "nothing is overwritten")
    toy.red("scaffold", "transition", expect=2, says="transition has code already")
    toy.red("scaffold", "axial_atention", expect=2, says=r"did you mean axial_attention.*declare it first, e.g. cpize_port\(axial_atention")
    toy.red("scaffold", "axial_attention", "--kind", "profile", expect=2)
    toy.replace("CMakeLists.txt", "pair_block axial_attention", "pair_block")
    declare("cpize_task(later PHASE 7 KIND new DEPENDS memory)\n")
    toy.red("scaffold", "later", expect=2, says="a task of phase 7; scaffold writes ports .phase 3. and features .phase 2.")


def feature():
    declare("cpize_shard_feature(grid KIND new)\ncpize_task(uses_grid PHASE 5 DEPENDS feature.grid CHECK true)\n")
    said = toy.ok("scaffold", "feature.grid")
    check("wrote   grid.hpp\nwrote   grid.cpp\nwrote   parity/grid_case.cpp\nwrote   docs/features/grid.md\n" in said, "a feature's files", said)
    text = toy.path("extra.cmake").read_text()
    check(text.startswith("cpize_shard_feature(grid KIND new\n           SOURCES grid.cpp  PARITY parity_grid)\ntarget_include_directories(feature.grid PUBLIC "), "its lines", text)
    check("distribute_grid(" in toy.path("grid.hpp").read_text(), "its function")
    syntax(["grid.cpp", "parity/grid_case.cpp"], toy.source)
    for name in ("grid.hpp", "grid.cpp", "parity/grid_case.cpp"):
        toy.path(name).unlink()


def declared_by_a_loop():
    """An id out of a variable cannot be edited in place: the lines are shown."""
    declare("foreach(name IN ITEMS first second)\n  cpize_port(${name} KIND new)\nendforeach()\n"
            "cpize_task(all_of_it PHASE 5 DEPENDS first second CHECK true)\n")
    before = toy.path("extra.cmake").read_text()
    said = toy.ok("scaffold", "second")
    check(toy.path("extra.cmake").read_text() == before and "is not plain text; add to it\n  SOURCES second.cpp  PARITY parity_second" in said
          and 'cpize_parity_case(second SOURCES "parity/second_case.cpp" LINKS second)' in said, "shown", said)


def one_after_the_other():
    """Scaffolding a task moves the lines of those behind it; no configure is needed in between."""
    declare("cpize_port(upper KIND new)\ncpize_port(lower KIND new)\ncpize_task(both PHASE 5 DEPENDS upper lower CHECK true)\n")
    check("changed extra.cmake" in toy.ok("scaffold", "upper") and "changed extra.cmake" in toy.ok("scaffold", "lower"), "both in place")
    text = toy.path("extra.cmake").read_text()
    check(text.count("SOURCES") == 4 and "cpize_port(lower KIND new\n           SOURCES lower.cpp  PARITY parity_lower)" in text, "the lines", text)


def own_templates():
    declare("foreach(name IN ITEMS first second)\n  cpize_port(${name} KIND new)\nendforeach()\ncpize_task(all_of_it PHASE 5 DEPENDS first second CHECK true)\n")

    own = toy.root / "templates/port"
    own.mkdir(parents=True)
    for name in ("header.hpp.in", "source.cpp.in", "case.cpp.in", "page.md.in", "lines.cmake.in"):
        (own / name).write_text("own {{id}}\n")
    toy.ok("scaffold", "first", CPIZE_TEMPLATES=str(own.parent))
    check(toy.path("first.cpp").read_text() == "own first\n", "a project's own templates")
    (own / "header.hpp.in").write_text("{{nonsense}}\n")
    toy.path("first.cpp").unlink()
    toy.red("scaffold", "first", expect=2, says="scaffold knows no '{{nonsense}}'", CPIZE_TEMPLATES=str(own.parent))
    check(not toy.path("first.cpp").exists(), "nothing is written")


raise SystemExit(scratch.report([(f.__name__, f) for f in [port, refusals, feature, declared_by_a_loop, one_after_the_other, own_templates]]))
