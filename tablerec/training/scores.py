"""What a validation measures, for each kind of network; imports no Paddle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tablerec.training.settings import TrainSettings


@dataclass(frozen=True, slots=True)
class ScoreNames:
    """The scores in ``curve.jsonl`` that reports show.

    Args:
        best: The one by which the best weights are kept.
        headings: Of all in the order in which they are shown, by name.
        rising: Whether more of ``best`` is better.
        colors: Of their curves.
        advice: What to look at first where it does not get better.
        more: What helps against overfitting.
    """

    best: str
    headings: Mapping[str, str]
    rising: bool
    advice: str
    more: str
    note: str

    def rank(self, scores: Mapping[str, float]) -> float:
        """Return the value of ``best`` so that more is better.

        >>> READING.rank({"cer": 0.25})
        -0.25
        """
        return scores[self.best] if self.rising else -scores[self.best]

    @property
    def title(self) -> str:
        """Heading of ``best``."""
        return self.headings[self.best]


DETECTION = ScoreNames(
    best="f1_80",
    headings={"f1_60": "F1 at IoU 0.6", "f1_80": "F1 at IoU 0.8", "exact": "exact pictures"},
    rising=True,
    advice="Check that the labels outline whole cells (tablerec labels check)",
    more="More labels, or synthetic tables among them,",
    note="Exact: all cells detected, and no others.",
)
LINES = replace(
    DETECTION,
    advice="Check that the labels outline whole lines of text",
    more="More labels, or synthetic pictures among them,",
    note="Exact: all lines of text detected, and no others.",
)
READING = ScoreNames(
    best="cer",
    headings={"cer": "character error rate", "exact": "exact lines"},
    rising=False,
    advice="Check that the labels are what the pictures show, from left to right",
    more="More labels, or synthetic lines among them,",
    note="Character error rate: characters to insert, delete or replace, for each true one.",
)


def scores_of(settings: TrainSettings) -> ScoreNames:
    """Return what the validation of a training measures."""
    return {"linenet": READING, "cellnet_lines": LINES}.get(settings.model, DETECTION)
