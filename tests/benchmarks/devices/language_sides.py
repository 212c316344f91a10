"""The two sides of ``language_training``: PaddleFormers through the plugin, and transformers on torch.

Both take the same weights, by the names of transformers, and the same data; each prints its losses and its speed.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from tablerec.language.models import QWEN3_06B
from tablerec.language.training import Pair, loss_of, pack_pairs

BETA = 0.1
DPO = SimpleNamespace(
    beta=BETA, loss_type="sigmoid", label_smoothing=0.0, pref_loss_ratio=1.0, sft_loss_ratio=0.0, offset_alpha=0.0,
    normalize_logps=False, ignore_eos_token=False, reference_free=False,
)  # fmt: skip
"""What the criterion reads of PaddleFormers' ``DPOConfig``, whose module imports its whole command line."""
OPTIMIZER = {"epsilon": 1e-8, "weight_decay": 0.01, "clip": 1.0}


@dataclass(frozen=True)
class Shape:
    """What is trained, and on how much.

    Args:
        configuration: Of Qwen3.
        batch: Sequences of a step in the measurement of speed.
        length: Tokens of each.
        warm: Steps before the clock starts.
        timed: Steps that are timed.
        steps: Steps of SFT and of DPO whose losses are compared.
        tuning: Sequences and tokens of such a step of SFT.
        pair: Tokens of a prompt and of an answer, in DPO.
        dpo_rate: Learning rate of DPO: low enough for a loss that is not over after a few steps.
    """

    configuration: dict[str, Any]
    batch: int
    length: int
    warm: int
    timed: int
    steps: int
    tuning: tuple[int, int]
    pair: tuple[int, int]
    dpo_rate: float


