"""Makes the notebooks of the course from their sources, with what they show when they are run.

::

    notebooks/
      source/NN_name.md              a lab in Markdown, as jupytext writes it: this is edited
      source/zh/NN_name.md           in Chinese: other texts, the same code
      source/solutions/NN_name.md    answers and solutions; in solutions/zh in Chinese
      NN_name.ipynb                  the lab, executed; zh/NN_name.ipynb has the same outputs
      solutions/NN_name.ipynb        solutions/zh/NN_name.ipynb

::

    python -m tablerec.course.build               all labs; those whose code has changed are executed
    python -m tablerec.course.build 01 12 --all   these two, executed in any case

A code cell with the tag ``exercise`` holds a stub, the one after it with the tag ``check`` says whether it is solved.
"""

from __future__ import annotations

import base64
import io
import os
import re
from pathlib import Path
from typing import Any

import click

from tablerec.course.run import execute, import_jupyter, read_notebook
from tablerec.errors import InputError, MissingDependencyError, TablerecError
from tablerec.inputs.images import display_name
from tablerec.outputs.files import atomic_file

_WIDEST = 640
"""Pixels; a JPEG in an output is not wider."""
_LARGE = 40_000
"""Bytes; larger pictures in outputs are stored with losses that hardly anybody sees."""
_TEXT = 200
"""Characters that are kept of an output as text where there is a page or a picture of it."""
_WIDGET = "[a widget: it is shown when the notebook runs]"
_SILENT = ("%%writefile", "%pip")
"""Beginnings of cells whose outputs name files of a machine, or nothing of use."""
_IN_PAGE = re.compile(r"data:(image/(?:png|jpeg|webp));base64,([A-Za-z0-9+/=]+)")


@click.command()
@click.argument("labs", nargs=-1)
@click.option("--all", "again", is_flag=True, help="Execute also labs whose code has not changed.")
@click.option("--no-run", is_flag=True, help="Execute none: labs whose code has changed lose their outputs.")
@click.option(
    "--folder", type=click.Path(exists=True, file_okay=False, path_type=Path), default=Path("notebooks"),
    help="The folder of the notebooks.  [default: notebooks]",
)  # fmt: skip
def build_command(labs: tuple[str, ...], again: bool, no_run: bool, folder: Path) -> None:
    """Execute LABS (numbers or beginnings of names; all of them) and write their notebooks."""
    if os.environ.get("TABLEREC_SMOKE"):
        raise click.UsageError("TABLEREC_SMOKE is set, but the notebooks are kept in full: unset it")
    for path in sorted((folder / "source").glob("[0-9]*.md")):
        if not labs or path.stem.startswith(labs):
            try:
                done = build_lab(folder, path.stem, again, not no_run)
            except TablerecError as error:
                raise click.ClickException(f"{path.stem}: {error}") from error
            click.echo(f"{path.stem}: {'executed' if done else 'not executed'}")


def build_lab(folder: Path, name: str, again: bool = False, run: bool = True) -> bool:
    """Write the notebooks of a lab: in both languages, and its solutions.

    Args:
        folder: With the folder ``source``.
        name: Of the lab, such as "00_tour".
        again: Execute it also where its code has not changed.
        run: Whether anything is executed; otherwise a lab whose code has changed has no outputs.

    Returns:
        Whether it was executed.

    Raises:
        InputError: A source is missing or not as it should be, or a cell fails; the message names it.
        MissingDependencyError: Without the dev and the lab extra.
    """
    english = read_source(folder / "source" / f"{name}.md")
    kept = folder / f"{name}.ipynb"
    before = read_notebook(kept) if kept.is_file() and not again else None
    is_known = before is not None and was_executed(before) and _same_code(before, english)
    if is_known:
        _take_outputs(before, english)
    elif run:
        execute(english, folder)
        tidy(english)
    _write(english, kept)
    if (folder / "source" / "zh" / f"{name}.md").is_file():
        chinese = read_source(folder / "source" / "zh" / f"{name}.md")
        copy_outputs(english, chinese, name)
        _write(chinese, folder / "zh" / f"{name}.ipynb")
    for part in ("solutions", "solutions/zh"):
        if (folder / "source" / part / f"{name}.md").is_file():
            _write(read_source(folder / "source" / part / f"{name}.md"), folder / part / f"{name}.ipynb")
    return run and not is_known


