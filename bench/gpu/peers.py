#!/usr/bin/env python3
"""What others take for the same blocks on the same GPU, beside cpize_bench_gpu: eager torch in the published order of
operations, and NVIDIA's cuequivariance kernels where that package is installed.

    bench/gpu/peers.py --tokens 512,1024,2048 > docs/evidence/bench/peers.json
    bench/gpu/report.py docs/evidence/bench/*.json                 # blocks are named tri_mul_out@eager, ..@cuequivariance

Needs torch with CUDA. A file of Google Benchmark's form; peak_bytes above inputs and parameters. What does not fit into
memory is an error of that benchmark, as in ours.
"""
import argparse
import functools
import json
import math
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F

try:
    from cuequivariance_torch.primitives.triangle import triangle_attention, triangle_multiplicative_update
except ImportError:
    triangle_attention = None

PAIR, TOKEN, PAIR_HEADS, WIDTH, TOKEN_HEADS = 128, 384, 4, 32, 16


def project(inputs, outputs, bias=False):
    return nn.Linear(inputs, outputs, bias=bias)


class TriangleMultiplication(nn.Module):
    def __init__(self, kernels, outgoing):
        super().__init__()
        self.kernels, self.outgoing = kernels, outgoing
        self.norm_in, self.norm_out = nn.LayerNorm(PAIR), nn.LayerNorm(PAIR)
        self.p_in, self.g_in = project(PAIR, 2 * PAIR), project(PAIR, 2 * PAIR)
        self.p_out, self.g_out = project(PAIR, PAIR), project(PAIR, PAIR)

    def forward(self, z, mask):
        if self.kernels:
            return triangle_multiplicative_update(
                z, direction="outgoing" if self.outgoing else "incoming", mask=mask, norm_in_weight=self.norm_in.weight,
                norm_in_bias=self.norm_in.bias, p_in_weight=self.p_in.weight, g_in_weight=self.g_in.weight,
                norm_out_weight=self.norm_out.weight, norm_out_bias=self.norm_out.bias, p_out_weight=self.p_out.weight,
                g_out_weight=self.g_out.weight, eps=1e-5)
        n = self.norm_in(z)
        ab = self.p_in(n) * self.g_in(n).sigmoid() * mask.unsqueeze(-1)
        a, b = ab.float().chunk(2, dim=-1)
        o = torch.einsum("bikd,bjkd->bijd" if self.outgoing else "bkid,bkjd->bijd", a, b)
        return self.p_out(self.norm_out(o)) * self.g_out(n).sigmoid()


class TriangleAttention(nn.Module):
    def __init__(self, kernels, starting):
        super().__init__()
        self.kernels, self.starting = kernels, starting
        self.norm, self.bias = nn.LayerNorm(PAIR), project(PAIR, PAIR_HEADS)
        self.q, self.k, self.v, self.g, self.o = (project(PAIR, PAIR) for _ in range(5))

    def forward(self, z, mask):
        if not self.starting:
            z, mask = z.transpose(1, 2), mask.transpose(1, 2)
        n = self.norm(z)
        bias = self.bias(n).permute(0, 3, 1, 2).unsqueeze(1)  # [B, 1, H, Q, K]
        heads = lambda x: x.unflatten(-1, (PAIR_HEADS, WIDTH)).transpose(-2, -3)
        q, k, v = heads(self.q(n)), heads(self.k(n)), heads(self.v(n))
        if self.kernels:
            o = triangle_attention(q, k, v, bias.float(), mask[:, :, None, None, :].bool(), 1 / math.sqrt(WIDTH))
        else:
            shift = 1e9 * (mask[:, :, None, None, :] - 1)
            rows = []  # the published chunk of rows, without gradients
            step = 128 if not torch.is_grad_enabled() else z.shape[1]
            for i in range(0, z.shape[1], step):
                part = slice(i, i + step)
                scores = q[:, part] / math.sqrt(WIDTH) @ k[:, part].transpose(-1, -2) + shift[:, part] + bias
                rows.append(scores.softmax(-1).to(v.dtype) @ v[:, part])
            o = torch.cat(rows, 1)
        y = self.o(o.transpose(-2, -3).flatten(-2) * self.g(n).sigmoid())
        return y if self.starting else y.transpose(1, 2)


