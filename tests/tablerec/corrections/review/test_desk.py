from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from postprocess.cell import Confidence
from tablerec.cli import command
from tablerec.config import Settings
from tablerec.corrections.editor import CorrectionFolder
from tablerec.corrections.review.command import find_inputs
from tablerec.corrections.review.desk import Desk
from tablerec.errors import InputError
from tablerec.inputs.images import load_pages
from tablerec.labels.read import read_labels
from tablerec.result import Page, PageImage
from tests.helpers.pdf import make_document
from tests.helpers.review import make_desk, make_page, make_page_desk, make_table


def test_empty_desk(tmp_path: Path) -> None:
    desk = make_desk(tmp_path, [])
    desk.read_all()
    listing = desk.listing()
    assert (listing["n_inputs"], listing["tables"], listing["problems"]) == (0, [], [])
    with pytest.raises(InputError, match="no table"):
        desk.correction("scan_1_1")


def test_the_most_doubtful_table_comes_first(tmp_path: Path) -> None:
    sureness = {"a.png": 0.9, "b.png": 0.2, "c.png": 0.6}
    desk = make_desk(tmp_path, list(sureness))

    def read(source: str) -> Iterator[Page]:
        page = make_page(make_table(), source=source)
        sure = Confidence(sureness[Path(source).name], (1.0,) * 3, (1.0,) * 3, "")
        yield replace(page, tables=(replace(page.tables[0], confidence=sure),))

    desk = Desk(desk.inputs, tmp_path, desk.corrections, read)
    desk.read_all()
    assert [table["source"] for table in desk.listing()["tables"]] == ["b.png", "c.png", "a.png"]


def test_the_end_waits_for_the_page_that_is_being_read(tmp_path: Path) -> None:
    begun, goes_on, done = threading.Event(), threading.Event(), []

    def read(source: str) -> Iterator[Page]:
        begun.set()
        assert goes_on.wait(20)
        done.append(source)
        yield make_page(make_table(), source=source)

    desk = make_desk(tmp_path, ["a.png", "b.png"])
    desk = Desk(desk.inputs, tmp_path, desk.corrections, read)
    desk.start()
    assert begun.wait(20)
    threading.Timer(0.0, goes_on.set).start()
    desk.stop()
    assert done and "reader" not in [thread.name for thread in threading.enumerate()]


def test_the_end_waits_for_the_frame_that_is_being_read(tmp_path: Path) -> None:
    begun, goes_on, done = threading.Event(), threading.Event(), []

    def read_frame(picture: PageImage) -> Iterator[Page]:
        begun.set()
        assert goes_on.wait(20)
        done.append(picture.number)
        yield Page(picture)

    desk = make_page_desk(tmp_path, make_table())
    desk.read_all()
    desk._read_frame = read_frame
    adding = threading.Thread(target=desk.add, args=("scan_1_1", [0, 0, 90, 90]))
    adding.start()
    assert begun.wait(20)
    threading.Timer(0.0, goes_on.set).start()
    desk.stop()
    assert done == [1]
    adding.join(20)


def test_a_desk_that_never_began_ends(tmp_path: Path) -> None:
    make_desk(tmp_path, []).stop()


def test_pictures_are_read_once(tmp_path: Path) -> None:
    first = make_desk(tmp_path, ["a.png", "b.png"])
    first.read_all()
    first.correction("a_1_1").do({"do": "set_text", "row": 0, "col": 0, "text": "mine"})
    (tmp_path / "a.png").rename(tmp_path / "renamed.png")
    second = make_desk(tmp_path, ["renamed.png", "b.png"])

    def read(source: str) -> Iterator[Page]:
        raise AssertionError(f"{source} is read again")
        yield

    second = Desk(second.inputs, tmp_path, second.corrections, read)
    second.read_all()
    assert second.listing()["problems"] == []
    assert second.correction("a_1_1").table[0, 0].text == "mine"


