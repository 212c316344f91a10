"""The preparation of cTDaR, on a source of its layout that is made here."""

from __future__ import annotations

import importlib
import io
import json
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageDraw

from tablerec.errors import InputError
from tablerec.training.data.sources import load_source

FOLDER = Path(__file__).resolve().parents[2] / "data" / "datasets" / "ctdar19"
NAMES = ("relations", "regions", "prepare")


@pytest.fixture(scope="module", autouse=True)
def scripts() -> Iterator[dict[str, ModuleType]]:
    """Import the scripts as ``python prepare.py`` does, and forget them again."""
    sys.path.insert(0, str(FOLDER))
    try:
        yield {name: importlib.import_module(name) for name in NAMES}
    finally:
        sys.path.remove(str(FOLDER))
        for name in NAMES:
            sys.modules.pop(name, None)


@pytest.fixture(scope="module")
def prepare(scripts: dict[str, ModuleType]) -> ModuleType:
    return scripts["prepare"]


@pytest.fixture(scope="module")
def relations(scripts: dict[str, ModuleType]) -> ModuleType:
    return scripts["relations"]


@pytest.fixture(scope="module")
def regions(scripts: dict[str, ModuleType]) -> ModuleType:
    return scripts["regions"]


# A header over two columns, an empty slot below it: row, column, rowspan, colspan, text box.
CELLS = [
    (0, 0, 2, 1, (42, 47, 90, 59)),
    (0, 1, 1, 2, (130, 36, 190, 48)),
    (1, 1, 1, 1, (112, 60, 150, 72)),
    (1, 2, 1, 1, (172, 60, 208, 72)),
    (2, 0, 1, 1, (42, 84, 84, 96)),
    (2, 2, 1, 1, (170, 84, 210, 96)),
]
X, Y = [35, 100, 160, 216], [30, 54, 78, 102]


def grid_and_boxes() -> tuple[np.ndarray, np.ndarray]:
    return np.array([cell[:4] for cell in CELLS]), np.array([cell[4] for cell in CELLS], float)


def draw_page(*, ruled: bool = True) -> Image.Image:
    page = Image.new("RGB", (300, 300), "white")
    pen = ImageDraw.Draw(page)
    for _, _, _, _, (x0, y0, x1, y1) in CELLS:
        for x in range(x0, x1 - 4, 8):  # strokes as high as letters
            pen.rectangle((x, y0, x + 3, y1 - 1), fill="black")
    if ruled:
        for y in Y:
            pen.line((X[0], y, X[-1], y), fill="black", width=1)
        for x in (X[0], X[1], X[-1]):
            pen.line((x, Y[0], x, Y[-1]), fill="black", width=1)
        pen.line((X[2], Y[1], X[2], Y[-1]), fill="black", width=1)
    return page


def points(box: Any) -> str:
    x0, y0, x1, y1 = (int(value) for value in box)
    return f"{x0},{y0} {x1},{y0} {x1},{y1} {x0},{y1}"


def annotate(relations: ModuleType, *, exact: bool = True, extra: str = "") -> bytes:
    grid, boxes = grid_and_boxes()
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', extra, '<document filename="cTDaR_t10000.jpg">', "<table>"]
    lines.append(f'<Coords points="{points((38, 36, 212, 98))}"/>')
    for number, (sides, box) in enumerate(zip(relations.grid_to_relations(grid), boxes, strict=True)):
        pairs = [f"{other}:{side}" for side, others in sides.items() for other in sorted(others)]
        pairs = pairs if exact or number else pairs[1:]
        lines.append(f'<cell id="{number}" neighbors="{" ".join(pairs)}"><Coords points="{points(box)}"/></cell>')
    lines += ["</table>", "<table>", f'<Coords points="{points((40, 112, 210, 180))}"/>', "</table>", "</document>"]
    return "\n".join(lines).encode()


