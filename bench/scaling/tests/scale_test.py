#!/usr/bin/env python3
"""bench/scale.sh: a dry run with ranks as threads, and how it takes what goes wrong.

    scale_test.py --build build                 the dry run needs parity_token_input_embedder, parity_tri_mul_out and
                                                cpize_bench_scaling; the rest runs programs of its own in place of them

In place of GPUs: CUDA_VISIBLE_DEVICES names some, and the programs are scripts that speak as the real ones do.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

BENCH = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(BENCH / "scaling"))
import largest  # noqa: E402

BUILD = None

PARITY = """#!/usr/bin/env python3
import os, sys
cells = [word for flag, word in zip(sys.argv, sys.argv[1:]) if flag == "--cell"]
assert {dies} is False or os.environ["RANK"] != "1", "rank 1 fails"
if os.environ.get("RANK", "0") == "0":
    for cell in cells:
        red = {red} and "1x1x2" in cell
        print(f"{{cell:<26}} {{'RED' if red else 'ok '}}    9 compared, worst grad w: 1e-15 of 3e-13 (16 eps)")
        if red: print("    ! over tolerance: output z differs by 1, allowed 1e-13")
sys.exit(1 if {red} else 0)
"""

# Bytes as N^2 over the ranks; beyond 100 MiB rank 0 runs out of memory and rank 1 waits for it for ever.
SCALING = """#!/usr/bin/env python3
import json, os, sys, time
flags = dict(zip(sys.argv[1::1], sys.argv[2::1]))
ranks, rank = int(os.environ["WORLD_SIZE"]), int(os.environ["RANK"])
assert len(os.environ["CUDA_VISIBLE_DEVICES"].split(",")) == ranks and os.environ["CPIZE_RENDEZVOUS"]
lines = []
for task in flags["--work"].split(","):
    model, kind, tokens = task.split("/")
    peak = int(tokens)**2 * 100 // ranks
    if peak > 100 * 2**20:
        if rank > 0: time.sleep(600)
        sys.exit("cpize: out of memory: " + task)
    lines += [{{"name": f"{{model}}/{{kind}}/bf16/N:{{tokens}}/gpus:{{ranks}}", "run_type": "iteration",
               "time_unit": "ms", "real_time": 100.0 / ranks, "peak_bytes": peak, "sent_bytes": {sent},
               "sent_bytes_formula": 1000.0}}] * 2
    if rank == 0:
        json.dump({{"context": {{"mesh": flags["--cell"].split("/")[0], "sizes": {{"C": 128}}}}, "benchmarks": lines}},
                  open(flags["--out"], "w"))
