"""Pages read by processes side by side: order, limits, deaths, and what is logged."""

from __future__ import annotations

import io
import itertools
import logging
import os
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import PIL.Image
import pytest

from tablerec import Settings
from tablerec.engine import Engine, Limits
from tablerec.engine.engine import to_jobs
from tablerec.errors import (
    InputError,
    PageFailedError,
    PageMemoryError,
    PageTimeoutError,
    SettingsError,
    TablerecError,
    WorkerLostError,
)
from tablerec.outputs.files import RenderedPage, render_files, render_page
from tablerec.processes import usable_cpus
from tablerec.result import Page, Result
from tests.helpers.pdf import make_document


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder, with workers of ``tests.tablerec.engine.reader``."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tablerec.engine.engine.READER", "tests.tablerec.engine.reader:make_reader")
    return tmp_path


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    """Two workers for the tests that need no limits."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tablerec.engine.engine.READER", "tests.tablerec.engine.reader:make_reader")
        made = Engine(jobs=2)
    with made:
        yield made


def touch(*names: str, n_pages: int = 1) -> list[str]:
    for name in names:
        pages = [PIL.Image.new("L", (40, 30), 255)] * n_pages
        pages[0].save(name, "TIFF", save_all=True, append_images=pages[1:])
    return list(names)


def texts(pages: tuple[Page, ...]) -> list[tuple[str, str]]:
    return [(page.tables[0][0, 0].text, page.tables[0][0, 1].text) for page in pages]


def test_nothing_to_read(engine: Engine) -> None:
    assert list(engine.stream([])) == []


def test_results_come_in_the_order_of_the_inputs_and_pages(engine: Engine) -> None:
    names = touch("a.tif", "c.tif", n_pages=3) + touch("b.tif")
    Path("d.pdf").write_bytes(make_document(4))
    given = [names[0], Path(names[2]), names[1], "d.pdf", io.BytesIO(Path("b.tif").read_bytes())]
    found = list(engine.stream(given))
    assert [result.source for result in found] == ["a.tif", "b.tif", "c.tif", "d.pdf", "stream"]
    assert [texts(result.pages) for result in found[:3]] == [
        [("a", "1"), ("a", "2"), ("a", "3")], [("b", "1")], [("c", "1"), ("c", "2"), ("c", "3")],
    ]  # fmt: skip
    assert [number for _, number in texts(found[3].pages)] == ["1", "2", "3", "4"]
    assert {page.picture.image.shape for result in found for page in result.pages} == {(30, 40, 3)}


def test_work_is_shared_and_no_more_is_begun_than_the_workers_have_to_do(engine: Engine) -> None:
    touch("a.tif")
    begun = itertools.count()
    stream = engine.stream("a.tif" for _ in iter(lambda: next(begun), 100))
    results = [next(stream)]
    assert next(begun) <= 2 * engine.n_ahead
    results += stream
    processes = {result.tables[0][0, 3].text for result in results}
    assert len(processes) == 2 and str(os.getpid()) not in processes


def test_errors_are_those_of_their_input_and_the_next_go_on(engine: Engine) -> None:
    names = touch("a.tif", "broken.tif", "fault.tif", "b.tif", "die.tif", "c.tif")
    Path("empty.tif").write_bytes(b"")
    errors: list[tuple[object, TablerecError]] = []
    names[1:1] = ["missing.tif", "empty.tif"]
    results = list(engine.stream(names, lambda source, error: errors.append((source, error))))
    assert [result.source for result in results] == ["a.tif", "b.tif", "c.tif"]
    assert [source for source, _ in errors] == ["missing.tif", "empty.tif", "broken.tif", "fault.tif", "die.tif"]
    kinds = [type(error) for _, error in errors]
    assert kinds == [InputError, InputError, InputError, PageFailedError, WorkerLostError]
    assert all(str(source) in str(error) for source, error in errors)
    assert str(errors[3][1]).startswith(
        "fault.tif: page 1 met a fault of tablerec (ZeroDivisionError: division by zero)"
    )
    assert "ended with signal 9" in str(errors[4][1])
    with pytest.raises(InputError, match=r"missing\.tif: no such file"):
        list(engine.stream(["missing.tif"]))


def test_a_page_that_kills_its_process_costs_itself_alone(engine: Engine) -> None:
    touch("a.tif", "die.tif", n_pages=2)
    asked = [engine.submit(name, number) for name in ("a.tif", "die.tif", "a.tif") * 3 for number in (1, 2)]
    outcomes = [type(future.exception(60)) for future in asked]
    assert outcomes == [type(None), type(None), WorkerLostError, WorkerLostError, type(None), type(None)] * 3


def test_what_is_left_of_an_input_that_failed_is_not_read(engine: Engine) -> None:
    touch("a.tif", n_pages=200)
    touch("b.tif")
    for source, pages in engine.ahead(["a.tif", "b.tif"]):
        first = next(pages())
        assert first.picture.source == source
    assert len(next(engine.stream(["a.tif"])).pages) == 200


def test_pages_that_nobody_waits_for_are_cancelled(engine: Engine) -> None:
    touch("a.tif")
    asked = [engine.submit("a.tif") for _ in range(50)]
    assert sum(future.cancel() for future in asked[10:]) > 20
    assert all(future.result(60).picture.source == "a.tif" for future in asked[:10])


def test_logs_and_warnings_are_told_in_order_and_prints_break_nothing(
    engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    names = touch("note1.tif", "note2.tif", "note3.tif")
    with pytest.warns(UserWarning, match="warned of note"):
        list(engine.stream(names))
    assert [record.getMessage() for record in caplog.records] == ["noted note1", "noted note2", "noted note3"]
    assert {record.levelno for record in caplog.records} == {logging.WARNING}


def test_bytes_have_the_name_that_they_are_given(engine: Engine) -> None:
    touch("a.tif")
    page = engine.submit(Path("a.tif").read_bytes(), 1, "upload.tif").result(60)
    assert page.picture.source == "upload.tif"


def test_auto_takes_more_workers_where_they_wait_for_a_card_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tablerec.processes.free_gibibytes", lambda: None)
    n_cpus = usable_cpus()
    assert to_jobs("auto") == to_jobs("auto", Settings()) == n_cpus
    assert to_jobs("auto", Settings(device="gpu:0,1")) == 2 * n_cpus
    assert to_jobs("3", Settings(device="gpu:0")) == 3
    # PaddleX's networks would be on the card once for each worker.
    for of_paddlex in ({"detector": "paddlex"}, {"ocr": "paddlex"}, {"layout_model": "PP-DocLayout-S"}):
        assert to_jobs("auto", Settings(device="gpu:0", **of_paddlex)) == n_cpus


def test_numbers_of_pages_are_those_that_the_settings_want() -> None:
    touch("a.tif", n_pages=5)
    with Engine(Settings(pages="2-3,5"), 1) as engine:
        assert engine.numbers("a.tif") == [2, 3, 5]
        [result] = engine.stream(["a.tif"])
        assert [page.picture.number for page in result.pages] == [2, 3, 5]


def test_a_page_that_takes_too_long_is_ended_with_all_that_it_started() -> None:
    names = touch("a.tif", "hang.tif", "b.tif")
    errors: list[TablerecError] = []
    with Engine(jobs=1, limits=Limits(seconds=5)) as engine:
        results = list(engine.stream(names, lambda _, error: errors.append(error)))
    assert [result.source for result in results] == ["a.tif", "b.tif"]
    assert isinstance(errors[0], PageTimeoutError) and "hang.tif: page 1 takes longer than 5 seconds" in str(errors[0])
    assert has_ended(int(Path("hang.tif.pid").read_text("ascii")))


@pytest.mark.skipif(not os.path.exists("/proc/self"), reason="memory is limited on Linux only")
def test_a_page_that_takes_too_much_memory_is_ended() -> None:
    names = touch("a.tif", "large.tif", "b.tif")
    errors: list[TablerecError] = []
    with Engine(jobs=1, limits=Limits(gibibytes=2)) as engine:
        results = list(engine.stream(names, lambda _, error: errors.append(error)))
    assert [result.source for result in results] == ["a.tif", "b.tif"]
    assert [type(error) for error in errors] == [PageMemoryError] and "limit of 2 GiB" in str(errors[0])


def test_closing_ends_what_is_at_work_at_once() -> None:
    touch("hang.tif", "a.tif")
    engine = Engine(jobs=1)
    asked = [engine.submit("hang.tif"), engine.submit("a.tif")]
    while not Path("hang.tif.pid").is_file() or not Path("hang.tif.pid").read_text("ascii"):
        assert not asked[0].done()
    started = time.monotonic()
    engine.close()
    engine.close()
    assert time.monotonic() - started < 30
    assert asked[1].cancelled() and isinstance(asked[0].exception(10), WorkerLostError)
    assert has_ended(int(Path("hang.tif.pid").read_text("ascii")))
    with pytest.raises(RuntimeError, match="closed"):
        engine.submit("a.tif")


def test_errors_of_the_settings_come_at_once() -> None:
    with pytest.raises(SettingsError, match="detector 'missing' is unknown"):
        Engine(Settings(detector="missing"), 2)


@pytest.mark.parametrize("limits", [{"seconds": 0}, {"seconds": float("nan")}, {"gibibytes": -1}])
def test_limits_that_are_none_are_refused(limits: dict[str, float]) -> None:
    with pytest.raises(SettingsError, match="give a value above 0"):
        Limits(**limits)


def test_each_worker_has_a_device() -> None:
    touch("a.tif")
    with Engine(Settings(device="gpu:0,3"), 2) as engine:
        asked = [engine.submit("a.tif") for _ in range(20)]
        assert {future.result(60).tables[0][0, 2].text for future in asked} == {"gpu:0", "gpu:3"}


def test_results_are_those_of_one_process(samples: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tablerec import Recognizer

    monkeypatch.setattr("tablerec.engine.engine.READER", "tablerec.pipeline:make_page_reader")
    recognizer = Recognizer(Settings(detector="rulings", ocr="none"))
    names = [samples / f"{name}.png" for name in ("ruled", "spans", "two_tables")]

    def described(results: Iterator[Result]) -> list[object]:
        return [(result.source, [table.to_grid() for table in result.tables]) for result in results]

    assert described(recognizer.stream(names, jobs=2)) == described(recognizer.stream(names))
    with pytest.raises(SettingsError, match="reads with jobs=1"):
        list(Recognizer(Settings(detector="rulings"), ocr=recognizer.ocr).stream(names, jobs=2))


def test_a_page_that_is_all_of_its_input_is_finished_by_its_worker(
    samples: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tablerec.engine.engine.READER", "tablerec.pipeline:make_page_reader")
    [single], [document] = touch("single.tif"), touch("document.tif", n_pages=2)
    settings = Settings(detector="rulings", ocr="none")
    with Engine(settings, 1, finish=partial(render_page, ["html"], None)) as engine:
        ruled, blank, both = engine.stream([samples / "ruled.png", single, document])
    assert [isinstance(page, RenderedPage) for page in (*ruled.pages, *blank.pages, *both.pages)] == [
        *(True, True),
        *(False, False),
    ]
    with Engine(settings, 1, keep_pixels=True, finish=partial(render_page, ["html"], None)) as engine:
        [with_pixels] = engine.pages(samples / "ruled.png")
    assert isinstance(with_pixels, RenderedPage) and with_pixels.picture.image.std() > 0
    assert ruled.pages[0].contents == with_pixels.contents == {"html": render_files(ruled, "html")}


def has_ended(process: int) -> bool:
    """Whether a process ends, or is none but in name, within a minute."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            state = Path(f"/proc/{process}/stat").read_text("ascii").rpartition(")")[2].split()[0]
        except (OSError, IndexError):
            return True
        if state == "Z":
            return True
    return False


