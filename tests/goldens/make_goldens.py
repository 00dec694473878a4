#!/usr/bin/env python3
"""Makes the golden files of this folder with Hugging Face transformers: python3 make_goldens.py.

Made with torch 2.15.0 and transformers 5.24.0 (both from PyPI, on a CPU) by Python 3.11.

Weights, ids and labels come from Python's own generator and are exact in f32: the same bytes with
any version. Logits, losses and gradients are the same bytes on the same processor and versions; on
others their last bits may differ, since the library of matrix products picks its kernels by
processor.

Each model is run twice on one batch: unpatched in f32, and in f64. A model is not f64 after
double(): its norms, its rotary embedding, its softmax and its loss still compute in f32. They are
replaced here for the f64 run, and a watcher of every operation proves that no f32 is left.
"""

import importlib
import json
import math
import pathlib
import random
import types

import torch
import transformers
from safetensors.torch import save_file
from torch.utils._python_dispatch import TorchDispatchMode

MADE_WITH = {"torch": "2.15.0", "transformers": "5.24.0"}
SEED = 20
BATCH, SEQ, VOCABULARY = 2, 12, 41
IGNORED = -100  # what Hugging Face writes where a label does not count
AGREEMENT = 1e-5  # between the two runs of a model, as a share of each tensor's norm

SIZES = dict(
    hidden_size=16,
    intermediate_size=24,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    vocab_size=VOCABULARY,
    max_position_embeddings=64,
    attn_implementation="eager",
    bos_token_id=None,
    eos_token_id=None,
)


def configs():
    """Between them: tied and untied, biases and none, q/k norm and none."""
    qwen3 = transformers.Qwen3Config(
        **SIZES,
        head_dim=8,
        rms_norm_eps=1e-6,
        tie_word_embeddings=True,
        attention_bias=False,
        rope_parameters={"rope_type": "default", "rope_theta": 1000.0},
    )
    llama = transformers.LlamaConfig(
        **SIZES,
        head_dim=4,
        rms_norm_eps=1e-5,
        tie_word_embeddings=False,
        attention_bias=True,
        mlp_bias=True,
        rope_parameters={"rope_type": "default", "rope_theta": 100.0},
    )
    return {
        "qwen3": (transformers.Qwen3ForCausalLM, qwen3),
        "llama": (transformers.LlamaForCausalLM, llama),
    }


def draw(generator, shape, scale, centre):
    """Multiples of 2^-20 around `centre`: exact in f32, none of them equal to it."""
    count = math.prod(shape)
    steps = [generator.randrange(2**20) * 2 + 1 - 2**20 for _ in range(count)]
    values = [centre + scale * step * 2.0**-20 for step in steps]
    return torch.tensor(values, dtype=torch.float64).reshape(shape)


def draw_weights(model, generator):
    """Sorted by name, so that the order in which a version registers them plays no part."""
    weights = {}
    for name, parameter in sorted(model.named_parameters()):
        if name.endswith("norm.weight") or "layernorm" in name:
            scale, centre = 0.5, 1.0
        elif name.endswith(".bias"):
            scale, centre = 0.25, 0.0
        else:
            scale, centre = 0.5, 0.0
        weights[name] = draw(generator, tuple(parameter.shape), scale, centre)
        assert torch.equal(weights[name].float().double(), weights[name]), name
    return weights


def draw_batch(generator):
    """Ids, and as labels the next ids of a draw one longer, a quarter of them not counted."""
    rows = [[generator.randrange(VOCABULARY) for _ in range(SEQ + 1)] for _ in range(BATCH)]
    tokens = torch.tensor(rows, dtype=torch.int64)
    labels = tokens[:, 1:].clone()
    for sample in range(BATCH):
        for position in generator.sample(range(SEQ), 2 + 2 * sample):
            labels[sample, position] = IGNORED
    return tokens[:, :-1].contiguous(), labels


def rms_norm_f64(self, x):
    scale = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.variance_epsilon)
    return self.weight * (x * scale)


def rotary_f64(self, x, position_ids):
    head_dim = self.config.head_dim
    theta = self.config.rope_parameters["rope_theta"]
    exponents = torch.arange(0, head_dim, 2, dtype=torch.float64) / head_dim
    angles = position_ids[..., None].double() * theta**-exponents
    both_halves = torch.cat((angles, angles), dim=-1)
    return both_halves.cos(), both_halves.sin()