class Transition(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.fc1, self.fc2, self.fc3 = project(width, 4 * width), project(width, 4 * width), project(4 * width, width)

    def forward(self, x):
        n = self.norm(x)
        return self.fc3(F.silu(self.fc1(n)) * self.fc2(n))


class AttentionPairBias(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = project(TOKEN, TOKEN, bias=True)
        self.k, self.v, self.g, self.o = (project(TOKEN, TOKEN) for _ in range(4))
        self.norm_z, self.z = nn.LayerNorm(PAIR), project(PAIR, TOKEN_HEADS)

    def forward(self, s, z, mask):
        heads = lambda x: x.unflatten(-1, (TOKEN_HEADS, -1))
        q, k, v = heads(self.q(s)), heads(self.k(s)), heads(self.v(s))
        bias = self.z(self.norm_z(z.float())).permute(0, 3, 1, 2)
        scores = torch.einsum("bihd,bjhd->bhij", q, k) / math.sqrt(TOKEN // TOKEN_HEADS)
        weights = (scores + bias + 1e6 * (mask.float() - 1)[:, None, None]).softmax(-1)
        o = torch.einsum("bhij,bjhd->bihd", weights, v).flatten(-2)
        return self.o(self.g(s).sigmoid() * o)


class PairformerLayer(nn.Module):
    """Dropout off, as in ours."""

    def __init__(self, kernels):
        super().__init__()
        self.pair = nn.ModuleList([TriangleMultiplication(kernels, True), TriangleMultiplication(kernels, False),
                                   TriangleAttention(kernels, True), TriangleAttention(kernels, False)])
        self.transition_z, self.norm_s = Transition(PAIR), nn.LayerNorm(TOKEN)
        self.attention, self.transition_s = AttentionPairBias(), Transition(TOKEN)

    def forward(self, s, z, mask, pair_mask):
        for block in self.pair:
            z = z + block(z, pair_mask)
        z = z + self.transition_z(z)
        with torch.autocast("cuda", enabled=False):
            s = s + self.attention(self.norm_s(s), z, mask)
            s = s + self.transition_s(s)
        return s, z


def blocks(kernels):
    """name -> (module, the inputs it takes)."""
    found = {"tri_mul_out": (functools.partial(TriangleMultiplication, kernels, True), "zp"),
             "tri_mul_in": (functools.partial(TriangleMultiplication, kernels, False), "zp"),
             "tri_att_start": (functools.partial(TriangleAttention, kernels, True), "zp"),
             "tri_att_end": (functools.partial(TriangleAttention, kernels, False), "zp"),
             "pairformer_layer": (functools.partial(PairformerLayer, kernels), "szmp")}
    if not kernels:
        found |= {"transition": (functools.partial(Transition, PAIR), "z"),
                  "attention_pair_bias": (AttentionPairBias, "szm")}
    return found


def measure(make, wanted, tokens, step, autocast, runs):
    """Seconds of each run, and peak bytes above what was there before."""
    torch.manual_seed(0)
    module = make().cuda()
    options = {"s": torch.randn(1, tokens, TOKEN, device="cuda"), "m": torch.ones(1, tokens, device="cuda")}
    options |= {"z": torch.randn(1, tokens, tokens, PAIR, device="cuda", dtype=torch.bfloat16),
                "p": torch.ones(1, tokens, tokens, device="cuda", dtype=torch.bfloat16)}
    inputs = [options[name].requires_grad_(step and name in "sz") for name in wanted]
    for p in module.parameters():
        p.requires_grad_(step)

    def forward():
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=autocast):
            y = module(*inputs)
        return y if isinstance(y, tuple) else (y,)

    def run():
        if not step:
            with torch.no_grad():
                return forward()
        y = forward()
        torch.autograd.backward(y, gradients)
        for x in [*inputs, *module.parameters()]:
            x.grad = None

    gradients = None
    if step:
        gradients = [torch.randn_like(y.detach()) for y in forward()]
    run()
    torch.cuda.synchronize()
    held = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    run()
    torch.cuda.synchronize()
    peak = torch.cuda.max_memory_allocated() - held
    seconds = []
    for _ in range(runs):
        start = time.perf_counter()
        run()
        torch.cuda.synchronize()
        seconds.append(time.perf_counter() - start)
    return seconds, peak


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--tokens", default="512,1024,2048")
    options.add_argument("--blocks", default="", help="a list; all where not given")
    options.add_argument("--runs", type=int, default=5)
    options = options.parse_args()
    peers = {"eager": False} | ({"cuequivariance": True} if triangle_attention else {})
    if triangle_attention is None:
        print("cuequivariance_torch is not installed: eager torch alone", file=sys.stderr)
    results = []
    for peer, kernels in peers.items():
        for block, (make, wanted) in blocks(kernels).items():
            if options.blocks and block not in options.blocks.split(","):
                continue
            for step in (False, True):
                for tokens in map(int, options.tokens.split(",")):
                    name = f"{block}@{peer}/{'step' if step else 'forward'}/bf16/N:{tokens}/gpus:1"
                    result = {"name": name, "run_type": "iteration", "time_unit": "ms"}
                    try:
                        seconds, peak = measure(make, wanted, tokens, step, block != "attention_pair_bias", options.runs)
                        counters = {"peak_bytes": peak, "sent_bytes": 0, "floor_ms": 0}
                        results += [result | counters | {"real_time": 1e3 * s} for s in seconds]
                        print(f"{name}: {1e3 * sorted(seconds)[len(seconds) // 2]:.2f} ms, {peak / 2**30:.1f} GiB",
                              file=sys.stderr)
                    except torch.cuda.OutOfMemoryError:
                        results.append(result | {"error_occurred": True, "error_message": "out of memory"})
                        print(f"{name}: out of memory", file=sys.stderr)
                    torch.cuda.empty_cache()
    json.dump({"context": {"executable": "peers.py", "torch": torch.__version__,
                           "gpu": torch.cuda.get_device_name()}, "benchmarks": results}, sys.stdout, indent=1)


main()