def jpeg(page: Image.Image) -> bytes:
    file = io.BytesIO()
    page.save(file, "JPEG", quality=95)
    return file.getvalue()


def write_source(folder: Path, files: dict[str, bytes]) -> Path:
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder


@pytest.fixture
def files(relations: ModuleType) -> dict[str, bytes]:
    return {
        "Annotations/TrainSet/cTDaR_t10000.xml": annotate(relations),
        "Images/TrainSet/cTDaR_t10000.jpg": jpeg(draw_page()),
    }


def run(prepare: ModuleType, source: Path, output: Path) -> dict[str, int]:
    (*_, (_, counts)) = prepare.prepare(source, output, everything=True)
    return dict(counts)


def test_from_source_to_training(tmp_path: Path, prepare: ModuleType, files: dict[str, bytes]) -> None:
    source, output = write_source(tmp_path / "source", files), tmp_path / "out"
    assert run(prepare, source, output) == {"written": 1, "fewer than 4 cells or too many": 1}
    label = json.loads((output / "ctdar19_train_cTDaR_t10000_t1.json").read_text())
    assert (label["n_rows"], label["n_cols"], len(label["cells"])) == (3, 3, 7)
    assert [(cell["row"], cell["col"]) for cell in label["cells"] if cell["text"] == ""] == [(2, 1)]
    assert label["meta"]["text_height"] == 12
    sample = load_source(f"folder:{output}")(0)
    corner = sample.quads.reshape(-1, 2).min(axis=0)
    header = next(k for k, cell in enumerate(label["cells"]) if cell["colspan"] == 2)
    # The crop moves the cells, and nothing else: edges lie on the rulings.
    np.testing.assert_allclose(
        sample.quads[header] - corner, np.array([[65, 0], [181, 0], [181, 24], [65, 24]]), atol=1
    )
    left, top = np.rint([X[0], Y[0]] - corner).astype(int)
    height, width = sample.image.shape[:2]
    page = np.array(draw_page())[top : top + height, left : left + width]
    assert np.abs(sample.image.astype(int) - page).mean() < 3
    # Nothing of the table below is in the picture.
    assert sample.image.shape[0] <= 112 - 36 + 2 * 18


def test_it_goes_on(tmp_path: Path, prepare: ModuleType, files: dict[str, bytes]) -> None:
    source, output = write_source(tmp_path / "source", files), tmp_path / "out"
    run(prepare, source, output)
    assert run(prepare, source, output)["there"] == 1
    next(output.glob("*.json")).unlink()
    assert run(prepare, source, output)["written"] == 1


def test_an_archive_is_read_without_being_unpacked(
    tmp_path: Path, prepare: ModuleType, files: dict[str, bytes]
) -> None:
    archive = tmp_path / "source.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in files.items():
            file.writestr(f"supplement-e838cb1/{name}", data)
        file.writestr("supplement-e838cb1/Annotations/TrainSet/../../../../cTDaR_t1.xml", b"")
        file.writestr("/Annotations/TrainSet/cTDaR_t1;rm.xml", b"")
    assert run(prepare, archive, tmp_path / "out")["written"] == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "source.zip"]


def test_a_broken_archive(tmp_path: Path, prepare: ModuleType, files: dict[str, bytes]) -> None:
    archive = tmp_path / "source.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in files.items():
            file.writestr(name, data)
        start = file.infolist()[0].header_offset + 30 + len(file.infolist()[0].filename)
    data = bytearray(archive.read_bytes())
    data[start : start + 20] = b"\xff" * 20
    archive.write_bytes(data)
    with pytest.raises(InputError, match="cannot be read"):
        run(prepare, archive, tmp_path / "out")


def test_a_table_that_is_nowhere(tmp_path: Path, prepare: ModuleType, relations: ModuleType, files: dict) -> None:
    files["Annotations/TrainSet/cTDaR_t10000.xml"] = annotate(relations).replace(b"</document>", b"<table/></document>")
    counts = run(prepare, write_source(tmp_path / "source", files), tmp_path / "out")
    assert counts == {"written": 1, "fewer than 4 cells or too many": 2}


