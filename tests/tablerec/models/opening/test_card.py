"""Networks as they run on a card, with the CPU in its place: the same cells and texts, whatever is filled up."""

from __future__ import annotations

import logging
import math
import threading
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")

from tablerec.devices.cuda import Card  # noqa: E402
from tablerec.errors import MissingDependencyError, ModelNotFoundError  # noqa: E402
from tablerec.models.folder import (  # noqa: E402
    LINENET,
    LINENET_OUTPUTS,
    LINENET_WEIGHTS,
    LINES,
    NAME,
    ONNX,
    OUTPUTS,
    WEIGHTS,
)
from tablerec.models.opening import NetworkFile, card, open_network  # noqa: E402
from tablerec.models.opening.card import (  # noqa: E402
    NETWORKS,
    PP_OCR_FINDER,
    PP_OCR_READER,
    OnCard,
    open_batched,
    warm_up,
)
from tablerec.models.opening.graphs import fill_groups, read_graph, split  # noqa: E402
from tablerec.models.opening.parts import take_parts  # noqa: E402

CPU = "CPUExecutionProvider"
CELLNET = NetworkFile(WEIGHTS / ONNX, "gpu:0", NAME, (*OUTPUTS, LINES))
LINE_READER = NetworkFile(LINENET_WEIGHTS / ONNX, "gpu:0", LINENET, LINENET_OUTPUTS)


def on_card(file: NetworkFile, **changes: Any) -> Any:
    return open_batched(file, replace(NETWORKS[file.name], **changes), {}, CPU)


def alone(file: NetworkFile) -> Any:
    return open_network(replace(file, device="cpu"))


@pytest.fixture(scope="module")
def cellnets() -> tuple[Any, Any]:
    return alone(CELLNET), on_card(CELLNET)


def drawn(height: int, width: int, seed: int) -> np.ndarray:
    """``(1, 3, height, width)`` uint8: a grid of rulings with dark bars, cut off at the edges."""
    random = np.random.default_rng(seed)
    image = np.full((height, width), 250, np.uint8)
    image[random.integers(4, 20) :: 24] = image[:, random.integers(4, 40) :: 56] = 30
    for _ in range(height * width // 2000):
        y, x = random.integers(0, height), random.integers(0, width)
        image[y : y + 8, x : x + random.integers(4, 40)] = 60
    return image[None, None].repeat(3, axis=1)


@pytest.mark.parametrize(("height", "width"), [(32, 32), (32, 256), (160, 96), (224, 352), (256, 128)])
def test_cells_are_those_of_the_picture_alone(cellnets: tuple[Any, Any], height: int, width: int) -> None:
    plain, filled = cellnets
    image = drawn(height, width, height)
    expected, found = plain(image), filled(image)
    assert [each.shape for each in found] == [each.shape for each in expected]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-3)


def test_a_batch_of_pictures_is_each_alone(cellnets: tuple[Any, Any]) -> None:
    plain, filled = cellnets
    images = np.concatenate([drawn(96, 160, seed) for seed in range(3)])
    found = filled(images)
    for number, image in enumerate(images):
        quads, scores, _, *maps = plain(image[None])
        mine = found[2] == number
        np.testing.assert_allclose(found[0][mine], quads, atol=1e-3)
        np.testing.assert_allclose(found[1][mine], scores, atol=1e-4)
        for one, other in zip(found[3:], maps, strict=True):
            np.testing.assert_allclose(one[number : number + 1], other, atol=1e-3)


def test_lines_read_the_same_in_batches() -> None:
    plain, filled = alone(LINE_READER), on_card(LINE_READER)
    lines = np.concatenate([drawn(32, 128, seed) for seed in range(3)])
    for one, other in zip(filled(lines), plain(lines), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)


@pytest.mark.parametrize("file", [CELLNET, LINE_READER], ids=[NAME, LINENET])
def test_half_precision_finds_about_the_same(file: NetworkFile) -> None:
    image = drawn(32, 128, 5)
    expected, found = alone(file)(image), on_card(file, half=True)(image)
    assert [each.dtype for each in found] == [each.dtype for each in expected]
    np.testing.assert_allclose(found[-1], expected[-1], atol=0.2)


def test_the_second_reader_returns_the_best_class_alone() -> None:
    rapidocr = pytest.importorskip("tablerec.ocr.rapidocr")
    file = NetworkFile(rapidocr.model_paths()["Rec"], "gpu:0", PP_OCR_READER)
    import onnxruntime

    session = onnxruntime.InferenceSession(str(file.path), providers=[CPU])
    images = np.random.default_rng(0).uniform(-1, 1, (3, 3, 48, 160)).astype(np.float32)
    [classes] = session.run(None, {session.get_inputs()[0].name: images})
    best, scores = on_card(file)(images)
    assert best.tolist() == classes.argmax(axis=2).tolist()
    np.testing.assert_allclose(scores, classes.max(axis=2), atol=1e-5)


