"""All checks of a table in one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from postprocess.arrays import Image
from postprocess.cell import Cell
from postprocess.table import Table
from postprocess.word import Word
from tablerec.corrections.proof.amounts import table_to_amounts
from tablerec.corrections.proof.check_digits import check_codes
from tablerec.corrections.proof.columns import check_columns
from tablerec.corrections.proof.doubts import check_doubts, find_spots
from tablerec.corrections.proof.equation import judge
from tablerec.corrections.proof.finding import Evidence, Finding
from tablerec.corrections.proof.ink import check_ink
from tablerec.corrections.proof.labels import check_characters, check_labels
from tablerec.corrections.proof.sums import find_equations

_SETTLED = {"score", "ink", "decimals", "groups", "count", "date_order"}
"""Reasons that count no longer once a sum or a check digit proves the cell."""


@dataclass(frozen=True, slots=True)
class Proof:
    """What is known of the texts of a table without a look at the picture, and what is to be looked at.

    Args:
        n_cells: Number of cells with text.
        findings: What speaks against cells, by cell and the most severe first.
        proved: By cell who or what proves it; no finding speaks against it.
    """

    n_cells: int
    findings: Mapping[int, tuple[Finding, ...]]
    proved: Mapping[int, Evidence]

    @property
    def share_proved(self) -> float:
        """Proved cells with text of all cells with text, 0 to 1; 1 where no cell has any."""
        return len(self.proved) / self.n_cells if self.n_cells else 1.0


def prove(table: Table, words: Sequence[Word] = (), image: Image | None = None) -> Proof:
    """Check a table.

    Nothing is changed: a person decides.

    Args:
        table: With headers marked; what a person confirmed or typed is proved.
        words: Those that its cells count; none where they count none.
        image: ``(H, W, 3)`` uint8, in whose pixels places are: then ink that nobody read is found too. It changes
            nothing about what is proved.

    >>> table = Table.from_texts([["Tea", "25.10"], ["Milk", "177.05"], ["Total", "196.15"]])
    >>> proof = prove(table)
    >>> [(finding.cell, finding.mended) for found in proof.findings.values() for finding in found]
    [(3, '171.05')]
    """
    amounts = table_to_amounts(table)
    by_sums, findings = judge(table, amounts, find_equations(table, amounts))
    codes, of_codes = check_codes(table)
    counted, of_columns = check_columns(table, amounts)
    proved: dict[int, Evidence] = {
        **dict.fromkeys(counted, "count"), **by_sums, **dict.fromkeys(codes, "check digit")
    }  # fmt: skip
    confirmed = {index for index, cell in enumerate(table.cells) if is_confirmed(cell)}
    findings += [*of_codes, *of_columns, *check_characters(table), *check_labels(table), *check_doubts(table, words)]
    if image is not None:
        findings += check_ink(table, words, image)
    by_cell: dict[int, list[Finding]] = {}
    for finding in findings:
        is_settled = finding.cell in proved and (
            finding.reason in _SETTLED or (finding.reason in ("form", "like_form") and finding.cell in codes)
        )
        if not is_settled and finding.cell not in confirmed:
            by_cell.setdefault(finding.cell, []).append(finding)
    filled = {index for index, cell in enumerate(table.cells) if cell.text.strip()}
    against = {
        cell
        for cell, found in by_cell.items()
        if any(each.kind != "structure" and each.reason != "ink" for each in found)
    }
    kept = {cell: evidence for cell, evidence in proved.items() if cell in filled and cell not in against}
    kept |= dict.fromkeys(sorted(confirmed & filled), "confirmed")
    return Proof(len(filled), {cell: _sorted(found) for cell, found in sorted(by_cell.items())}, kept)


def share_proved(tables: Sequence[Table]) -> float:
    """Share of the cells with text that are proved, in several tables together; 1 where no cell has any.

    >>> share_proved([]), share_proved([Table.from_texts([["a"]])])
    (1.0, 0.0)
    """
    proofs = [prove(table) for table in tables]
    n_cells = sum(proof.n_cells for proof in proofs)
    return sum(len(proof.proved) for proof in proofs) / n_cells if n_cells else 1.0


def is_confirmed(cell: Cell) -> bool:
    """Whether a person typed the text of a cell, or said that it is right."""
    return cell.confirmed or cell.typed


def _sorted(found: Sequence[Finding]) -> tuple[Finding, ...]:
    """The most severe of each kind and reason, the most severe first."""
    ordered = sorted(found, key=lambda each: -each.severity)
    return tuple({(each.kind, each.reason): each for each in reversed(ordered)}.values())[::-1]


def proof_to_view(table: Table, proof: Proof, words: Sequence[Word] = ()) -> dict[str, Any]:
    """Return a proof as the page wants it, ready for JSON.

    Where only some words of a cell are in doubt, ``spans`` says which characters, and ``quads`` where they are. The
    order begins with doubtful texts, then come doubtful borders, then what nothing proves, then the rest.

    >>> table = Table([Cell(0, 0, text="lst"), Cell(0, 1, text="b")])
    >>> view = proof_to_view(table, prove(table))
    >>> view["order"], view["cells"][0]["doubts"][0]["mended"], view["share_proved"]
    ([[0, 0], [0, 1]], '1st', 0.0)
    """
    cells = [
        {
            "row": cell.row,
            "col": cell.col,
            "doubts": [_to_doubt(finding) for finding in proof.findings.get(index, ())],
            "proved_by": proof.proved.get(index),
            **_to_spots(cell, proof.findings.get(index, ()), words),
        }
        for index, cell in enumerate(table.cells)
    ]

    def worst(index: int, is_wanted: Callable[[Finding], bool]) -> float:
        return max((each.severity for each in proof.findings.get(index, ()) if is_wanted(each)), default=0.0)

    def rank(index: int) -> tuple[int, float, int]:
        text = worst(index, lambda each: each.kind != "structure")
        structure = worst(index, lambda each: each.kind == "structure")
        group = 0 if text else 1 if structure else 2 if index not in proof.proved else 3
        return group, -(text or structure), index

    filled = [index for index, cell in enumerate(table.cells) if cell.text.strip() or index in proof.findings]
    places = [table.cells[index] for index in sorted(filled, key=rank)]
    return {
        "cells": cells,
        "share_proved": round(proof.share_proved, 4),
        "order": [[cell.row, cell.col] for cell in places],
    }


def _to_spots(cell: Cell, findings: Sequence[Finding], words: Sequence[Word]) -> dict[str, Any]:
    spans, quads = find_spots(cell, findings, words) if findings else ([], [])
    if not spans:
        return {}
    # A page counts half a character for each of those beyond the first 65,536.
    places = [[_units(cell.text[:at]) for at in span] for span in spans]
    return {"spans": places, "quads": [[round(float(each), 2) for point in quad for each in point] for quad in quads]}


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _to_doubt(finding: Finding) -> dict[str, Any]:
    english, chinese = finding.messages
    return {
        "kind": finding.kind,
        "message": english,
        "message_zh": chinese,
        "severity": finding.severity,
        "mended": finding.mended,
    }
