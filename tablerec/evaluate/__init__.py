"""How good is it? Scores of recognized tables against tables with known structure.

::

    truth.py      Truth, read_truth, find_truths      labels from JSON
    metrics.py    grid size, adjacency F1, exact, detection F1, characters kept
    grits.py      GriTS-Top
    teds.py       TEDS and TEDS-Struct
    scores.py     score(truth, table) -> Scores       all of the above at once
    runner.py     evaluate(truths, recognizer)        the pipeline over a folder
    report.py     results.json and the page of worst cases
    errors.py     find_errors(found, true)            what went wrong with each cell
    error_report.py  errors of many pictures          kinds, prices, places, pictures
    compare.py    two runs against each other
    command.py    `tablerec eval`
"""
