"""A network on an NVIDIA card, by ONNX Runtime."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tablerec.devices.cuda import PROVIDER, find_cards, import_onnxruntime, require_card
from tablerec.errors import MissingDependencyError
from tablerec.models.folder import LINENET, NAME
from tablerec.models.opening.batched import BatchedNetwork, Cells, Form, Rows
from tablerec.models.opening.buckets import batch_sizes, most_at_once
from tablerec.models.opening.file import NetworkFile, check_outputs, not_opened
from tablerec.models.opening.graphs import fill_groups, graph_outputs, keep_best, read_graph, split, take_bytes
from tablerec.models.opening.halves import halve
from tablerec.models.opening.parts import take_parts
from tablerec.models.opening.sessions import CapturedRunner, CardMemory, PlainRunner, Sessions
from tablerec.processes import usable_cpus

PP_OCR_FINDER, PP_OCR_READER = "PP-OCR det", "PP-OCR rec"
"""The networks that RapidOCR brings."""
SIDES = (256, 384, 640, 960, 1440, 1920)
"""Heights and widths of CellNet's input. The longer side of a picture is mostly 640, 960 or 1440. A small input takes
as long as one of twice as many pixels, and the fewer shapes there are, the more pictures share one."""
OPTIONS = {"cudnn_conv_algo_search": "HEURISTIC", "use_tf32": "0", "arena_extend_strategy": "kSameAsRequested"}
"""Of ONNX Runtime's provider. By default it tries all algorithms at each new shape, and rounds to the 10 bits of TF32,
as coarse as half precision: corners move by up to 2 pixels."""
SHARE = 0.5
"""Of the card's memory that sessions may take, as reckoned; others may use the card too."""
SESSION_BYTES = 128 * 2**20
"""That a session takes besides ``OnCard.pixel_bytes``: on an H200, the smallest take 64 to 104 MiB."""
_SLOW = 2.0
"""Seconds after which it is said what takes so long."""

_logger = logging.getLogger(__name__)

Shape = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class OnCard:
    """How a network runs on a card.

    Args:
        form: How pictures get into a batch.
        pixels: That go through it at once, at most.
        sizes: Of batches.
        usual: Shapes of batches that it runs once when it is opened: the first time is slow.
        takes_bytes: Its pictures come as uint8.
        keeps_best: It returns the best class of each position, and its probability, in place of all.
        fills_from: Its depthwise convolutions of so many channels and more are computed as whole ones, see
            ``graphs.fill_groups``.
        half: It computes in half precision where that does not change what is found.
        at_once: Batches of different shapes that run at the same time, at most: small ones leave most of the card idle,
            and take as long as it takes to start their layers; the more run, the less company each has.
        pixel_bytes: Memory of the card that a session takes for each pixel of its input, besides ``SESSION_BYTES``.
        captured: It runs as a captured graph, see ``sessions.CapturedRunner``.
    """

    form: Form
    pixels: int
    sizes: tuple[int, ...]
    usual: tuple[Shape, ...] = ()
    takes_bytes: bool = False
    keeps_best: bool = False
    fills_from: int | None = None
    half: bool = False
    at_once: int = 1
    pixel_bytes: int = 120
    captured: bool = False

    def most(self, shape: Sequence[int]) -> int:
        """How many pictures of a shape go through it together, at most.

        >>> NETWORKS[PP_OCR_READER].most((3, 48, 160)), NETWORKS[PP_OCR_READER].most((3, 48, 1280))
        (32, 8)
        """
        return batch_sizes(self.sizes, most_at_once(shape, self.pixels))[-1]

    def reckon(self, shape: tuple[int, ...]) -> int:
        """Memory of the card that a session for batches of a shape takes, in bytes.

        >>> NETWORKS[NAME].reckon((4, 4, 640, 960)) >> 20
        409
        """
        return SESSION_BYTES + self.pixel_bytes * shape[0] * math.prod(shape[2:])


NETWORKS: Mapping[str, OnCard] = {
    NAME: OnCard(
        Cells(SIDES),
        2**22,
        (1, 4),
        tuple((count, 3, *sides) for sides in ((256, 640), (256, 960), (384, 960), (640, 960)) for count in (1, 4)),
        takes_bytes=True,
        at_once=2,
    ),
    LINENET: OnCard(
        Rows(),
        2**20,
        (8, 64),
        tuple((count, 3, 32, width) for width in (64, 128, 192, 256) for count in (8, 64)),
        takes_bytes=True,
        fills_from=192,
        at_once=2,
    ),
    PP_OCR_READER: OnCard(
        Rows(),
        2**20,
        (8, 32),
        tuple((8, 3, 48, width) for width in (160, 192, 224, 256, 320, 384, 480)),
        keeps_best=True,
        fills_from=1,
        at_once=2,
        pixel_bytes=700,  # three arrays of the probabilities of 18,710 classes for each 8 columns
    ),
    PP_OCR_FINDER: OnCard(Rows(), 2**22, (1, 4), fills_from=1, at_once=2),
}