def test_a_picture_whose_journal_is_broken_is_read_again(tmp_path: Path) -> None:
    first = make_desk(tmp_path)
    first.read_all()
    first.correction("scan_1_1").path.write_bytes(b"broken")
    second = make_desk(tmp_path)
    second.read_all()
    assert [table["n_steps"] for table in second.listing()["tables"]] == [0]
    assert "broken-1" in second.listing()["problems"][0]


def read_document(folder: Path, settings: Settings, read: list[int] | None = None) -> Desk:
    """A desk of a PDF, on each page of which a table is found."""

    def pages(source: str) -> Iterator[Page]:
        for picture in load_pages(source, settings):
            if read is not None:
                read.append(picture.number)
            yield Page(picture, make_page(make_table()).tables)

    desk = Desk([folder / "book.pdf"], folder, CorrectionFolder(folder / "corrections"), pages, settings=settings)
    desk.read_all()
    return desk


def test_a_document_with_a_password_is_read_and_shown(tmp_path: Path) -> None:
    (tmp_path / "book.pdf").write_bytes(make_document(2, "open sesame"))
    desk = read_document(tmp_path, Settings(password="open sesame", pages="2"))
    [table] = desk.listing()["tables"]
    assert (table["page"], desk.page(table["name"]).number) == (2, 2)


def test_a_document_without_its_password_is_a_problem_of_the_list(tmp_path: Path) -> None:
    (tmp_path / "book.pdf").write_bytes(make_document(1, "open sesame"))
    for settings, says in [(Settings(), "needs a password"), (Settings(password="wrong one"), "does not open")]:
        [problem] = read_document(tmp_path, settings).listing()["problems"]
        assert says in problem and "wrong one" not in problem


def test_pages_are_read_once_whatever_pages_are_asked_for_later(tmp_path: Path) -> None:
    (tmp_path / "book.pdf").write_bytes(make_document(3))

    def review(pages: str | None) -> tuple[list[int], list[int], Desk]:
        read: list[int] = []
        desk = read_document(tmp_path, Settings(pages=pages), read)
        listing = desk.listing()
        assert listing["problems"] == []
        return sorted(table["page"] for table in listing["tables"]), read, desk

    on_list, read, desk = review("2")
    assert (on_list, read) == ([2], [2])
    desk.add("book_2_1", [400, 300, 600, 400], (2, 2))
    assert review("2")[:2] == ([2, 2], [])
    assert review("3")[:2] == ([3], [3])
    assert review(None)[:2] == ([1, 2, 2, 3], [1, 2, 3])
    assert review("1-2")[:2] == ([1, 2, 2], [])
    assert review(None)[:2] == ([1, 2, 2, 3], [])


@pytest.mark.parametrize("error", [InputError("b.png: broken picture; export it again"), ZeroDivisionError("oh")])
def test_a_picture_that_cannot_be_read_is_reported_and_the_others_go_on(tmp_path: Path, error: Exception) -> None:
    desk = make_desk(tmp_path, ["a.png", "b.png", "c.png"])

    def read(source: str) -> Iterator[Page]:
        if source.endswith("b.png"):
            raise error
        yield make_page(make_table(), source=source)

    desk = Desk(desk.inputs, tmp_path, desk.corrections, read)
    desk.read_all()
    listing = desk.listing()
    assert (listing["n_read"], len(listing["tables"]), len(listing["problems"])) == (3, 2, 1)
    assert "b.png" in listing["problems"][0]


def test_a_folder_that_cannot_be_read_ends_the_reading_with_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = make_desk(tmp_path)
    monkeypatch.setattr(desk, "_known", lambda: (_ for _ in ()).throw(PermissionError("sources.jsonl")))
    desk.read_all()
    listing = desk.listing()
    assert (listing["n_read"], listing["problems"]) == (1, ["sources.jsonl"])


