"""Calls alone, in both frameworks; and all of D-FINE where its definition and PaConvert are installed."""

from __future__ import annotations

import importlib
import importlib.util
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

from tablerec.errors import InputError
from tablerec.models.migration.conversion import apply_edits, convert, find_unknown, read_edits, set_apart
from tablerec.models.migration.layers import compare_layers, digest, first_difference, record_layers
from tablerec.models.migration.operators import Call, Input, call_to_source, check_calls, record_calls, write_calls
from tablerec.models.migration.reference import Reference, read_reference, write_reference
from tablerec.models.migration.weights import draw_weights, load_weights

paddle = pytest.importorskip("paddle")
DFINE = Path(__file__).resolve().parents[4] / "data/migration/dfine"
ONE = (Input((2, 3), "float32", None),)


def in_paddle(code: str, extra: str = "") -> str:
    return f"import paddle\n{extra}\n\ndef call(a0, a1=None):\n    return {code}\n"


def call_of(code: str, *outputs: np.ndarray, inputs: tuple[Input, ...] = ONE) -> Call:
    return Call("torch.made", code, inputs, tuple(digest(output, 16) for output in outputs))


def drawn() -> np.ndarray:
    """What ``check_calls`` draws for ``ONE``."""
    return np.random.default_rng([0, 2]).uniform(0.1, 0.9, (2, 3)).astype("float32")


def test_no_calls_no_differences(tmp_path: Path) -> None:
    write_calls([], tmp_path)
    assert check_calls([], tmp_path) == [] and list(tmp_path.iterdir()) == []


def test_right_wrong_failing_and_marked_calls(tmp_path: Path) -> None:
    x = drawn()
    calls = [call_of("torch.abs(a0)", x), call_of("torch.neg(a0)", -x), call_of("a0 / 0", x), call_of("odd", x)]
    calls += [call_of("two", x, x)]
    codes = ["paddle.abs(a0)", "paddle.abs(a0)", "paddle.no_such(a0)", "\n>>>>>> torch.odd", "paddle.abs(a0)"]
    for index, code in enumerate(codes):
        (tmp_path / f"call_{index}.py").write_text(in_paddle(code))
    right, wrong, failing, marked, fewer = check_calls(calls, tmp_path)
    assert right.relative < 1e-6 and right.name == "torch.abs(a0)" and right.kind == "torch.made"
    assert 1 < wrong.relative < 3
    assert failing.relative == marked.relative == fewer.relative == float("inf")
    assert (
        "AttributeError" in failing.kind and marked.kind == "marked by PaConvert" and fewer.kind == "1 results, not 2"
    )


def test_positions_and_flags_are_kept_as_they_are(tmp_path: Path) -> None:
    inputs = (*ONE, Input((2,), "int64", (2, 0)))
    call = call_of("a0.index_select(1, a1)", drawn()[:, [2, 0]], inputs=inputs)
    (tmp_path / "call_0.py").write_text(in_paddle("paddle.index_select(a0, a1, 1)"))
    assert check_calls([call], tmp_path)[0].relative < 1e-6


def test_calls_of_pytorch_are_recorded_and_repeated() -> None:
    torch = pytest.importorskip("torch")
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU())

    def run() -> object:
        x = net(torch.zeros(2, 3))
        return (x * 2).flatten().topk(3), torch.stack([x, x], dim=0), net(torch.ones(2, 3))

    calls = record_calls(run)
    codes = [call.code for call in calls]
    assert codes == [
        "torch.nn.functional.linear(a0, a1, a2)",
        "torch.nn.functional.relu(a0, inplace=False)",
        "a0 * 2",
        "a0.flatten()",
        "a0.topk(3)",
        "torch.stack([a0, a1], dim=0)",
    ]
    assert all(call.outputs for call in calls)
    np.testing.assert_allclose(calls[2].outputs[0].values, 2 * drawn_like((2, 4)), rtol=1e-6)


