"""Sessions of a network, one for each shape: who runs them, what they take together, and which are given up."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablerec.models.opening.sessions import CardMemory, Sessions


class Sum:
    """Sums pictures, and notes who ran it."""

    outputs = ("sums",)

    def __init__(self, fail: Callable[[], None] = lambda: None) -> None:
        self.threads: set[int] = set()
        self.fail = fail

    def run(self, images: np.ndarray) -> Sequence[np.ndarray]:
        self.threads.add(threading.get_ident())
        self.fail()
        return [images.sum(axis=(1, 2, 3))]


class Opened:
    """Sessions of ``Sum``, each of which takes as many bytes as its input has pixels."""

    def __init__(self, memory: CardMemory | None = None, fail: Callable[[], None] = lambda: None) -> None:
        self.runners: list[Sum] = []
        self.sessions = Sessions(lambda: self._open(fail), lambda shape: shape[0] * shape[2] * shape[3], memory)

    def _open(self, fail: Callable[[], None]) -> Sum:
        self.runners.append(Sum(fail))
        return self.runners[-1]

    def run(self, width: int) -> list[float]:
        [sums] = self.sessions(np.ones((1, 1, 1, width), np.float32))
        return list(sums)


def test_no_pictures() -> None:
    assert [each.tolist() for each in Opened().sessions(np.ones((0, 1, 2, 2)))] == [[]]


def test_the_session_that_told_the_outputs_is_used() -> None:
    opened = Opened()
    assert opened.sessions.outputs == ["sums"] and opened.run(2) == [2] and opened.run(2) == [2]
    assert len(opened.runners) == 1


def test_a_session_is_run_by_one_thread_whoever_asks() -> None:
    """A card's memory filled up: ONNX Runtime keeps a stream and its handles for each thread that ran a session."""
    opened = Opened()
    callers = [threading.Thread(target=opened.run, args=[width]) for width in (2, 3, 2, 3, 2)]
    for caller in callers:
        caller.start()
        caller.join()
    assert [len(runner.threads) for runner in opened.runners] == [1, 1]
    assert opened.runners[0].threads != opened.runners[1].threads


def test_the_session_that_was_not_used_for_longest_goes() -> None:
    opened = Opened(CardMemory(7))
    for width in (3, 4, 3):
        opened.run(width)
    assert len(opened.runners) == 2
    opened.run(2)  # in place of the one for 4
    opened.run(3)
    assert len(opened.runners) == 3
    opened.run(4)
    assert len(opened.runners) == 4


def test_networks_share_the_memory_of_a_card() -> None:
    memory = CardMemory(7)
    one, other = Opened(memory), Opened(memory)
    one.run(4)
    other.run(4)
    assert memory.taken == 4
    one.run(4)
    assert len(one.runners) == 2


def test_a_session_that_takes_more_than_there_is_runs_all_the_same() -> None:
    memory = CardMemory(2)
    opened = Opened(memory)
    assert opened.run(5) == [5] and opened.run(3) == [3]
    assert memory.taken == 3


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(1, 9)), max_size=30), st.integers(0, 30))
def test_never_more_is_taken_than_there_is_or_one_session_takes(asked: list[tuple[int, int]], most: int) -> None:
    memory = CardMemory(most)
    networks = Opened(memory), Opened(memory)
    for number, width in asked:
        assert networks[number].run(width) == [width]
        assert memory.taken <= max(most, width)


def test_a_network_that_nobody_holds_leaves_its_memory() -> None:
    memory = CardMemory()
    one, other = Opened(memory), Opened(memory)
    one.run(4)
    other.run(3)
    del one
    gc.collect()
    assert memory.taken == 3


def failing(*errors: Exception | None) -> Callable[[], None]:
    left = list(errors)

    def fail() -> None:
        error = left.pop(0) if left else None
        if error is not None:
            raise error

    return fail


CUBLAS = RuntimeError("CUBLAS failure 3: the resource allocation failed ; GPU=0 ; expr=cublasCreate(&cublas_handle_);")


def test_where_the_card_is_full_all_that_is_not_in_use_is_given_up() -> None:
    memory = CardMemory()
    other = Opened(memory)
    other.run(9)
    opened = Opened(memory, failing(CUBLAS))
    assert opened.run(2) == [2]
    assert memory.taken == 2 and len(opened.runners) == 2


@pytest.mark.parametrize("error", [CUBLAS, ValueError("another one")])
def test_an_error_that_giving_up_does_not_mend_is_raised(error: Exception) -> None:
    memory = CardMemory()
    opened = Opened(memory, failing(error, error))
    with pytest.raises(type(error), match=str(error)[:10]):
        opened.run(2)
    assert memory.taken == 0


def test_an_error_does_not_cost_others_their_sessions() -> None:
    memory = CardMemory()
    other: Any = Opened(memory)
    other.run(9)
    with pytest.raises(ValueError, match="poison"):
        Opened(memory, failing(ValueError("poison"))).run(2)
    assert memory.taken == 9
