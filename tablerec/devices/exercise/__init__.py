"""The exercise of lab 07: plugins in small steps, each run in a process of its own.

Paddle takes a plugin only when it is imported.

- ``steps``: compiles a plugin from chosen files, runs code on it, and shows what its runtime is made of
- ``classifier``: a very small network in PaddleX's format, to see PaddleX run on the device
- ``train_step``: one training step of a reduced CellNet, as a program to be traced
"""

from tablerec.devices.exercise.classifier import save_classifier, try_classifier
from tablerec.devices.exercise.steps import LAB, Ran, build, run, side_by_side, table_of_functions

__all__ = ["LAB", "Ran", "build", "run", "save_classifier", "side_by_side", "table_of_functions", "try_classifier"]