def test_broken_lines_of_what_was_read_do_no_harm(tmp_path: Path) -> None:
    make_desk(tmp_path).read_all()
    sources = tmp_path / "corrections" / "sources.jsonl"
    sources.write_bytes(b'\xff\n[]\n{"sha256": 1}\n{"sha256": "x", "tables": 3}\n' + sources.read_bytes())
    desk = make_desk(tmp_path)
    desk.read_all()
    assert desk.listing()["problems"] == [] and len(desk.listing()["tables"]) == 1


def test_links_out_of_the_folder_and_our_own_pictures_are_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inside, outside = tmp_path / "in", tmp_path / "secret.png"
    inside.mkdir()
    for path in (inside / "a.png", outside):
        Image.new("RGB", (8, 8)).save(path)
    (inside / "link.png").symlink_to(outside)
    (inside / "loop.png").symlink_to("loop.png")
    make_desk(inside, ["a.png"]).read_all()
    assert find_inputs(inside, inside / "corrections", recursive=True) == [inside / "a.png", inside / "loop.png"]
    assert "link.png" in capsys.readouterr().err


def test_corrections_of_a_folder_inside_are_no_pictures(tmp_path: Path) -> None:
    inside = tmp_path / "2023"
    (inside / "images").mkdir(parents=True)
    make_desk(inside, ["a.png"]).read_all()
    Image.new("RGB", (8, 8)).save(inside / "images" / "a_1_1.png")
    for written in ("outputs/crops/a_1_1", "learnt/1/training/pictures"):
        (inside / "corrections" / written).mkdir(parents=True)
        Image.new("RGB", (8, 8)).save(inside / "corrections" / written / "r1_c1.png")
    found = find_inputs(tmp_path, tmp_path / "corrections", recursive=True)
    assert sorted(found) == [inside / "a.png", inside / "images" / "a_1_1.png"]


def test_a_folder_without_pictures_ends_with_a_message(tmp_path: Path) -> None:
    done = CliRunner().invoke(command, ["review", str(tmp_path)])
    assert (done.exit_code, done.output.count("\n")) == (1, 1)
    assert "no pictures" in done.output
    assert not (tmp_path / "corrections").exists()