"""


def scale(*arguments, **environment):
    return subprocess.run([str(BENCH / "scale.sh"), *map(str, arguments)], capture_output=True, text=True,
                          env=os.environ | environment)


class Largest(unittest.TestCase):
    def search(self, law, capacity, known=True, start=1024, step=64):
        s, probes = largest.Search(start, step, capacity if known else 0), []
        while not s.done():
            for tokens in s.next():
                self.assertGreater(tokens, s.fits)
                self.assertTrue(s.fails is None or tokens < s.fails)
                probes.append(tokens)
                if law(tokens) > capacity:
                    s.failed(tokens)
                    break
                s.fitted(tokens, law(tokens))
            self.assertLess(len(probes), 60)
        return s, probes

    def test_finds_the_edge(self):
        for known in (True, False):
            for a, b in ((0, 2000), (5e9, 1500), (1e9, 40000)):
                law = lambda n: a + b * n * n
                s, probes = self.search(law, 139 * 2**30, known)
                self.assertLessEqual(law(s.fits), 139 * 2**30)
                self.assertGreater(law(s.fits + 64), 139 * 2**30)
                self.assertLessEqual(len(probes), 16 if known else 30, probes)

    def test_nothing_fits(self):
        s, _ = self.search(lambda n: 1e15, 1e9)
        self.assertEqual((s.fits, s.fails), (0, 64))

    def test_less_than_the_start(self):
        s, _ = self.search(lambda n: n * n, 500 * 500)
        self.assertEqual((s.fits, s.fails), (448, 512))


class OnGpus(unittest.TestCase):
    """Two GPUs that are not there."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.build, self.out = pathlib.Path(self.folder.name) / "build", pathlib.Path(self.folder.name) / "out"
        (self.build / "bench").mkdir(parents=True)
        self.programs()

    def tearDown(self):
        self.folder.cleanup()

    def programs(self, red=False, dies=False, sent=990, cuda=True):
        self.script(self.build / "parity_block", PARITY.format(red=red, dies=dies))
        self.script(self.build / "bench" / "cpize_bench_scaling", SCALING.format(sent=sent))
        task = {"id": "block", "phase": 3, "verb": "parity", "target": "parity_block", "args": [],
                "command": [str(self.build / "parity_block")]}
        open_port = task | {"id": "later", "verb": "", "command": [], "target": ""}
        (self.build / "cpize-plan.json").write_text(json.dumps({"cuda": cuda, "source": str(BENCH), "tasks": [task, open_port]}))

    def script(self, path, text):
        path.write_text(text)
        path.chmod(0o755)

    def scale(self, *arguments, gpus="4,7"):
        return scale(self.build, self.out, "--grace", "0.3", *arguments, CUDA_VISIBLE_DEVICES=gpus)

    def read(self, name):
        return json.loads((self.out / name).read_text())

    def test_everything(self):
        done = self.scale("--tokens", "512,1024,2048", "--kinds", "step", "--seconds", "60")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(list(self.read("parity.json")["ports"]), ["block"])
        self.assertEqual(sorted(self.read("parity.json")["ports"]["block"]),
                         [f"{mesh}/nccl/{dtype}/cuda" for mesh in ("1x1x2", "1x2x1") for dtype in ("bf16", "fp64")])
        strong = self.read("strong.json")["benchmarks"]
        failed = [line["name"] for line in strong if line.get("error_occurred")]
        self.assertEqual(sorted(failed), ["pairformer_layer/step/bf16/N:2048/gpus:1", "pairformer_layer/step/bf16/N:2048/gpus:2",
                                          "trunk/step/bf16/N:2048/gpus:1", "trunk/step/bf16/N:2048/gpus:2"])
        found = self.read("memory.json")["largest"]
        self.assertEqual([found[f"trunk/step/bf16/gpus:{ranks}"]["fits"] for ranks in (1, 2)], [1024, 1408])
        report = (self.out / "report.md").read_text()
        for text in ("| 1024 | 2 | 1x1x2 | 50 | 0% | 2.00 | 100% |", "99.0%", "| block | green |", "| 1408 | 1472 | 1.38 |",
                     "N:2048/gpus:2 (out of memory)"):
            self.assertIn(text, report)

    def test_results_add_up(self):
        for world in (1, 2):
            done = self.scale("--worlds", world, "--parts", "strong,report", "--tokens", "512", "--kinds", "step")
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(len(self.read("strong.json")["benchmarks"]), 8)

    def test_only_what_is_missing(self):
        for flags, said in (([], "green, "), (["--missing"], "green before"), (["--missing", "--dtypes", "fp32"], "green, ")):
            done = self.scale("--parts", "parity,strong", "--tokens", "512", *flags)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertIn(said, done.stdout)
            self.assertEqual("peak" in done.stdout, not flags)
        self.programs(red=True)  # other programs
        self.assertEqual(self.scale("--parts", "parity", "--missing").returncode, 1)

    def test_a_red_port(self):
        self.programs(red=True)
        done = self.scale("--parts", "parity,report")
        self.assertEqual(done.returncode, 1)
        self.assertIn("parity of block on 1x1x2/nccl/fp64/cuda: over tolerance: output z differs by 1", done.stdout)
        self.assertIn("RED", (self.out / "report.md").read_text())

    def test_a_rank_that_dies(self):
        self.programs(dies=True)
        done = self.scale("--parts", "parity")
        self.assertEqual(done.returncode, 1)
        self.assertIn("rank 1 fails", done.stdout)

    def test_more_sent_than_the_closed_form(self):
        self.programs(sent=1100)
        done = self.scale("--parts", "strong", "--tokens", "512", "--worlds", "2")
        self.assertEqual(done.returncode, 1)
        self.assertIn("sent 1100 bytes, the closed form allows 1000", done.stdout)

    def test_what_is_wrong_is_said(self):
        for arguments, gpus, code, text in (
                (["--gpus", "4"], "0,1", 3, "--gpus 4: 2 here"), (["--worlds", "8"], "0,1", 3, "8 GPUs wanted, 2 here"),
                ([], "", 3, "no GPU is here"), (["--ports", "blok"], "0", 2, "there are: block"),
                (["--worlds", "3"], "0,1,2,3", 2, "--worlds takes 1,2,4,8"), (["--parts", "memroy"], "0", 2, "memroy")):
            done = self.scale(*arguments, gpus=gpus)
            self.assertEqual((done.returncode, text in done.stderr), (code, True), done.stderr)
        (self.build / "parity_block").unlink()
        done = self.scale()
        self.assertEqual(done.returncode, 2)
        self.assertIn("not built: parity_block; cmake --build", done.stderr)
        self.programs(cuda=False)
        done = self.scale()
        self.assertEqual(done.returncode, 2)
        self.assertIn("built without CUDA", done.stderr)
        self.assertEqual(scale("/nowhere", self.out).returncode, 2)
        self.assertEqual(scale(self.folder.name, self.out).returncode, 2)
        self.assertEqual(scale().returncode, 2)


class OnThreads(unittest.TestCase):
    """The real programs: 2x2, 1x4, 2x4 and 1x8 on the CPU."""

    def test_dry_run(self):
        with tempfile.TemporaryDirectory() as folder:
            begin = time.monotonic()
            done = scale(BUILD, folder, "--backend", "threads", "--quick", "--ports", "token_input_embedder,tri_mul_out",
                         "--worlds", "4,8", "--tokens", "16", "--kinds", "step", "--seconds", "10", "--budget-mib", "1.5")
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            print(f"{time.monotonic() - begin:.0f} s", file=sys.stderr)
            read = lambda name: json.loads((pathlib.Path(folder) / name).read_text())
            ports = read("parity.json")["ports"]
            for port in ("token_input_embedder", "tri_mul_out"):
                self.assertEqual({cell: of["green"] for cell, of in ports[port].items()},
                                 {f"{mesh}/threads/fp64/cpu": True for mesh in ("1x2x2", "1x1x4", "1x2x4", "1x1x8")})
            for line in read("strong.json")["benchmarks"]:
                self.assertGreater(line["real_time"], 0)
                self.assertGreater(line["sent_bytes"], 0.97 * line["sent_bytes_formula"])
            self.assertEqual({line["mesh"] for line in read("strong.json")["benchmarks"]}, {"1x2x2", "1x2x4"})
            found = read("memory.json")["largest"]
            self.assertGreater(found["pairformer_layer/step/fp64/threads:8"]["fits"],
                               found["pairformer_layer/step/fp64/threads:4"]["fits"])
            self.assertIn("## The largest N that fits", (pathlib.Path(folder) / "report.md").read_text())


if __name__ == "__main__":
    options = argparse.ArgumentParser()
    options.add_argument("--build", type=pathlib.Path, required=True)
    options, rest = options.parse_known_args()
    BUILD = options.build
    unittest.main(argv=[sys.argv[0], *rest])