def test_relations_that_give_no_grid(tmp_path: Path, prepare: ModuleType, relations: ModuleType, files: dict) -> None:
    files["Annotations/TrainSet/cTDaR_t10000.xml"] = annotate(relations, exact=False)
    counts = run(prepare, write_source(tmp_path / "source", files), tmp_path / "out")
    assert counts == {"relations give no exact grid": 1, "fewer than 4 cells or too many": 1}


def test_hostile_and_broken_sources(tmp_path: Path, prepare: ModuleType, relations: ModuleType, files: dict) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "text").write_text("no archive")
    cases: list[tuple[Path, str]] = [
        (tmp_path / "nowhere", "no folder and no zip"),
        (tmp_path / "empty", "holds no Annotations"),
        (tmp_path / "text", "no folder and no zip"),
    ]
    xml, picture = files
    entities = '<!DOCTYPE d [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>'
    for number, (change, message) in enumerate(
        [
            ({xml: annotate(relations, extra=entities)}, "document type"),
            (
                {xml: annotate(relations, extra=entities).decode().replace("UTF-8", "UTF-16").encode("utf-16")},
                "document",
            ),
            ({xml: annotate(relations)[:-40]}, "no annotation"),
            ({xml: b'<table><cell id="0"><Coords points="1,x"/></cell></table>'}, "no annotation"),
            ({xml: b'<Coords points="1,1"/>'}, "no annotation"),
            ({xml: b'<table><Coords points=""/></table>'}, "no annotation"),
            ({xml: b'<table><Coords points="1,nan"/></table>'}, "no annotation"),
            ({xml: b" " * (5 << 20)}, "bytes"),
            ({picture: b"\xff\xd8\xff nothing"}, "cannot be read as a picture"),
            ({picture: None}, "holds no Images"),
        ]
    ):
        changed = {name: data for name, data in {**files, **change}.items() if data is not None}
        cases.append((write_source(tmp_path / f"source{number}", changed), message))
    for source, message in cases:
        with pytest.raises(InputError, match=message):
            run(prepare, source, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_picture_too_large(monkeypatch: pytest.MonkeyPatch, prepare: ModuleType) -> None:
    monkeypatch.setattr(prepare, "MOST_PIXELS", 1000)
    with pytest.raises(InputError, match="300 x 300"):
        prepare.decode_page(jpeg(draw_page()), "page.jpg")


def test_the_command(tmp_path: Path, prepare: ModuleType, files: dict[str, bytes]) -> None:
    source = write_source(tmp_path / "source", files)
    result = CliRunner().invoke(prepare.main, [str(source), "-o", str(tmp_path / "out"), "--all"])
    assert result.exit_code == 0 and "1 written" in result.output
    result = CliRunner().invoke(prepare.main, [str(tmp_path), "-o", str(tmp_path / "out")])
    assert result.exit_code == 1 and "holds no Annotations" in result.output


def test_the_list_of_tables(prepare: ModuleType) -> None:
    chosen = prepare.read_chosen(FOLDER / "tables.txt")
    assert len(chosen) == 403 and sum(bool(headers) for headers in chosen.values()) == 47
    assert {page.rsplit("/", 1)[0] for page, _ in chosen} == set(prepare.SETS)


def test_the_list_is_that_of_the_shared_tables(shared: Path, prepare: ModuleType) -> None:
    labels = [*(shared / "train").glob("ctdar19_train*/*.json")]
    if not labels:
        pytest.skip("needs shared/train")
    chosen = prepare.read_chosen(FOLDER / "tables.txt")
    names = {f"ctdar19_{prepare.SETS[page.rsplit('/', 1)[0]]}_{page.rsplit('/', 1)[1]}_t{n}" for page, n in chosen}
    assert names == {path.stem for path in labels}


def test_widened_headers(prepare: ModuleType, regions: ModuleType) -> None:
    grid = np.array([[0, 2, 1, 1], [1, 1, 1, 1], [1, 2, 1, 1]])
    assert prepare.widen_headers(grid, [])[0].tolist() == [0, 2, 1, 1]
    assert prepare.widen_headers(grid, [(0, 1, 2)])[0].tolist() == [0, 1, 1, 2]
    assert grid[0].tolist() == [0, 2, 1, 1]
    with pytest.raises(regions.NoRegions):
        prepare.widen_headers(grid, [(1, 1, 2)])


def test_edges_without_rulings_lie_between_the_texts(regions: ModuleType) -> None:
    grid, boxes = grid_and_boxes()
    x, y = regions.grid_to_edges(grid, boxes, np.array(draw_page(ruled=False))[:, :, ::-1])
    np.testing.assert_allclose(x[1:3], [(90 + 112) / 2, (150 + 170) / 2])
    np.testing.assert_allclose(y[1:3], [54, 78])
    assert x[0] < 42 and x[-1] > 210 and y[0] < 36 and y[-1] > 96


def test_leaders_belong_to_their_label(regions: ModuleType) -> None:
    grid, boxes = grid_and_boxes()
    page = draw_page(ruled=False)
    for x in range(92, 104, 4):
        ImageDraw.Draw(page).rectangle((x, 92, x + 1, 93), fill="black")
    x, _ = regions.grid_to_edges(grid, boxes, np.array(page)[:, :, ::-1])
    assert 104 <= x[1] <= 112


def test_texts_across_an_edge_have_no_regions(regions: ModuleType) -> None:
    grid, boxes = grid_and_boxes()
    boxes[4, 2] = 180
    with pytest.raises(regions.NoRegions, match="overlap"):
        regions.grid_to_edges(grid, boxes, np.full((300, 300, 3), 255, np.uint8))
    with pytest.raises(regions.NoRegions, match="outside"):
        regions.check_texts(np.array([[0.0, 0, 10, 20]]), np.array([[0.0, 0, 30, 12]]))


def test_no_cells_have_no_grid(relations: ModuleType) -> None:
    assert relations.relations_to_grid(np.zeros((0, 4)), []) is None
    assert relations.grid_to_relations(np.zeros((0, 4), int)) == []
    assert relations.grid_to_relations(np.array([[0, 0, 1, 2], [0, 1, 1, 1]])) is None


@given(st.integers(0, 10_000), st.integers(2, 6), st.integers(2, 6))
def test_grids_are_found_again(seed: int, n_rows: int, n_cols: int) -> None:
    relations: Any = sys.modules["relations"]
    rng = np.random.default_rng(seed)
    header = int(rng.integers(1, n_cols + 1))  # a header over some columns, above full rows
    grid = [(0, 0, 1, header)] + [(0, col, 1, 1) for col in range(header, n_cols)]
    grid += [(row, col, 1, 1) for row in range(1, n_rows) for col in range(n_cols) if row == 1 or rng.random() < 0.8]
    boxes = [
        (
            60 * col + int(rng.integers(0, 10)),
            30 * row,
            60 * (col + colspan) - 15 - int(rng.integers(0, 10)),
            30 * row + 12,
        )
        for row, col, _, colspan in grid
    ]
    numbers = rng.permutation(len(grid))
    shuffled, places = np.array(grid)[numbers], np.array(boxes, float)[numbers]
    found = relations.relations_to_grid(places, relations.grid_to_relations(shuffled))
    # Rows and columns without any text cannot be known.
    keep = [np.unique(shuffled[:, axis]).tolist() for axis in (0, 1)]
    assert len(keep[0]) == n_rows or found is not None
    if len(keep[0]) == n_rows:
        assert found is not None and found.tolist() == shuffled.tolist()
