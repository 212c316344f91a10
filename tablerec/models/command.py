"""``tablerec export`` and ``tablerec models``."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tablerec.detect.paddlex import OFFICIAL
from tablerec.errors import MissingDependencyError, ModelNotFoundError, SettingsError, TablerecError
from tablerec.inputs.images import display_name
from tablerec.models.folder import LINENET_WEIGHTS, WEIGHTS
from tablerec.ocr.paddlex import RECOGNIZERS
from tablerec.paddlex_support import ENGINES, Runtime, fetch_model, find_model, official_model_dir

if TYPE_CHECKING:
    from tablerec.models.arrays import Arrays
    from tablerec.models.catalogue import Model


@click.command("export")
@click.argument("weights", type=click.Path(path_type=Path), metavar="[FILE...]", nargs=-1)
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="Folder to write to.")
@click.option("--threshold", default=0.1, show_default=True, help="Least score of a cell that the model returns.")
@click.option(
    "--as",
    "paddlex_name",
    type=click.Choice([*OFFICIAL, *RECOGNIZERS]),
    help="Write it in the form of PaddleX's detector or recognizer of this name, whose place it takes in PaddleX's own "
    "pipelines.",
)
@click.option(
    "--report", is_flag=True, help="Also say where graphs break, how far the forms differ, how fast they are."
)
@click.option("--adapter", type=click.Path(path_type=Path), help="The adapter of a training that started from FILE.")
@click.option("--onnx", "only_onnx", is_flag=True, help="Write ONNX alone; Paddle's model is made of it where need be.")
def command(
    weights: tuple[Path, ...],
    output: Path,
    threshold: float,
    paddlex_name: str | None,
    report: bool,
    adapter: Path | None,
    only_onnx: bool,
) -> None:
    """Write the network of FILE, a safetensors file of `tablerec train`, as ONNX and as Paddle's static model.

    Several files, from trainings that continued from the same checkpoint, are averaged; without any it is the package's
    CellNet, or its LineNet where --as names a recognizer. Use it with `--detector cellnet --detector-dir FOLDER`,
    and a LineNet with `--ocr tablerec --ocr-dir FOLDER`. FILE may also be the folder of an RT-DETR with
    model.safetensors, as PaddleX loads it: it is written as Paddle's static model. Weights are stored as
    float16, which hardly changes the scores.
    """
    for package in ("paddle", "onnx", "safetensors", "yaml"):
        if importlib.util.find_spec(package) is None:
            raise MissingDependencyError(f'tablerec export needs {package}: run pip install "tablerec[paddle]"')
    if len(weights) == 1 and (weights[0] / "model.safetensors").is_file():
        from tablerec.models.rtdetr import export_rtdetr

        if report:
            raise SettingsError("--report is for CellNet: python -m tests.benchmarks.detector.static measures RT-DETR")
        if paddlex_name:
            raise SettingsError("--as is for CellNet and LineNet: the inference.yml of an RT-DETR has its name")
        if only_onnx:
            raise SettingsError("--onnx is for CellNet and LineNet: an RT-DETR is written for Paddle alone")
        export_rtdetr(weights[0], output, adapter)
        click.echo(output)
        return
    from tablerec.models.export import export_cellnet, export_for_paddlex, is_linenet, load_cellnet

    is_reader = paddlex_name in RECOGNIZERS
    if is_linenet(weights[0]) if weights else is_reader:
        if report or (paddlex_name and (only_onnx or not is_reader)):
            raise SettingsError(
                f"--report is for CellNet, and --as of a LineNet takes {' or '.join(RECOGNIZERS)}, without --onnx"
            )
        _export_linenet(weights or (LINENET_WEIGHTS,), output, adapter, only_onnx, paddlex_name)
        return
    if is_reader:
        raise SettingsError(f"--as {paddlex_name} is for a LineNet: name its weights, or one of {', '.join(OFFICIAL)}")
    net = load_cellnet(*(weights or (WEIGHTS,)))
    if report and (paddlex_name or only_onnx):
        raise SettingsError("--report compares CellNet's own forms: leave --as and --onnx out")
    if adapter:
        from tablerec.models.adapter import apply_adapter

        apply_adapter(net, adapter)
    if paddlex_name:
        export_for_paddlex(net, output, paddlex_name, threshold)
    else:
        export_cellnet(net, output, threshold, static=not only_onnx)
    click.echo(output)
    if report:
        from tablerec.models.static import report_forms

        click.echo(report_forms(load_cellnet(output), output, threshold))


def _export_linenet(
    weights: tuple[Path, ...], output: Path, adapter: Path | None, only_onnx: bool, paddlex_name: str | None
) -> None:
    from tablerec.models.export import export_linenet, export_linenet_for_paddlex, load_linenet

    net, characters = load_linenet(*weights)
    if adapter:
        from tablerec.models.adapter import apply_adapter

        apply_adapter(net, adapter)
    if paddlex_name:
        export_linenet_for_paddlex(net, characters, output, paddlex_name)
    else:
        export_linenet(net, characters, output, static=not only_onnx)
    click.echo(output)


@click.group("models")
def models() -> None:
    """Show which models there are and where they lie, download them, and check them.

    Nothing but `fetch` connects to the network. A model of PaddleX may also be put into a folder of your own:
    `--models-dir DIR` takes the models in the folders of DIR, by the name that their inference.yml has.
    """


_MODELS_DIR = click.option(
    "--models-dir",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="Folder with PaddleX models, searched before PaddleX's cache.",
)
_ENGINE = click.option("--engine", type=click.Choice(ENGINES), help="What is to run them.  [default: Paddle]")


@models.command("list")
@_MODELS_DIR
@_ENGINE
def list_models(models_dir: Path | None, engine: str | None) -> None:
    """List the models: name, purpose, size, licence, and where they lie."""
    from tablerec.models.catalogue import CATALOGUE, expected_place, find_place

    runtime = Runtime(engine=engine, models_dir=models_dir)
    for model in CATALOGUE:
        try:
            where = str(find_place(model, runtime))
        except (ModelNotFoundError, MissingDependencyError):
            place = expected_place(model, runtime) if model.origin == "paddlex" else f"in the package {model.origin}"
            where = f"missing: {place}"
        size = "?" if model.megabytes is None else f"{model.megabytes:g} MB"
        click.echo(f"{model.name:<34} {model.purpose:<32} {size:>8}  {model.licence}  {where}")


@models.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@_ENGINE
def fetch(names: tuple[str, ...], engine: str | None) -> None:
    """Download models of PaddleX into its cache, from the hosts that PaddleX knows."""
    from tablerec.models.catalogue import by_name

    for model in map(by_name, names):
        if model.origin != "paddlex":
            raise SettingsError(f"{model.name} comes with {model.origin}: there is nothing to download")
        try:
            click.echo(f"{model.name} is there: {find_model(model.name, Runtime(engine=engine))}")
            continue
        except ModelNotFoundError:
            size = "" if model.megabytes is None else f", about {model.megabytes:g} MB"
        click.echo(
            f"{model.name}{size}: downloading from Hugging Face, AI Studio, ModelScope or Baidu's object storage "
            f"into {official_model_dir(model.name).parent}",
            err=True,
        )
        click.echo(f"{model.name} is there: {fetch_model(model.name, engine)}")


@models.command()
@click.argument("names", nargs=-1, metavar="[NAME...]")
@_MODELS_DIR
@_ENGINE
@click.pass_context
def verify(ctx: click.Context, names: tuple[str, ...], models_dir: Path | None, engine: str | None) -> None:
    """Check the models named, or all that are there: sums where they are known, and whether they run.

    The exit code is 1 if one is missing or fails.
    """
    from tablerec.models import catalogue

    runtime = Runtime(engine=engine, models_dir=models_dir)
    failed = False
    for model in map(catalogue.by_name, names) if names else catalogue.CATALOGUE:
        try:
            if not names and not _is_there(model, runtime):
                continue
            click.echo(f"{model.name}: {catalogue.verify(model, runtime)}")
        except TablerecError as error:
            failed = True
            click.echo(f"Error: {model.name}: {error}", err=True)
    ctx.exit(1 if failed else 0)


def _is_there(model: Model, runtime: Runtime) -> bool:
    from tablerec.models.catalogue import find_place

    try:
        find_place(model, runtime)
    except (ModelNotFoundError, MissingDependencyError):
        return model.origin != "paddlex"
    return True


@click.group("weights")
def weights() -> None:
    """Show what files of weights hold, and convert them for networks that name or turn their weights differently.

    FILE is a safetensors file, Paddle's .pdparams, or PyTorch's .pt, .pth or .bin. The last ones are pickles, which
    are programs: they are read without running any, and whatever asks for more than arrays is refused.
    """


@weights.command()
@click.argument("file", type=click.Path(path_type=Path))
def inspect(file: Path) -> None:
    """List the arrays of FILE: name, type and shape."""
    from tablerec.models.formats.mapping import load_weights

    _need_safetensors("weights")
    arrays = load_weights(file)
    for name, array in sorted(arrays.items()):
        click.echo(f"{display_name(name)}  {array.dtype}  {list(array.shape)}")
    total = sum(array.nbytes for array in arrays.values())
    click.echo(f"{len(arrays)} arrays, {sum(array.size for array in arrays.values())} values, {total / 1e6:.1f} MB")


@weights.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--map", "map_name", required=True, metavar="NAME|FILE", help="A map of the package, or a YAML file.")
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="File: .safetensors or .pdparams.")
@click.option("--reverse", is_flag=True, help="Undo the map instead.")
@click.option("--adapter", type=click.Path(path_type=Path), help="Adapter of `tablerec train` to merge before.")
@click.option(
    "--like", type=click.Path(path_type=Path), help="Weights of the network they are for: names are compared."
)
@click.option("--check", is_flag=True, help="Undo the map and compare bit for bit; RT-DETRs also answer a picture.")
@click.pass_context
def convert(
    ctx: click.Context,
    file: Path,
    map_name: str,
    output: Path,
    reverse: bool,
    adapter: Path | None,
    like: Path | None,
    check: bool,
) -> None:
    """Convert the weights of FILE with a map: rename, split, merge, transpose, cast.

    Maps of the package: paddlex_rtdetr and paddledetection_rtdetr, from PaddleX's parameters and from PaddleDetection's
    to those of transformers; cellnet_torch. tablerec/models/formats/mapping.py says how to write one.
    With --check, PaddleX's RT-DETR is built where its config.json lies beside FILE or the output, once with PaddleX's
    reading of the names and once with the map's. The exit code is 1 where a comparison finds a difference.
    """
    from tablerec.models.formats.mapping import (
        apply_map,
        check_round_trip,
        compare_names,
        load_weights,
        read_map,
        save_weights,
    )

    _need_safetensors("weights")
    steps, arrays = read_map(map_name), load_weights(file)
    if adapter:
        from tablerec.models.adapter import load_adapter, merge_adapter

        arrays = merge_adapter(arrays, *load_adapter(adapter, arrays), str(adapter))
    made, untouched = apply_map(arrays, steps, reverse=reverse)
    differences = check_round_trip(arrays, made, steps, reverse=reverse) if check else []
    if check and map_name.endswith("_rtdetr"):
        differences += _compare_answers(arrays if reverse else made, (output.parent, file.parent))
    differences += compare_names(made, load_weights(like)) if like else []
    save_weights(output, made)
    for line in differences:
        click.echo(f"differs: {display_name(line)}", err=True)
    if untouched:
        some = ", ".join(map(display_name, untouched[:3])) + (", ..." if len(untouched) > 3 else "")
        click.echo(f"{len(untouched)} as they were: {some}")
    click.echo(f"{len(arrays)} arrays to {len(made)}: {output}")
    ctx.exit(1 if differences else 0)


def _compare_answers(arrays: Arrays, folders: tuple[Path, ...]) -> list[str]:
    config = next((path / "config.json" for path in folders if (path / "config.json").is_file()), None)
    if config is None:
        click.echo("answers are not compared: PaddleX's config.json lies beside neither file", err=True)
        return []
    from tablerec.models.rtdetr import compare_answers

    return compare_answers(arrays, config)


def _need_safetensors(verb: str) -> None:
    if importlib.util.find_spec("safetensors") is None:
        raise MissingDependencyError(f'tablerec {verb} needs safetensors: run pip install "tablerec[paddle]"')
