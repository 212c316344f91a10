"""That every picture survives: ``python -m tests.benchmarks.outputs.check_outputs FOLDER... -o OUT [--words DIR]``.

A developer script, not a test. Reads each picture of the folders and all below them, writes a page and a workbook
into OUT, and counts: crashes, pages that a strict HTML5 parser refuses, workbooks that openpyxl or LibreOffice
refuses, and characters that the OCR engine returned and that are in no cell, title or note and not unplaced.
``--words`` keeps the OCR engine's words, as ``tablerec eval --words`` does, and takes them from there.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import html5lib
import openpyxl

from tablerec import Recognizer, Settings, save
from tablerec.evaluate.files import read_words, write_words
from tablerec.evaluate.scoring.cells import characters_kept

SUFFIXES = {".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".webp", ".pdf"}


def pictures(folders: list[Path]) -> Iterator[Path]:
    """All pictures of the folders, in order."""
    for folder in folders:
        yield from (path for path in sorted(folder.rglob("*")) if path.suffix.lower() in SUFFIXES)


def check(recognizer: Recognizer, path: Path, out: Path, words_folder: Path | None) -> float:
    """Recognize one picture, write and re-read its files, and return the share of characters kept."""
    kept = words_folder / f"{path.stem}.json" if words_folder else None
    words = read_words(kept) if kept else None
    result = recognizer.recognize(path, words)
    if kept and words is None:
        write_words(kept, [word for page in result.pages for word in page.words])
    for page_file in save(result, out / f"{path.stem}.html"):
        html5lib.HTMLParser(strict=True).parse(page_file.read_text(encoding="utf-8"))
    for workbook in save(result, out / f"{path.stem}.xlsx"):
        openpyxl.load_workbook(workbook)
    read = [word.text for page in result.pages for word in page.words]
    written = [cell.text for table in result.tables for cell in table.cells]
    written += [caption.text for table in result.tables for caption in table.captions]
    written += [item.word.text for page in result.pages for item in page.unplaced]
    return characters_kept(read, written)


def open_with_office(workbooks: list[Path], out: Path) -> int:
    """Number of workbooks that LibreOffice turns into CSV."""
    office = shutil.which("soffice")
    if office is None:
        return -1
    for start in range(0, len(workbooks), 50):
        names = [str(path) for path in workbooks[start : start + 50]]
        command = [office, "--headless", "--convert-to", "csv", "--outdir", str(out / "csv"), *names]
        subprocess.run(command, capture_output=True, timeout=600, check=False)
    return len({path.stem for path in (out / "csv").glob("*.csv")} & {path.stem for path in workbooks})


def main() -> None:
    """Check all pictures and print one line for each fault, and the counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--words", type=Path)
    parser.add_argument("--layout", default="page")
    options = parser.parse_args()
    for folder in (options.output, options.words):
        if folder:
            folder.mkdir(parents=True, exist_ok=True)
    recognizer = Recognizer(Settings(layout=options.layout))
    paths, failed, lost = list(pictures(options.folders)), 0, 0
    for number, path in enumerate(paths, 1):
        try:
            share = check(recognizer, path, options.output, options.words)
        except Exception as error:
            failed += 1
            print(f"{path}: {type(error).__name__}: {error}", flush=True)
            continue
        if share < 1:
            lost += 1
            print(f"{path}: {share:.4f} of the characters kept", flush=True)
        if number % 50 == 0:
            print(f"{number} of {len(paths)}", flush=True)
    workbooks = sorted(options.output.glob("*.xlsx"))
    opened = open_with_office(workbooks, options.output)
    print(f"{len(paths)} pictures: {failed} failed, {lost} with lost characters")
    office = "LibreOffice is not installed" if opened < 0 else f"{opened} opened by LibreOffice"
    print(f"{len(workbooks)} workbooks: {office}")


if __name__ == "__main__":
    main()
