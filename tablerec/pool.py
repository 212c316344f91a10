"""Several devices at work on one batch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from queue import Queue
from typing import TYPE_CHECKING, Any

from tablerec.config import Settings
from tablerec.devices import Device, parse_device
from tablerec.result import Page

if TYPE_CHECKING:
    from tablerec.pipeline import Recognizer


class RecognizerPool:
    """One recognizer for each number of a device such as ``gpu:0,1``; an input goes to one that is free.

    Args:
        settings: What to use; ``device`` names the numbers.
    """

    def __init__(self, settings: Settings) -> None:
        from tablerec.pipeline import Recognizer

        names = [settings.device]
        if "," in settings.device:
            device = parse_device(settings.device)
            names = [str(Device(device.kind, (number,))) for number in device.ids]
        self._recognizers = [Recognizer(replace(settings, device=name)) for name in names]
        self._free: Queue[Recognizer] = Queue()
        for recognizer in self._recognizers:
            self._free.put(recognizer)

    def __len__(self) -> int:
        """Return how many inputs can be recognized at the same time."""
        return len(self._recognizers)

    def use_password(self, password: str) -> None:
        """Open documents that are read from now on with another password."""
        for recognizer in self._recognizers:
            recognizer.settings = replace(recognizer.settings, password=password)

    def pages(self, source: Any) -> Iterator[Page]:
        """Read one input page by page, as soon as a recognizer is free."""
        recognizer = self._free.get()
        try:
            yield from recognizer.pages(source)
        finally:
            self._free.put(recognizer)
