"""Pictures of tables in, HTML and Excel out.

>>> from tablerec import recognize
>>> import numpy as np
>>> recognize(np.full((40, 40, 3), 255, np.uint8), ocr="none").tables
()
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from postprocess.cell import Caption, Cell
    from postprocess.table import Table
    from postprocess.word import Unplaced, Word
    from tablerec.config import Settings
    from tablerec.errors import TablerecError
    from tablerec.outputs.files import save
    from tablerec.pipeline import Recognizer, recognize
    from tablerec.result import Page, PageImage, Result

__version__ = "0.1.0"

_HOME = {
    "Caption": "postprocess.cell",
    "Cell": "postprocess.cell",
    "Table": "postprocess.table",
    "Unplaced": "postprocess.word",
    "Word": "postprocess.word",
    "Settings": "tablerec.config",
    "TablerecError": "tablerec.errors",
    "Recognizer": "tablerec.pipeline",
    "recognize": "tablerec.pipeline",
    "save": "tablerec.outputs.files",
    "Page": "tablerec.result",
    "PageImage": "tablerec.result",
    "Result": "tablerec.result",
}

__all__ = [
    "Caption",
    "Cell",
    "Page",
    "PageImage",
    "Recognizer",
    "Result",
    "Settings",
    "Table",
    "TablerecError",
    "Unplaced",
    "Word",
    "__version__",
    "recognize",
    "save",
]


def __getattr__(name: str) -> Any:
    """Import public names at first use, so that ``import tablerec`` stays light."""
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'tablerec' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the public names, those not yet imported included."""
    return __all__
