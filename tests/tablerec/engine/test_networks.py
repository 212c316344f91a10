"""Networks that one process runs for others."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tablerec.engine.networks import NetworkProcess, RemoteNetwork, serve
from tablerec.engine.tasks import Address
from tablerec.errors import ModelNotFoundError, WorkerLostError
from tablerec.models.folder import LINENET, LINENET_OUTPUTS, LINENET_WEIGHTS, ONNX
from tablerec.models.opening import Network, NetworkFile, open_network

FILE = NetworkFile(LINENET_WEIGHTS / ONNX, "cpu", LINENET, tuple(LINENET_OUTPUTS), 1)


@pytest.fixture(scope="module")
def process() -> Iterator[NetworkProcess]:
    """One that runs."""
    made = NetworkProcess()
    yield made
    made.close()


def pictures(count: int, width: int = 64) -> NDArray[np.float32]:
    return np.random.default_rng(count).integers(0, 256, (count, 3, 32, width)).astype(np.float32)


def connect(monkeypatch: pytest.MonkeyPatch, network: Network) -> RemoteNetwork:
    """A remote network that a thread of this process serves."""

    def client(name: str, authkey: bytes) -> Connection:
        ours, theirs = Pipe()
        threading.Thread(target=serve, args=[theirs, lambda file: network], daemon=True).start()
        return ours

    monkeypatch.setattr("tablerec.engine.networks.Client", client)
    return RemoteNetwork(Address("nowhere", b"key"), FILE)


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.int64, np.float16])
@pytest.mark.parametrize("shape", [(0, 3, 4, 4), (2, 3, 1, 5), (1, 0)])
def test_arrays_come_back_as_they_went(
    dtype: type[np.generic], shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    remote = connect(monkeypatch, lambda images: [images, images.T, images[:0]])
    given = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    for found, expected in zip(remote(given), [given, given.T, given[:0]], strict=True):
        assert found.dtype == expected.dtype and np.array_equal(found, expected)


def test_no_outputs_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert connect(monkeypatch, lambda images: [])(pictures(1)) == []


def test_an_error_concerns_its_call_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def network(images: NDArray[np.float32]) -> Sequence[NDArray[np.float32]]:
        if len(images) == 2:
            raise ValueError("two are one too many")
        return [images]

    remote = connect(monkeypatch, network)
    with pytest.raises(RuntimeError, match="ValueError: two are one too many"):
        remote(pictures(2))
    assert np.array_equal(remote(pictures(3))[0], pictures(3))


def test_another_process_computes_the_same(process: NetworkProcess) -> None:
    remote, here = RemoteNetwork(process.address(), FILE), open_network(FILE)
    for count in (1, 3):
        for found, expected in zip(remote(pictures(count)), here(pictures(count)), strict=True):
            assert np.allclose(found, expected, atol=1e-5)


def test_each_thread_gets_its_own_answer(process: NetworkProcess) -> None:
    remote = RemoteNetwork(process.address(), FILE)
    given = [pictures(1, 64 + 4 * number) for number in range(16)]
    alone = [remote(images)[0] for images in given]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda images: remote(images)[0], given))
    assert all(map(np.array_equal, alone, together))


def test_what_cannot_be_opened_is_told_by_the_other_side(process: NetworkProcess, tmp_path: Path) -> None:
    (tmp_path / ONNX).write_bytes(b"no model")
    with pytest.raises(ModelNotFoundError, match="cannot be opened"):
        RemoteNetwork(process.address(), NetworkFile(tmp_path / ONNX, "cpu", LINENET))


def test_a_stranger_is_not_served(process: NetworkProcess) -> None:
    from multiprocessing import AuthenticationError

    address = process.address()
    with pytest.raises((AuthenticationError, WorkerLostError)):
        RemoteNetwork(Address(address.name, b"another key"), FILE)
    RemoteNetwork(process.address(), FILE)


def test_a_process_that_died_is_told_and_replaced() -> None:
    made = NetworkProcess()
    try:
        remote = RemoteNetwork(made.address(), FILE)
        remote(pictures(1))
        first = made.address()
        made.kill()
        with pytest.raises(WorkerLostError, match="the process that holds cpu ended"):
            remote(pictures(1))
        assert made.address() != first
        assert len(RemoteNetwork(made.address(), FILE)(pictures(1))) == len(LINENET_OUTPUTS)
    finally:
        made.close()
