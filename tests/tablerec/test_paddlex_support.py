"""PaddleX behind one door: any OpenCV, no network, and errors that say what to do."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from tablerec import paddlex_support
from tablerec.errors import MissingDependencyError, ModelNotFoundError, SettingsError
from tablerec.paddlex_support import Runtime, find_model
from tests.helpers.models.paddlex_models import needs_paddlex

ROOT = Path(__file__).resolve().parents[2]

FAKE_PADDLEX = {
    "paddle/__init__.py": "",
    "paddlex/__init__.py": """
        from paddlex.utils.deps import is_dep_available
        if is_dep_available("opencv-contrib-python"):
            import cv2
        def create_model(name, model_dir=None, device=None):
            if name == "Nonsense":
                raise ValueError("unknown model")
            return name, model_dir, device
    """,
    "paddlex/utils/__init__.py": "",
    "paddlex/utils/deps.py": """
        import functools, importlib.metadata
        @functools.lru_cache()
        def is_dep_available(name):
            try:
                return bool(importlib.metadata.version(name))
            except importlib.metadata.PackageNotFoundError:
                return False
    """,
    "paddlex/inference/__init__.py": "",
    "paddlex/inference/utils/__init__.py": "",
    "paddlex/inference/utils/official_models.py": """
        class Official:
            _hosters = None
            def __contains__(self, name):
                return name != "Nonsense"
            def get_model_path(self, name, model_formats=None):
                self.asked = [name, model_formats, self._hosters]
                if name == "OnlyPaddle":
                    raise ValueError("no package")
                if name.startswith("RT-DETR"):
                    raise Exception("no network")
                return "got " + name
        official_models = Official()
    """,
}


@pytest.fixture
def fake(tmp_path: Path) -> Path:
    """Return a folder with a small PaddleX that asks the questions of the real one."""
    for name, text in FAKE_PADDLEX.items():
        path = tmp_path / "fake" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
    return tmp_path / "fake"


def run(code: str, tmp_path: Path, *folders: Path) -> Any:
    """Run code in a fresh interpreter without network; return what it assigns to ``out``."""
    prelude = """
        import json, socket, sys
        attempts = []
        def refuse(*args, **kwargs):
            attempts.append(repr(args))
            raise OSError("no network in tests")
        socket.socket.connect = socket.getaddrinfo = socket.create_connection = refuse
        from tablerec import errors
        from pathlib import Path
        from tablerec.paddlex_support import Runtime, create_model, fetch_model, import_paddlex
    """
    # A file, not -c: Paddle reads the source of a network to make it static.
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(prelude) + textwrap.dedent(code) + "\nprint('OUT' + json.dumps(out))\n", encoding="utf-8"
    )
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(map(str, [*folders, ROOT])),
        "PADDLE_PDX_CACHE_HOME": str(tmp_path / "cache"),
    }
    done = subprocess.run(
        [sys.executable, str(script)], env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.rsplit("OUT", 1)[1])


def error_of(call: str, tmp_path: Path, *folders: Path) -> tuple[str, str]:
    """Return (type, message) of the project's error that a call raises."""
    code = f"""
        out = None
        try:
            {call}
        except errors.TablerecError as error:
            out = [type(error).__name__, str(error)]
    """
    found = run(code, tmp_path, *folders)
    assert isinstance(found, list), f"{call} raised nothing"
    return found[0], found[1]


def test_missing_paddlex_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "paddlex", None)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingDependencyError, match=r'paddlex is not installed: run pip install "tablerec\[paddle\]"'):
        paddlex_support.import_paddlex()


def test_broken_paddlex_names_the_command(fake: Path, tmp_path: Path) -> None:
    (fake / "paddlex" / "__init__.py").write_text("import a_module_that_is_missing", encoding="utf-8")
    kind, message = error_of("import_paddlex()", tmp_path, fake)
    assert kind == "MissingDependencyError"
    assert "a_module_that_is_missing" in message
    assert "pip install" in message


def test_opencv_of_any_distribution_counts(fake: Path, tmp_path: Path) -> None:
    assert run("out = hasattr(import_paddlex(), 'cv2')", tmp_path, fake) is True


def test_the_answer_ends_with_the_import(fake: Path, tmp_path: Path) -> None:
    code = """
        import importlib.metadata
        before = importlib.metadata.version
        import_paddlex()
        out = importlib.metadata.version is before
    """
    assert run(code, tmp_path, fake) is True


@pytest.mark.skipif(
    "opencv-contrib-python" in importlib.metadata.packages_distributions().get("cv2", []),
    reason="needs an OpenCV other than opencv-contrib-python",
)
def test_paddlex_imported_too_early_is_noticed(fake: Path, tmp_path: Path) -> None:
    kind, message = error_of("import paddlex; import_paddlex()", tmp_path, fake)
    assert kind == "SettingsError"
    assert "import_paddlex()" in message


def test_hosts_are_only_looked_for_when_asked(fake: Path, tmp_path: Path) -> None:
    code = """
        from_module = lambda: sys.modules["paddlex.inference.utils.official_models"].official_models._hosters
        out = []
        for network in (False, True, False):
            import_paddlex(network=network)
            out.append(from_module())
    """
    assert run(code, tmp_path, fake) == [[], None, []]