def drawn_like(shape: tuple[int, ...]) -> np.ndarray:
    return np.random.default_rng([0, len(shape)]).uniform(0.1, 0.9, shape).astype("float32").reshape(-1)


def test_a_reference_is_read_as_it_was_written(tmp_path: Path) -> None:
    x = np.array([[1.5, -2.0, 1 / 3]])
    reference = Reference(
        {"size": "n"}, {"a": (2, 3)}, {"0": digest(x, kind="Conv2d")}, [call_of("f(a0)", x)], {"a": 0.5}
    )
    write_reference(tmp_path / "a.json", reference)
    again = read_reference(tmp_path / "a.json")
    assert (again.about, again.shapes, again.spreads) == (reference.about, reference.shapes, reference.spreads)
    np.testing.assert_allclose(again.layers["0"].values, x.reshape(-1), rtol=1e-6)
    assert again.layers["0"].shape == (1, 3) and again.calls[0].inputs == ONE
    (tmp_path / "a.json").write_text('{"about": {}}')
    with pytest.raises(InputError, match="is no reference"):
        read_reference(tmp_path / "a.json")


def test_the_kept_reference_is_complete() -> None:
    reference = read_reference(DFINE / "reference.json")
    assert (DFINE / "reference.json").stat().st_size < 300_000
    assert len(reference.layers) > 500 and len(reference.calls) > 80
    assert all(call_to_source(call).startswith("import torch") for call in reference.calls)
    assert set(draw_weights(reference.shapes)) == set(reference.shapes)


@pytest.mark.filterwarnings("ignore")
def test_the_whole_detector_agrees(tmp_path: Path) -> None:
    for package in ("paconvert", "dfine_seg", "loguru"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"needs {package}")
    model = Path(importlib.util.find_spec("dfine_seg").origin).parent / "model"  # type: ignore
    reference = read_reference(DFINE / "reference.json")
    assert len(convert(model / "arch", tmp_path / "dfine").marked) == 4
    apply_edits(tmp_path / "dfine", read_edits(DFINE / "by_hand.yaml"))
    assert find_unknown(tmp_path / "dfine") == []
    with set_apart(), paddle.no_grad():
        sys.path.insert(0, str(tmp_path))
        net = make_network(runpy.run_path(str(model / "configs.py"))["models"]["n"])
        assert load_weights(draw_weights(reference.shapes), net) == []
        picture = paddle.to_tensor(np.random.default_rng(0).random((1, 3, 64, 64), np.float32))
        recorded = record_layers(net, lambda: net(picture), 8)
    differences = compare_layers(reference.layers, recorded)
    assert len(differences) == len(reference.layers)
    assert first_difference(differences, 1e-4) is None


def make_network(settings: dict) -> paddle.nn.Layer:
    side = {"eval_spatial_size": [64, 64]}
    load = importlib.import_module
    net = paddle.nn.Sequential(
        load("dfine.hgnetv2").HGNetv2(in_channels=3, **{**settings["HGNetv2"], "pretrained": False}),
        load("dfine.hybrid_encoder").HybridEncoder(**settings["HybridEncoder"], **side),
        load("dfine.dfine_decoder").DFINETransformer(
            num_classes=1, **{**settings["DFINETransformer"], **side, "num_queries": 10}
        ),
    )
    net.eval()
    return net


def test_converted_code_leaves_no_trace(tmp_path: Path) -> None:
    helper = "import sys, paddle\nsys.path.append('here')\npaddle.Tensor.abs = 1\npaddle.Tensor.odd = 2\n"
    (tmp_path / "paddle_utils.py").write_text(helper)
    path, method = list(sys.path), paddle.Tensor.abs
    with set_apart():
        sys.path.insert(0, str(tmp_path))
        importlib.import_module("paddle_utils")
        assert paddle.Tensor.abs == 1
    assert sys.path == path and paddle.Tensor.abs is method and not hasattr(paddle.Tensor, "odd")
    assert "paddle_utils" not in sys.modules
