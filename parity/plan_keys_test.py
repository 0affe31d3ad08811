"""Keys of the real plan: what an edit makes stale, on a copy of the sources. Nothing is built or measured.

    plan_keys_test.py --plan build/cpize-plan.json --tool build/cmake/tool/cpize --scratch DIR
"""
import argparse
import json
import pathlib
import shutil
import subprocess

parser = argparse.ArgumentParser()
for option in ("--plan", "--tool", "--scratch"):
    parser.add_argument(option, required=True, type=pathlib.Path)
given = parser.parse_args()

text = given.plan.read_text()
plan = json.loads(text)
source, build = pathlib.Path(plan["source"]), pathlib.Path(plan["build"])
root = given.scratch.resolve()
shutil.rmtree(root, ignore_errors=True)
skipped = shutil.ignore_patterns("build*", ".git", "__pycache__")
(root / "build").mkdir(parents=True)
shutil.copytree(source, root / "src", ignore=skipped)
# The build tree may lie inside the sources, so its path is replaced first.
text = text.replace(str(build), str(root / "build")).replace(str(source), str(root / "src"))
copy = root / "build" / "cpize-plan.json"
copy.write_text(text)

tasks = {task["id"]: task for task in plan["tasks"] if task["in_scope"]}


def keys():
    out = subprocess.run([given.tool, "key", "--plan", copy], check=True, capture_output=True, text=True).stdout
    found = {}
    for line in out.splitlines():
        words = line.split()
        for word in words:
            if word in tasks:
                found[word] = line
    assert set(found) == set(tasks), sorted(set(tasks) - set(found))
    return found


def consumers(*ids):
    """The tasks themselves and everything downstream of them."""
    reached = set(ids)
    while True:
        more = {i for i, t in tasks.items() if set(t["depends"]) & reached} - reached
        if not more:
            return reached
        reached |= more


def stale_after(path, old=None, new=None, appended='\nstatic_assert(true, "edited");\n'):
    """What changes its key when `path` is edited; the edit is undone."""
    file = root / "src" / path
    before_text, before = file.read_text(), keys()
    file.write_text(before_text.replace(old, new) if old else before_text + appended)
    assert file.read_text() != before_text, f"the edit of {path} changed nothing"
    after = keys()
    file.write_text(before_text)
    assert keys() == before, f"undoing the edit of {path} did not bring the keys back"
    return {i for i in tasks if before[i] != after[i]}


def expect(what, got, wanted):
    assert got == wanted, f"{what}: stale without reason {sorted(got - wanted)}, fresh without reason {sorted(wanted - got)}"
    print(f"ok: {what}: {len(got)} of {len(tasks)} tasks stale")


expect("one direction of the triangle multiplication", stale_after("modules/trunk/tri_mul_out.cpp"), consumers("tri_mul_out"))
expect("the triangle multiplication's core", stale_after("modules/trunk/triangle_backward.cpp"),
       consumers("tri_mul_out", "tri_mul_in"))
expect("a parity case", stale_after("parity/trunk/transition_case.cpp"), consumers("transition"))
users = {i for i, t in tasks.items() if any("/modules/layout" in u["dir"] for u in t["units"])}
expect("redistribute", stale_after("modules/layout/redistribute.cpp"), consumers(*users))
assert {"infra", "tri_mul_out", "feature.asym_id", "end_to_end"} <= users, sorted(users)
expect("a header of redistribute", stale_after("modules/layout/exchange.hpp"), consumers(*users))
for path in ("modules/trunk/tri_mul_out.cpp", "modules/layout/exchange.hpp"):
    expect(f"a comment in {path}", stale_after(path, appended="\n\n// edited\n"), set())
expect("a comment in docs", stale_after("docs/layouts.md"), set())
expect("a README", stale_after("README.md"), set())
shutil.rmtree(root)
