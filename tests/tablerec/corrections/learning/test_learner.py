"""The detector learns from saved tables in the background; here a stand-in takes the place of each command."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tablerec.corrections.learning.learner import ALONE, FEWEST
from tablerec.errors import InputError, TablerecError
from tests.helpers.corrections.learning import Commands, make_learner, settle, with_another_text, worse_where
from tests.helpers.review import make_table

GAIN_OF_NOTHING = json.dumps(
    {"run": 1, "is_done": True, "n_learnt": 1, "current": 0, "former": [], "gain": {"saved": {}}, "applied": {}}
)


@pytest.fixture(autouse=True)
def trains_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tablerec.corrections.learning.learner.can_train", lambda: True)


def test_without_a_saved_table_there_is_nothing_to_learn_from(tmp_path: Path) -> None:
    learner = make_learner(tmp_path, Commands())
    view = learner.view()
    assert (view["n_saved"], view["doing"], view["gain"], view["can_take_back"]) == (0, "", {}, False)
    for order in (learner.start, learner.read_anew, learner.take_back):
        with pytest.raises(InputError):
            order()
    assert learner.weights is None and not (tmp_path / "corrections" / "learnt").exists()


def test_too_few_are_refused(tmp_path: Path) -> None:
    learner = make_learner(tmp_path, Commands(), FEWEST - 1)
    with pytest.raises(InputError, match=f"save {FEWEST} or more"):
        learner.start()


def test_where_nothing_trains_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tablerec.corrections.learning.learner.can_train", lambda: False)
    learner = make_learner(tmp_path, Commands(), FEWEST, after=FEWEST)
    learner.saved()
    assert learner.view()["doing"] == ""
    with pytest.raises(TablerecError, match="pip install"):
        learner.start()


def test_it_says_what_was_gained_on_saved_and_held_out_tables(tmp_path: Path) -> None:
    learner = make_learner(tmp_path, Commands(), FEWEST)
    learner.start()
    gain = settle(learner)["gain"]
    before = {"n_tables": 4, "n_right": 0, "n_cells": 36, "n_cells_right": 32}
    assert gain["saved"] == {"before": before, "after": {**before, "n_right": 4, "n_cells_right": 36}}  # type: ignore[index]
    assert [gain["held_out"][when]["n_cells_right"] for when in ("before", "after")] == [8, 9]  # type: ignore[index]
    assert learner.weights is None, "they are used when a person wants it"


def test_progress_is_told_by_steps_however_long_they_take(tmp_path: Path) -> None:
    commands, seen = Commands(), []
    run = commands.run

    def run_and_look(words: Sequence[str], *others: Any) -> bool:
        done = run(words, *others)
        if words[0] == "train":
            view = learner.view()
            seen.append((view["progress"], view["minutes_left"]))
        return done

    commands.run = run_and_look  # type: ignore
    learner = make_learner(tmp_path, commands, FEWEST, steps=116)
    learner.start()
    assert settle(learner)["gain"] and seen == [(0.25, 80.0)]
    recipe = json.loads((tmp_path / "corrections" / "learnt" / "1" / "recipe.json").read_text("utf-8"))
    assert recipe["schedule"]["steps"] == 116 and "minutes" not in recipe["schedule"]


@pytest.mark.parametrize("kind", ["held_out", "saved"])
def test_weights_that_read_saved_tables_worse_are_withheld_until_a_person_wants_them(tmp_path: Path, kind: str) -> None:
    used: list[Path | None] = []
    commands = Commands(worse_where(lambda number: (number == 0) == (kind == "held_out") and number < FEWEST))
    learner = make_learner(tmp_path, commands, FEWEST, 1, use=lambda weights, is_alone: used.append(weights))
    learner.start()
    view = settle(learner)
    gain = view["gain"]
    is_worse = {each: gain[each]["after"]["n_cells_right"] < gain[each]["before"]["n_cells_right"] for each in gain}
    assert is_worse == {each: each == kind for each in ("saved", "held_out")} and view["is_withheld"]
    with pytest.raises(InputError, match="read worse"):
        learner.read_anew()
    again = make_learner(tmp_path, commands, FEWEST, 1, use=lambda weights, is_alone: used.append(weights))
    assert again.view()["is_withheld"] and again.weights is None and not used and again.view()["changes"] is None
    again.read_anew(anyway=True)
    view = settle(again)
    assert used == [again.weights] and again.weights is not None
    assert not view["is_withheld"] and view["can_take_back"] and view["changes"] == []
    again.take_back()
    assert again.view()["is_withheld"] and again.weights is None


@pytest.mark.parametrize("is_better", [True, False])
def test_a_network_that_reads_held_out_tables_better_alone_reads_alone_from_then_on(
    tmp_path: Path, is_better: bool
) -> None:
    used: list[tuple[Path | None, bool]] = []
    commands = Commands(lambda _: make_table(), (lambda table: table) if is_better else None)
    learner = make_learner(
        tmp_path, commands, FEWEST, 1, use=lambda weights, is_alone: used.append((weights, is_alone))
    )
    learner.start()
    gain = settle(learner)["gain"]
    assert gain["held_out"]["after"]["n_right"] == int(is_better)
    learner.read_anew()
    settle(learner)
    assert used == [(learner.weights, is_better)] and (commands.words[-1][: len(ALONE)] == list(ALONE)) == is_better
    assert make_learner(tmp_path, commands, FEWEST, 1).is_alone == is_better, "it is kept"
    learner.take_back()
    assert used[-1] == (None, False)


def test_weights_that_change_nothing_are_offered(tmp_path: Path) -> None:
    learner = make_learner(tmp_path, Commands(lambda _: make_table()), FEWEST)
    learner.start()
    assert not settle(learner)["is_withheld"]


def test_it_begins_by_itself_after_so_many_saves(tmp_path: Path) -> None:
    commands = Commands()
    learner = make_learner(tmp_path, commands, 5, 2, after=6)
    learner.saved()
    assert settle(learner)["run"] == 0
    desk = commands.desk
    assert desk is not None
    desk.corrections.do(desk.correction("t05_1_1"), {"do": "save"})
    learner.saved()
    view = settle(learner)
    assert (view["run"], view["n_new"]) == (1, 0)
    desk.corrections.do(desk.correction("t06_1_1"), {"do": "save"})
    learner.saved()
    assert settle(learner)["run"] == 1


def test_open_tables_are_read_anew_shown_and_changed_only_when_a_person_wants_it(tmp_path: Path) -> None:
    commands, used = Commands(with_another_text), []
    learner = make_learner(tmp_path, commands, 5, 3, use=lambda weights, is_alone: used.append(weights))
    desk = commands.desk
    assert desk is not None
    desk.corrections.do(desk.correction("t05_1_1"), {"do": "set_headers", "n_rows": 1, "n_cols": 0})
    learner.start()
    settle(learner)
    learner.read_anew()
    changes = settle(learner)["changes"]
    assert [each["name"] for each in changes] == ["t06_1_1", "t07_1_1"], "a person has touched the first"  # type: ignore[attr-defined]
    assert changes[0] == {"name": "t06_1_1", "n_changed": 1, "before": [3, 3, 0.5], "after": [3, 3, None]}  # type: ignore[index]
    assert used == [learner.weights] and used[0].name == "weights"
    assert desk.correction("t06_1_1").version == 0
    desk.corrections.do(desk.correction("t07_1_1"), {"do": "set_headers", "n_rows": 1, "n_cols": 0})
    assert learner.apply(["t06_1_1", "t07_1_1", "t00_1_1"]) == 1, "one was touched since it was shown"
    assert desk.correction("t06_1_1").table[0, 0].text == "read anew"
    assert desk.correction("t07_1_1").table[0, 0].text == "0.0"
    assert desk.correction("t00_1_1").table[0, 0].text == "mine"


def test_all_of_it_can_be_taken_back_but_not_what_a_person_did_since(tmp_path: Path) -> None:
    commands, used = Commands(with_another_text), []
    learner = make_learner(tmp_path, commands, 5, 2, use=lambda weights, is_alone: used.append(weights))
    desk = commands.desk
    assert desk is not None
    learner.start()
    settle(learner)
    learner.read_anew()
    settle(learner)
    assert learner.apply(["t05_1_1", "t06_1_1"]) == 2
    desk.corrections.do(desk.correction("t06_1_1"), {"do": "set_text", "row": 1, "col": 1, "text": "mine"})
    again = make_learner(tmp_path, commands, 5, 2, use=lambda weights, is_alone: used.append(weights))
    desk = commands.desk
    assert again.weights == learner.weights and again.view()["can_take_back"]
    assert again.take_back() == 1
    assert [desk.correction(name).table[0, 0].text for name in ("t05_1_1", "t06_1_1")] == ["0.0", "read anew"]
    assert used[-1] is None and again.weights is None and not again.view()["can_take_back"]
    assert (tmp_path / "corrections" / "learnt" / "1" / "weights" / "inference.onnx").is_file()


def test_a_training_that_is_stopped_goes_on_after_a_restart(tmp_path: Path) -> None:
    commands = Commands()
    commands.waits.clear()
    learner = make_learner(tmp_path, commands, 5)
    learner.start()
    with pytest.raises(InputError, match="in the background"):
        learner.start()
    learner.pause()
    view = settle(learner)
    assert commands.stopped and view["is_paused"] and view["doing"] == ""
    learner.saved()
    assert settle(learner)["is_paused"], "it was a person who stopped it"
    commands.waits.set()
    again = make_learner(tmp_path, commands, 5)
    assert again.view()["is_paused"]
    again.start()
    view = settle(again)
    assert (view["run"], view["is_paused"]) == (1, False) and view["gain"]


@pytest.mark.parametrize("step", ["train", "export", "--layout"])
def test_what_fails_is_said_and_can_be_tried_again(tmp_path: Path, step: str) -> None:
    commands = Commands()
    learner = make_learner(tmp_path, commands, 5)
    commands.fails = step
    learner.start()
    view = settle(learner)
    assert (view["problem"], view["is_paused"], view["gain"]) == ("a picture is broken", True, {})
    commands.fails, commands.words = "", []
    learner.start()
    view = settle(learner)
    assert view["problem"] == "" and view["gain"]
    begun = {"train": "train", "export": "train", "--layout": "--layout"}[step]
    assert commands.words[0][0] == begun, "what was done is not done again"


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{",
        '{"run": -1}',
        '{"run": 1, "is_done": true, "n_learnt": 1, "current": 1, "former": "x"}',
        GAIN_OF_NOTHING,
    ],
)
def test_a_broken_state_is_as_none(tmp_path: Path, content: str) -> None:
    (tmp_path / "corrections" / "learnt").mkdir(parents=True)
    (tmp_path / "corrections" / "learnt" / "state.json").write_text(content)
    learner = make_learner(tmp_path, Commands(), 5)
    assert learner.weights is None
    learner.start()
    assert settle(learner)["gain"]


def test_weights_that_are_gone_are_not_used(tmp_path: Path) -> None:
    commands = Commands()
    learner = make_learner(tmp_path, commands, 5)
    learner.start()
    settle(learner)
    learner.read_anew()
    settle(learner)
    assert learner.weights is not None
    (learner.weights / "inference.onnx").unlink()
    assert make_learner(tmp_path, commands, 5).weights is None
