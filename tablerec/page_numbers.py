"""Which pages of a document are read: ``1-3,7``."""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass

from tablerec.errors import InputError, SettingsError

_PART = re.compile(r"([0-9]{1,9})?(?:\s*(-)\s*([0-9]{1,9})?)?")
_FORM = "give page numbers and ranges, counted from 1, such as 1-3,7 or 5-"

_logger = logging.getLogger("tablerec.inputs")


@dataclass(frozen=True, slots=True)
class PageNumbers:
    """Numbers of the pages that are wanted of a document, counted from 1.

    Args:
        ranges: First and last number of each range; None for the last page, whatever its number.
        text: The same as it was written; empty where nobody chose.
    """

    ranges: tuple[tuple[int, int | None], ...] = ((1, None),)
    text: str = ""

    @property
    def first(self) -> int:
        """The least number that is wanted."""
        return min(first for first, _ in self.ranges)

    @property
    def last(self) -> int | None:
        """The greatest number that is wanted; None where all up to the end are."""
        ends = [last for _, last in self.ranges if last is not None]
        return max(ends) if len(ends) == len(self.ranges) else None

    def __contains__(self, number: int) -> bool:
        """Whether a page is wanted."""
        return any(first <= number and (last is None or number <= last) for first, last in self.ranges)

    def within(self, n_pages: int, name: str) -> list[int]:
        """Return the numbers that a document has; see ``check``.

        >>> parse_pages("2-").within(4, "scan.pdf")
        [2, 3, 4]
        """
        self.check(n_pages, name)
        return [number for number in range(1, n_pages + 1) if number in self]

    def check(self, n_pages: int, name: str) -> None:
        """Say that a document lacks pages that were asked for: some in the log, all as an error.

        Args:
            n_pages: How many it has.
            name: Its name as messages show it.

        Raises:
            InputError: It has none of them.

        >>> parse_pages("7").check(3, "scan.pdf")
        Traceback (most recent call last):
        postprocess.errors.InputError: scan.pdf: has 3 pages; --pages 7 asks for none of them: give numbers up to 3
        """
        if not self.text:
            return
        has = f"{name}: has {n_pages} page{'' if n_pages == 1 else 's'}; --pages {self.text}"
        if self.first > n_pages:
            raise InputError(f"{has} asks for none of them: give numbers up to {n_pages}")
        if any(max(first, last or 0) > n_pages for first, last in self.ranges):
            _logger.warning("%s asks for more, which are left out", has)


def parse_pages(text: str | None) -> PageNumbers:
    """Read which pages are wanted.

    Args:
        text: Numbers and ranges with commas between them; a range without its first number begins with page 1, one
            without its last number goes on to the end. None stands for all.

    Raises:
        SettingsError: The text has another form; the message shows the right one.

    >>> pages = parse_pages("1-3, 7")
    >>> [number for number in range(1, 10) if number in pages], pages.first, pages.last
    ([1, 2, 3, 7], 1, 7)
    >>> parse_pages("3-1")
    Traceback (most recent call last):
    postprocess.errors.SettingsError: pages is '3-1', and 3-1 runs backwards: give page numbers and ranges, counted from
     1, such as 1-3,7 or 5-
    """
    if text is None:
        return PageNumbers()
    if not isinstance(text, str):
        raise SettingsError(f"pages is {text!r}, which is no text: {_FORM}, in quotes")
    ranges = tuple(_parse_range(part.strip(), text) for part in text.split(","))
    return PageNumbers(ranges, ",".join(part.strip() for part in text.split(",")))


def _parse_range(part: str, text: str) -> tuple[int, int | None]:
    match = _PART.fullmatch(part)
    if match is None or not (match[1] or match[3]):
        raise SettingsError(f"pages is {text[:60]!r}: {_FORM}")
    first = int(match[1] or 1)
    last = int(match[3]) if match[3] else None if match[2] else first
    if not first or last == 0:
        raise SettingsError(f"pages is {text[:60]!r}, and there is no page 0: {_FORM}")
    if last is not None and last < first:
        raise SettingsError(f"pages is {text[:60]!r}, and {part} runs backwards: {_FORM}")
    return first, last