def open_on_card(file: NetworkFile) -> BatchedNetwork:
    """Open a network on the card that a file names, and run its usual shapes once.

    Raises:
        MissingDependencyError: ONNX Runtime, as it is installed, runs nothing on cards.
        SettingsError: There is no such card.
        ModelNotFoundError: It cannot be opened, or is another network.
    """
    require_card(file.device, file.card or 0)
    how = NETWORKS[file.name]
    number = file.card or 0
    sessions = _open_sessions(file, how, {**OPTIONS, "device_id": str(number)}, PROVIDER, memory_of(number))
    warm_up(sessions, how, file)
    return _batched(sessions, how)


@cache
def memory_of(number: int) -> CardMemory:
    """The memory that this process's networks share on a card; without end where the driver does not know the card.

    >>> memory_of(7) is memory_of(7)
    True
    """
    return CardMemory(next((SHARE * card.memory for card in find_cards() if card.number == number), math.inf))


def open_batched(
    file: NetworkFile, how: OnCard, options: Mapping[str, str], provider: str = PROVIDER
) -> BatchedNetwork:
    """Open a network for batches, with memory of its own.

    Args:
        file: The network.
        how: It runs.
        options: Of ONNX Runtime's provider.
        provider: Which one; another than the card's is for tests.

    Raises:
        MissingDependencyError: ONNX Runtime did not take the provider, or onnx is not installed.
        ModelNotFoundError: The network cannot be opened, or is another one.
    """
    return _batched(_open_sessions(file, how, options, provider, CardMemory()), how)


def _open_sessions(
    file: NetworkFile, how: OnCard, options: Mapping[str, str], provider: str, memory: CardMemory
) -> Sessions:
    graph = make_graph(file, how)
    if not how.captured:
        return Sessions(lambda: PlainRunner(open_session(file, graph, options, provider)), how.reckon, memory)
    parts = dict(zip(("body", "tail"), split(graph), strict=True))
    outputs = graph_outputs(graph)
    device = ("cuda", int(options.get("device_id", 0))) if provider == PROVIDER else ("cpu", 0)

    def open_part(name: str, **more: str) -> Any:
        return open_session(file, parts[name], {**options, **more}, provider)

    return Sessions(lambda: CapturedRunner(open_part, bool(parts["tail"]), outputs, device), how.reckon, memory)


def _batched(sessions: Sessions, how: OnCard) -> BatchedNetwork:
    dtype = np.uint8 if how.takes_bytes else np.float32
    return BatchedNetwork(sessions, sessions.outputs, how.form, how.pixels, how.sizes, dtype, at_once=how.at_once)


def make_graph(file: NetworkFile, how: OnCard) -> bytes:
    """Read a network, with what is done on the card besides.

    Raises:
        MissingDependencyError: onnx is not installed.
        ModelNotFoundError: The network cannot be read, or is another one.
    """
    try:
        model = read_graph(file.path)
        check_outputs(file, [output.name for output in model.graph.output])
        if how.fills_from is not None:
            fill_groups(model, how.fills_from)
        if isinstance(how.form, Cells):
            take_parts(model)
        if how.takes_bytes:
            take_bytes(model)
        if how.keeps_best:
            keep_best(model)
        if how.half:
            halve(model)
        return bytes(model.SerializeToString())
    except MissingDependencyError:
        raise
    except Exception as error:  # onnx's errors share no base
        raise not_opened(file.path, file.name, error) from error


def open_session(file: NetworkFile, graph: bytes, options: Mapping[str, str], provider: str = PROVIDER) -> Any:
    """Open a network in ONNX Runtime.

    Args:
        file: It comes from, for messages.
        graph: As ``make_graph`` makes it.
        options: Of ONNX Runtime's provider.
        provider: Which one; another than the card's is for tests.

    Raises:
        MissingDependencyError: ONNX Runtime did not take the provider.
        ModelNotFoundError: The network cannot be opened.
    """
    onnxruntime = import_onnxruntime()
    onnxruntime.set_default_logger_severity(3)
    settings = onnxruntime.SessionOptions()
    settings.log_severity_level = 3
    try:
        session = onnxruntime.InferenceSession(
            graph, settings, providers=[(provider, dict(options))], enable_fallback=0
        )
    except Exception as error:  # ONNX Runtime's errors share no base
        raise not_opened(file.path, file.name, error) from error
    # Where a provider cannot be had, ONNX Runtime takes the CPU without an error.
    if provider not in session.get_providers():
        raise MissingDependencyError(
            f"ONNX Runtime did not open {file.path} on {file.device}: run tablerec device doctor {file.device}"
        )
    return session


def warm_up(run: Callable[[NDArray[Any]], Any], how: OnCard, file: NetworkFile) -> None:
    """Run a network once at each of its usual shapes, several at a time, and say so where it takes long.

    Args:
        run: The network; several threads may call it.
        how: It runs.
        file: It comes from, for the message.
    """
    dtype = np.uint8 if how.takes_bytes else np.float32
    shapes = [(shape[0], *how.form.slot(shape[1:])) for shape in how.usual]
    with ThreadPoolExecutor(usable_cpus()) as pool:
        runs = [pool.submit(run, np.zeros(shape, dtype)) for shape in shapes]
        done, left = wait(runs, _SLOW)
        if left:
            _logger.warning(
                "%s gets ready on %s, once: %d of %d shapes so far", file.name, file.device, len(done), len(runs)
            )
        for each in runs:
            each.result()
