"""The branch for lines of text in exported models."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tablerec.detect.cellnet import CellNetDetector
from tablerec.detect.passes import CellNetPasses, finds_lines

paddle = pytest.importorskip("paddle")
pytest.importorskip("onnx")

from tablerec.models.cellnet import N_LINE_MAPS, CellNet, CellNetWithDecoder  # noqa: E402
from tablerec.models.export import export_cellnet, export_for_paddlex, load_cellnet  # noqa: E402

SMALL = {"widths": (8, 8, 8, 8, 8), "depths": (1, 1, 1, 1), "pyramid": (8, 8)}


@pytest.fixture(scope="module")
def net() -> CellNet:
    """Return a network with random weights and statistics that are not those of the start."""
    paddle.seed(5)
    net = CellNet(**SMALL, lines=(8, 1))
    with paddle.no_grad():
        for number in range(3):
            net.all_maps(paddle.rand([2, 3, 96, 128]) * 255 * number)
        net.maps.bias[0] = 0.0
    net.eval()
    return net


@pytest.fixture(scope="module")
def folder(net: CellNet, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("export")
    export_cellnet(net, folder, threshold=0.3)
    return folder


def test_three_forms_agree(net: CellNet, folder: Path) -> None:
    import onnxruntime

    images = np.random.default_rng(0).uniform(0, 255, (1, 3, 64, 96)).astype(np.float32)
    ours = CellNetWithDecoder(net, 0.3)(paddle.to_tensor(images))
    static = paddle.jit.load(str(folder / "inference"))(paddle.to_tensor(images))
    session = onnxruntime.InferenceSession(str(folder / "inference.onnx"))
    assert [output.name for output in session.get_outputs()] == ["quads", "scores", "picture", "table", "lines"]
    assert ours[4].shape == [1, N_LINE_MAPS, 16, 24]
    for others in ([each.numpy() for each in static], session.run(None, {"image": images})):
        # Weights are rounded to 16 bits.
        np.testing.assert_allclose(others[4], ours[4].numpy(), atol=0.02)
        np.testing.assert_allclose(others[3], ours[3].numpy(), atol=0.02)


def test_the_branch_changes_no_cell(net: CellNet) -> None:
    plain = CellNet(**SMALL)
    plain.set_state_dict({name: value for name, value in net.state_dict().items() if not name.startswith("lines.")})
    plain.eval()
    images = paddle.rand([1, 3, 64, 96]) * 255
    for with_lines, without in zip(
        CellNetWithDecoder(net, 0.3)(images), CellNetWithDecoder(plain, 0.3)(images), strict=False
    ):
        assert np.array_equal(with_lines.numpy(), without.numpy())


def test_an_exported_network_finds_lines_or_says_that_it_does_not(folder: Path, tmp_path: Path) -> None:
    assert finds_lines(folder)
    assert load_cellnet(folder).lines is not None
    image = np.random.default_rng(1).integers(0, 255, (90, 120, 3), np.uint8)
    assert CellNetPasses(folder).run(image, 1.0).lines.shape[1:] == (4, 2)
    export_cellnet(CellNet(**SMALL), tmp_path)
    assert not finds_lines(tmp_path)
    assert CellNetPasses(tmp_path).run(image, 1.0).lines.shape == (0, 4, 2)
    CellNetDetector(tmp_path).detect(image, [])


def test_the_form_of_paddlex_has_no_lines(net: CellNet, tmp_path: Path) -> None:
    export_for_paddlex(net, tmp_path, "RT-DETR-L_wired_table_cell_det")
    assert {path.name for path in tmp_path.iterdir()} >= {"inference.onnx", "inference.yml"}
    assert "lines" not in (tmp_path / "inference.yml").read_text(encoding="utf-8")
