"""RT-DETR learns little and keeps little: LoRA over frozen int8, recomputed; and the adapter fits PaddleX's weights."""

from __future__ import annotations

import importlib.util
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

from tablerec.errors import InputError
from tablerec.training import train

if any(importlib.util.find_spec(package) is None for package in ("paddle", "paddlex")):
    pytest.skip("needs the paddle extra", allow_module_level=True)

from tablerec.models.adapter import apply_adapter, is_adapter, merge_adapter
from tablerec.models.arrays import arrays_to_network, network_to_arrays
from tablerec.models.rtdetr import load_rtdetr
from tablerec.training.detectors.rtdetr import RTDETRTask
from tablerec.training.methods.lora import adapter_arrays
from tablerec.training.methods.trainable import choose
from tablerec.training.settings import LoRA
from tests.helpers.models.rtdetr import EMPTY, LARGE, SMALL, batch_of, make, settings
from tests.helpers.training import losses

pytestmark = pytest.mark.filterwarnings("ignore")  # PaddleX's and Paddle's own


def test_lora_reaches_all_layers_and_merges() -> None:
    chosen = settings(Path("out"), trainable="lora", lora=LoRA(rank=2))
    task = RTDETRTask(chosen)
    net = make(task)
    parameters = choose(net, chosen.optimizer, task.head)
    names = " ".join(parameters)
    for part in ("q_proj", "o_proj", "value_proj", "sampling_offsets", "backbone", "fpn_blocks"):
        assert part in names
    for name, parameter in parameters.items():
        if name.endswith("lora_b"):
            parameter.set_value(0.05 * parameter + 0.01)
    net.train()
    task.loss(net, batch_of(SMALL, LARGE, EMPTY), nullcontext)["total"].backward()
    untouched = {name for name, parameter in parameters.items() if parameter.grad is None}
    assert all("bbox_embed" in name or "enc_" in name or "query_pos" in name for name in untouched), untouched
    net.eval()
    images = batch_of(SMALL).images
    before = net(images).logits.numpy()
    plain = task.make()
    base = {name: array for name, array in network_to_arrays(net).items() if not is_adapter(name)}
    arrays_to_network(merge_adapter(base, adapter_arrays(net), chosen.optimizer.lora.scale), plain)
    plain.eval()
    np.testing.assert_allclose(plain(images).logits.numpy(), before, atol=1e-3 * np.abs(before).max())


def test_an_adapter_goes_with_paddlexs_weights(tmp_path: Path) -> None:
    # Statistics of too few pictures are of no use to a network that keeps them.
    first = train(settings(tmp_path / "first", validation_samples=0, buffer_size=8, min_buffer=8, bn_batches=12))
    changes = {
        "trainable": "lora",
        "lora": LoRA(rank=2),
        "initial": first,
        "learning_rate": 1e-3,
        "validation_samples": 0,
    }
    second = train(settings(tmp_path / "second", frozen_precision="int8", recompute="all", **changes))
    train(settings(tmp_path / "kept", frozen_precision="int8", **changes))
    assert losses(tmp_path / "second") == pytest.approx(losses(tmp_path / "kept"), rel=1e-4)
    network = load_rtdetr(first)
    apply_adapter(network, tmp_path / "second" / "adapter.safetensors")
    merged, trained = network_to_arrays(network), network_to_arrays(load_rtdetr(second))
    assert max(np.abs(merged[name] - array).max() for name, array in trained.items()) < 1e-5
    with pytest.raises(InputError, match="trained on other weights"):
        apply_adapter(load_rtdetr(second), tmp_path / "second" / "adapter.safetensors")