def attention_f64(module, query, key, value, attention_mask, scaling, dropout=0.0, **_):
    assert dropout == 0.0 and attention_mask is not None
    key = key.repeat_interleave(module.num_key_value_groups, dim=1)
    value = value.repeat_interleave(module.num_key_value_groups, dim=1)
    scores = query @ key.transpose(2, 3) * scaling + attention_mask
    weights = torch.softmax(scores, dim=-1)
    return (weights @ value).transpose(1, 2).contiguous(), weights


def replace_f32_parts(model):
    """All of them but the loss, which run_f64 computes itself."""
    for module in model.modules():
        kind = type(module).__name__
        if kind.endswith("RMSNorm"):
            module.forward = types.MethodType(rms_norm_f64, module)
        if kind.endswith("RotaryEmbedding"):
            module.forward = types.MethodType(rotary_f64, module)
    importlib.import_module(type(model).__module__).eager_attention_forward = attention_f64


class NoLowPrecision(TorchDispatchMode):
    """Refuses every operation that makes a floating-point tensor of less than f64."""

    def __torch_dispatch__(self, function, _, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        for value in result if isinstance(result, (tuple, list)) else (result,):
            if isinstance(value, torch.Tensor) and value.is_floating_point():
                assert value.dtype == torch.float64, f"{function} makes {value.dtype}"
        return result


def make_model(model_class, config, weights, dtype):
    model = model_class(config).to(dtype).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(weights[name])
    return model


def results_of(model, logits, loss, suffix):
    tensors = {f"logits_{suffix}": logits, f"loss_{suffix}": loss.reshape(1)}
    for name, parameter in model.named_parameters():
        tensors[f"gradients_{suffix}.{name}"] = parameter.grad
    return {name: tensor.detach().clone().contiguous() for name, tensor in tensors.items()}


def run_f32(model, ids, labels):
    """Hugging Face as it is. The labels are shifted already: shift_labels says so."""
    output = model(ids, labels=labels, shift_labels=labels, use_cache=False)
    output.loss.backward()
    return results_of(model, output.logits, output.loss, "f32")


def run_f64(model, ids, labels):
    replace_f32_parts(model)
    with NoLowPrecision():
        logits = model(ids, use_cache=False).logits
        loss = torch.nn.functional.cross_entropy(
            logits.reshape(-1, VOCABULARY), labels.reshape(-1), ignore_index=IGNORED
        )
        loss.backward()
    return results_of(model, logits, loss, "f64")


def check_agreement(f32, f64):
    """Replaced parts must still be the model: both runs agree as far as f32 goes."""
    worst = 0.0
    for name, value in f64.items():
        other = f32[name.replace("_f64", "_f32")].double()
        error = float((other - value).norm() / value.norm())
        assert error <= AGREEMENT, f"{name}: the runs differ by {error}"
        worst = max(worst, error)
    return worst


def make_golden(folder, name, model_class, config):
    generator = random.Random(f"{SEED} {name}")
    weights = draw_weights(model_class(config), generator)
    ids, labels = draw_batch(generator)
    f32 = run_f32(make_model(model_class, config, weights, torch.float32), ids, labels)
    f64 = run_f64(make_model(model_class, config, weights, torch.float64), ids, labels)
    worst = check_agreement(f32, f64)
    tensors = {"input_ids": ids, "labels": labels, **f32, **f64}
    for weight_name, weight in weights.items():
        tensors[f"weights.{weight_name}"] = weight.float()
    save_file(tensors, folder / f"{name}.safetensors")
    text = json.dumps(config.to_dict(), indent=2, sort_keys=True)
    (folder / f"{name}.json").write_text(text + "\n")
    print(f"{name}: {len(tensors)} tensors, loss {float(f64['loss_f64']):.6f}, "
          f"f32 and f64 differ by at most {worst:.1e}")


def main():
    for package, version in MADE_WITH.items():
        found = importlib.import_module(package).__version__.split("+")[0]
        if found != version:
            print(f"note: {package} {found}, not {version}: last bits may differ")
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    for name, (model_class, config) in configs().items():
        make_golden(pathlib.Path(__file__).parent, name, model_class, config)


if __name__ == "__main__":
    main()
