"""Where graphs break, and the forms of an exported network against one another."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

if any(importlib.util.find_spec(package) is None for package in ("paddle", "onnx")):
    pytest.skip("needs the paddle extra", allow_module_level=True)
import paddle

from tablerec.cli import command
from tablerec.models.arrays import network_to_arrays, save_arrays
from tablerec.models.cellnet import CellNet
from tablerec.models.export import export_cellnet
from tablerec.models.static import Graphs, draw_picture, find_graphs, format_graphs, measure_forms, open_forms

pytestmark = pytest.mark.filterwarnings("ignore")


class Whole(paddle.nn.Layer):
    """Nothing in it depends on values."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = paddle.nn.Linear(4, 4)

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        return paddle.nn.functional.relu(self.linear(x))


class Broken(Whole):
    """Python decides by a value, and NumPy looks at another."""

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        y = self.linear(x)
        if float(y.sum()) > 0:
            y = y * 2
        self.seen = y.numpy()
        return self.linear(y)


class Failing(Whole):
    """Fails whoever runs it."""

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        return self.linear(x) + paddle.ones([3, 7])


def small() -> CellNet:
    paddle.seed(0)
    net = CellNet(widths=(8, 8, 8, 8, 8), depths=(0, 0, 0, 0), pyramid=(8, 8))
    with paddle.no_grad():
        net.maps.bias[0] = 0.0  # half of all places are cells, or there would be nothing to compare
        for each in net.parameters():  # an export rounds them
            each.set_value(each.astype("float16").astype("float32"))
    net.eval()
    return net


def test_a_whole_graph_has_no_breaks() -> None:
    graphs = find_graphs(Whole(), paddle.ones([2, 4]))
    assert len(graphs.sizes) == 1 and graphs.sizes[0] >= 2
    assert (graphs.breaks, graphs.error) == ((), "")
    assert format_graphs(graphs).endswith("no breaks")


def test_each_break_has_place_and_reason() -> None:
    net = Broken()
    graphs = find_graphs(net, paddle.ones([2, 4]))
    assert len(graphs.sizes) >= 2
    assert {each.kind for each in graphs.breaks} == {"BuiltinFunctionBreak", "DataDependencyOperationBreak"}
    assert any(each.file == __file__ and "float" in each.reason for each in graphs.breaks)
    assert any("numpy" in each.reason for each in graphs.breaks)
    assert "float" in format_graphs(graphs)
    assert isinstance(net.forward(paddle.ones([1, 4])), paddle.Tensor)  # the network is dynamic as before


def test_a_failing_network_is_an_answer() -> None:
    graphs = find_graphs(Failing(), paddle.ones([2, 4]))
    assert graphs.error and "failed: " in format_graphs(graphs)


def test_nothing_traced_can_be_printed() -> None:
    assert format_graphs(Graphs((), ())) == "SOT: 0 graphs of no operators, no breaks"


def test_cellnet_is_one_graph() -> None:
    graphs = find_graphs(small(), paddle.ones([1, 3, 64, 64]))
    assert (len(graphs.sizes), graphs.breaks, graphs.error) == (1, (), "")


def test_all_forms_find_the_same(tmp_path: Path) -> None:
    net = small()
    export_cellnet(net, tmp_path)
    measured = measure_forms(open_forms(net, tmp_path), draw_picture(64), rounds=1)
    assert list(measured) == ["dynamic", "static, SOT", "static, AST", "Paddle inference", "ONNX Runtime"]
    assert all(each.milliseconds > 0 and each.pixels < 0.01 and each.score < 1e-4 for each in measured.values())


def test_forms_that_find_other_cells_are_infinitely_far() -> None:
    def found(count: int) -> list[np.ndarray]:
        return [np.zeros((count, 4, 2)), np.zeros(count)]

    measured = measure_forms(
        {"a": lambda _: found(2), "b": lambda _: found(3)}, np.zeros((1, 3, 32, 32), np.float32), 1
    )
    assert measured["a"].pixels == 0 and measured["b"].pixels == float("inf")


def test_export_reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import json

    from tablerec.models import static

    net = small()
    save_arrays(tmp_path / "a.safetensors", network_to_arrays(net), {"network": json.dumps(net.arguments)})
    monkeypatch.setattr(
        static, "report_forms", lambda net, folder, threshold: f"report of {folder.name} at {threshold}"
    )
    args = ["export", str(tmp_path / "a.safetensors"), "-o", str(tmp_path / "out"), "--report"]
    result = CliRunner().invoke(command, args)
    assert result.exit_code == 0 and result.output.endswith("report of out at 0.1\n"), result.output
    result = CliRunner().invoke(command, [*args, "--as", "RT-DETR-L_wired_table_cell_det"])
    assert result.exit_code == 2 and "leave --as and --onnx out" in result.output
