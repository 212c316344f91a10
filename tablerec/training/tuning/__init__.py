"""The settings with the best score within a limit of memory.

::

    measure.py  memory and time of a few steps, in a process of their own
    costs.py    a model of both, fitted to the measurements
    search.py   what fits by the model is compared by short trainings
"""