def test_the_command_serves_until_it_is_stopped(tmp_path: Path, repository: Path) -> None:
    Image.new("RGB", (60, 40), "white").save(tmp_path / "blank.png")
    code = "import sys; from tablerec.cli import main; sys.exit(main())"
    running = subprocess.Popen(
        [sys.executable, "-c", code, "review", str(tmp_path), "--no-browser", "--ocr", "none", "--detector", "rulings"],
        cwd=repository,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert running.stdout is not None
    said = [running.stdout.readline() for _ in range(3)]
    found = re.search(r"http://127\.0\.0\.1:(\d+)/\?token=(\S+)", said[1])
    assert found, (said, running.communicate())
    with socket.socket() as connection:
        connection.connect(("127.0.0.1", int(found[1])))
        lines = [f"GET /?token={found[2]} HTTP/1.1", f"Host: 127.0.0.1:{found[1]}", "Connection: close", "", ""]
        connection.sendall("\r\n".join(lines).encode())
        assert connection.recv(100).startswith(b"HTTP/1.1 303")
    running.send_signal(signal.SIGINT)
    _, errors = running.communicate(timeout=60)
    assert (running.returncode, errors.strip()) == (130, "stopped")


def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    Image.new("RGB", (8, 8)).save(tmp_path / "a.png")
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = str(other.getsockname()[1])
        done = CliRunner().invoke(command, ["review", str(tmp_path), "--no-browser", "--port", port])
    assert done.exit_code == 2 and f"--port {port}" in done.output


def test_the_corrections_folder_may_be_elsewhere(tmp_path: Path) -> None:
    desk = make_desk(tmp_path)
    desk = Desk(desk.inputs, tmp_path, CorrectionFolder(tmp_path / "mine"), lambda source: [make_page(source=source)])
    desk.read_all()
    assert (tmp_path / "mine" / "journal" / "scan_1.jsonl").is_file()
    assert not (tmp_path / "corrections").exists()


@pytest.mark.parametrize("turn", [0, 90])
def test_a_table_that_was_missed_is_added_to_its_page(tmp_path: Path, turn: int) -> None:
    desk = make_page_desk(tmp_path, make_table(box=(20, 20, 150, 60)), turn=turn)
    desk.read_all()
    added = desk.add("scan_1_1", [160.4, 10, 900, 150])
    assert (added.head.name, added.head.source, added.head.page, added.head.number) == ("scan_1_2", "scan.png", 1, 2)
    assert (added.head.window, added.head.size_wh, added.head.turn) == ((160, 10, 340, 150), (180, 140), turn)
    assert added.table.to_grid() == [["a", "b"], ["c", "d"]]
    assert np.array_equal(desk.page("scan_1_2").image, make_page(make_table()).picture.image)
    # It is there when the review is begun again, and next to one whose journal broke.
    for broken in (False, True):
        if broken:
            desk.correction("scan_1_1").path.write_bytes(b"broken")
        desk = make_page_desk(tmp_path, make_table(box=(20, 20, 150, 60)), turn=turn)
        desk.read_all()
        assert sorted(table["name"] for table in desk.listing()["tables"]) == ["scan_1_1", "scan_1_2"]


def test_the_picture_of_an_added_table_shows_nothing_of_its_neighbours(tmp_path: Path) -> None:
    desk = make_page_desk(tmp_path, make_table(box=(20, 20, 320, 60)))
    desk.read_all()
    added = desk.add("scan_1_1", [0, 40, 340, 160], (3, 2))
    assert added.head.window == (0, 40, 340, 160), "even rows fill the frame, whatever it cuts"

    def read_frame(picture: PageImage) -> Iterator[Page]:
        yield Page(picture, (make_table(box=(20, 40, 320, 110)),))

    desk._read_frame = read_frame
    assert desk.add("scan_1_1", [0, 40, 340, 160]).head.window == (0, 60, 340, 160)


def test_the_pictures_of_others_show_nothing_of_an_added_table(tmp_path: Path) -> None:
    """Their labels do not have its cells, so what is seen of them would be taught to be none."""
    inked = make_page(make_table(box=(20, 20, 320, 60)))
    inked.picture.image[64:] = 7
    desk = Desk([tmp_path / "ink.png"], tmp_path, CorrectionFolder(tmp_path / "corrections"), lambda _: [inked])
    Image.fromarray(inked.picture.image[..., ::-1]).save(tmp_path / "ink.png")
    desk.read_all()
    [name] = [table["name"] for table in desk.listing()["tables"]]
    assert (np.array(Image.open(desk.corrections.picture(desk.correction(name)))) == 7).any()
    desk.add(name, [0, 64, 340, 160], (3, 2))
    painted = np.array(Image.open(desk.corrections.picture(desk.correction(name))))
    assert (painted != 7).all()
    assert np.array_equal(desk.page(name).image, inked.picture.image), "the page itself is as it was"


def test_where_nothing_is_found_in_a_frame_it_is_a_grid_with_the_words(tmp_path: Path) -> None:
    desk = make_page_desk(tmp_path)
    desk.read_all()
    assert desk.add("scan_1", [10, 10, 40, 50]).table.shape == (1, 1)
    even = desk.add("scan_1", [10, 10, 40, 50], (2, 3)).table
    assert even.to_grid() == [["7", "", ""], ["", "", ""]]
    assert [table.verdict for table in desk.corrections.read().values()] == ["rejected", "open", "open"]


@pytest.mark.parametrize("box", [[], [1, 2, 3], [0, 0, 5, 90], [400, 0, 500, 90], [90, 90, 10, 10], [0, 0, 9e9, None]])
def test_a_frame_must_be_on_the_page(tmp_path: Path, box: list[float]) -> None:
    desk = make_page_desk(tmp_path, make_table())
    desk.read_all()
    with pytest.raises(InputError, match="frame"):
        desk.add("scan_1_1", box)
    assert len(desk.listing()["tables"]) == 1


def test_a_page_that_was_changed_gets_no_table(tmp_path: Path) -> None:
    desk = make_page_desk(tmp_path, make_table())
    desk.read_all()
    for size in ((340, 160), (20, 20)):
        Image.new("RGB", size).save(tmp_path / "scan.png")
        with pytest.raises(InputError, match="changed"):
            desk.add("scan_1_1", [0, 0, 90, 90])
    (tmp_path / "scan.png").unlink()
    with pytest.raises(InputError):
        desk.page("scan_1_1")


def test_two_tables_of_a_page_train_each_in_its_own_picture(tmp_path: Path) -> None:
    desk = make_page_desk(tmp_path, make_table(box=(20, 20, 150, 60)))
    desk.read_all()
    names = ["scan_1_1", desk.add("scan_1_1", [160, 10, 340, 150]).head.name]
    for name in names:
        desk.corrections.do(desk.correction(name), {"do": "save"})
    labels = {label.image.stem: label for label in read_labels(tmp_path / "corrections")}
    assert {name: len(labels[name].quads) for name in names} == {"scan_1_1": 9, "scan_1_2": 4}
    for label in labels.values():
        assert not label.problems and (label.quads >= 0).all()
        assert (label.quads <= np.array(label.size_wh)).all()


def test_of_very_many_tables_only_the_last_ones_are_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tablerec.corrections.review.desk._IN_MEMORY", 2)
    desk = make_desk(tmp_path, [f"{number}.png" for number in range(5)])
    desk.read_all()
    assert len(desk._recent) == 2 and len(desk.listing()["tables"]) == 5
    revision = desk.listing()["revision"]
    for name in desk.names():
        desk.corrections.do(desk.correction(name), {"do": "set_text", "row": 0, "col": 0, "text": name})
    assert [table["n_steps"] for table in desk.listing(revision)["tables"]] == [1] * 5
    assert len(desk._recent) == 2
    assert [desk.correction(name).table[0, 0].text for name in desk.names()] == desk.names()
    first = desk.correction("0_1_1")
    assert desk.correction("0_1_1") is first, "who asks again gets the same"


def test_a_page_without_a_table_stands_after_all_tables(tmp_path: Path) -> None:
    """It led the list as a table of one cell that is surely wrong."""
    desk = make_desk(tmp_path, ["none.png", "some.png"])

    def read(source: str) -> Iterator[Page]:
        yield make_page(*([make_table()] if source.endswith("some.png") else []), source=source)

    desk = Desk(desk.inputs, tmp_path, desk.corrections, read)
    desk.read_all()
    assert [table["name"] for table in desk.listing()["tables"]] == ["some_1_1", "none_1"]
    assert desk.names() == ["none_1", "some_1_1"]


def test_a_journal_that_goes_while_its_table_is_not_in_memory_is_no_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tablerec.corrections.review.desk._IN_MEMORY", 1)
    desk = make_desk(tmp_path, ["a.png", "b.png"])
    desk.read_all()
    (tmp_path / "corrections" / "journal" / "a_1_1.jsonl").unlink()
    with pytest.raises(InputError, match="no table"):
        desk.correction("a_1_1")


def test_other_weights_read_from_the_next_page_on(tmp_path: Path) -> None:
    desk = make_desk(tmp_path, ["a.png"])
    desk.read_all()
    desk.use(lambda source: [make_page(make_table(2, 2), source=source)], lambda picture: [Page(picture)])
    Image.new("RGB", (9, 9)).save(tmp_path / "b.png")
    desk.add_input(tmp_path / "b.png")
    worker = desk._worker
    if worker is not None:
        worker.join(20)
    assert [desk.correction(name).table.shape for name in desk.names()] == [(3, 3), (2, 2)]
