"""What top-p sampling draws, and how often; nothing is drawn that p leaves out."""

from __future__ import annotations

import numpy as np
import pytest

from tests.helpers.devices.plugin_process import ask, needs_device

pytestmark = needs_device

CODE = """
import numpy as np
paddle.set_device(plugin.device)
paddle.seed(5)
chances = np.array([0.05, 0.4, 0.0, 0.3, 0.15, 0.1], "float32")
x = paddle.to_tensor(np.tile(chances, (4000, 1)))
found = {}
for mode in ("truncated", "non-truncated"):
    for p in (0.0, 0.5, 0.8, 1.0):
        value, place = paddle.tensor.top_p_sampling(x, paddle.full([4000], p), mode=mode)
        assert (value.numpy()[:, 0] == chances[place.numpy()[:, 0]]).all()
        found[f"{mode} {p}"] = np.bincount(place.numpy()[:, 0], minlength=6).tolist()
again = [paddle.tensor.top_p_sampling(x, paddle.full([4000], 1.0), seed=3)[1].numpy()[:, 0] for _ in range(2)]
found["one seed for all"] = [len(set(draw)) for draw in again] + [int((again[0] == again[1]).all())]
seeds = paddle.arange(4000, dtype="int64").unsqueeze(1)
rows = [paddle.tensor.top_p_sampling(x, paddle.full([4000], 1.0), topp_seed=seeds)[1].numpy()[:, 0] for _ in range(2)]
found["a seed for each row"] = [len(set(rows[0])), int((rows[0] == rows[1]).all())]
answer(found)
"""


@pytest.fixture(scope="module")
def found() -> dict[str, list[int]]:
    answer: dict[str, list[int]] = ask(CODE)
    return answer


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        ("truncated 0.0", [0, 1, 0, 0, 0, 0]),
        ("truncated 0.5", [0, 0.4, 0, 0.1, 0, 0]),  # the last one has what p leaves of it
        ("truncated 0.8", [0, 0.4, 0, 0.3, 0.1, 0]),
        ("truncated 1.0", [0.05, 0.4, 0, 0.3, 0.15, 0.1]),
        ("non-truncated 0.0", [0, 1, 0, 0, 0, 0]),
        ("non-truncated 0.5", [0, 0.4, 0, 0.3, 0, 0]),  # all that are needed keep theirs
        ("non-truncated 0.8", [0, 0.4, 0, 0.3, 0.15, 0]),
        ("non-truncated 1.0", [0.05, 0.4, 0, 0.3, 0.15, 0.1]),
    ],
)
def test_classes_are_drawn_as_often_as_they_are_likely(
    found: dict[str, list[int]], case: str, expected: list[float]
) -> None:
    shares = np.array(expected) / sum(expected)
    drawn = np.array(found[case])
    assert drawn.sum() == 4000 and (drawn[shares == 0] == 0).all()
    assert (np.abs(drawn - 4000 * shares) <= 5 * np.sqrt(4000 * shares * (1 - shares))).all()


def test_a_seed_draws_the_same_again(found: dict[str, list[int]]) -> None:
    assert found["one seed for all"] == [1, 1, 1]
    assert found["a seed for each row"] == [5, 1]
