"""The small decoders of PaddleFormers on the simulated device, with the CPU fallback off."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest

from tablerec.errors import SettingsError
from tablerec.language.models import IMAGE_TOKEN, MODELS, VOCABULARY, make_batch
from tests.helpers.devices.plugin_process import answer_of, needs_device, start

needs_paddleformers = pytest.mark.skipif(
    importlib.util.find_spec("paddleformers") is None, reason="needs PaddleFormers"
)
FOLLOW = """
from tablerec.language.training import draw_state, run_course
found = {{}}
for name in {names!r}:
    try:
        state = draw_state(name)
        expected = run_course("cpu", name, state)
        courses = []
        for fused in (False, True):
            plugin.reset()
            course = run_course(plugin.device, name, state, fused)
            courses.append([course.losses, course.loss_error(expected), course.tokens.tolist(), plugin.kernels()])
        found[name] = [expected.losses, expected.tokens.tolist(), courses]
    except Exception as error:
        found[name] = str(error)
answer(found)
"""


@pytest.mark.parametrize("name", MODELS)
def test_batches_are_repeatable_and_labels_are_the_tokens_after(name: str) -> None:
    batch, again = make_batch(name, 3, 12, seed=5), make_batch(name, 3, 12, seed=5)
    assert all((batch[key] == again[key]).all() for key in batch)
    ids, labels = batch["input_ids"], batch["labels"]
    assert ids.shape == labels.shape == (3, 12) and ids.dtype == labels.dtype == np.int64
    assert ids.min() >= 3 and ids.max() < VOCABULARY and (labels[:, -1] == -100).all()
    learnt = labels[:, :-1] != -100
    assert (labels[:, :-1][learnt] == ids[:, 1:][learnt]).all()
    if MODELS[name].pictures:
        assert IMAGE_TOKEN not in labels
        assert (ids == IMAGE_TOKEN).sum(1).tolist() == [6] * 3
        assert len(batch["pixel_values"]) == batch["image_grid_thw"].prod(1).sum()
    else:
        assert learnt.all()


def test_a_batch_of_nothing_and_a_model_that_is_not_there() -> None:
    assert make_batch("llama", 0)["input_ids"].shape == (0, 40)
    with pytest.raises(SettingsError, match="language model 'gpt2' is unknown: choose ernie4_5"):
        make_batch("gpt2")


@pytest.fixture(scope="module")
def courses() -> dict[str, Any]:
    """Train and decode all of them in two processes: Paddle and PaddleFormers take seconds to import."""
    processes = [start(FOLLOW.format(names=names)) for names in (list(MODELS)[::2], list(MODELS)[1::2])]
    return {name: course for process in processes for name, course in answer_of(process).items()}


@needs_device
@needs_paddleformers
@pytest.mark.parametrize("name", MODELS)
def test_training_and_decoding_follow_the_cpu(name: str, courses: dict[str, Any]) -> None:
    assert not isinstance(courses[name], str), courses[name]
    expected, tokens, on_device = courses[name]
    assert len(expected) == 5 and expected[-1] < expected[0]
    for losses, error, found, kernels in on_device:
        assert len(losses) == 5 and error < 1e-6
        assert found == tokens and np.shape(found) == (2, 6 if MODELS[name].decodes else 0)
        assert kernels["embedding_grad"] and kernels["adamw"]
    plain, fused = (kernels for *_, kernels in on_device)
    if MODELS[name].fused:
        assert sum(fused.values()) < 0.95 * sum(plain.values())
        assert "fused_rms_norm_ext_grad" in fused and "fused_rms_norm_ext" not in plain
    assert ("flash_attn_grad" in fused) == ("_attn_implementation" in MODELS[name].fused)
