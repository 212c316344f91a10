"""Scored cases become a report.

::

    report.py         results.json, and means by source as columns of text
    page.py           worst.html, the cases with the lowest scores
    compare.py        two reports against each other
    error_report.py   errors of cells: kinds, what each costs, where they are, and errors.png
"""
