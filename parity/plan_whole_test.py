"""The plan of the whole model: configured without a focus, with the plan's own, and with others, in a scratch tree. Nothing is built.

    plan_whole_test.py --source DIR --tool build/cmake/tool/cpize --scratch DIR [-- -D...]
"""
import argparse
import json
import pathlib
import shutil
import subprocess

parser = argparse.ArgumentParser()
for option in ("--source", "--tool", "--scratch"):
    parser.add_argument(option, required=True, type=pathlib.Path)
parser.add_argument("variables", nargs="*")
given = parser.parse_args()
build = given.scratch.resolve()
shutil.rmtree(build, ignore_errors=True)


def run(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}"
    return done.stdout


def configured(arguments):
    """The tasks by id, after the order was computed a second time and the proofs were looked at."""
    run("cmake", "-S", given.source, "-B", build, *given.variables, f"-DCPIZE_ARGUMENTS={arguments}")
    print(f"ok: '{arguments}': {run(given.tool, 'plan', '--verify', '--plan', build).strip()}")
    tasks = {task["id"]: task for task in json.loads((build / "cpize-plan.json").read_text())["tasks"]}
    proved = {i for i, t in tasks.items() if t["phase"] == 5 and t["in_scope"]}
    waiting = list(proved)
    while waiting:
        for producer in tasks[waiting.pop()]["depends"]:
            if producer not in proved:
                proved.add(producer)
                waiting.append(producer)
    unproved = [i for i, t in tasks.items() if t["in_scope"] and 2 <= t["phase"] <= 4 and i not in proved]
    assert not unproved, f"'{arguments}': no proof in scope needs {unproved}"
    return tasks


def in_scope(tasks):
    return {i for i, t in tasks.items() if t["in_scope"]}


def keys():
    """{task: key} of what is in scope."""
    return dict(reversed(line.split()) for line in run(given.tool, "key", "--plan", build).splitlines())


whole = configured("all")
whole_keys = keys()
assert in_scope(whole) == set(whole), "the whole model leaves nothing out"
todo = {i for i, t in whole.items() if not t["verb"]}

written = configured("")
assert set(written) == set(whole), "a focus deletes nothing"
assert in_scope(written) == set(whole) - todo, f"the plan's focus is what is written: {sorted(in_scope(written) ^ (set(whole) - todo))}"
for task, key in keys().items():
    assert key == whole_keys[task], f"{task}: its key depends on the focus"
listed = json.loads(run("ctest", "--test-dir", build, "--show-only=json-v1", "-L", "^phase[0-7]$"))["tests"]
assert not todo & {test["name"] for test in listed}, "a task without code has a test"

for scope, absent in (("inference", "training"), ("training", "inference")):
    kept = {i for i, t in whole.items() if t["scope"] != absent}
    tasks = configured(f"{scope} {' '.join(sorted({whole[i]['subsystem'] for i in kept}))}")
    assert in_scope(tasks) == kept, f"{scope}: {sorted(in_scope(tasks) ^ kept)}"
trunk = configured("trunk")
blocks = """tri_att_start tri_att_end outer_product_mean pair_weighted_averaging attention_pair_bias pairformer_layer pairformer_stack
            pairformer_noseq_layer pairformer_noseq_stack msa_layer msa_module relative_position token_bonds contact_conditioning
            fourier_embedding input_conditioning distogram bfactor template_module recycling dropout activation_checkpointing philox"""
assert set(blocks.split()) <= in_scope(trunk), sorted(set(blocks.split()) - in_scope(trunk))
assert not {i for i in in_scope(trunk) if trunk[i]["subsystem"] in ("atoms", "diffusion", "confidence", "losses", "model")}, "the trunk needs no atoms"

for i in todo:
    t = whole[i]
    assert t["risk"] == "low" or t["risk_reason"], f"{i}: {t['risk']} risk without a reason ({t['where']})"
    assert t["effort"] > 0 and t["where"].partition(":")[0].endswith((".cmake", ".txt")), f"{i}: {t['where']}"
shutil.rmtree(build)
print(f"ok: {len(whole)} tasks, {len(todo)} of them without code, {sum(whole[i]['effort'] for i in todo):g} hours")
