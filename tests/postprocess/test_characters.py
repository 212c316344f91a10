from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from postprocess import export
from postprocess.characters import clean_text, text_to_width


def test_empty() -> None:
    assert (clean_text(""), text_to_width("")) == ("", 0)


@given(st.text(st.characters(codec=None)))
def test_clean_text_is_what_xml_holds_and_stays_as_it_is(text: str) -> None:
    clean = clean_text(text)
    element = ElementTree.Element("a", b=clean)
    assert ElementTree.fromstring(ElementTree.tostring(element, encoding="utf-8")).get("b") == clean
    assert clean_text(clean) == clean


@given(st.text("abc 表\t\n"))
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert clean_text(text) == text


def test_public_names_are_there_and_cost_no_heavy_import(repository: Path) -> None:
    assert [name for name in export.__all__ if not hasattr(export, name)] == []
    code = "import sys, postprocess.export; print({'openpyxl', 'pandas'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], cwd=repository, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
