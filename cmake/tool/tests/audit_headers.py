#!/usr/bin/env python3
"""Are all project headers that the compiler read in some task's key?  audit_headers.py --build DIR --tool PATH

Reads `ninja -t deps` (Ninja) or the *.d files (Makefiles) of what was built so far. The keys come from the tool's own scan of
the sources; this compares the two, object by object. Generated precompiled headers are left out: they hold paths of the machine.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess


def compiler_dependencies(build, config=None):
    """{object file: files that the compiler read}"""
    found = {}
    if (build / "build.ninja").exists():
        command = ["ninja", "-C", str(build), *(["-f", f"build-{config}.ninja"] if config else []), "-t", "deps"]
        current = None
        for line in subprocess.run(command, text=True, capture_output=True, check=True).stdout.splitlines():
            head = re.match(r"(\S.*): #deps \d+, deps mtime \d+ \((VALID|STALE)\)", line)
            if head:
                current = found.setdefault(head[1], []) if head[2] == "VALID" else None
            elif line.startswith("    ") and current is not None:
                current.append(line.strip())
    else:
        for file in build.rglob("*.o.d"):
            text = file.read_text().replace("\\\n", " ").split(":", 1)[1]
            names = re.split(r"(?<!\\)\s+", text.strip())
            compiled_in = file.parent
            while compiled_in.name != "CMakeFiles" and compiled_in != build:
                compiled_in = compiled_in.parent
            found[str(file.relative_to(build))[:-2]] = [os.path.join(compiled_in.parent, n.replace("\\ ", " ")) for n in names if n]
    return found


def project_name(path, plan, build):
    path = os.path.normpath(path if os.path.isabs(path) else build / path)
    for prefix, name in ((plan["build"], "<build>/"), (plan["source"], "")):
        if path.startswith(prefix + "/"):
            return name + path[len(prefix) + 1:]
    return None


def lines(value):
    return [s for s in (value.split("\n") if isinstance(value, str) else value) if s]


def audit(build, tool, config=None):
    """(objects compared, [what is missing])"""
    build = pathlib.Path(build).resolve()
    plan_file = build / (f"cpize-plan-{config}.json" if config else "cpize-plan.json")
    plan = json.loads(plan_file.read_text())
    dependencies = compiler_dependencies(build, config)
    missing, compared = [], set()
    for task in plan["tasks"]:
        if not task["verb"]:
            continue
        said = subprocess.run([str(tool), "key", task["id"], "--plan", str(plan_file)], text=True, capture_output=True, check=True).stdout
        keyed = {m[1] for m in re.finditer(r"^  (.+?) = ", said, re.M)}
        sources = {(u["target"], project_name(os.path.join(u["dir"], s), plan, build)) for u in task["units"] for s in lines(u["sources"])}
        for name, files in dependencies.items():
            target = re.search(r"CMakeFiles/([^/]+)\.dir/", name)
            if not target or not files:
                continue
            read = {project_name(f, plan, build) for f in files} - {None}
            if not any((target[1], f) in sources for f in read):
                continue  # an object of another task
            compared.add(name)
            for header in sorted(read - keyed):
                if "cmake_pch" not in header:
                    missing.append(f"{task['id']}: the compiler read {header} for {name}, the key does not hold it")
    return len(compared), missing


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", required=True)
    parser.add_argument("--tool", required=True)
    parser.add_argument("--config")
    options = parser.parse_args()
    number, faults = audit(options.build, options.tool, options.config)
    print("\n".join(faults + [f"{number} objects compared, {len(faults)} headers missing in keys"]))
    raise SystemExit(1 if faults or number == 0 else 0)
