"""Pages of many inputs, read by processes side by side: what keeps all cores of a machine busy.

- ``engine``: inputs become pages, pages become tasks, and results come back in the order of the inputs
- ``workers``: tasks for processes that are replaced when they die, with limits of time and memory
- ``tasks``: what a worker is made of, and what is asked of it
- ``process``: one process, seen from ours
- ``child``: what runs there
- ``networks``: a process that holds a card, and runs networks for the workers

What a worker does with a page is ``tablerec.pipeline.make_page_reader``.
"""

from tablerec.engine.engine import Engine
from tablerec.engine.workers import Limits

__all__ = ["Engine", "Limits"]
