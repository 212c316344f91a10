"""LineNet: what its heads answer together, and that its exported forms answer the same."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from click.testing import CliRunner

from tablerec.cli import command
from tablerec.detect.paddlex import OFFICIAL
from tablerec.errors import InputError, ModelNotFoundError, OutputError
from tablerec.models.characters import TURNED
from tablerec.ocr.paddlex import RECOGNIZERS
from tablerec.paddlex_support import import_paddlex

paddle = pytest.importorskip("paddle")
onnx = pytest.importorskip("onnx")

from tablerec.models.arrays import load_arrays, network_to_arrays, save_arrays  # noqa: E402
from tablerec.models.catalogue import by_name  # noqa: E402
from tablerec.models.export import (  # noqa: E402
    export_linenet,
    export_linenet_for_paddlex,
    is_linenet,
    load_linenet,
    static_folder,
)
from tablerec.models.folder import ONNX, STATIC, check_files, read_model_name  # noqa: E402
from tablerec.models.linenet import LineNet, LineNetWithDecoder, move_classes  # noqa: E402
from tablerec.models.opening import choose_network  # noqa: E402

CHARACTERS = "0123456789abc表格数据"
WITH_TURNED = f"0123456789ab{TURNED}表格数据"
SMALL = {"widths": (8, 16, 16, 32, 16), "depths": (1, 0, 1)}
OUTPUTS = ("chars", "scores")


def make(n_letters: int = 13, n_han: int = 4) -> LineNet:
    """Return a network with random weights that sees Chinese characters now and then."""
    paddle.seed(3)
    net = LineNet(n_letters, n_han, **SMALL)
    with paddle.no_grad():
        for number in range(1, 4):
            net(paddle.rand([4, 3, 32, 64]) * 80 * number)
        net.letters.weight.set_value(6 * net.letters.weight)
        bias = net.letters.bias.numpy()
        bias[n_letters + 1 :] += 2.0
        net.letters.bias.set_value(bias)
    net.eval()
    return net


@pytest.fixture(scope="module")
def net() -> LineNet:
    return make()


@pytest.fixture(scope="module")
def folder(net: LineNet, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("export")
    export_linenet(net, CHARACTERS, folder)
    return folder


@pytest.fixture
def images() -> np.ndarray:
    return np.random.default_rng(0).uniform(0, 255, (5, 3, 32, 128)).astype(np.float32)


def test_default_size() -> None:
    net = LineNet(1160, 6763)
    heads = ("letters.", "han.")
    trunk = sum(int(each.size) for name, each in net.named_parameters() if not name.startswith(heads))
    assert trunk <= 1_500_000
    assert sum(int(each.size) for each in net.parameters()) < 2_500_000  # 5 MB with 16 bits


@pytest.mark.parametrize("n_han", [0, 4])
def test_probabilities_add_up(n_han: int, images: np.ndarray) -> None:
    net = make(n_han=n_han)
    log_probs = net(paddle.to_tensor(images))
    assert log_probs.shape == [5, 32, 14 + n_han]
    np.testing.assert_allclose(paddle.exp(log_probs).sum(-1).numpy(), 1.0, atol=1e-5)


def test_a_score_is_the_probability_of_its_character(net: LineNet, images: np.ndarray) -> None:
    x = paddle.to_tensor(images)
    chars, scores = (each.numpy() for each in LineNetWithDecoder(net)(x))
    probabilities = np.exp(net(x).numpy())
    assert (chars > 13).any() and ((chars > 0) & (chars <= 13)).any()
    taken = np.take_along_axis(probabilities, chars[:, :, None], 2)[:, :, 0]
    np.testing.assert_allclose(scores, taken, atol=1e-5)
    # Among the letters, and among the Chinese characters, it is the best one.
    for inside, part in ((chars <= 13, probabilities[:, :, :14]), (chars > 13, probabilities[:, :, 14:])):
        np.testing.assert_allclose(scores[inside], part.max(-1)[inside], atol=1e-5)


def test_no_line_at_all(net: LineNet) -> None:
    blank = make()
    with paddle.no_grad():
        bias = blank.letters.bias.numpy()
        bias[0] = 1e3
        blank.letters.bias.set_value(bias)
    chars, scores = LineNetWithDecoder(blank)(paddle.full([1, 3, 32, 32], 127.0))
    assert not chars.numpy().any() and (scores.numpy() > 0.999).all()


def test_three_forms_agree(folder: Path, images: np.ndarray) -> None:
    import onnxruntime

    loaded, characters = load_linenet(folder)
    assert characters == CHARACTERS
    dygraph = [each.numpy() for each in LineNetWithDecoder(loaded)(paddle.to_tensor(images))]
    static = [each.numpy() for each in paddle.jit.load(str(folder / "inference"))(paddle.to_tensor(images))]
    session = onnxruntime.InferenceSession(str(folder / ONNX))
    found = session.run(None, {"image": images})
    assert tuple(output.name for output in session.get_outputs()) == OUTPUTS
    assert found[0].dtype == np.int64 and (dygraph[0] > 13).any()
    for ours, theirs, third in zip(dygraph, static, found, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-4)
        np.testing.assert_allclose(ours, third, atol=1e-4)


def test_a_network_without_chinese(tmp_path: Path, images: np.ndarray) -> None:
    import onnxruntime

    net = make(n_han=0)
    export_linenet(net, CHARACTERS[:13], tmp_path, static=False)
    chars, scores = onnxruntime.InferenceSession(str(tmp_path / ONNX)).run(None, {"image": images})
    assert chars.max() <= 13 and chars.shape == scores.shape == (5, 32)


def test_what_is_written(folder: Path) -> None:
    assert {path.name for path in folder.iterdir()} == {ONNX, *STATIC, "inference.yml"}
    assert read_model_name(folder) == "LineNet" and is_linenet(folder)
    check_files(folder, ONNX, *STATIC, expected="LineNet")
    kinds = {each.data_type for each in onnx.load(folder / ONNX).graph.initializer if len(each.dims) > 1}
    assert kinds == {onnx.TensorProto.FLOAT16}


def test_weights_are_rounded_to_16_bits_and_no_further(net: LineNet, folder: Path) -> None:
    for name, array in network_to_arrays(net).items():
        exact = array.ndim < 2
        np.testing.assert_allclose(
            load_arrays(folder)[name], array, rtol=0 if exact else 1e-3, atol=0 if exact else 1e-7
        )


def test_paddle_is_made_of_onnx_where_it_is_asked_for(
    net: LineNet, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, images: np.ndarray
) -> None:
    monkeypatch.setenv("TABLEREC_CACHE", str(tmp_path / "cache"))
    export_linenet(net, CHARACTERS, tmp_path / "model", static=False)
    assert static_folder(folder) == folder  # it has one
    made = static_folder(tmp_path / "model")
    assert made.is_relative_to(tmp_path / "cache") and static_folder(tmp_path / "model") == made
    assert [path.name for path in made.parent.iterdir()] == [made.name]
    assert {path.name for path in made.iterdir()} == {ONNX, *STATIC, "inference.yml"}
    check_files(made, ONNX, *STATIC, expected="LineNet")
    (made / ONNX).rename(tmp_path / ONNX)
    (made / "inference.yml").rename(tmp_path / "inference.yml")
    by_paddle = choose_network(made, "cpu", "LineNet", OUTPUTS)()(images)
    by_onnx = choose_network(tmp_path / "model", "cpu", "LineNet", OUTPUTS)()(images)
    np.testing.assert_array_equal(by_paddle[0], by_onnx[0])
    (tmp_path / "model" / ONNX).write_bytes(b"damaged")
    with pytest.raises(ModelNotFoundError, match="damaged"):
        static_folder(tmp_path / "model")
    (tmp_path / "full").write_bytes(b"")
    monkeypatch.setenv("TABLEREC_CACHE", str(tmp_path / "full"))
    export_linenet(net, CHARACTERS, tmp_path / "model", static=False)
    with pytest.raises(OutputError, match="TABLEREC_CACHE"):
        static_folder(tmp_path / "model")


def test_weights_that_are_none(net: LineNet, tmp_path: Path) -> None:
    arrays = network_to_arrays(net)
    for notes in ({}, {"network": "{}"}, {"network": "[", "characters": "ab"}, {"network": "3", "characters": "ab"}):
        save_arrays(tmp_path / "net.safetensors", arrays, notes)
        with pytest.raises(InputError, match="describes no LineNet"):
            load_linenet(tmp_path / "net.safetensors")
    save_arrays(tmp_path / "net.safetensors", arrays, {"network": "{}", "characters": "ab"})
    with pytest.raises(InputError, match="made"):
        load_linenet(tmp_path / "net.safetensors")
    (tmp_path / "model").mkdir()
    shutil.copy(Path("data/samples/ruled.png"), tmp_path / "model" / ONNX)
    with pytest.raises(InputError):
        load_linenet(tmp_path / "model")


@pytest.mark.parametrize("wanted", ["9876543210abc表格数据", "0123456789abcdéё表格数据合", "01", "表01", "xy"])
def test_known_characters_keep_their_weights(wanted: str) -> None:
    n_letters = sum(char < "一" for char in wanted)
    arrays, others = network_to_arrays(make()), network_to_arrays(LineNet(n_letters, len(wanted) - n_letters, **SMALL))
    moved = move_classes(arrays, CHARACTERS, others, wanted)
    assert {name: array.shape for name, array in moved.items()} == {n: a.shape for n, a in others.items()}
    ordered = sorted(wanted, key=lambda char: char >= "一")
    for number, char in enumerate(ordered):
        is_han = char >= "一"
        head, own = ("han", number - n_letters) if is_han else ("letters", number + 1)
        name = f"{head}.weight"
        if char in CHARACTERS:
            before = CHARACTERS.index(char) - 13 if is_han else CHARACTERS.index(char) + 1
            np.testing.assert_array_equal(moved[name][:, own], arrays[name][:, before])
        else:
            np.testing.assert_array_equal(moved[name][:, own], others[name][:, own])
    np.testing.assert_array_equal(moved["letters.weight"][:, 0], arrays["letters.weight"][:, 0])
    if n_letters < len(wanted):
        np.testing.assert_array_equal(moved["letters.weight"][:, -1], arrays["letters.weight"][:, -1])


def test_it_is_in_the_list_of_models() -> None:
    assert by_name("LineNet").origin == "tablerec"


def import_stock_paddlex() -> Any:
    if importlib.util.find_spec("paddlex") is None:
        pytest.skip("needs the paddle extra")
    return import_paddlex()


@pytest.fixture(scope="module")
def recognizer(net: LineNet, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("paddlex")
    export_linenet_for_paddlex(net, WITH_TURNED, folder, RECOGNIZERS[0])
    return folder


@pytest.mark.parametrize("width", [128, 97, 4])
def test_the_form_of_paddlex_holds_the_probabilities_of_all_classes(
    recognizer: Path, net: LineNet, images: np.ndarray, width: int
) -> None:
    import onnxruntime

    images = images[..., :width]
    session = onnxruntime.InferenceSession(str(recognizer / ONNX))
    (found,) = session.run(None, {"x": images / 127.5 - 1})
    assert found.shape == (5, -(-width // 4), 18)
    np.testing.assert_allclose(found.sum(-1), 1, atol=1e-4)
    static = paddle.jit.load(str(recognizer / "inference"))(paddle.to_tensor(images / 127.5 - 1))
    np.testing.assert_allclose(static.numpy(), found, atol=1e-4)
    np.testing.assert_allclose(np.exp(net(paddle.to_tensor(images)).numpy()), found, atol=0.02)


def test_paddlex_decodes_what_we_decode(recognizer: Path, net: LineNet, images: np.ndarray) -> None:
    import_stock_paddlex()
    from paddlex.inference.models.text_recognition.processors import CTCLabelDecode

    description = yaml.safe_load((recognizer / "inference.yml").read_text(encoding="utf-8"))
    assert description["Global"]["model_name"] == RECOGNIZERS[0]
    decode = CTCLabelDecode(description["PostProcess"]["character_dict"])
    probabilities = np.exp(net(paddle.to_tensor(images)).numpy())
    texts, scores = decode([probabilities])
    chars = probabilities.argmax(-1)
    expected = []
    for line in chars:
        kept = line[np.append(True, line[1:] != line[:-1]) & (line > 0)]
        expected.append("".join(WITH_TURNED[each - 1] for each in kept).replace(TURNED, ""))
    assert texts == expected
    assert any(texts) and all(0 <= score <= 1 for score in scores)


def test_stock_paddlex_reads_with_it(recognizer: Path) -> None:
    model = import_stock_paddlex().create_model(RECOGNIZERS[0], str(recognizer), device="cpu")
    pictures = list(np.random.default_rng(2).integers(0, 255, (2, 40, 200, 3), np.uint8))
    results = list(model.predict(pictures, batch_size=2))
    assert [type(result["rec_text"]) for result in results] == [str, str]


@pytest.mark.parametrize("options", [["--as", OFFICIAL[0]], ["--as", RECOGNIZERS[0], "--onnx"], ["--report"]])
def test_options_that_are_not_for_a_linenet(folder: Path, tmp_path: Path, options: list[str]) -> None:
    result = CliRunner().invoke(command, ["export", str(folder), "-o", str(tmp_path / "out"), *options])
    assert result.exit_code == 2 and "--report is for CellNet, and --as of a LineNet" in result.output


def test_the_command_writes_the_packages_linenet_for_paddlex(tmp_path: Path) -> None:
    result = CliRunner().invoke(command, ["export", "--as", RECOGNIZERS[1], "-o", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert read_model_name(tmp_path) == RECOGNIZERS[1]