def test_a_page_can_be_read_with_settings_of_its_own(samples: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tablerec.engine.engine.READER", "tablerec.pipeline:make_page_reader")
    ruled, base = str(samples / "ruled.png"), Settings(detector="rulings", ocr="none")
    with Engine(base, jobs=1) as engine:
        asked = [base, Settings(detector="words", ocr="none"), base, Settings(detector="rulings", ocr="none", turn=180)]
        pages = [engine.submit(ruled, settings=settings).result() for settings in asked]
        assert [len(page.tables) for page in pages] == [1, 0, 1, 1] and pages[3].turn == 180
        document = make_document(1, "open sesame")
        given = Settings(detector="rulings", ocr="none", password="open sesame", max_megapixels=20)
        assert engine.submit(document, 1, "a.pdf", given).result().picture.source == "a.pdf"
        with pytest.raises(InputError, match="more than max_megapixels"):
            engine.submit(ruled, settings=Settings(detector="rulings", ocr="none", max_megapixels=0.1)).result()


def test_recognizers_of_other_settings_share_what_reads_and_are_few() -> None:
    from tablerec.pipeline import _Recognizers

    known = _Recognizers(Settings(detector="rulings"))
    first = known.get(Settings(detector="rulings", pages="3", password="a", min_ocr_score=0.9))
    assert known.get(Settings(detector="rulings")) is first
    table = known.get(Settings(detector="rulings", layout="table"))
    assert table is not first and table.ocr is first.ocr
    assert known.get(Settings(detector="rulings", ocr="none")).ocr is not first.ocr
    for turn in (0, 90, 180, 270):
        known.get(Settings(detector="rulings", turn=turn))  # type: ignore[arg-type]
    assert len(known._known) == 4
