#!/usr/bin/env python3
"""cpize report on the toy project: what it says line by line, and what makes it fail."""
import os
import re
import subprocess

from toytree import Edited, Toy, arguments, check, code, scratch

options = arguments()
toy = Toy(options.scratch, options.tool)
os.environ["GIT_CEILING_DIRECTORIES"] = str(toy.root)  # the scratch folder may lie inside another repository
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"
HEADLINE = """report of toyfold
14 of 14 tasks have green evidence: NEW newly measured, OLD reused; the drive began TIME
  nearest to its tolerance  0.0e+00 of 1.0e-12 allowed (0 times)  map forward [1x2x2/threads/fp64/cpu]
  most bytes sent           8 B  map sent_bytes.forward [1x2x2/threads/fp64/cpu]

"""


def report(*words, expect=0):
    status, said = toy.tool("report", *words)
    check(status == expect, f"cpize report {' '.join(words)} ended with {status}, expected {expect}", said)
    return re.sub(TIME, "TIME", said)


def rows(said):
    """{task: the words of its line}"""
    return {line.split()[0]: line.split()[1:] for line in said.splitlines() if re.match(r"[a-z]\S+ +\d +[a-z]", line)}


def git(*words):
    done = subprocess.run(["git", "-c", "user.name=x", "-c", "user.email=x@x", *words], cwd=toy.source, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    check(done.returncode == 0, f"git {words[0]}", done.stdout)


def before_a_drive():
    said = report()
    check("\n0 of 14 tasks have green evidence; no drive yet\n" in said, "nothing yet", said)
    check(re.fullmatch(r"3 todo 0/\d+ never measured", " ".join(rows(said)["pair_block"])), "a task without evidence", said)


def all_new():
    toy.ok("drive", "-q")
    said = report()
    check(said.startswith(HEADLINE.replace("NEW", "14").replace("OLD", "0")), "the headline", said)
    check(rows(said)["pair_block"] == "3 done 7 new TIME 0.0e+00 of 1.0e-12 8 B - -".split(), "a line of the table", said)
    check(rows(said)["serial.lock"] == "0 done 1 new TIME - - - -".split(), "a check has no numbers", said)
    check(len(rows(said)) == 14, "a line a task", said)


def reused():
    """A drive that is stopped and resumed is one: what it measured before the stop is not reused."""
    with Edited(toy, "modules/trunk/transition.cpp"):
        toy.ok("drive", "-q")
        said = report()
        check(said.startswith(HEADLINE.replace("NEW", "7").replace("OLD", "7")), "an edit", said)
        check(rows(said)["transition"][3] == "new" and rows(said)["tri_mul_in"][3] == "reused", "which", said)
    toy.ok("drive", "-q")
    check(report().startswith(HEADLINE.replace("NEW", "0").replace("OLD", "14")), "put back: the old evidence counts")
    with Edited(toy, "modules/trunk/transition.cpp", lambda t: t + code("more")), Edited(
            toy, "modules/trunk/tri_mul_in.cpp", lambda t: t.replace("triangle(x);", "triangle(x) + 1e-3;")):
        toy.red("drive", "-q")
        said = report()
        check("over tolerance: forward differs by 0.001" in said and rows(said)["tri_mul_in"][1] == "dirty", "a red", said)
        toy.path("modules/trunk/tri_mul_in.cpp").write_text(toy.path("modules/trunk/tri_mul_in.cpp").read_text().replace(" + 1e-3", " + 0"))
        toy.ok("drive", "-q")
        said = report()
        check("8 newly measured, 6 reused" in said, "resumed", said)
    toy.ok("drive", "-q")


def reopened():
    toy.ok("reopen", "feature.mask->tri_mul_in", "--why", "the mask's meaning")
    said = report(expect=1)
    check(said.endswith("reopened and not green since:\n  feature.mask and tri_mul_in (seam feature.mask->tri_mul_in): the mask's meaning (TIME)\n"),
          "a seam", said)
    check("feature.mask" in rows(said) and "reopened: the mask's meaning" in said, "in the table too", said)
    toy.ok("prove", "feature.mask")
    check("  tri_mul_in (seam" in report(expect=1), "one side is proved again")
    toy.ok("drive", "-q")
    check("reopened" not in report(), "resolved")


def open_questions():
    page = toy.build / "docs/current_code_structure.md"
    text = page.read_text()
    page.write_text(text + "- `disto_center`: TODO(learn_context) nobody reads it\n")
    check("docs/current_code_structure.md: 1 TODO(learn_context) left\n  - `disto_center`: TODO(learn_context) nobody reads it\n" in report(), "a gap of phase 0")
    page.write_text(text)
    check("TODO" not in report(), "none left")


def uncommitted():
    check("no git here: whether everything is committed is not known" in report(), "no git")
    git("init", "-q")
    git("add", ".")
    git("commit", "-q", "-m", "all")
    check("uncommitted" not in report(), "everything is committed")
    with Edited(toy, "data/weights.txt", lambda t: t + "2.0\n"):
        toy.path("new file").write_text("")
        said = report()
        check('uncommitted: 2 files\n   M data/weights.txt\n  ?? "new file"\n' in said, "an edit and a new file", said)
        toy.path("new file").unlink()


def publish():
    mine = toy.path("docs/mem_report.md")
    mine.write_text("old\n")
    toy.path("docs/cp_integration_plan.md").unlink()
    said = report("--publish")
    check("published:\n  docs/cp_integration_plan.md\n  docs/mem_report.md\n" in said, "what differs is copied", said)
    check(mine.read_text() == (toy.build / "docs/mem_report.md").read_text(), "the page")
    check("published:\n  nothing changed\n" in report("--publish"), "again")


raise SystemExit(scratch.report([(f.__name__, f) for f in [
    before_a_drive, all_new, reused, reopened, open_questions, uncommitted, publish]]))
