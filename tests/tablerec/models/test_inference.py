"""Networks made shorter for inference give what they gave."""

from __future__ import annotations

import importlib.util

import pytest

if importlib.util.find_spec("paddle") is None:
    pytest.skip("needs Paddle", allow_module_level=True)

import paddle

from tablerec.devices.bench.networks import cellnet
from tablerec.models.inference import fold_norms


def test_folded_norms_change_nothing() -> None:
    paddle.seed(0)
    net = cellnet(reduced=True)
    images = paddle.uniform([2, 3, 64, 64], "float32", 0, 255)
    net(images)  # statistics that are not those of the start
    net.eval()
    before = net(images)
    n_norms = sum(isinstance(layer, paddle.nn.BatchNorm2D) for layer in net.sublayers())
    assert fold_norms(net) == n_norms > 20
    assert float((net(images) - before).abs().max() / before.abs().max()) < 1e-4
    assert fold_norms(net) == 0
