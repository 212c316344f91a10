"""Scores of recognized tables against labelled ones: `tablerec eval`.

::

    truth.py      read_truth, find_truths            labelled tables from JSON
    runner.py     evaluate(truths, recognizer)       truth -> prediction -> case with its scores
    files.py      predictions and words, kept for later runs
    scores.py     score(truth, table) -> Scores      all scores of one table
    scoring/      each score
    errors.py     find_errors(detected, true)        what is wrong with each cell
    reporting/    results.json, worst.html, errors.png, and two runs compared
    command.py    the command line
"""
