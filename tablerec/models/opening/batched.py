"""Calls of several threads go through a network together.

Who comes while the network is free runs it at once. Who comes while it runs waits, and of all who wait then one runs
it for those whose pictures have the same shape: the busier it is, the larger the batches. Small networks, which leave
most of a card idle, run at several shapes at once. There is no thread of its own, so nothing is to be started or
stopped.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tablerec.models.opening.buckets import batch_sizes, fit, most_at_once

STRIDE = 4
"""Pixels between two positions of CellNet's maps."""
WAIT = 0.002
"""Seconds for which the next batch waits for company, where the one before had some."""

Arrays = Sequence[NDArray[Any]]


class Form(Protocol):
    """How pictures get into a batch, and its outputs back to who asked."""

    def slot(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape that a picture has in a batch."""
        ...

    def put(self, images: NDArray[Any], slots: NDArray[Any]) -> None:
        """Write ``(B, *shape)`` pictures into ``(B, *slot(shape))``."""
        ...

    def take(self, outputs: Arrays, start: int, end: int, shape: tuple[int, ...]) -> list[NDArray[Any]]:
        """The outputs of some pictures of a batch, as if these were alone and without being filled up."""
        ...


class BatchedNetwork:
    """A network that several threads may call at the same time.

    A batch is filled up with empty pictures to one of few sizes. Where a batch fails, its calls are run one by one, so
    that an error reaches only those whom it concerns.

    Args:
        network: Runs a batch; never called by two threads at once, or by ``at_once``, each with a shape of its own.
        outputs: Names of its outputs.
        form: ``Rows`` or ``Cells``.
        pixels: That go through the network at once, at most; a call of more goes alone.
        sizes: Numbers of pictures that a batch has, rising; multiples of the last for a call of more.
        dtype: Of the pictures; None takes them as they come.
        wait: See ``WAIT``.
        at_once: Batches of different shapes that run at the same time, at most.
    """

    def __init__(
        self,
        network: Callable[[NDArray[Any]], Arrays],
        outputs: Sequence[str],
        form: Form,
        pixels: int,
        sizes: Sequence[int] = (1, 2, 4, 8, 16, 32, 64),
        dtype: type[np.generic] | None = None,
        wait: float = WAIT,
        at_once: int = 1,
    ) -> None:
        self.outputs = tuple(outputs)
        self._network = network
        self._form = form
        self._pixels = pixels
        self._sizes = sizes
        self._dtype = dtype
        self._wait = wait
        self._changed = threading.Condition()
        self._waiting: list[_Call] = []
        self._at_once = at_once
        self._running: set[_Kind] = set()
        self._company: dict[_Kind, int] = {}
        """Calls of the last batch of a kind that had some company."""
        self._buffers: list[NDArray[np.uint8]] = []
        """Memory for batches, which is used again."""

    def __call__(self, images: NDArray[Any]) -> Arrays:
        """Run the network; see ``Network``."""
        images = np.ascontiguousarray(images, self._dtype)
        call = _Call(images, self._form.slot(images.shape[1:]))
        with self._changed:
            self._waiting.append(call)
            self._changed.notify_all()
        try:
            while (first := self._lead(call)) is not None:
                self._run_with(first)
        finally:
            with self._changed:
                if call in self._waiting:  # interrupted
                    self._waiting.remove(call)
        if call.error is not None:
            raise call.error
        return call.outputs

    def _lead(self, call: _Call) -> _Call | None:
        """Wait until a call is done (None), or its thread is to run a batch, with the one that is returned."""
        with self._changed:
            self._changed.wait_for(lambda: call.is_done or self._next() is not None)
            first = None if call.is_done else self._next()
            if first is not None:
                self._running.add(first.kind)
            return first

    def _next(self) -> _Call | None:
        """The call that has waited longest of those that may run now."""
        if len(self._running) >= self._at_once:
            return None
        return next((call for call in self._waiting if call.kind not in self._running), None)

    def _run_with(self, first: _Call) -> None:
        calls: list[_Call] = []
        try:
            with self._changed:
                company = self._company.get(first.kind, 1)
                if company > 1:
                    self._changed.wait_for(lambda: len(self._alike(first)) >= company, self._wait)
                calls = self._take(first)
            if calls:
                self._run(calls)
        finally:
            with self._changed:
                self._running.discard(first.kind)
                # Another thread runs what an interrupted one has left.
                self._waiting[:0] = [call for call in calls if not call.is_done]
                self._changed.notify_all()

    def _alike(self, first: _Call) -> list[_Call]:
        return [call for call in self._waiting if call.kind == first.kind]

    def _take(self, first: _Call) -> list[_Call]:
        """The calls that wait, of one kind, which go together; none where the first was interrupted."""
        left = self._sizes_of(first)[-1]
        calls: list[_Call] = []
        for call in self._alike(first):
            if not calls or len(call.images) <= left:
                calls.append(call)
                left -= len(call.images)
        self._waiting = [call for call in self._waiting if call not in calls]
        if len(calls) > 1:
            self._company[first.kind] = len(calls)
        else:
            self._company.pop(first.kind, None)
        return calls

    def _sizes_of(self, call: _Call) -> Sequence[int]:
        return batch_sizes(self._sizes, most_at_once(call.slot, self._pixels))

    def _run(self, calls: Sequence[_Call]) -> None:
        ends = np.cumsum([len(call.images) for call in calls]).tolist()
        starts = [0, *ends[:-1]]
        buffer = self._buffers.pop() if self._buffers else np.empty(0, np.uint8)
        try:
            filled, buffer = self._fill(calls, starts, ends, buffer)
            outputs = self._network(filled)
            shares = [
                self._form.take(outputs, start, end, call.images.shape[1:])
                for call, start, end in zip(calls, starts, ends, strict=True)
            ]
        except Exception as error:
            if len(calls) == 1:
                calls[0].finish(error=error)
            else:
                for call in calls:
                    self._run([call])
            return
        finally:
            self._buffers.append(buffer)
        for call, share in zip(calls, shares, strict=True):
            call.finish(share)

    def _fill(
        self, calls: Sequence[_Call], starts: Sequence[int], ends: Sequence[int], buffer: NDArray[np.uint8]
    ) -> tuple[NDArray[Any], NDArray[np.uint8]]:
        """The pictures of some calls in one array, in the memory of a buffer or of a larger one, and that."""
        images = calls[0].images
        shape = (fit(ends[-1], self._sizes_of(calls[0])), *calls[0].slot)
        if len(calls) == 1 and images.shape == shape:
            return images, buffer
        n_bytes = math.prod(shape) * images.dtype.itemsize
        if len(buffer) < n_bytes:
            buffer = np.empty(n_bytes, np.uint8)
        filled = buffer[:n_bytes].view(images.dtype).reshape(shape)
        for call, start, end in zip(calls, starts, ends, strict=True):
            self._form.put(call.images, filled[start:end])
        filled[ends[-1] :] = 0
        return filled, buffer


_Kind = tuple[tuple[int, ...], np.dtype[Any]]
"""Of pictures that may go together: the shape that they have in a batch, and their type."""


class _Call:
    """What a thread has asked for."""

    def __init__(self, images: NDArray[Any], slot: tuple[int, ...]) -> None:
        self.images = images
        self.slot = slot
        self.kind: _Kind = slot, images.dtype
        self.outputs: Arrays = ()
        self.error: Exception | None = None
        self.is_done = False

    def finish(self, outputs: Arrays = (), error: Exception | None = None) -> None:
        self.outputs, self.error, self.is_done = outputs, error, True


class Rows:
    """Outputs have a row for each picture.

    >>> [part.tolist() for part in Rows().take([np.array([1, 2, 3, 0])], 1, 3, (3, 32, 64))]
    [[2, 3]]
    """

    def slot(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """See ``Form``."""
        return shape

    def put(self, images: NDArray[Any], slots: NDArray[Any]) -> None:
        """See ``Form``."""
        slots[...] = images

    def take(self, outputs: Arrays, start: int, end: int, shape: tuple[int, ...]) -> list[NDArray[Any]]:
        """See ``Form``."""
        return [output[start:end] for output in outputs]


@dataclass(frozen=True, slots=True)
class Cells:
    """CellNet with ``graphs.take_parts``: a picture is filled up to few sizes, and a fourth channel is 1 where it is.

    Its outputs are the cells of all pictures, the numbers of their pictures, rising, and maps with a row for each.

    Args:
        sides: Heights and widths of the network's input.

    >>> cells, picture, maps = np.array([5, 6, 7]), np.array([0, 1, 2]), np.zeros((4, 8, 8))
    >>> [each.tolist() for each in Cells((64,)).take([cells, cells, picture], 1, 3, (3, 32, 32))]
    [[6, 7], [6, 7], [0, 1]]
    """

    sides: tuple[int, ...]

    def slot(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """See ``Form``."""
        return 4, fit(shape[1], self.sides), fit(shape[2], self.sides)

    def put(self, images: NDArray[Any], slots: NDArray[Any]) -> None:
        """See ``Form``."""
        height, width = images.shape[2:]
        slots[:, :3, :height, :width] = images
        slots[:, 3, :height, :width] = 1
        slots[:, :, height:] = slots[:, :, :height, width:] = 0

    def take(self, outputs: Arrays, start: int, end: int, shape: tuple[int, ...]) -> list[NDArray[Any]]:
        """See ``Form``."""
        quads, scores, picture, *maps = outputs
        first, last = np.searchsorted(picture, (start, end)).tolist()
        height, width = (side // STRIDE for side in shape[1:])
        cut = [each[start:end, ..., :height, :width] for each in maps]
        return [quads[first:last], scores[first:last], picture[first:last] - start, *cut]
