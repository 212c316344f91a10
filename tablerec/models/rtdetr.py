"""RT-DETR of PaddleX, from the weights that its dynamic networks have to the static model that most engines want."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import paddle
import yaml
from paddle import Tensor, nn

from tablerec.errors import InputError
from tablerec.fields import read_yaml
from tablerec.models.adapter import apply_adapter
from tablerec.models.arrays import Arrays, arrays_to_network, save_arrays
from tablerec.models.cellnet import Double
from tablerec.models.folder import DESCRIPTION
from tablerec.models.formats.mapping import apply_map, read_map
from tablerec.models.inference import prepare_rtdetr
from tablerec.outputs.files import atomic_file
from tablerec.paddlex_support import import_paddlex

WEIGHTS = "model.safetensors"
CONFIG = "config.json"
SIDE = 640
"""Side of the pictures that PaddleX's RT-DETR takes, where its description says no other."""


class RTDETRWithBoxes(nn.Layer):
    """PaddleX's network with its choice of boxes as one graph; what it returns is what PaddleX's static model returns.

    Args:
        network: PaddleX's ``RTDETR``.
    """

    def __init__(self, network: Any) -> None:
        super().__init__()
        self.model = network.model
        self.n_queries = network.config.num_queries
        self.n_classes = network.config.num_labels

    def forward(self, im_shape: Tensor, image: Tensor, scale_factor: Tensor) -> tuple[Tensor, Tensor]:
        """Detect cells.

        Args:
            im_shape: ``(B, 2)`` float32, height and width of the picture as the network sees it.
            image: ``(B, 3, S, S)`` float32.
            scale_factor: ``(B, 2)`` float32, by how much it was made higher and wider.

        Returns:
            ``(B Q, 6)`` float32 class, score, left, top, right, bottom in pixels of the picture as given, best first;
            ``(B,)`` int32, always Q.
        """
        found = self.model(image)
        logits, boxes = found["intermediate_logits"][:, -1], found["intermediate_reference_points"][:, -1]
        scores, index = paddle.topk(nn.functional.sigmoid(logits).flatten(1), self.n_queries, axis=-1)
        chosen = paddle.take_along_axis(boxes, (index // self.n_classes).unsqueeze(-1), 1)
        size = paddle.floor(im_shape / scale_factor + 0.5)
        width_height = paddle.concat([size[:, 1:2], size[:, 0:1]], 1).unsqueeze(1)
        middle, half = chosen[:, :, :2] * width_height, 0.5 * chosen[:, :, 2:] * width_height
        label = (index % self.n_classes).astype("float32")
        rows = paddle.concat([label.unsqueeze(-1), scores.unsqueeze(-1), middle - half, middle + half], -1)
        counts = (0 * im_shape[:, 0] + self.n_queries).astype("int32")
        return rows.reshape([-1, 6]), counts


def export_rtdetr(source: Path, folder: Path, adapter: Path | None = None) -> None:
    """Write ``inference.json`` and ``inference.pdiparams``, with PaddleX's ``inference.yml`` beside them.

    Args:
        source: Folder of an RT-DETR as PaddleX's engine ``paddle_dynamic`` loads it: ``model.safetensors``,
            ``config.json`` and ``inference.yml``.
        folder: Where to; it is made if need be.
        adapter: Of a training that started from these weights.

    Raises:
        InputError: The folder holds no such model, or the adapter belongs to another.
        MissingDependencyError: PaddleX is not installed.
    """
    if not (source / DESCRIPTION).is_file():
        raise InputError(f"{source} holds no {DESCRIPTION}: name the folder of an RT-DETR that PaddleX can load")
    network = load_rtdetr(source)
    if adapter:
        apply_adapter(network, adapter)
    whole = RTDETRWithBoxes(network)
    whole.eval()
    side = read_side(source)
    prepare_rtdetr(whole, side)
    shapes = {"im_shape": [None, 2], "image": [None, 3, side, side], "scale_factor": [None, 2]}
    spec = [paddle.static.InputSpec(shape, "float32", name) for name, shape in shapes.items()]
    folder.mkdir(parents=True, exist_ok=True)
    with _doubling_by_copies():
        paddle.jit.save(paddle.jit.to_static(whole, input_spec=spec, full_graph=True), str(folder / "inference"))
    shutil.copyfile(source / DESCRIPTION, folder / DESCRIPTION)


def read_side(folder: Path) -> int:
    """Return to which side ``inference.yml`` says that pictures are resized.

    Raises:
        InputError: It is broken, or the pictures are no squares of a multiple of 32.
    """
    path = folder / DESCRIPTION
    try:
        steps = read_yaml(path).get("Preprocess") or ()
        sizes = [step["target_size"] for step in steps if step["type"] == "Resize"] or [[SIDE, SIDE]]
        (height, width) = map(int, sizes[0])
    except (AttributeError, LookupError, OverflowError, TypeError, ValueError) as error:
        raise InputError(
            f"{path} is damaged ({type(error).__name__}: {error}): copy it anew from PaddleX's model"
        ) from error
    if height != width or height % 32 or not 32 <= height <= 4096:
        raise InputError(f"{path}: target_size is {height} x {width}: RT-DETR takes squares of a multiple of 32")
    return height


def load_rtdetr(source: Path) -> Any:
    """Load PaddleX's dynamic network, in float32.

    Args:
        source: Folder with ``model.safetensors`` and ``config.json``.

    Returns:
        PaddleX's ``RTDETR``.

    Raises:
        InputError: The folder holds no such model, or a part of it only.
        MissingDependencyError: PaddleX is not installed.
    """
    import_paddlex()
    from paddlex.inference.models.object_detection.modeling.rt_detr import RTDETR

    kind = {"use_safetensors": True, "convert_from_hf": True, "dtype": "float32"}
    try:
        network = RTDETR.from_pretrained(source, **kind)
        missing = sorted(set(network.get_hf_state_dict()) - _names_in(source / WEIGHTS))
    except Exception as error:  # PaddleX's loader raises all kinds
        raise InputError(f"{source} holds no RT-DETR that PaddleX can load ({error!r}): name another folder") from error
    # PaddleX fills what is missing with random weights; only training needs the embedding of noised cells.
    missing = [name for name in missing if "denoising_class_embed" not in name]
    if missing:
        raise InputError(f"{source / WEIGHTS} lacks {len(missing)} weights, such as {missing[0]}: name another folder")
    return network


def compare_answers(arrays: Arrays, config: Path) -> list[str]:
    """Ask two networks about a random picture: one with PaddleX's conversion of the names, one with our map.

    Args:
        arrays: RT-DETR's weights under the names of transformers.
        config: PaddleX's ``config.json`` of the network.

    Returns:
        Lines on what differs, none where both answer the same within 1e-5.

    Raises:
        InputError: The weights make no network.
        MissingDependencyError: PaddleX is not installed.
    """
    ours = apply_map(arrays, read_map("paddlex_rtdetr"), reverse=True).arrays
    with TemporaryDirectory() as folder:
        try:
            shutil.copyfile(config, Path(folder) / CONFIG)
        except OSError as error:
            raise InputError(f"{config} cannot be read ({error}): copy it from PaddleX's model") from error
        save_arrays(Path(folder) / WEIGHTS, arrays, {"format": "pt"})
        networks = [load_rtdetr(Path(folder)), load_rtdetr(Path(folder))]
    arrays_to_network(ours, networks[1], "the map's weights")
    picture = paddle.to_tensor(np.random.default_rng(0).random((1, 3, 320, 320), np.float32))
    answers = []
    for network in networks:
        network.eval()
        with paddle.no_grad():
            found = network.model(picture)
        answers.append({name: found[f"intermediate_{name}"].numpy() for name in ("logits", "reference_points")})
    gaps = {name: float(np.abs(answers[0][name] - answers[1][name]).max()) for name in answers[0]}
    return [f"{name} of the two networks by {gap:.2g}" for name, gap in gaps.items() if not gap < 1e-5]


def _names_in(path: Path) -> set[str]:
    """Names of the arrays in a safetensors file, spelled as PaddleX writes them."""
    from paddlex.inference.models.object_detection.modeling import pp_doclayout_v2 as names
    from safetensors import safe_open

    with safe_open(path, "numpy") as file:
        found = dict.fromkeys(file.keys())
    return set(names._reverse_rt_detr_key_conversion(names._apply_rt_detr_key_conversion(found)))


def save_rtdetr(network: Any, folder: Path, description: Mapping[str, Any]) -> None:
    """Write the folder that PaddleX's engine ``paddle_dynamic`` and ``export_rtdetr`` load.

    Args:
        network: PaddleX's ``RTDETR``.
        folder: Where to; it is made if need be. Each file is replaced as a whole, the weights last.
        description: Content of ``inference.yml``.

    Raises:
        OutputError: It cannot be written.
    """
    turned = set(network.get_transpose_weight_keys())
    arrays = {
        name: tensor.numpy().T if name in turned and tensor.ndim == 2 else tensor.numpy()
        for name, tensor in network.get_hf_state_dict().items()
    }
    texts = {
        DESCRIPTION: yaml.safe_dump(dict(description), sort_keys=False, allow_unicode=True),
        CONFIG: json.dumps(network.config.to_dict(), default=str, indent=1),
    }
    for name, text in texts.items():
        with atomic_file(folder / name) as file:
            file.write(text.encode())
    save_arrays(folder / WEIGHTS, arrays, {"format": "pt"})


@contextmanager
def _doubling_by_copies() -> Iterator[None]:
    """OneDNN refuses the factors of an interpolation."""
    double = Double()
    double.by_copies = True
    functional, before = nn.functional, nn.functional.interpolate
    functional.interpolate = lambda x, **_: double(x)
    try:
        yield
    finally:
        functional.interpolate = before
