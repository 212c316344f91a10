"""Checks of a table that a person is to prove: findings alone, nothing is changed.

::

    prove.py         all checks in one: Proof, and what the page wants of it
    answer.py        the proof of a correction, kept until its next step
    workbook.py      the share that is proved, as a property of a workbook
    finding.py       Finding: what speaks against a cell, in two languages
    doubts.py        what the reader and the detector doubt, text and structure apart
    ink.py           ink in the picture that no text stands for
    amounts.py       cells -> exact numbers
    sums.py          totals, differences, products, balances, shares of a hundred
    equation.py      what an equation proves, and which misread character would mend one that does not hold
    columns.py       numbers, dates, counts and codes, with an odd one out
    check_digits.py  ISBN, EAN, IBAN, cards, identity and tax numbers
    labels.py        labels beside others that look like them, letters among digits
    lookalikes.py    characters that are taken for one another
"""

from tablerec.corrections.proof.finding import Finding
from tablerec.corrections.proof.prove import Proof, proof_to_view, prove, share_proved
from tablerec.corrections.proof.workbook import to_workbook

__all__ = ["Finding", "Proof", "proof_to_view", "prove", "share_proved", "to_workbook"]
