"""Calls of several threads in one batch: who gets what, who waits, and who meets an error."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablerec.models.opening.batched import BatchedNetwork, Cells, Rows

POISON = 13.0
SOON = 20.0
"""Seconds after which a test that hangs fails."""


class Sums:
    """A network that sums each picture, can be held, and fails at a poisoned one."""

    def __init__(self) -> None:
        self.shapes: list[tuple[int, ...]] = []
        self.free = threading.Event()
        self.free.set()
        self.started = threading.Event()
        self.is_running = False
        self.interrupts = 0

    def __call__(self, images: np.ndarray) -> list[np.ndarray]:
        assert not self.is_running
        self.is_running = True
        try:
            self.shapes.append(images.shape)
            self.started.set()
            assert self.free.wait(SOON)
            if self.interrupts:
                self.interrupts -= 1
                raise KeyboardInterrupt
            if (images == POISON).any():
                raise ValueError("a poisoned picture")
            return [images.sum(axis=(1, 2, 3)), np.arange(len(images))]
        finally:
            self.is_running = False


def picture(value: float, count: int = 1, width: int = 4) -> np.ndarray:
    return np.full((count, 1, 2, width), value, np.float32)


def batched(network: Any, pixels: int = 1024, wait: float = 0.0) -> BatchedNetwork:
    return BatchedNetwork(network, ("sums", "numbers"), Rows(), pixels, wait=wait)


class Callers:
    """Threads that call a network, and what each met."""

    def __init__(self, call: Callable[[np.ndarray], Sequence[np.ndarray]]) -> None:
        self.call = call
        self.threads: list[threading.Thread] = []
        self.met: dict[int, Any] = {}

    def start(self, images: np.ndarray) -> None:
        number = len(self.threads)
        self.threads.append(threading.Thread(target=self._run, args=(number, images), daemon=True))
        self.threads[-1].start()

    def _run(self, number: int, images: np.ndarray) -> None:
        try:
            self.met[number] = [output.tolist() for output in self.call(images)]
        except BaseException as error:
            self.met[number] = error

    def join(self) -> list[Any]:
        for thread in self.threads:
            thread.join(SOON)
            assert not thread.is_alive()
        return [self.met[number] for number in range(len(self.threads))]


def hold(network: Sums, net: BatchedNetwork, pictures: Sequence[np.ndarray]) -> Callers:
    """Let one call hold the network, and others wait for it, in their order."""
    callers = Callers(net)
    network.free.clear()
    network.started.clear()
    callers.start(picture(1))
    assert network.started.wait(SOON)
    for number, images in enumerate(pictures, 1):
        callers.start(images)
        with net._changed:
            assert net._changed.wait_for(lambda number=number: len(net._waiting) == number, SOON)
    return callers


def test_no_pictures() -> None:
    network = Sums()
    assert [each.shape for each in batched(network)(picture(1, count=0))] == [(0,), (0,)]


def test_who_is_alone_never_waits() -> None:
    network = Sums()
    net = batched(network, wait=1e6)
    for value in (1, 2, 3):
        assert net(picture(value))[0].tolist() == [8 * value]
    assert network.shapes == [(1, 1, 2, 4)] * 3


def test_a_call_comes_through_untouched_where_it_fills_a_batch() -> None:
    seen = []
    net = batched(lambda images: (seen.append(images), [images])[1])
    images = picture(1, count=4)
    net(images)
    assert seen[0] is images
    net(picture(1, count=3))
    assert seen[1].shape == (4, 1, 2, 4) and not seen[1][3].any()


def test_those_who_wait_go_together() -> None:
    network = Sums()
    net = batched(network)
    callers = hold(network, net, [picture(2), picture(3, count=2), picture(4, width=6), picture(5)])
    network.free.set()
    sums = [met[0] for met in callers.join()]
    assert sums == [[8], [16], [24, 24], [48], [40]]
    assert network.shapes == [(1, 1, 2, 4), (4, 1, 2, 4), (1, 1, 2, 6)]


def test_a_batch_has_so_many_pixels_at_most_and_a_larger_call_goes_alone() -> None:
    network = Sums()
    net = batched(network, pixels=16)  # two pictures
    callers = hold(network, net, [picture(2), picture(3, count=5), picture(4), picture(5)])
    network.free.set()
    assert [met[0] for met in callers.join()] == [[8], [16], [24] * 5, [32], [40]]
    assert [shape[0] for shape in network.shapes] == [1, 2, 6, 1]


def test_company_is_waited_for_where_there_was_some() -> None:
    network = Sums()
    net = batched(network, wait=SOON)
    callers = hold(network, net, [picture(2), picture(3)])
    network.free.set()
    callers.join()
    assert list(net._company.values()) == [2]
    callers = Callers(net)
    callers.start(picture(4))
    callers.start(picture(5))
    assert [met[0] for met in callers.join()] == [[32], [40]]
    assert [shape[0] for shape in network.shapes] == [1, 2, 2]


def test_company_that_does_not_come_is_not_waited_for_long() -> None:
    network = Sums()
    net = batched(network, wait=0.001)
    net._company = {((1, 2, 4), np.dtype(np.float32)): 5}
    assert net(picture(2))[0].tolist() == [16]
    assert not net._company


def test_batches_of_other_shapes_run_at_the_same_time_as_many_as_may() -> None:
    running: list[tuple[int, ...]] = []
    most: list[int] = []
    both = threading.Barrier(2)

    def network(images: np.ndarray) -> list[np.ndarray]:
        running.append(images.shape)
        both.wait(SOON)
        most.append(len(running))
        assert len(set(running)) == len(running)
        both.wait(SOON)
        running.remove(images.shape)
        return [images.sum(axis=(1, 2, 3))]

    net = BatchedNetwork(network, ("sums",), Rows(), 8, wait=0.0, at_once=2)
    callers = Callers(net)
    for value in (2, 3):
        # One picture is as much as goes through at once: calls of a shape follow each other.
        for width in (4, 6):
            callers.start(picture(value, width=width))
    assert sorted(met[0] for met in callers.join()) == [[16], [24], [24], [36]]
    assert max(most) == 2


def test_an_error_reaches_those_whom_it_concerns() -> None:
    network = Sums()
    net = batched(network)
    callers = hold(network, net, [picture(2), picture(POISON), picture(3)])
    network.free.set()
    first, second, poisoned, third = callers.join()
    assert (first[0], second[0], third[0]) == ([8], [16], [24])
    assert isinstance(poisoned, ValueError) and "poisoned" in str(poisoned)
    assert net(picture(4))[0].tolist() == [32]


def test_who_is_interrupted_leaves_the_others_their_answers() -> None:
    network = Sums()
    network.interrupts = 1
    net = batched(network)
    callers = hold(network, net, [picture(2), picture(3)])
    network.free.set()
    first, second, third = callers.join()
    assert isinstance(first, KeyboardInterrupt) and (second[0], third[0]) == ([16], [24])
    network.interrupts = 1  # now the one who runs a batch for two
    callers = hold(network, net, [picture(4), picture(5)])
    network.interrupts = 0
    network.free.set()
    assert [met[0] for met in callers.join()] == [[8], [32], [40]]


def test_an_interrupted_batch_is_run_by_another_thread() -> None:
    network = Sums()
    net = batched(network)
    callers = hold(network, net, [picture(2), picture(3)])
    run = net._network
    calls = []

    def interrupt_second(images: np.ndarray) -> list[np.ndarray]:
        calls.append(len(images))
        if len(calls) == 1:
            raise KeyboardInterrupt
        return run(images)

    net._network = interrupt_second
    network.free.set()
    met = callers.join()
    assert met[0][0] == [8]
    interrupted = [each for each in met if isinstance(each, KeyboardInterrupt)]
    assert len(interrupted) == 1 and calls == [2, 1]


@given(st.lists(st.tuples(st.integers(1, 12), st.integers(1, 3), st.sampled_from([4, 6])), min_size=1, max_size=12))
def test_each_thread_gets_its_own_answers(asked: list[tuple[int, int, int]]) -> None:
    network = Sums()
    net = batched(network, pixels=64, wait=0.0005)
    callers = Callers(net)
    for value, count, width in asked:
        callers.start(picture(value, count, width))
    found = [met[0] for met in callers.join()]
    assert found == [[2 * width * value] * count for value, count, width in asked]
    assert all(shape[0] in (1, 2, 4, 8, 16) for shape in network.shapes)


def bright_pixels(images: np.ndarray) -> list[np.ndarray]:
    """Stands for CellNet: a cell at each white pixel, and a map of the first channel, at a quarter of the size."""
    inside = images[:, :3] * images[:, 3:]
    table = images[:, 0, ::4, ::4].copy()
    picture_of, y, x = np.nonzero(inside[:, 0] == 255)
    quads = np.stack([x, y], axis=1).astype(np.float32)[:, None].repeat(4, axis=1)
    return [quads, np.ones(len(x), np.float32), picture_of, table, table[:, None]]


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4), st.integers(0, 31)), min_size=1, max_size=8))
def test_cells_and_maps_are_those_of_the_picture_alone(asked: list[tuple[int, int, int]]) -> None:
    pictures = []
    for rows, columns, seed in asked:
        image = np.random.default_rng(seed).integers(0, 255, (1 + seed % 2, 3, 32 * rows, 32 * columns), np.uint8)
        image[:, 0, seed, seed] = 255
        pictures.append(image)
    net = BatchedNetwork(bright_pixels, ("quads", "scores", "picture", "table", "lines"), Cells((64, 128)), 2**16)
    callers = Callers(net)
    for image in pictures:
        callers.start(image)
    for image, (quads, scores, numbers, table, lines) in zip(pictures, callers.join(), strict=True):
        alone = bright_pixels(np.concatenate([image, np.ones_like(image[:, :1])], axis=1))
        assert [quads, scores, numbers] == [each.tolist() for each in alone[:3]]
        assert (table, lines) == (alone[3].tolist(), alone[4].tolist())


def test_float_pictures_are_taken_as_bytes_where_the_network_wants_these() -> None:
    seen = []
    net = BatchedNetwork(lambda images: [seen.append(images.dtype)], (), Rows(), 64, dtype=np.uint8)
    with pytest.raises(TypeError):  # the stand-in returns no array
        net(picture(3))
    assert seen == [np.uint8]
