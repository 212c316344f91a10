"""The detector learns from saved tables while a person corrects others.

::

    learner.py   Learner: what runs, what came of it, which weights are used; all of it over restarts
    runs.py      the steps of a run, each a command of tablerec in a process of its own at low priority
    process.py   such a process: it ends when its review does
    recipe.py    how it trains
    gain.py      how many cells come out right
    anew.py      open tables read again: what would change, and the change

What a person has touched is never read over: a new reading is a step of the journal, which can be undone.
"""

AFTER = 10
"""Saves after which it begins by itself."""
