"""LineNet as the training loop sees it."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Mapping, Sequence
from multiprocessing import parent_process
from pathlib import Path
from typing import Any

import numpy as np
import paddle
from numpy.typing import NDArray
from paddle import Tensor, nn
from paddle.nn import functional as F  # noqa: N812

from tablerec.errors import SettingsError
from tablerec.models.arrays import arrays_to_network, load_arrays, network_to_arrays, save_arrays
from tablerec.models.characters import CHARACTERS, count_letters, sort_characters
from tablerec.models.export import describe_linenet
from tablerec.models.folder import LINENET_WEIGHTS
from tablerec.models.linenet import LineNet, move_classes
from tablerec.training.readers.batches import LineBatch, LineBuffer, list_widths, stack_lines
from tablerec.training.readers.frames import FramedLine, LineFrame
from tablerec.training.readers.scores import draw_lines, score_lines
from tablerec.training.readers.sources import new_characters
from tablerec.training.settings import TrainSettings
from tablerec.training.task import Cast, Task

MAX_CHARACTERS = 30_000
"""That a list may hold; one with more is broken."""
_LINES_AT_ONCE = 32


class LineNetTask(Task):
    """See ``tablerec.models.linenet``.

    ``network`` holds the arguments of LineNet but for the numbers of characters, and ``characters``: ``extend``, the
    list of the initial weights and whatever else the labels of ``lines:`` and ``crops:`` hold; ``keep``, that list
    alone; or a text, which is the list. ``data.image_size`` is the width of a frame: 512 is wide enough for most lines.

    Raises:
        InputError: The initial weights or the labels cannot be read.
        SettingsError: ``network`` does not describe a LineNet.
    """

    parts: tuple[str, ...] = ("stage8", "stage4", "stage1", "last", "letters", "han")
    head: tuple[str, ...] = ("last", "letters", "han")

    def __init__(self, settings: TrainSettings) -> None:
        given = dict(settings.network)
        wanted = given.pop("characters", "extend")
        if not isinstance(wanted, str) or not wanted:
            raise SettingsError("network.characters: write extend, keep, or all characters as one text")
        known, described = _describe_initial(settings.initial)
        self.arguments = {**described, **given}
        self.known = known
        self.characters = sort_characters(_choose_characters(settings, wanted, known))
        if len(self.characters) > MAX_CHARACTERS:
            raise SettingsError(
                f"the labels hold {len(self.characters):,} characters, more than {MAX_CHARACTERS:,}: "
                "correct them, or set network.characters to keep"
            )
        self.width = settings.data.image_size
        if "han" not in dict(self.make().named_children()):
            self.parts, self.head = self.parts[:-1], self.head[:-1]

    def preparation(self, settings: TrainSettings, *, validation: bool = False) -> LineFrame:
        """Samples are lines in frames."""
        return LineFrame(self.width, self.characters)

    def buffer(self, settings: TrainSettings, capacity: int) -> LineBuffer:
        """Make an empty buffer of lines."""
        return LineBuffer(capacity, settings.data.batch_size, self.width, settings.data.augmentation)

    def make(self) -> nn.Layer:
        """Make a LineNet.

        Raises:
            SettingsError: ``network`` does not describe one.
        """
        n_letters = count_letters(self.characters)
        try:
            return LineNet(n_letters, len(self.characters) - n_letters, **self.arguments)
        except Exception as error:  # whatever Paddle makes of widths that are none
            raise SettingsError(
                f"network {self.arguments}: {str(error).strip()[-200:]}; see LineNet's arguments"
            ) from error

    def load(self, net: nn.Layer, path: Path) -> None:
        """Take a safetensors file, a folder of ``tablerec export``, or ``linenet``, the weights in the package.

        Characters that they do not know start at random.
        """
        path = LINENET_WEIGHTS if path == Path("linenet") else path
        arrays = load_arrays(path)
        if self.known != self.characters:
            arrays = move_classes(arrays, self.known, network_to_arrays(net), self.characters)
        arrays_to_network(arrays, net, str(path))

    def save(self, net: nn.Layer, output: Path) -> Path:
        """Write ``linenet.safetensors``."""
        path = output / "linenet.safetensors"
        notes = {"network": json.dumps(self.arguments), "characters": self.characters}
        save_arrays(path, network_to_arrays(net), notes)
        return path

    def loss(self, net: Any, batch: LineBatch, cast: Cast) -> dict[str, Tensor]:
        """All but the heads in the precision of the settings; CTC by character, in float32."""
        with cast():
            features = net.features(batch.images)
        log_probs = net.log_probs(features.transpose([1, 0, 2]))
        count = len(batch.lengths)
        positions = np.full(count, log_probs.shape[0], np.int64)
        lengths = (paddle.to_tensor(each) for each in (positions, batch.lengths))
        each = F.ctc_loss(log_probs, batch.labels, *lengths, blank=0, reduction="none")
        return {"total": each.sum() / max(batch.n_objects, 1)}

    @paddle.no_grad()
    def answer(self, net: Any, samples: Sequence[FramedLine], threshold: float) -> list[str]:
        """Read lines, as recognition does: the Han head where the letters head says so."""
        found = [""] * len(samples)
        for width in list_widths(self.width):
            narrower = max((each for each in list_widths(self.width) if each < width), default=0)
            inside = [k for k, sample in enumerate(samples) if narrower < sample.width <= width]
            for start in range(0, len(inside), _LINES_AT_ONCE):
                chosen = inside[start : start + _LINES_AT_ONCE]
                lines = [samples[k]._replace(image=samples[k].image[:, :width]) for k in chosen]
                for k, line in zip(chosen, _find_classes(net, stack_lines(lines).images), strict=True):
                    found[k] = decode(line, self.characters)
        return found

    def score(self, answers: Sequence[str], samples: Sequence[FramedLine]) -> dict[str, float]:
        """See ``scores.score_lines``."""
        return score_lines(answers, self._texts(samples))

    def draw(self, path: Path, answers: Sequence[str], samples: Sequence[FramedLine]) -> None:
        """See ``scores.draw_lines``."""
        draw_lines(path, answers, samples, self._texts(samples))

    def _texts(self, samples: Sequence[FramedLine]) -> list[str]:
        return ["".join(self.characters[k - 1] for k in each.label[: int(each.length)].tolist()) for each in samples]


def _find_classes(net: Any, images: Tensor) -> NDArray[np.int64]:
    """``(B, T)`` best class of each position; what only some devices have an operator for is done on the host."""
    features = net.features(images).astype("float32")
    best: NDArray[np.int64] = net.letters(features).numpy().argmax(-1)
    is_han = best == net.n_letters + 1
    if is_han.any():
        best[is_han] += net.han(paddle.to_tensor(features.numpy()[is_han])).numpy().argmax(-1)
    return best


def decode(classes: NDArray[np.int64], characters: str) -> str:
    """Read the best classes of a line: a run of one class is one character.

    >>> decode(np.array([0, 2, 2, 0, 2, 1]), "ab")
    'bba'
    """
    firsts = classes[np.diff(classes, prepend=-1) != 0]
    return "".join(characters[number - 1] for number in firsts[firsts > 0].tolist())


def _describe_initial(initial: Path | None) -> tuple[str, Mapping[str, Any]]:
    """Characters and arguments of the weights to start from."""
    if initial is None:
        return CHARACTERS, {}
    return describe_linenet(LINENET_WEIGHTS if initial == Path("linenet") else initial)


def _choose_characters(settings: TrainSettings, wanted: str, known: str) -> str:
    if wanted == "keep":
        return known
    if wanted != "extend":
        if len(set(wanted)) != len(wanted):
            raise SettingsError("network.characters holds a character twice: write each once")
        return wanted
    new = [char for char in new_characters(_sources(settings), known) if char.isprintable()]
    if new and parent_process() is None:
        some = " ".join(new[:40]) + (" ..." if len(new) > 40 else "")
        warnings.warn(
            f"the network learns {len(new)} characters that it has not known: {some}; network.characters: keep leaves "
            "them out",
            stacklevel=2,
        )
    return known + "".join(new)


def _sources(settings: TrainSettings) -> Iterable[str]:
    return [settings.data.source, *([settings.validation.source] if settings.validation.source else [])]
