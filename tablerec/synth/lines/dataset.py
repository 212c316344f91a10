"""Many lines in a folder, as PaddleOCR's recognisers are trained on them: resumable, on several processes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tablerec.outputs.files import atomic_file
from tablerec.synth.dataset import claim_folder, map_apart
from tablerec.synth.lines.engine import MIXED, load_line_source

LIST = "rec_gt.txt"
"""The list of all lines: the path of the picture below the folder, a tab, the label."""

_IN_PART = 100
"""Lines of one folder of pictures; a part that is whole is not drawn again."""


@dataclass(frozen=True, slots=True)
class LineDataset:
    """A folder of drawn lines: pictures in ``images/``, and ``rec_gt.txt``.

    Args:
        folder: Where everything goes.
        name: Of the lines, as ``load_line_source`` takes it.
        seed: Of the whole set.
    """

    folder: Path
    name: str = MIXED
    seed: int = 0

    @property
    def format(self) -> str:
        """What is in the folder, in words."""
        return "PaddleOCR recognition"

    def draw(self, count: int, jobs: int = 1) -> Iterator[int]:
        """Draw what is missing of the first ``count`` lines, and then write the list.

        Args:
            count: Size of the set.
            jobs: Number of processes.

        Yields:
            The index of each line that is there, part by part.

        Raises:
            OutputError: The folder holds something else, or cannot be written.
            SettingsError: No such lines.
        """
        load_line_source(self.name)
        claim_folder(self.folder, f"lines {self.name}\nseed {self.seed}\nformat {self.format}\n")
        parts = range(-(-count // _IN_PART))
        missing = [part for part in parts if len(self._read(part)) < min(_IN_PART, count - part * _IN_PART)]
        gone = set(missing)
        for part in parts:
            if part not in gone:
                yield from range(part * _IN_PART, min(count, (part + 1) * _IN_PART))
        for part in map_apart(_Part(self, count), missing, jobs):
            yield from range(part * _IN_PART, min(count, (part + 1) * _IN_PART))
        with atomic_file(self.folder / LIST) as file:
            rows = [row for part in parts for row in self._read(part)][:count]
            file.write("".join(f"{row}\n" for row in rows).encode())

    def list_of(self, part: int) -> Path:
        """Return the list of one part; it is written after its pictures."""
        return self.folder / "parts" / f"{part:06}.txt"

    def _read(self, part: int) -> list[str]:
        try:
            return self.list_of(part).read_text("utf-8").splitlines()
        except OSError:
            return []


@dataclass(frozen=True, slots=True)
class _Part:
    """Draws one part; can be sent to another process."""

    dataset: LineDataset
    count: int

    def __call__(self, part: int) -> int:
        import cv2

        load = load_line_source(self.dataset.name, self.dataset.seed)
        rows = []
        for index in range(part * _IN_PART, min(self.count, (part + 1) * _IN_PART)):
            sample = load(index)
            name = f"images/{part:06}/line_{index:08}.png"
            _, data = cv2.imencode(".png", sample.image[..., ::-1])
            with atomic_file(self.dataset.folder / name) as file:
                file.write(data.tobytes())
            rows.append(f"{name}\t{sample.text}\n")
        with atomic_file(self.dataset.list_of(part)) as file:
            file.write("".join(rows).encode())
        return part
