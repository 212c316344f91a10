from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import pytest

from tablerec.synth.drawing import fonts
from tablerec.synth.lines import lexicon


def test_a_named_folder_gives_fonts_and_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = next((family for family in fonts.families_for("latin") if family.faces[0].path), None)
    if known is None or known.faces[0].index:
        pytest.skip("no font file on this machine")
    monkeypatch.setattr(fonts, "_ask_fontconfig", list)
    monkeypatch.setattr(fonts, "_FOLDERS", ())
    monkeypatch.delenv(fonts.FOLDER_SETTING, raising=False)
    assert [family.name for family in fonts.find_families.__wrapped__()] == [fonts.BUILT_IN]
    copied = shutil.copy(known.faces[0].path, tmp_path)
    monkeypatch.setenv(fonts.FOLDER_SETTING, str(tmp_path))
    (found,) = fonts.find_families.__wrapped__()
    assert "latin" in found.scripts and found.faces[0].path == str(copied)
    (tmp_path / "klingon.txt.gz").write_bytes(gzip.compress(b"qapla\nbatlh"))
    assert lexicon.words.__wrapped__("klingon") == ("qapla", "batlh")
    assert lexicon.words.__wrapped__("esperanto") == ()


def test_words_of_a_dictionary_without_their_flags(tmp_path: Path) -> None:
    (tmp_path / "xx.aff").write_text("SET ISO8859-7\n", "latin-1")
    (tmp_path / "xx.dic").write_bytes("4\nλόγος/AB\nέτος\nx1\nlog/C\n".encode("iso8859-7"))
    assert lexicon._read(tmp_path / "xx.dic") == ("λόγος", "έτος", "log")
    (tmp_path / "empty").write_text("")
    assert lexicon._read(tmp_path / "empty") == lexicon._read(tmp_path / "missing") == ()
