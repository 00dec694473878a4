"""One training step of the preset tiny-dense in PyTorch, eager, on the GPU: the time beside which
BM_StepOnCuda of lockstep_gpu_bench is read. Usage: python3 torch_step.py [f64 f32 bf16]

The same sizes, the same 12 micro-batches of one sequence, clipping and AdamW. Prints the median.
"""

import sys
import time

import torch
from torch import nn
from torch.nn import functional

HIDDEN, HEADS, KV_HEADS, HEAD_DIM, FFN, LAYERS, VOCAB = 32, 8, 2, 8, 48, 2, 90
SEQ, MICRO_BATCHES = 32, 12


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        width = (HEADS + 2 * KV_HEADS) * HEAD_DIM
        self.qkv = nn.Linear(HIDDEN, width, bias=False)
        self.proj = nn.Linear(HEADS * HEAD_DIM, HIDDEN, bias=False)
        self.q_norm = nn.RMSNorm(HEAD_DIM, eps=1e-6)
        self.k_norm = nn.RMSNorm(HEAD_DIM, eps=1e-6)

    def forward(self, x, cos, sin):
        kv = KV_HEADS * HEAD_DIM
        q, k, v = self.qkv(x).split([HEADS * HEAD_DIM, kv, kv], dim=-1)
        q = self.q_norm(q.view(SEQ, HEADS, HEAD_DIM))
        k = self.k_norm(k.view(SEQ, KV_HEADS, HEAD_DIM))
        q, k = turned(q, cos, sin), turned(k, cos, sin)
        q, k, v = (t.transpose(0, 1)[None] for t in (q, k, v.view(SEQ, KV_HEADS, HEAD_DIM)))
        out = functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        return self.proj(out[0].transpose(0, 1).reshape(SEQ, HEADS * HEAD_DIM))


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(HIDDEN, 2 * FFN, bias=False)
        self.fc2 = nn.Linear(FFN, HIDDEN, bias=False)

    def forward(self, x):
        gate, up = self.fc1(x).chunk(2, dim=-1)
        return self.fc2(functional.silu(gate) * up)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.input_norm = nn.RMSNorm(HIDDEN, eps=1e-6)
        self.attention = Attention()
        self.mlp_norm = nn.RMSNorm(HIDDEN, eps=1e-6)
        self.mlp = Mlp()

    def forward(self, x, cos, sin):
        x = x + self.attention(self.input_norm(x), cos, sin)
        return x + self.mlp(self.mlp_norm(x))


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(VOCAB, HIDDEN)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.norm = nn.RMSNorm(HIDDEN, eps=1e-6)
        self.head = nn.Linear(HIDDEN, VOCAB, bias=False)

    def forward(self, ids, cos, sin):
        x = self.embedding(ids)
        for layer in self.layers:
            x = layer(x, cos, sin)
        return self.head(self.norm(x))


def turned(x, cos, sin):
    first, second = x.chunk(2, dim=-1)
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)


def rope_tables(dtype):
    frequency = 10000.0 ** (-torch.arange(0, HEAD_DIM, 2, dtype=torch.float64) / HEAD_DIM)
    angles = torch.outer(torch.arange(SEQ, dtype=torch.float64), frequency)[:, None, :]
    return angles.cos().to("cuda", dtype), angles.sin().to("cuda", dtype)


def step(model, optimizer, batches, cos, sin):
    optimizer.zero_grad(set_to_none=True)
    losses = []
    for ids, labels in batches:
        logits = model(ids, cos, sin)
        loss = functional.cross_entropy(logits.float(), labels) / MICRO_BATCHES
        loss.backward()
        losses.append(loss.item())  # Lockstep reads each micro-batch's loss too
    nn.utils.clip_grad_norm_(model.parameters(), 0.1)
    optimizer.step()
    return sum(losses)


def median_step_ms(dtype):
    torch.manual_seed(1)
    model = Decoder().to("cuda", dtype)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.1)
    cos, sin = rope_tables(dtype)
    draw = torch.randint(VOCAB, (MICRO_BATCHES, SEQ + 1), device="cuda")
    batches = [(row[:-1], row[1:]) for row in draw]
    times = []
    for _ in range(40):
        torch.cuda.synchronize()
        start = time.perf_counter()
        step(model, optimizer, batches, cos, sin)
        torch.cuda.synchronize()
        times.append((time.perf_counter() - start) * 1e3)
    return sorted(times[10:])[15]


def main():
    types = {"f64": torch.float64, "f32": torch.float32, "bf16": torch.bfloat16}
    for name in sys.argv[1:] or types:
        print(f"PyTorch {torch.__version__} {name}: {median_step_ms(types[name]):.2f} ms a step")


if __name__ == "__main__":
    main()
