"""Dygraph, Paddle's static model and ONNX agree; the exported model serves as a detector."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from tablerec.config import Settings
from tablerec.detect.cellnet import CellNetDetector
from tablerec.detect.factory import make_detector
from tablerec.errors import InputError, ModelNotFoundError, SettingsError

paddle = pytest.importorskip("paddle")
pytest.importorskip("onnx")

from tablerec.models.arrays import network_to_arrays, save_arrays  # noqa: E402
from tablerec.models.cellnet import CellNet, CellNetWithDecoder  # noqa: E402
from tablerec.models.export import export_cellnet, load_cellnet  # noqa: E402
from tablerec.models.formats.onnx_graph import layer_to_onnx  # noqa: E402


@pytest.fixture(scope="module")
def net() -> CellNet:
    """Return a network with random weights, statistics that are not those of the start, and many cells."""
    paddle.seed(5)
    net = CellNet(depths=(1, 1, 1, 1))
    with paddle.no_grad():
        for number in range(3):
            net(paddle.rand([2, 3, 96, 128]) * 255 * number)
        net.maps.bias[0] = 0.0
    net.eval()
    return net


@pytest.fixture(scope="module")
def folder(net: CellNet, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("export")
    export_cellnet(net, folder, threshold=0.3)
    return folder


def test_what_is_written(folder: Path) -> None:
    names = {"inference.json", "inference.pdiparams", "inference.yml", "inference.onnx"}
    assert {path.name for path in folder.iterdir()} == names
    assert all(path.stat().st_size < 8_000_000 for path in folder.iterdir())


@pytest.mark.parametrize("shape", [(1, 3, 64, 96), (2, 3, 160, 32)])
def test_three_forms_agree(net: CellNet, folder: Path, shape: tuple[int, ...]) -> None:
    import onnxruntime

    images = np.random.default_rng(0).uniform(0, 255, shape).astype(np.float32)
    rounded = CellNetWithDecoder(load_cellnet(folder), 0.3)
    dygraph = [tensor.numpy() for tensor in rounded(paddle.to_tensor(images))]
    static = [tensor.numpy() for tensor in paddle.jit.load(str(folder / "inference"))(paddle.to_tensor(images))]
    session = onnxruntime.InferenceSession(str(folder / "inference.onnx"))
    onnx = session.run(None, {"image": images})
    assert [output.name for output in session.get_outputs()] == ["quads", "scores", "picture", "table"]
    assert len(dygraph[0]) > 10
    for ours, other, third in zip(dygraph, static, onnx, strict=True):
        np.testing.assert_allclose(ours, other, atol=2e-4)
        np.testing.assert_allclose(ours, third, atol=2e-4)
        assert ours.dtype == third.dtype


def test_nodes_have_names(folder: Path) -> None:
    """ONNX Runtime 1.20 does not open a model in which it fuses two nodes without."""
    import onnx

    names = [node.name for node in onnx.load(folder / "inference.onnx").graph.node]
    assert all(names) and len(set(names)) == len(names)


def test_a_picture_without_cells(folder: Path) -> None:
    import onnxruntime

    session = onnxruntime.InferenceSession(str(folder / "inference.onnx"))
    with_none = CellNetDetector(folder, threshold=1.0)
    assert with_none.detect(np.zeros((40, 50, 3), np.uint8), []) == []
    assert session.run(None, {"image": np.zeros((1, 3, 32, 32), np.float32)})[0].shape[1:] == (4, 2)


def test_both_backends_detect_the_same(folder: Path, tmp_path: Path) -> None:
    image = np.random.default_rng(1).integers(0, 255, (90, 120, 3), np.uint8)
    by_onnx = make_detector(Settings(detector="cellnet", detector_dir=folder, layout="table")).detect(image, [])
    for name in ("inference.json", "inference.pdiparams"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    by_paddle = CellNetDetector(tmp_path, layout="table").detect(image, [])
    assert len(by_onnx) == 1 and by_onnx[0].detector == "cellnet"
    np.testing.assert_allclose(by_onnx[0].quads, by_paddle[0].quads, atol=1e-2)
    assert by_onnx[0].quads.min() >= 0 and (by_onnx[0].quads.max((0, 1)) <= (120, 90)).all()


def test_weights_know_their_network(net: CellNet, tmp_path: Path) -> None:
    path = tmp_path / "net.safetensors"
    save_arrays(path, network_to_arrays(net), {"network": '{"depths": [1, 1, 1, 1]}'})
    loaded = load_cellnet(path)
    image = paddle.rand([1, 3, 32, 32]) * 255
    np.testing.assert_array_equal(loaded(image).numpy(), net(image).numpy())
    save_arrays(path, network_to_arrays(net))
    with pytest.raises(InputError, match="another network"):
        load_cellnet(path)
    for network in (
        "[",
        "[" * 10_000,
        "3",
        '{"depth": [1]}',
        '{"widths": [1]}',
        '{"widths": [1000000000]}',
        '{"depths": "x"}',
    ):
        save_arrays(path, network_to_arrays(net), {"network": network})
        with pytest.raises(InputError, match="describes no network"):
            load_cellnet(path)
    path.write_bytes(b"no weights")
    with pytest.raises(InputError, match="cannot be read"):
        load_cellnet(path)


def test_weights_are_read_back_from_an_export(net: CellNet, folder: Path) -> None:
    """Paddle numbers the names of what it loads: the second time is not the first."""
    for _ in range(2):
        loaded = load_cellnet(folder)
        assert loaded.arguments == net.arguments
        for name, array in network_to_arrays(net).items():
            most = 0 if array.ndim < 2 else 1e-3  # weights have 16 bits
            np.testing.assert_allclose(network_to_arrays(loaded)[name], array, rtol=most, atol=most / 1e4)


def test_an_export_leaves_the_network_as_it_was(net: CellNet, folder: Path) -> None:
    names = [tensor.name for tensor in net.state_dict().values()]
    assert not set(names) & set(net.state_dict())
    assert not net.doubled.by_copies


@pytest.mark.parametrize("name", ["inference.json", "inference.pdiparams"])
def test_a_damaged_static_model_is_refused(name: str, folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    (tmp_path / name).write_bytes((tmp_path / name).read_bytes()[:1000])
    with pytest.raises(ModelNotFoundError, match=f"{name} is damaged"):
        load_cellnet(tmp_path)
    # Without sums, Paddle itself must notice.
    (tmp_path / "inference.onnx").unlink()
    (tmp_path / "inference.yml").unlink()
    with pytest.raises(InputError, match="Paddle can read"):
        load_cellnet(tmp_path)
    with pytest.raises(ModelNotFoundError, match="cannot be opened"):
        CellNetDetector(tmp_path).detect(np.zeros((40, 40, 3), np.uint8), [])


def test_an_export_without_its_onnx_is_damaged(folder: Path, tmp_path: Path) -> None:
    """Paddle would do, but many times slower."""
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    (tmp_path / "inference.onnx").unlink()
    with pytest.raises(ModelNotFoundError, match=r"inference\.onnx cannot be read \(No such file"):
        CellNetDetector(tmp_path)


def test_an_unknown_operator_is_named() -> None:
    class Odd(paddle.nn.Layer):
        def forward(self, x):
            return paddle.erfinv(x)

    with pytest.raises(SettingsError, match="no operator erfinv"):
        layer_to_onnx(Odd(), {"x": (1, 3)}, ["y"])
