from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from tablerec.language.reader.data import LEVELS, Drawing, Example
from tablerec.language.reader.packing import IGNORED, Shape, bounds_of, pack
from tablerec.language.reader.vocabulary import BEGIN, END, N_TOKENS, PAD

SHAPE = Shape(2, 160, 3, 192)


def examples(count: int) -> list[Example]:
    load = Drawing(tuple(LEVELS["numbers"][1:]), 3).load("")
    return [load(index) for index in range(count)]


def in_turn(some: Sequence[Example]) -> Callable[[], Example | None]:
    taken = iter(some)
    return lambda: next(taken, None)


def test_no_examples_make_an_empty_batch() -> None:
    batch = pack(in_turn([]), SHAPE)
    assert batch.n_examples == 0 and (batch.labels == IGNORED).all() and (batch.inputs == PAD).all()


@pytest.mark.parametrize("moved", [False, True])
def test_each_example_stands_whole_and_apart(moved: bool) -> None:
    some = examples(40)
    batch = pack(in_turn(some), SHAPE, np.random.default_rng(0) if moved else None)
    assert 2 < batch.n_examples < 40
    assert batch.windows.shape == (320, 1, 24, 16) and batch.inputs.shape == batch.labels.shape == (3, 192)
    for number in range(1, batch.n_examples + 1):
        rows, columns = np.nonzero(batch.owners == number)
        assert len(set(rows)) == 1 and (np.diff(columns) == 1).all()
        inputs, labels, positions = (part[rows, columns] for part in (batch.inputs, batch.labels, batch.positions))
        patches = inputs >= N_TOKENS
        n_patches = int(patches.sum())
        # The patches come first, and are those of the same example.
        assert patches[:n_patches].all() and n_patches == (batch.patch_owners == number).sum()
        assert (batch.patch_owners.reshape(-1)[inputs[:n_patches] - N_TOKENS] == number).all()
        assert inputs[n_patches] == BEGIN and labels[-1] == END and (labels[:n_patches] == IGNORED).all()
        assert np.array_equal(inputs[n_patches + 1 :], labels[n_patches:-1])
        assert positions.tolist() == [0] * n_patches + list(range(1, 1 + len(inputs) - n_patches))


def test_patches_say_which_character_they_hold() -> None:
    some = examples(5)
    batch = pack(in_turn(some), SHAPE)
    for number, example in enumerate(some, start=1):
        labels = batch.patch_labels[batch.patch_owners == number]
        assert set(labels[labels != PAD]) <= set(example.codes.tolist())
        # The digits of these tables are about as wide as a patch: hardly one shares its patch.
        assert len(example.codes) - 2 <= (labels != PAD).sum() <= len(example.codes)
    assert (batch.patch_labels[batch.patch_owners == 0] == IGNORED).all()


def test_of_two_characters_in_a_patch_the_first_counts() -> None:
    example = examples(1)[0]._replace(
        letters=np.array([[3, 3], [5, 3], [9999, 3], [-1, 3]], np.float32), codes=np.array([20, 21, 22, 23], np.uint16)
    )
    labels = pack(in_turn([example]), SHAPE).patch_labels
    assert labels[0, 0] == 20 and (labels > PAD).sum() == 1


def test_a_batch_is_full_when_nothing_more_fits() -> None:
    batch = pack(in_turn(examples(300)), SHAPE)
    assert (batch.patch_owners > 0).mean() > 0.7 or (batch.owners > 0).mean() > 0.7


def test_what_is_larger_than_a_row_is_passed_over() -> None:
    assert pack(in_turn(examples(30)), Shape(1, 160, 1, 8)).n_examples == 0


def test_bounds_part_rows_and_examples() -> None:
    assert bounds_of(np.zeros((2, 3), np.int32)).tolist() == [0, 3, 6]
