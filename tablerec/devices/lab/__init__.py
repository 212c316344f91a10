"""The lab: plugins in small steps, each run in a process of its own, since Paddle takes a plugin only when imported."""

from tablerec.devices.lab.steps import Ran, build, run, side_by_side, table_of_functions

__all__ = ["Ran", "build", "run", "side_by_side", "table_of_functions"]