def test_model_folder_is_used_without_network(fake: Path, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    for name in ("inference.yml", "inference.pdiparams"):
        (folder / name).touch()
    code = f"""
        from pathlib import Path
        out = create_model("Mine", Path({str(folder)!r}))
        out = [*out, sys.modules["paddlex.inference.utils.official_models"].official_models._hosters]
    """
    assert run(code, tmp_path, fake) == ["Mine", str(folder), "cpu", []]


def test_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError, match=r"inference\.yml"):
        paddlex_support.create_model("Mine", tmp_path)


def test_folder_without_weights_is_refused(tmp_path: Path) -> None:
    (tmp_path / "inference.yml").touch()
    with pytest.raises(ModelNotFoundError, match=r"holds no inference\.pdiparams or .*which Paddle runs"):
        paddlex_support.create_model("Mine", tmp_path)


def make_model(folder: Path, text: str, *files: str) -> Path:
    folder.mkdir(parents=True)
    (folder / "inference.yml").write_text(text, encoding="utf-8")
    for file in files:
        (folder / file).touch()
    return folder


@pytest.mark.parametrize(
    "text", ["Global: {model_name: Mine}", "Global:\n  model_name: Mine\n", 'Global:\n  model_name: "Mine"\nx: 1']
)
def test_models_are_found_by_the_name_in_their_folder(text: str, tmp_path: Path) -> None:
    make_model(tmp_path / "a", "Global: {model_name: Mine2}", "inference.pdiparams")
    make_model(tmp_path / "b", text, "inference.onnx")
    found = make_model(tmp_path / "c", text, "inference.pdiparams")
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "inference.yml").write_bytes(b"\xff\xfe")
    assert find_model("Mine", Runtime(models_dir=tmp_path)) == found
    assert find_model("Mine", Runtime(engine="onnxruntime", models_dir=tmp_path)) == tmp_path / "b"


