"""Who opens a network, where, and how often."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tablerec.devices import Device
from tablerec.errors import MissingDependencyError, ModelNotFoundError
from tablerec.models import opening
from tablerec.models.folder import LINENET, LINENET_OUTPUTS, LINENET_WEIGHTS, ONNX
from tablerec.models.opening import NetworkFile, choose_network, open_network, open_with, opener, require_networks
from tablerec.models.opening import card as card_module
from tablerec.models.opening.batched import BatchedNetwork, Rows

FILE = NetworkFile(LINENET_WEIGHTS / ONNX, "gpu:1", LINENET, LINENET_OUTPUTS)


@pytest.fixture(autouse=True)
def open_here() -> Iterator[None]:
    yield
    open_with(None)


def choose(device: str) -> Any:
    return choose_network(LINENET_WEIGHTS, device, LINENET, LINENET_OUTPUTS)


def test_which_files_run_on_a_card(tmp_path: Path) -> None:
    assert FILE.card == 1
    assert NetworkFile(FILE.path, "gpu", LINENET).card == 0
    assert NetworkFile(FILE.path, "cpu", LINENET).card is None
    assert NetworkFile(FILE.path, "npu:1", LINENET).card is None
    assert NetworkFile(tmp_path, "gpu:1", LINENET).card is None  # Paddle's static model


def test_bytes_and_floats_are_the_same_pictures() -> None:
    network = choose("cpu")()
    images = np.random.default_rng(0).integers(0, 256, (2, 3, 32, 64), np.uint8)
    for one, other in zip(network(images), network(images.astype(np.float32)), strict=True):
        assert (one == other).all()


def test_a_card_that_cannot_be_used_is_an_error_before_the_first_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(device: Device) -> str:
        raise MissingDependencyError(f"device {str(device)!r}: no")

    monkeypatch.setattr(opening, "runtime_of", refuse)
    with pytest.raises(MissingDependencyError, match="'gpu:1': no"):
        choose("gpu:1")


def test_paddles_own_build_runs_networks_where_onnx_runtime_cannot(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[NetworkFile] = []
    monkeypatch.setattr(opening, "runtime_of", lambda device: "Paddle")
    monkeypatch.setattr(opening, "_open_paddle", lambda file: asked.append(file))
    choose("gpu:1")()
    assert [(file.path, file.device) for file in asked] == [(LINENET_WEIGHTS, "gpu:1")]


def test_a_network_on_a_card_is_opened_once_and_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = []

    def open_on_card(file: NetworkFile) -> BatchedNetwork:
        opened.append(file)
        return BatchedNetwork(lambda images: [images], LINENET_OUTPUTS, Rows(), 64)

    monkeypatch.setattr(card_module, "open_on_card", open_on_card)
    monkeypatch.setattr(opening, "runtime_of", lambda device: "ONNX Runtime")
    first = choose("gpu:1")()
    assert choose("gpu:1,2")() is first and choose("gpu:2")() is not first
    with pytest.raises(ModelNotFoundError, match="holds no LineNet"):
        open_network(NetworkFile(FILE.path, "gpu:1", LINENET, ("others",)))
    assert len(opened) == 2
    del first
    choose("gpu:1")()
    assert len(opened) == 3


def test_a_process_without_a_card_has_its_networks_opened_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[NetworkFile] = []

    def elsewhere(file: NetworkFile) -> Any:
        asked.append(pickle.loads(pickle.dumps(file)))
        return lambda images: [images]

    open_with(elsewhere)
    require_networks("gpu:1")
    open_late = choose("gpu:1")  # this machine needs no card for it
    assert asked == []
    open_late()
    assert asked == [FILE]
    opener(FILE)()
    assert asked == [FILE, FILE]
    open_with(None)
    assert choose("cpu")() is not None and len(asked) == 2
