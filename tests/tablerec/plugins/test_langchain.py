"""The loader of LangChain."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cv2
import pytest

pytest.importorskip("langchain_core")

from langchain_core.document_loaders import BaseLoader

from postprocess.export.html import html_to_table, html_to_tables
from tablerec import Settings, TablerecError
from tablerec.errors import InputError, SettingsError
from tablerec.plugins.langchain import TablerecLoader
from tests.helpers.drawing import Look, draw_table, stack
from tests.helpers.pdf import make_document

SETTINGS = Settings(detector="rulings", ocr="none")


def make_loader(*sources: Path | str, **options: Any) -> TablerecLoader:
    return TablerecLoader(sources, **({"settings": SETTINGS} | options))


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    """Two tables, one below the other."""
    tables = [draw_table([["a", "<"], ["b", "c"]]), draw_table([["1", "2", "3"], ["4", "5", "6"], ["7", "8", "9"]])]
    path = tmp_path / "tables.png"
    cv2.imwrite(str(path), stack(tables, gap=60)[0])
    return path


def test_no_sources_and_pictures_without_tables_give_no_documents(tmp_path: Path) -> None:
    cv2.imwrite(str(tmp_path / "blank.png"), draw_table([["a"]], Look(rules="none")).image * 0 + 255)
    assert make_loader().load() == [] and make_loader(tmp_path / "blank.png").load() == []


def test_each_table_is_a_document(picture: Path) -> None:
    loader = TablerecLoader(picture, settings=SETTINGS)
    assert isinstance(loader, BaseLoader)
    first, second = loader.load()
    assert [each.metadata["table_number"] for each in (first, second)] == [1, 2]
    assert {each.metadata["page_number"] for each in (first, second)} == {1}
    assert first.metadata["source"] == str(picture) and first.metadata["category"] == "Table"
    assert (second.metadata["n_rows"], second.metadata["n_cols"]) == (3, 3)
    assert html_to_table(first.metadata["text_as_html"]).shape == (2, 2)
    assert first.page_content.startswith("| ")
    assert 0 <= first.metadata["confidence"] <= 1 and "check_first" in first.metadata


def test_html_keeps_spans(picture: Path) -> None:
    first = make_loader(picture, content="html").load()[0]
    assert first.page_content == first.metadata["text_as_html"] and 'colspan="2"' in first.page_content


def test_vector_stores_take_the_metadata(picture: Path) -> None:
    for document in make_loader(picture).lazy_load():
        assert all(isinstance(value, (str, int, float)) for value in document.metadata.values())


def test_texts_and_pages_of_a_document(tmp_path: Path) -> None:
    (tmp_path / "pages.pdf").write_bytes(make_document(2))
    documents = make_loader(tmp_path).load()
    assert [each.metadata["page_number"] for each in documents] == [1, 2]
    assert [html_to_tables(each.metadata["text_as_html"])[0].to_grid() for each in documents] == [
        [["a", "b"], ["c", "1"]],
        [["a", "b"], ["c", "2"]],
    ]


def test_a_table_that_goes_on_is_one_document_on_the_page_where_it_begins(tmp_path: Path) -> None:
    (tmp_path / "pages.pdf").write_bytes(make_document(2))
    settings = Settings(detector="rulings", ocr="none", join_pages=True)
    (document,) = make_loader(tmp_path / "pages.pdf", settings=settings).load()
    assert (document.metadata["page_number"], document.metadata["table_number"]) == (1, 1)
    assert html_to_table(document.metadata["text_as_html"]).to_grid() == [["a", "b"], ["c", "1"], ["c", "2"]]


def test_inputs_are_read_one_at_a_time(picture: Path) -> None:
    documents = make_loader(picture, picture.parent / "missing.png").lazy_load()
    assert next(documents).metadata["table_number"] == 1
    assert next(documents).metadata["table_number"] == 2
    with pytest.raises(InputError, match=r"missing\.png"):
        next(documents)


def test_inputs_that_cannot_be_read_are_told_and_the_others_go_on(picture: Path) -> None:
    (picture.parent / "broken.png").write_bytes(b"no picture")
    told: list[tuple[str, TablerecError]] = []
    sources = ["nothing*.png", picture.parent / "broken.png", picture]
    loader = make_loader(*sources, on_error=lambda source, error: told.append((str(source), error)))
    assert len(loader.load()) == 2
    assert [source for source, _ in told] == ["nothing*.png", str(picture.parent / "broken.png")]
    with pytest.raises(InputError, match="nothing"):
        make_loader(*sources).load()


def test_another_content_is_refused() -> None:
    with pytest.raises(SettingsError, match="markdown or html"):
        make_loader(content="latex")
