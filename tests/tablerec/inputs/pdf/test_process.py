"""The process that draws pages: what ends it, and what is said then."""

from __future__ import annotations

import io
import os
import sys

import numpy as np
import pytest

from tablerec.config import Settings
from tablerec.errors import InputError
from tablerec.inputs.images import load_pages
from tablerec.inputs.pdf import process
from tablerec.inputs.pdf.channel import receive, send
from tablerec.inputs.pdf.process import Renderer, RenderError, take_renderer
from tests.helpers.pdf import make_pdf, text

limited = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is limited on Linux")


def form_in_form() -> bytes:
    """A form that draws itself twice, whose drawing has no end."""
    content = b"/X1 Do /X1 Do"
    head = b"<< /Type /XObject /Subtype /Form /BBox [0 0 300 200] /Resources << /XObject << /X1 4 0 R >> >>"
    return make_pdf("/X1 Do", objects=[b"%s /Length %d >>\nstream\n%s\nendstream" % (head, len(content), content)])


def billion_forms(depth: int = 9, width: int = 10) -> bytes:
    """Forms that draw the next one ten times each."""
    objects = []
    for level in range(depth):
        content = b"/X1 Do " * width if level < depth - 1 else b"0 0 m 300 200 l S"
        inner = b"/Resources << /XObject << /X1 %d 0 R >> >>" % (5 + level)
        head = b"<< /Type /XObject /Subtype /Form /BBox [0 0 300 200] " + (inner if level < depth - 1 else b"")
        objects.append(b"%s /Length %d >>\nstream\n%s\nendstream" % (head, len(content), content))
    return make_pdf("/X1 Do", objects=objects)


def test_messages_come_as_they_were_sent():
    pipe = io.BytesIO()
    arrays = [
        np.zeros((0, 4)),
        np.arange(6, dtype=np.uint8).reshape(2, 3),
        np.zeros(2, [("a", "<u4"), ("box", "<f4", 4)]),
    ]
    send(pipe, {"open": None}, arrays)
    pipe.seek(0)
    header, received = receive(pipe)
    assert header == {"open": None}
    for sent, came in zip(arrays, received, strict=True):
        assert came.dtype == sent.dtype and came.shape == sent.shape and (came == sent).all()


OBJECTS = b'{"arrays": [{"dtype": "|O", "shape": [1]}]}\n\0'
CUT = b'{"arrays": [{"dtype": "<f8", "shape": [9]}]}\n1'


@pytest.mark.parametrize("content", [b"", b"{}\n", b"[1]\n", b"garbage", OBJECTS, CUT])
def test_what_is_no_message_is_the_end(content):
    with pytest.raises(EOFError):
        receive(io.BytesIO(content))


@limited
def test_forms_without_end_end_the_process_and_not_ours():
    with pytest.raises(InputError, match=r"page 1 takes (more memory|longer) to draw than max_page_"):
        list(load_pages(billion_forms(), Settings(max_page_memory=0.3, max_megapixels=4, max_page_seconds=20)))
    [page] = load_pages(make_pdf(text(50, 100, "after")))
    assert page.words is not None and page.words[0].text == "after"


@limited
def test_forms_within_themselves_are_refused():
    settings = Settings(max_page_memory=0.3, max_megapixels=4, max_page_seconds=20)
    with pytest.raises(InputError, match="page 1 takes"):
        list(load_pages(form_in_form(), settings))


def test_a_page_that_takes_too_long_is_refused():
    with pytest.raises(InputError, match="longer to draw than max_page_seconds"):
        list(load_pages(billion_forms(), Settings(max_page_seconds=0.05, max_page_memory=8)))


def test_a_process_that_died_is_replaced():
    renderer = take_renderer()
    renderer.close()
    process.give_back(renderer)
    with pytest.raises(RenderError):
        renderer.ask({"size": 0})
    [page] = load_pages(make_pdf(text(50, 100, "again")))
    assert page.words is not None


def test_one_process_draws_document_after_document():
    list(load_pages(make_pdf("")))
    before = list(process._idle)
    list(load_pages(make_pdf("", "")))
    assert [renderer for renderer in process._idle if renderer in before], "the idle process was taken again"


def test_modules_beside_the_user_do_not_take_the_place_of_ours(tmp_path, monkeypatch):
    (tmp_path / "json.py").write_text("raise SystemExit('the wrong json')")
    monkeypatch.chdir(tmp_path)
    renderer = Renderer()
    try:
        answer, _ = renderer.ask(
            {"open": None, "password": None, "memory": 8 << 30}, [np.frombuffer(make_pdf(""), np.uint8)]
        )
    finally:
        renderer.close()
    assert answer == {"n_pages": 1}


def test_a_process_of_a_parent_is_not_used_after_a_fork(monkeypatch):
    list(load_pages(make_pdf("")))
    [*_, idle] = process._idle
    with monkeypatch.context() as forked:
        forked.setattr(os, "getpid", lambda: -1)
        renderer = take_renderer()
        assert renderer.pid == -1 and renderer is not idle and idle.is_alive
        renderer.close()
    idle.close()
