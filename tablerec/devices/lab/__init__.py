"""The lab: plugins in small steps, each run in a process of its own, since Paddle takes a plugin only when imported."""

from tablerec.devices.lab.classifier import save_classifier, try_classifier
from tablerec.devices.lab.steps import LAB, Ran, build, run, side_by_side, table_of_functions

__all__ = ["LAB", "Ran", "build", "run", "save_classifier", "side_by_side", "table_of_functions", "try_classifier"]