FULL = Shape(QWEN3_06B, 4, 4096, 3, 12, 50, (4, 512), (64, 96), 5e-7)
TINY = Shape(
    {**QWEN3_06B, "vocab_size": 1000, "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
     "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16},
    2, 64, 1, 2, 50, (2, 48), (8, 12), 1e-5,
)  # fmt: skip
SFT_RATE = 1e-4
N_BATCHES = 5
"""Different batches, which come again: so that there is something to learn."""


def draw_weights(configuration: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Draw the weights of Qwen3 by the names and in the layout of transformers, float32."""
    numbers = np.random.default_rng(0)
    size, middle, head = (configuration[key] for key in ("hidden_size", "intermediate_size", "head_dim"))
    q, kv = (configuration[key] * head for key in ("num_attention_heads", "num_key_value_heads"))

    def normal(*shape: int) -> np.ndarray:
        return numbers.standard_normal(shape, "float32") * np.float32(0.02)

    state = {"model.embed_tokens.weight": normal(configuration["vocab_size"], size)}
    for layer in range(configuration["num_hidden_layers"]):
        products = {
            "self_attn.q_proj": (q, size),
            "self_attn.k_proj": (kv, size),
            "self_attn.v_proj": (kv, size),
            "self_attn.o_proj": (size, q),
            "mlp.gate_proj": (middle, size),
            "mlp.up_proj": (middle, size),
            "mlp.down_proj": (size, middle),
        }
        norms = {
            "self_attn.q_norm": head,
            "self_attn.k_norm": head,
            "input_layernorm": size,
            "post_attention_layernorm": size,
        }
        state |= {f"model.layers.{layer}.{name}.weight": normal(*shape) for name, shape in products.items()}
        state |= {f"model.layers.{layer}.{name}.weight": np.ones(width, "float32") for name, width in norms.items()}
    return {**state, "model.norm.weight": np.ones(size, "float32")}


def to_paddleformers(state: Mapping[str, np.ndarray], configuration: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Rename and lay out the weights as PaddleFormers' Qwen3 has them: products transposed, and fused by groups."""
    found = {}
    groups, head = configuration["num_key_value_heads"], configuration["head_dim"]
    for name, value in state.items():
        if name.endswith("q_proj.weight"):
            parts = [state[name.replace("q_proj", f"{letter}_proj")] for letter in "qkv"]
            # Each group: its heads of q, its k, its v.
            rows = np.concatenate([part.reshape(groups, -1, head, part.shape[1]) for part in parts], 1)
            found[name.replace("q_proj", "qkv_proj")] = rows.reshape(-1, value.shape[1]).T
        elif name.endswith("gate_proj.weight"):
            both = np.concatenate([value, state[name.replace("gate_proj", "up_proj")]])
            found[name.replace("gate_proj", "up_gate_proj")] = both.T
        elif name.endswith(("o_proj.weight", "down_proj.weight")):
            found[name] = value.T
        elif not name.endswith(("k_proj.weight", "v_proj.weight", "up_proj.weight")):
            found[name] = value
    found["lm_head.weight"] = found["model.embed_tokens.weight"]
    return {name: np.ascontiguousarray(value) for name, value in found.items()}


def draw_batches(shape: Shape) -> list[np.ndarray]:
    """Draw the token ids of SFT; the label of a token is the next one."""
    numbers = np.random.default_rng(1)
    return [numbers.integers(3, shape.configuration["vocab_size"], shape.tuning) for _ in range(N_BATCHES)]


def draw_pairs(shape: Shape) -> list[list[Pair]]:
    numbers = np.random.default_rng(2)
    prompt, answer = shape.pair

    def draw(size: int) -> list[int]:
        return numbers.integers(3, shape.configuration["vocab_size"], size).tolist()

    return [[Pair(draw(prompt), draw(answer), draw(answer)) for _ in range(2)] for _ in range(N_BATCHES)]


def labels_of(ids: np.ndarray) -> np.ndarray:
    return np.concatenate([ids[:, 1:], np.full((len(ids), 1), -100)], 1)


class Side:
    """What both sides have in common.

    Subclasses make a step: a function without arguments that trains once and returns the loss on the device.
    """

    name = ""
    shape: Shape

    def wait(self) -> None:
        """Wait for the device."""
        raise NotImplementedError

    def memory(self) -> tuple[int, int]:
        """Return the bytes that are held, and the most so far."""
        raise NotImplementedError

    def sft_step(self, dtype: str, batches: list[np.ndarray]) -> Callable[[int], Any]:
        raise NotImplementedError

    def dpo_step(self, dtype: str, batches: list[list[Pair]]) -> Callable[[int], Any]:
        raise NotImplementedError

    def speed(self, dtype: str) -> dict[str, Any]:
        shape = self.shape
        numbers = np.random.default_rng(3)
        ids = numbers.integers(3, shape.configuration["vocab_size"], (shape.batch, shape.length))
        step = self.sft_step(dtype, [ids])
        for _ in range(shape.warm):
            start = time.perf_counter()
            loss = float(step(0))
            print(f"  warm: loss {loss:.4f}, {time.perf_counter() - start:.2f} s", flush=True)
        self.wait()
        held, spent = [self.memory()[0]], []
        for _ in range(shape.timed):
            start = time.perf_counter()
            loss = step(0)
            self.wait()
            spent.append(time.perf_counter() - start)
            held.append(self.memory()[0])
        seconds = statistics.median(spent)
        rate = ids.size / seconds
        print(
            f"{self.name} {dtype}: {rate:,.0f} tokens/s, {1000 * seconds:.1f} ms a step of {ids.size} tokens "
            f"({1000 * min(spent):.1f} to {1000 * max(spent):.1f}); held {held[0] / 2**30:.3f} to "
            f"{held[-1] / 2**30:.3f} GiB, at most {self.memory()[1] / 2**30:.2f}; loss {float(loss):.4f}",
            flush=True,
        )
        return {"tokens_per_second": rate, "seconds": spent, "held": held, "peak": self.memory()[1], **self.details()}

    def details(self) -> dict[str, Any]:
        """Return, and print, what else is known of the run."""
        return {}

    def losses(self, dtype: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for method, batches, make in (
            ("sft", draw_batches(self.shape), self.sft_step),
            ("dpo", draw_pairs(self.shape), self.dpo_step),
        ):
            step = make(dtype, batches)  # type: ignore[operator]
            start, course = time.perf_counter(), []
            for number in range(self.shape.steps):
                course.append(float(step(number % N_BATCHES)))
                if number % 10 == 0 or number == self.shape.steps - 1:
                    spent = time.perf_counter() - start
                    print(f"  {self.name} {method} {dtype} step {number}: {course[-1]:.6f}, {spent:.0f} s", flush=True)
            found[method] = course
        return found


class Ours(Side):
    """PaddleFormers through the plugin."""

    name = "ours"

    def __init__(self, library: Path, weights: Path, shape: Shape) -> None:
        from tablerec.devices.plugin import load_plugin

        self.plugin, self.weights, self.shape = load_plugin(library), weights, shape
        import paddle

        from tablerec.language.training import set_device

        self.paddle = paddle
        set_device(self.plugin.device)

    def wait(self) -> None:
        self.paddle.device.synchronize(self.plugin.device)

    def memory(self) -> tuple[int, int]:
        counters = self.plugin.counters()
        return counters["bytes_in_use"], counters["peak_bytes_in_use"]

    def details(self) -> dict[str, Any]:
        kernels = self.plugin.kernels()
        flash = sum(count for name, count in kernels.items() if name.startswith("flash_attn"))
        print(f"  {sum(kernels.values())} launches so far, {flash} of flash attention", flush=True)
        return {"kernels": kernels}

    def make(self, dtype: str, attention: str = "sdpa", **changes: Any) -> Any:
        """Make the model with the weights."""
        from safetensors.numpy import load_file

        from tablerec.language.models import make_model

        paddle = self.paddle
        paddle.set_default_dtype(dtype)
        net = make_model("qwen3", fused=True, **self.shape.configuration, _attn_implementation=attention, **changes)
        paddle.set_default_dtype("float32")
        state = to_paddleformers(load_file(str(self.weights)), self.shape.configuration)
        missing = net.set_state_dict({name: paddle.to_tensor(value).astype(dtype) for name, value in state.items()})
        assert not any(missing), missing
        net.train()
        return net

    def update(self, net: Any, rate: float) -> Any:
        clip = self.paddle.nn.ClipGradByGlobalNorm(OPTIMIZER["clip"])
        return self.paddle.optimizer.AdamW(
            rate, parameters=net.parameters(), epsilon=OPTIMIZER["epsilon"], weight_decay=OPTIMIZER["weight_decay"],
            grad_clip=clip, multi_precision=True,
        )  # fmt: skip

    def sft_step(self, dtype: str, batches: list[np.ndarray]) -> Callable[[int], Any]:
        net = self.make(dtype)
        update = self.update(net, SFT_RATE)
        tensors = [(self.paddle.to_tensor(ids), self.paddle.to_tensor(labels_of(ids))) for ids in batches]

        def step(number: int) -> Any:
            ids, labels = tensors[number]
            loss = loss_of(net(input_ids=ids, labels=labels, use_cache=False))
            loss.backward()
            update.step()
            update.clear_grad()
            return loss.detach()

        return step

    def dpo_step(self, dtype: str, batches: list[list[Pair]]) -> Callable[[int], Any]:
        """With PaddleFormers' criterion; the reference's likelihoods are computed once, before the first step."""
        from paddleformers.nn.criterion import CriterionLayer

        paddle = self.paddle
        net = self.make(dtype, "eager", dpo_config=DPO)
        criterion = CriterionLayer(net.config)
        update = self.update(net, self.shape.dpo_rate)
        packed = [{key: paddle.to_tensor(value) for key, value in pack_pairs(pairs).items()} for pairs in batches]

        def logits(row: dict[str, Any]) -> Any:
            given = {key: row[key] for key in ("input_ids", "position_ids", "attention_mask")}
            return net(**given, use_cache=False)

        def labels(row: dict[str, Any]) -> tuple[Any, Any]:
            return row["response_labels"], row["response_indexs"]

        with paddle.no_grad():
            references = [criterion(logits(row), (*labels(row), None, None)) for row in packed]

        def step(number: int) -> Any:
            row = packed[number]
            loss = criterion(logits(row), (*labels(row), *references[number]))[-1]
            loss.backward()
            update.step()
            update.clear_grad()
            return loss.detach()

        return step


class Torch(Side):
    """transformers on torch, with SDPA."""

    name = "torch"

    def __init__(self, weights: Path, shape: Shape) -> None:
        import torch

        self.torch, self.weights, self.shape = torch, weights, shape
        self.device = "cuda" if torch.cuda.is_available() else "cpu"

    def wait(self) -> None:
        if self.device == "cuda":
            self.torch.cuda.synchronize()

    def memory(self) -> tuple[int, int]:
        if self.device == "cpu":
            return 0, 0
        return self.torch.cuda.memory_allocated(), self.torch.cuda.max_memory_allocated()

    def make(self, dtype: str) -> Any:
        from safetensors.numpy import load_file
        from transformers import Qwen3Config, Qwen3ForCausalLM

        torch = self.torch
        given = {**self.shape.configuration}
        rope = {"rope_type": "default", "rope_theta": given.pop("rope_theta")}
        configuration = Qwen3Config(**given, rope_parameters=rope, attn_implementation="sdpa", use_cache=False)
        net = Qwen3ForCausalLM(configuration).to(self.device)
        state = {name: torch.from_numpy(value) for name, value in load_file(str(self.weights)).items()}
        state["lm_head.weight"] = state["model.embed_tokens.weight"]
        net.load_state_dict(state)
        return net.to(torch.bfloat16 if dtype == "bfloat16" else torch.float32).train()

    def stepper(self, net: Any, rate: float, dtype: str, compute: Callable[[int], Any]) -> Callable[[int], Any]:
        torch = self.torch
        update = torch.optim.AdamW(
            net.parameters(), rate, eps=OPTIMIZER["epsilon"], weight_decay=OPTIMIZER["weight_decay"], fused=True
        )

        def step(number: int) -> Any:
            with torch.autocast(self.device, torch.bfloat16, enabled=dtype == "autocast"):
                loss = compute(number)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(net.parameters(), OPTIMIZER["clip"])
            update.step()
            update.zero_grad(set_to_none=True)
            return loss.detach()

        return step

    def sft_step(self, dtype: str, batches: list[np.ndarray]) -> Callable[[int], Any]:
        torch = self.torch
        net = self.make(dtype)
        tensors = [tuple(torch.tensor(each, device=self.device) for each in (ids, labels_of(ids))) for ids in batches]

        def compute(number: int) -> Any:
            ids, labels = tensors[number]
            logits = net(input_ids=ids).logits.float()
            return torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten())

        return self.stepper(net, SFT_RATE, dtype, compute)

    def dpo_step(self, dtype: str, batches: list[list[Pair]]) -> Callable[[int], Any]:
        """Each answer in a row of its own, behind its prompt."""
        torch = self.torch
        net = self.make(dtype)

        def likelihoods(pairs: list[Pair]) -> tuple[Any, Any]:
            rows = [[*pair.prompt, *answer] for pair in pairs for answer in (pair.chosen, pair.rejected)]
            ids = torch.tensor(rows, device=self.device)
            logits = net(input_ids=ids).logits.float().log_softmax(-1)
            first = len(pairs[0].prompt)
            of_tokens = logits[:, first - 1 : -1].gather(-1, ids[:, first:, None])[..., 0].sum(-1)
            return of_tokens[::2], of_tokens[1::2]

        with torch.no_grad():
            references = [likelihoods(pairs) for pairs in batches]

        def compute(number: int) -> Any:
            chosen, rejected = likelihoods(batches[number])
            at_first = references[number][0] - references[number][1]
            return -torch.nn.functional.logsigmoid(BETA * (chosen - rejected - at_first)).mean()

        return self.stepper(net, self.shape.dpo_rate, dtype, compute)