@pytest.mark.parametrize("stored", [np.float32, np.float16])
@pytest.mark.parametrize(("fewest", "group"), [(1, 1), (6, 1), (7, 6)])
def test_depthwise_convolutions_compute_the_same_as_whole_ones(
    stored: type[np.floating[Any]], fewest: int, group: int
) -> None:
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper

    rng = np.random.default_rng(0)
    weights = rng.normal(size=(6, 2, 3, 3)).astype(stored)
    make_value = helper.make_tensor_value_info
    nodes = [
        helper.make_node("Cast", ["stored"], ["weights"], to=TensorProto.FLOAT),
        helper.make_node("Conv", ["images", "weights"], ["maps"], group=6, pads=[1, 1, 1, 1]),
    ]
    given = make_value("images", TensorProto.FLOAT, [1, 12, 5, 7])
    graph = helper.make_graph(nodes, "one", [given], [make_value("maps", TensorProto.FLOAT, [1, 6, 5, 7])])
    graph.initializer.append(numpy_helper.from_array(weights, "stored"))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    images = {"images": rng.normal(size=(1, 12, 5, 7)).astype(np.float32)}
    run = lambda: onnxruntime.InferenceSession(model.SerializeToString(), providers=[CPU]).run(None, images)[0]  # noqa: E731
    expected = run()
    fill_groups(model, fewest)
    assert [each.i for each in model.graph.node[1].attribute if each.name == "group"] == [group]
    np.testing.assert_allclose(run(), expected, atol=1e-5)


def test_a_provider_that_onnx_runtime_did_not_take_is_no_silence() -> None:
    import onnxruntime

    if card.PROVIDER in onnxruntime.get_available_providers():
        pytest.skip("needs ONNX Runtime for the CPU")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(MissingDependencyError, match=r"did not open .* on gpu:0: run tablerec device doctor gpu:0"):
            open_batched(LINE_READER, NETWORKS[LINENET], {})


def test_damaged_and_other_files_are_named(tmp_path: Path) -> None:
    path = tmp_path / ONNX
    path.write_bytes(b"no network")
    with pytest.raises(ModelNotFoundError, match=str(path)):
        on_card(replace(CELLNET, path=path))
    with pytest.raises(ModelNotFoundError, match="holds no CellNet"):
        on_card(replace(CELLNET, path=LINE_READER.path))


def test_a_network_of_another_build_is_refused() -> None:
    with pytest.raises(ValueError, match="values to unpack"):
        take_parts(read_graph(LINE_READER.path))


def test_usual_shapes_are_run_once_and_long_ones_are_told(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[tuple[int, ...]] = []
    run: Callable[[np.ndarray], None] = lambda images: seen.append(images.shape)  # noqa: E731
    how = replace(NETWORKS[LINENET], usual=((1, 3, 32, 64), (4, 3, 32, 64)))
    with caplog.at_level(logging.WARNING, "tablerec"):
        warm_up(run, how, LINE_READER)
    assert sorted(seen) == sorted(how.usual) and caplog.messages == []
    told = threading.Event()
    monkeypatch.setattr(card, "_SLOW", 0.0)
    monkeypatch.setattr(card._logger, "warning", lambda *args: told.set())
    warm_up(lambda images: told.wait(10), how, LINE_READER)
    assert told.is_set()


def test_an_error_while_it_gets_ready_is_raised() -> None:
    def fail(images: np.ndarray) -> None:
        raise ValueError("no memory")

    with pytest.raises(ValueError, match="no memory"):
        warm_up(fail, replace(NETWORKS[LINENET], usual=((1, 3, 32, 64),)), LINE_READER)


@pytest.mark.parametrize("name", NETWORKS)
def test_usual_shapes_fit_into_batches(name: str) -> None:
    how: OnCard = NETWORKS[name]
    for count, _, height, width in how.usual:
        slot = how.form.slot((3, height, width))
        assert slot[-2:] == (height, width) and count * height * width <= how.pixels and count in how.sizes


@pytest.mark.parametrize("file", [CELLNET, LINE_READER], ids=[NAME, LINENET])
def test_a_network_in_two_parts_finds_the_same(file: NetworkFile) -> None:
    whole, parts = on_card(file), on_card(file, captured=True)
    for seed in (1, 2):
        image = drawn(32, 128, seed)
        for one, other in zip(parts(image), whole(image), strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)


def test_a_network_that_counts_nothing_is_one_part() -> None:
    from onnx import TensorProto, helper

    make_value = helper.make_tensor_value_info
    values = [make_value(name, TensorProto.FLOAT, [1]) for name in "ab"]
    graph = helper.make_graph([helper.make_node("Relu", ["a"], ["b"])], "one", values[:1], values[1:])
    whole = helper.make_model(graph).SerializeToString()
    assert split(whole) == (whole, b"")


def test_what_sessions_take_is_reckoned_at_least_as_measured_on_an_h200() -> None:
    for name, shape, mebibytes in (
        (NAME, (1, 4, 256, 640), 104),
        (NAME, (4, 4, 640, 960), 394),
        (NAME, (4, 4, 960, 960), 346),
        (LINENET, (64, 3, 32, 256), 128),
        (PP_OCR_FINDER, (1, 3, 960, 960), 128),
    ):
        assert mebibytes <= NETWORKS[name].reckon(shape) >> 20 <= 2 * mebibytes + 64


def test_sessions_take_half_of_a_card_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    card.memory_of.cache_clear()
    monkeypatch.setattr(card, "find_cards", lambda: [Card(0, "one", 8 << 30), Card(1, "other", 24 << 30)])
    assert [card.memory_of(number).most for number in (0, 1, 2)] == [4 << 30, 12 << 30, math.inf]
    card.memory_of.cache_clear()