def read_source(path: Path) -> Any:
    """Read a source, as a notebook without outputs whose cells are numbered.

    Raises:
        InputError: It cannot be read.
        MissingDependencyError: Without the dev extra.
    """
    try:
        import jupytext
    except ImportError as error:
        raise MissingDependencyError(f'sources need jupytext ({error}): run pip install "tablerec[dev]"') from error
    try:
        notebook = jupytext.reads(path.read_text(encoding="utf-8"), fmt="md")
    except (OSError, ValueError) as error:
        raise InputError(f"{display_name(str(path))}: cannot be read ({error})") from error
    notebook.metadata.pop("jupytext", None)
    notebook.metadata["language_info"] = {"name": "python"}
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{number:03}"
    return notebook


def same_cells(one: Any, other: Any) -> bool:
    """Whether two notebooks have the same cells, but for their outputs."""
    return [*map(_content, one.cells)] == [*map(_content, other.cells)]


def was_executed(notebook: Any) -> bool:
    """Whether all code cells of a notebook were run."""
    return all(cell.execution_count for cell in notebook.cells if cell.cell_type == "code" and cell.source)


def copy_outputs(executed: Any, translated: Any, name: str) -> None:
    """Give a translated notebook the outputs of the executed one.

    Raises:
        InputError: They do not have the same sequence of cells, and the same code.
    """
    for number, (one, other) in enumerate(zip(executed.cells, translated.cells, strict=False), start=1):
        if one.cell_type != other.cell_type or (one.cell_type == "code" and _content(one) != _content(other)):
            raise InputError(f"zh/{name}: cell {number} is not the one of the English lab: {other.source[:60]!r}")
    if len(executed.cells) != len(translated.cells):
        raise InputError(f"zh/{name}: {len(translated.cells)} cells; the English lab has {len(executed.cells)}")
    _take_outputs(executed, translated)


def _take_outputs(executed: Any, notebook: Any) -> None:
    """Give a notebook the outputs of one with the same code."""
    for one, other in zip(_code(executed), _code(notebook), strict=True):
        other.outputs, other.execution_count = one.outputs, one.execution_count


def tidy(notebook: Any) -> None:
    """Keep of the outputs what a reader sees: no messages of libraries, no state of widgets, no large pictures."""
    notebook.metadata.pop("widgets", None)
    notebook.metadata["language_info"] = {"name": "python"}
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
            if cell.source.startswith(_SILENT):
                cell.outputs = []
            for output in cell.outputs:
                _tidy_output(output.get("data", {}))


def _tidy_output(data: dict[str, Any]) -> None:
    if data.pop("application/vnd.jupyter.widget-view+json", None) is not None:
        data["text/plain"] = _WIDGET
    if len(data) > 1:  # whoever sees the page or the picture does not see the text
        data["text/plain"] = data.get("text/plain", "")[:_TEXT]
    if "text/html" in data:
        data["text/html"] = _IN_PAGE.sub(
            lambda found: "data:{};base64,{}".format(*_small(*found.groups())), data["text/html"]
        )
    for kind in {"image/png", "image/jpeg"} & data.keys():
        smaller, picture = _small(kind, data.pop(kind))
        data[smaller] = picture


def _small(kind: str, encoded: str) -> tuple[str, str]:
    """Return type and base64 of a picture: as it is, or if it is large as PNG of few colours or JPEG of few pixels."""
    if len(encoded) * 3 // 4 <= _LARGE:
        return kind, encoded
    from PIL import Image

    with Image.open(io.BytesIO(base64.b64decode(encoded))) as opened:
        picture = opened.convert("RGB")
    as_png, as_jpeg = io.BytesIO(), io.BytesIO()
    picture.quantize(128, kmeans=2).save(as_png, "PNG", optimize=True)
    picture.thumbnail((_WIDEST, 4 * _WIDEST))
    picture.save(as_jpeg, "JPEG", quality=70, optimize=True)
    kind, smaller = min(("image/png", as_png), ("image/jpeg", as_jpeg), key=lambda each: len(each[1].getvalue()))
    return kind, base64.b64encode(smaller.getvalue()).decode()


def _same_code(one: Any, other: Any) -> bool:
    return [*map(_content, _code(one))] == [*map(_content, _code(other))]


def _code(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def _content(cell: Any) -> tuple[str, str, list[str]]:
    return cell.cell_type, cell.source, list(cell.metadata.get("tags", []))


def _write(notebook: Any, path: Path) -> None:
    with atomic_file(path) as file:
        file.write((import_jupyter("nbformat").writes(notebook).rstrip("\n") + "\n").encode())


if __name__ == "__main__":
    build_command()
