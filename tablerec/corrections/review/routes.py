"""What each address of the review does."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from importlib import resources
from typing import Any

from postprocess.editing.placing import tidy
from postprocess.export import tables_to_html
from tablerec.corrections.alike.joined import Joined
from tablerec.corrections.alike.offers import Offers
from tablerec.corrections.editor import Correction
from tablerec.corrections.editor.answers import answer, png_to_image, show
from tablerec.corrections.editor.folder import image_to_png
from tablerec.corrections.editor.scripts import MODULES, STYLES
from tablerec.corrections.learning.learner import Learner
from tablerec.corrections.proof import to_workbook
from tablerec.corrections.proof.answer import correction_to_proof
from tablerec.corrections.proposals.grids import find_grids
from tablerec.corrections.proposals.readings import find_readings, readings_to_view
from tablerec.corrections.review.body import Readable
from tablerec.corrections.review.desk import Desk
from tablerec.corrections.review.dropping import take_input
from tablerec.corrections.review.outputs.entries import to_entries
from tablerec.corrections.review.outputs.files import FOLDER, NAMES, Wanted, write_output
from tablerec.corrections.review.outputs.opening import open_folder
from tablerec.corrections.review.outputs.workbook import LANGUAGES
from tablerec.corrections.review.replies import EXCEL, HTML, PNG, TEXT, RefusedError, Reply, to_json
from tablerec.errors import InputError
from tablerec.fields import Fields, flag, list_of, number, one_of, text, whole

_EDITOR, _REVIEW = "tablerec.corrections.editor", "tablerec.corrections.review"
_SCRIPT, _STYLE = "text/javascript; charset=utf-8", "text/css; charset=utf-8"
_STATIC = {
    **dict.fromkeys(MODULES, (_EDITOR, _SCRIPT)),
    **dict.fromkeys(STYLES, (_EDITOR, _STYLE)),
    **dict.fromkeys(
        ("review.js", "frame.js", "work.js", "drop.js", "outputs.js", "learning.js", "alike.js", "proposals.js"),
        (_REVIEW, _SCRIPT),
    ),
    **dict.fromkeys(("review.css", "work.css"), (_REVIEW, _STYLE)),
    "icon.svg": (_REVIEW, "image/svg+xml"),
}
_FARTHEST = 1_000_000
"""Pixels of a page's side."""
_MOST_LINES = 200
"""Rows, or columns, of a grid that is asked for."""


@dataclass(frozen=True, slots=True)
class Review:
    """What is behind the addresses.

    Args:
        desk: The tables.
        learner: Learns from those that are saved.
        offers: The fixes of one for all like it.
        joined: Which go on in which.
    """

    desk: Desk
    learner: Learner
    offers: Offers
    joined: Joined


def get(review: Review, parts: Sequence[str], query: Mapping[str, str]) -> Reply:
    """Answer a question.

    Args:
        review: What is behind the addresses.
        parts: Of the address, between its slashes.
        query: What stands behind its question mark.

    Raises:
        RefusedError: There is no such address.
        TablerecError: It cannot be answered.
    """
    desk = review.desk
    match parts:
        case [""]:
            return Reply(HTML, _static(_REVIEW, "review.html"))
        case ["static", name] if name in _STATIC:
            package, kind = _STATIC[name]
            return Reply(kind, _static(package, name))
        case ["tables"]:
            return to_json(desk.listing(query.get("since", "")))
        case ["tables", name]:
            return to_json(show(desk.correction(name), desk.reader))
        case ["tables", name, "proof"]:
            correction = desk.correction(name)
            return to_json(correction_to_proof(correction, desk.corrections.read_picture(correction)))
        case ["tables", name, "picture"]:
            return Reply(PNG, desk.corrections.read_picture(desk.correction(name)))
        case ["tables", name, "whole"]:
            return Reply(PNG, image_to_png(desk.page(name).image))
        case ["tables", name, "workbook"]:
            return Reply(EXCEL, _workbook(desk.correction(name)))
        case ["tables", name, "page"]:
            return Reply(TEXT, _page(desk.correction(name)))
        case ["outputs", name] if name in NAMES.values():
            return _output(desk, name)
        case ["learning"]:
            return to_json(review.learner.view())
        case ["tables", name, "alike"]:
            return to_json(review.offers.offer(name, is_quick="quick" in query))
        case ["tables", name, "joined"]:
            return to_json(review.joined.view(name))
        case ["tables", name, "grids"]:
            return to_json(_grids(desk, desk.correction(name)))
        case ["tables", name, "readings"]:
            return to_json(_readings(desk, desk.correction(name)))
    raise _nothing_here()


def post(review: Review, parts: Sequence[str], data: dict[str, Any]) -> Reply:
    """Do something.

    Args:
        review: What is behind the addresses.
        parts: Of the address, between its slashes.
        data: What was sent; nothing in it is trusted.

    Raises:
        RefusedError: There is no such address.
        TablerecError: It cannot be done.
    """
    desk = review.desk
    match parts:
        case ["tables", name, "do"]:
            return _do(review, name, data)
        case ["tables", name, "read"]:
            return _do(review, name, {**data, "do": "read"})
        case ["tables", name, "add"]:
            box, shape = _to_frame(data)
            return to_json({"name": desk.add(name, box, shape).head.name})
        case ["outputs"]:
            return _write_output(review, data)
        case ["outputs", "open"]:
            outputs = desk.corrections.inside(FOLDER)
            open_folder(outputs if outputs.is_dir() else desk.corrections.folder)
            return to_json({})
        case ["learning"]:
            return _learn(review.learner, data)
        case ["tables", name, "alike"]:
            fields = Fields("alike", data)
            n_tables = review.offers.apply(name, fields.whole("version"), fields.get("names", list_of(text)))
            return to_json({"n_tables": n_tables})
        case ["alike", "undo"]:
            return to_json({"n_tables": review.offers.undo()})
        case ["tables", name, "join"]:
            review.joined.join(name, Fields("join", data).text("below"))
            return to_json(review.joined.view(name))
        case ["tables", name, "part"]:
            review.joined.part(name)
            return to_json(review.joined.view(name))
        case ["joined"]:
            return to_json({"n_tables": review.joined.join_all()})
    raise _nothing_here()


