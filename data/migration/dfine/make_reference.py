"""Write reference.json: what D-FINE gives in PyTorch. ``python data/migration/dfine/make_reference.py``.

A developer script: notebooks/08_migrate_and_export.ipynb and the tests read the file and need no PyTorch. It wants
torch (its build for the CPU will do, 750 MB), loguru, and the definition: ``pip install --no-deps dfine-seg==0.6.2``,
which is found but never imported as a package, as that would need all that it depends on.
"""

from __future__ import annotations

import importlib
import importlib.util
import runpy
import shutil
import sys
import tempfile
import types
from pathlib import Path
from typing import Any

import numpy as np
import torch

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))

from tablerec.models.migration.layers import record_layers  # noqa: E402
from tablerec.models.migration.operators import record_calls  # noqa: E402
from tablerec.models.migration.reference import Reference, write_reference  # noqa: E402
from tablerec.models.migration.weights import draw_weights, spreads_of  # noqa: E402

SIDE = 64
QUERIES = 10
SIZE = "n"
N_VALUES = 8


def find_definition() -> Path:
    """Return the folder ``model`` of the package, without importing it."""
    spec = importlib.util.find_spec("dfine_seg")
    if spec is None or spec.origin is None:
        sys.exit("dfine_seg is not installed: pip install --no-deps dfine-seg==0.6.2")
    return Path(spec.origin).parent / "model"


def import_definition(folder: Path) -> Any:
    """Import the files of the network alone, under the name ``dfine_torch``."""
    package = folder / "dfine_torch"
    shutil.copytree(find_definition() / "arch", package / "arch")
    for name in ("__init__.py", "dist_utils.py"):
        shutil.copy(find_definition() / name, package / name)
    boxes = types.ModuleType("torchvision.ops.boxes")
    boxes.box_area = lambda boxes: (boxes[:, 2:] - boxes[:, :2]).prod(1)  # all that is wanted of torchvision
    stubs = {name: types.ModuleType(name) for name in ("torchvision", "torchvision.ops")}
    sys.modules.update(stubs | {"torchvision.ops.boxes": boxes})
    sys.path.insert(0, str(folder))
    return lambda name: importlib.import_module(f"dfine_torch.arch.{name}")


def make_network(load: Any) -> Any:
    """Backbone, encoder and decoder one after the other."""
    settings = runpy.run_path(str(find_definition() / "configs.py"))["models"][SIZE]
    side = {"eval_spatial_size": [SIDE, SIDE]}
    decoder = {**settings["DFINETransformer"], **side, "num_queries": QUERIES}
    return torch.nn.Sequential(
        load("hgnetv2").HGNetv2(in_channels=3, **{**settings["HGNetv2"], "pretrained": False}),
        load("hybrid_encoder").HybridEncoder(**settings["HybridEncoder"], **side),
        load("dfine_decoder").DFINETransformer(num_classes=1, **decoder),
    ).eval()


def main() -> None:
    """Write the file."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        net = make_network(import_definition(Path(folder)))
    spreads = spreads_of({name: tensor.numpy() for name, tensor in net.state_dict().items()})
    shapes = {name: tuple(p.shape) for name, p in net.named_parameters() if p.requires_grad}
    shapes |= {name: tuple(b.shape) for name, b in net.named_buffers() if "running_" in name}
    net.load_state_dict({name: torch.from_numpy(a) for name, a in draw_weights(shapes).items()}, strict=False)
    picture = torch.from_numpy(np.random.default_rng(0).random((1, 3, SIDE, SIDE), np.float32))
    with torch.no_grad():
        layers = record_layers(net, lambda: net(picture), N_VALUES)
    calls = record_calls(lambda: net(picture))
    about = {"definition": "dfine-seg 0.6.2, Apache-2.0", "size": SIZE, "torch": torch.__version__.partition("+")[0]}
    about |= {"side": str(SIDE), "queries": str(QUERIES)}
    path = Path(__file__).with_name("reference.json")
    write_reference(path, Reference(about, shapes, layers, calls, spreads))
    print(f"{len(shapes)} weights, {len(layers)} layers, {len(calls)} calls: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