@pytest.mark.parametrize(
    ("engine", "folder", "file"),
    [
        (None, "Mine", "inference.pdiparams"),
        ("onnxruntime", "Mine_onnx", "inference.onnx"),
        ("onnxruntime", "Mine", "inference.onnx"),
        ("transformers", "Mine_safetensors", "model.safetensors"),
        ("paddle_dynamic", "Mine", "model_state.pdparams"),
        ("hpi", "Mine", "inference.pdiparams"),
    ],
)
def test_models_are_found_in_the_cache_of_paddlex(
    engine: str | None, folder: str, file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PADDLE_PDX_CACHE_HOME", str(tmp_path))
    with pytest.raises(ModelNotFoundError, match="models fetch Mine"):
        find_model("Mine", Runtime(engine=engine))
    found = make_model(tmp_path / "official_models" / folder, "", file)
    assert find_model("Mine", Runtime(engine=engine)) == found
    # What the user names comes first.
    own = make_model(tmp_path / "own" / "x", "model_name: Mine", file)
    assert find_model("Mine", Runtime(engine=engine, models_dir=tmp_path / "own")) == own


def test_unknown_engines_are_refused() -> None:
    with pytest.raises(SettingsError, match="paddle_dynamic, transformers, onnxruntime or hpi"):
        Runtime(engine="tensorrt")


def test_missing_models_say_what_to_fetch_and_where_to_put_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PADDLE_PDX_CACHE_HOME", str(tmp_path))
    with pytest.raises(ModelNotFoundError) as caught:
        paddlex_support.create_model("UVDoc", None, Runtime(models_dir=tmp_path / "mine"))
    message = str(caught.value)
    assert "`tablerec models fetch UVDoc`" in message
    assert "/UVDoc_infer.tar" in message
    assert str(tmp_path / "mine") in message
    assert str(tmp_path / "official_models" / "UVDoc") in message


def test_what_is_there_is_not_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PADDLE_PDX_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(paddlex_support, "import_paddlex", None)
    there = make_model(tmp_path / "official_models" / "UVDoc", "", "inference.pdiparams")
    assert paddlex_support.fetch_model("UVDoc") == there


def test_fetching_allows_the_network_and_forbids_it_again(fake: Path, tmp_path: Path) -> None:
    code = """
        from tablerec.paddlex_support import fetch_model
        out = [str(fetch_model("UVDoc", "onnxruntime"))]
        from paddlex.inference.utils.official_models import official_models
        out += official_models.asked + [official_models._hosters]
    """
    assert run(code, tmp_path, fake) == ["got UVDoc", "UVDoc", ["onnx"], None, []]
    assert error_of("fetch_model('Nonsense')", tmp_path, fake)[0] == "SettingsError"
    assert "not offered" in error_of("fetch_model('OnlyPaddle', 'transformers')", tmp_path, fake)[1]


def test_failed_download_says_what_to_fetch_and_where_to_put_it(fake: Path, tmp_path: Path) -> None:
    kind, message = error_of("fetch_model('RT-DETR-L_wired_table_cell_det')", tmp_path, fake)
    assert kind == "ModelNotFoundError"
    assert "/RT-DETR-L_wired_table_cell_det_infer.tar" in message
    assert str(tmp_path / "cache" / "official_models" / "RT-DETR-L_wired_table_cell_det") in message


def test_device_is_checked_before_paddlex_falls_back_to_the_cpu(fake: Path, tmp_path: Path) -> None:
    (fake / "paddle" / "__init__.py").write_text(
        "__version__ = '3.3.1'\ndef is_compiled_with_cuda(): return False", encoding="utf-8"
    )
    folder = make_model(tmp_path / "model", "", "inference.pdiparams")
    kind, message = error_of(f"create_model('Any', Path({str(folder)!r}), Runtime('gpu:0'))", tmp_path, fake)
    assert kind == "MissingDependencyError"
    assert "paddlepaddle-gpu" in message


def test_unknown_model_is_a_wrong_setting(fake: Path, tmp_path: Path) -> None:
    folder = make_model(tmp_path / "model", "", "inference.pdiparams")
    kind, message = error_of(f"create_model('Nonsense', Path({str(folder)!r}))", tmp_path, fake)
    assert kind == "SettingsError"
    assert "Nonsense" in message


@needs_paddlex
class TestInstalledPaddleX:
    """The same door before the real house."""

    def test_every_check_of_ocr_and_table_models_passes_offline(self, tmp_path: Path) -> None:
        code = """
            paddlex = import_paddlex()
            from paddlex.inference.models.object_detection.processors import ReadImage
            from paddlex.inference.models.text_detection.processors import DBPostProcess, DetResizeForTest
            from paddlex.inference.models.text_recognition.processors import OCRReisizeNormImg
            from paddlex.utils import deps
            ReadImage(format="RGB")
            DetResizeForTest(limit_side_len=960, limit_type="max")
            DBPostProcess()
            OCRReisizeNormImg(rec_image_shape=[3, 48, 320])
            deps.require_extra("ocr")
            deps.require_extra("ocr-core")
            try:
                paddlex.create_model("RT-DETR-L_wired_table_cell_det")
            except Exception as error:
                out = [str(error), attempts]
        """
        message, attempts = run(code, tmp_path)
        assert "No available model hosting platforms" in message
        assert attempts == []

    def test_model_folder_runs_offline(self, tmp_path: Path) -> None:
        code = f"""
            import os, warnings
            os.chdir({str(tmp_path)!r})
            warnings.simplefilter("ignore")
            import numpy as np, paddle
            from pathlib import Path

            class TwoCells(paddle.nn.Layer):
                def __init__(self):
                    super().__init__()
                    one = paddle.nn.initializer.Constant(1.0)
                    self.factor = self.create_parameter([1], default_initializer=one)

                def forward(self, im_shape, image, scale_factor):
                    zero = 0 * (image.mean() + im_shape.sum() + scale_factor.sum())
                    cells = [[0, 0.9, 10, 20, 110, 60], [0, 0.8, 110, 20, 210, 60]]
                    return self.factor * paddle.to_tensor(cells) + zero, paddle.to_tensor([2], dtype="int32")

            spec = paddle.static.InputSpec
            shapes = {{"im_shape": [None, 2], "image": [None, 3, 640, 640], "scale_factor": [None, 2]}}
            inputs = [spec(shape, "float32", name) for name, shape in shapes.items()]
            paddle.jit.save(paddle.jit.to_static(TwoCells(), input_spec=inputs), "model/inference")
            Path("model/inference.yml").write_text('''
            Global: {{model_name: RT-DETR-L_wired_table_cell_det}}
            mode: paddle
            draw_threshold: 0.5
            arch: DETR
            label_list: [cell]
            Preprocess:
            - {{type: Resize, interp: 2, keep_ratio: false, target_size: [640, 640]}}
            - {{type: NormalizeImage, mean: [0, 0, 0], std: [1, 1, 1], norm_type: none}}
            - {{type: Permute}}
            ''')
            model = create_model("RT-DETR-L_wired_table_cell_det", Path("model"))
            # Paddle 3.3's oneDNN cannot run the real models.
            assert sys.modules["paddlex.utils.flags"].ENABLE_MKLDNN_BYDEFAULT is False
            result = next(iter(model.predict(np.zeros((100, 300, 3), np.uint8))))
            out = [[[round(float(x)) for x in box["coordinate"]] for box in result["boxes"]], attempts]
        """
        assert run(code, tmp_path) == [[[10, 20, 110, 60], [110, 20, 210, 60]], []]

    @pytest.mark.parametrize("call", ["create_model", "fetch_model"])
    def test_official_model_without_network(self, call: str, tmp_path: Path) -> None:
        kind, message = error_of(f"{call}('RT-DETR-L_wired_table_cell_det')", tmp_path)
        assert kind == "ModelNotFoundError"
        assert "_infer.tar" in message

    def test_unknown_official_name(self, tmp_path: Path) -> None:
        kind, message = error_of("fetch_model('no_such_model')", tmp_path)
        assert kind == "SettingsError"
        assert "no_such_model" in message