def post_file(desk: Desk, parts: Sequence[str], name: str, stream: Readable) -> Reply:
    """Take a file.

    Args:
        desk: The tables.
        parts: Of the address, between its slashes.
        name: What the file is called; nothing in it is trusted.
        stream: Its content; nothing in it is trusted either.

    Raises:
        RefusedError: There is no such address.
        TablerecError: It is no picture or document that can be read.
    """
    match parts:
        case ["inputs"]:
            return to_json({"name": take_input(desk, name, stream).name})
    raise _nothing_here()


def _nothing_here() -> RefusedError:
    return RefusedError(HTTPStatus.NOT_FOUND, "there is nothing at this address", "这个地址没有内容")


def _do(review: Review, name: str, step: dict[str, Any]) -> Reply:
    desk = review.desk
    is_done, reply = answer(desk.corrections, desk.correction(name), step, desk.reader)
    if is_done and step.get("do") == "save":
        review.learner.saved()
    return to_json(reply, HTTPStatus.OK if is_done else HTTPStatus.CONFLICT)


def _grids(desk: Desk, correction: Correction) -> dict[str, Any]:
    """The other grids of a table, with the version of it that they are for."""
    version, image = correction.version, png_to_image(desk.corrections.read_picture(correction))
    grids = [each.to_dict() for each in find_grids(correction, image, desk.find)]
    return {"version": version, "size": list(correction.head.size_wh), "grids": grids, "is_able": desk.finds}


def _readings(desk: Desk, correction: Correction) -> dict[str, Any]:
    """What other readings of a table say, with the version of it that they are for."""
    if desk.reader is None:
        message = "nothing reads cells here: open the table with `tablerec review`"
        raise InputError(message).named("no_reader")
    version, image = correction.version, png_to_image(desk.corrections.read_picture(correction))
    readings = find_readings(correction, image, desk.reader)
    return {"version": version, "size": list(correction.head.size_wh), "cells": readings_to_view(correction, readings)}


def _learn(learner: Learner, data: dict[str, Any]) -> Reply:
    fields = Fields("learning", data)
    orders: dict[str, Callable[[], Any]] = {
        "start": learner.start,
        "stop": learner.pause,
        "read_anew": learner.read_anew,
        "use_anyway": lambda: learner.read_anew(anyway=True),
        "apply": lambda: learner.apply(fields.get("names", list_of(text))),
        "dismiss": learner.dismiss,
        "take_back": learner.take_back,
    }
    n_tables = orders[fields.get("do", one_of(*orders))]()
    return to_json({**learner.view(), "n_tables": n_tables})


def _write_output(review: Review, data: dict[str, Any]) -> Reply:
    desk = review.desk
    fields = Fields("outputs", data)
    wanted = Wanted(
        fields.get("kind", one_of(*NAMES)), fields.get("crops", flag, False), fields.get("language", one_of(*LANGUAGES))
    )
    groups = ([desk.correction(name) for name in group] for group in review.joined.groups())
    entries = to_entries(groups, only_saved=fields.get("only_saved", flag))
    path = write_output(entries, desk.corrections, wanted)
    return to_json({"name": path.name, "n_tables": len(entries), "size": path.stat().st_size})


def _output(desk: Desk, name: str) -> Reply:
    path = desk.corrections.inside(FOLDER) / name
    if not desk.corrections.holds(path):
        raise InputError(f"{name}: no longer exists; create it again").named("no_output", name)
    kinds = {".xlsx": EXCEL, ".zip": "application/zip", ".json": "application/json"}
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Reply(kinds[path.suffix], path.open("rb"), headers=headers)


def _to_frame(data: dict[str, Any]) -> tuple[Sequence[float], tuple[int, int] | None]:
    """The box of a frame and the even rows and columns that are asked for in it."""
    rows, cols = data.get("rows"), data.get("cols")
    try:
        box = list_of(number(-_FARTHEST, _FARTHEST), 4)(data.get("box"))
    except ValueError:
        raise InputError("a frame has four numbers, in pixels: draw it again").named("no_frame") from None
    if rows is None and cols is None:
        return box, None
    try:
        return box, (whole(1, _MOST_LINES)(rows), whole(1, _MOST_LINES)(cols))
    except ValueError as error:
        message = f"rows and columns: {error} is needed for each: give both or none"
        raise InputError(message).named("bad_grid") from None


def _static(package: str, name: str) -> bytes:
    return resources.files(package).joinpath("static").joinpath(name).read_bytes()


def _workbook(correction: Correction) -> bytes:
    content = io.BytesIO()
    to_workbook([tidy(correction.table)]).save(content)
    return content.getvalue()


def _page(correction: Correction) -> bytes:
    return tables_to_html([tidy(correction.table)], correction.head.name).encode("utf-8", "replace")
