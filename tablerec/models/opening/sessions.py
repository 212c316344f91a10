"""Sessions of ONNX Runtime on a card, one for each shape of a network's input, and the memory that they share."""

from __future__ import annotations

import math
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Protocol

from numpy.typing import NDArray

Arrays = Sequence[NDArray[Any]]
Shape = tuple[int, ...]
_Key = tuple[int, Shape]
"""Who has a session, and its shape."""

_NO_MEMORY = ("alloc", "out of memory")
"""Parts of what CUDA, cuBLAS, cuDNN and ONNX Runtime say where there is none left."""


class Runner(Protocol):
    """A network opened for one shape."""

    @property
    def outputs(self) -> Sequence[str]:
        """Names of its outputs."""
        ...

    def run(self, images: NDArray[Any]) -> Arrays:
        """Run it."""
        ...


class CardMemory:
    """What the sessions of all networks on a card take together, as reckoned.

    Args:
        most: In bytes; beyond it, the session that was not used for longest is given up for another one. Those in use
            stay, so that more is taken where all are.
    """

    def __init__(self, most: float = math.inf) -> None:
        self.most = most
        self.taken = 0
        self._idle: OrderedDict[_Key, tuple[_Pinned, int]] = OrderedDict()
        """Sessions that nobody uses, the one used last is last."""
        self._lock = threading.RLock()  # memory may be collected, and a network with it, while it is held

    def take(self, key: _Key) -> _Pinned | None:
        """Return a session that nobody uses, if it is there, for use."""
        with self._lock:
            session, _ = self._idle.pop(key, (None, 0))
            return session

    def keep(self, key: _Key, session: _Pinned, n_bytes: int) -> None:
        """Take a session back after use."""
        with self._lock:
            self._idle[key] = session, n_bytes

    def reserve(self, n_bytes: int) -> None:
        """Make room for a session."""
        with self._lock:
            gone = []
            while self._idle and self.taken + n_bytes > self.most:
                gone.append(self._drop(next(iter(self._idle))))
            self.taken += n_bytes
        _close(gone)

    def release(self, n_bytes: int) -> None:
        """Note that a session is gone."""
        with self._lock:
            self.taken -= n_bytes

    def give_up(self, owner: int | None = None) -> None:
        """Give up the sessions of an owner, or all, that nobody uses."""
        with self._lock:
            keys = [key for key in self._idle if owner in (None, key[0])]
            gone = [self._drop(key) for key in keys if key in self._idle]
        _close(gone)

    def _drop(self, key: _Key) -> _Pinned:
        session, n_bytes = self._idle.pop(key)
        self.taken -= n_bytes
        return session


class Sessions:
    """A network with a session for each shape of its input.

    A session plans its convolutions anew whenever the shape changes, also back to one that it had: on an H200 that
    takes 0.1 to 0.2 s, and for LineNet and PP-OCR's recogniser 1.3 and 2.7 s without ``graphs.fill_groups``; they then
    compute for 2 to 13 ms. Each session keeps memory of the card for itself.

    Args:
        open_runner: Opens the network.
        reckon: What a session of a shape takes, in bytes.
        memory: That it shares with other networks.
    """

    def __init__(
        self,
        open_runner: Callable[[], Runner],
        reckon: Callable[[Shape], int] = lambda shape: 0,
        memory: CardMemory | None = None,
    ) -> None:
        self._open = open_runner
        self._reckon = reckon
        self._memory = memory or CardMemory()
        self._unused: Runner | None = open_runner()
        self._lock = threading.Lock()
        self.outputs = list(self._unused.outputs)
        weakref.finalize(self, self._memory.give_up, id(self))

    def __call__(self, images: NDArray[Any]) -> Arrays:
        """Run the session of a shape, opened where there is none; several threads may, each at a shape of its own.

        Where the card's memory does not suffice, as others use it too, all that is not in use is given up for it.
        """
        try:
            return self._run(images)
        except Exception as error:  # ONNX Runtime's errors share no base
            if not any(part in str(error).lower() for part in _NO_MEMORY):
                raise
        self._memory.give_up()
        return self._run(images)

    def _run(self, images: NDArray[Any]) -> Arrays:
        key, n_bytes = (id(self), images.shape), self._reckon(images.shape)
        session = self._memory.take(key)
        if session is None:
            self._memory.reserve(n_bytes)
        try:
            session = session or _Pinned(self._open_new())
            outputs = session.run(images)
        except BaseException:
            # One that failed may hold half of what it needs.
            self._memory.release(n_bytes)
            _close([session] if session else [])
            raise
        self._memory.keep(key, session, n_bytes)
        return outputs

    def _open_new(self) -> Runner:
        with self._lock:
            runner, self._unused = self._unused, None
        return runner or self._open()


class _Pinned:
    """A session that a thread of its own runs, whoever asks.

    ONNX Runtime keeps a stream with handles of cuBLAS and cuDNN and memory of its own for each thread that ever ran a
    session, see its issue 29351: a hundred threads that take turns at some dozens of sessions fill 140 GB.
    """

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self._thread = ThreadPoolExecutor(1)

    def run(self, images: NDArray[Any]) -> Arrays:
        return self._thread.submit(self._runner.run, images).result()

    def close(self) -> None:
        self._thread.shutdown(wait=False)


def _close(sessions: Sequence[_Pinned]) -> None:
    for session in sessions:
        session.close()


class PlainRunner:
    """A session whose outputs come to the CPU as they are made; see ``Runner``.

    Args:
        session: Of ONNX Runtime.
    """

    def __init__(self, session: Any) -> None:
        self._session = session
        self._given = session.get_inputs()[0].name
        self.outputs = [output.name for output in session.get_outputs()]

    def run(self, images: NDArray[Any]) -> Arrays:
        """See ``Runner``."""
        binding = self._session.io_binding()
        binding.bind_cpu_input(self._given, images)
        for name in self.outputs:
            binding.bind_output(name, "cpu")
        self._session.run_with_iobinding(binding)
        return list(binding.copy_outputs_to_cpu())


class CapturedRunner:
    """A network as one captured CUDA graph and, behind it, what cannot be captured; for one shape.

    A graph is started at once, where a network's some hundred kernels take longer to start than to run. It reads and
    writes the same memory each time, so that all must have its shape before, and stay there.

    Args:
        open_part: Opens ``body`` or ``tail`` of the network, see ``graphs.split``, with options of the provider.
        tail: Whether there is one.
        outputs: Names of the network's outputs.
        device: Kind and number, as ONNX Runtime has them.
    """

    def __init__(
        self, open_part: Callable[..., Any], tail: bool, outputs: Sequence[str], device: tuple[str, int]
    ) -> None:
        self.outputs = outputs
        self._open, self._device = open_part, device
        self._tail = open_part("tail") if tail else None
        self._body: Any = None
        self._made: dict[str, Any] = {}
        """What the body makes, in the card's memory."""

    def run(self, images: NDArray[Any]) -> Arrays:
        """See ``Runner``; all calls have one shape."""
        if self._body is None:
            with _gate.alone():
                self._capture(images)
        with _gate.together():
            self._given.update_inplace(images)
            self._body.run_with_iobinding(self._binding)
            return self._finish()

    def _capture(self, images: NDArray[Any]) -> None:
        from onnxruntime import OrtValue

        plain, device = self._open("body"), self._device
        self._given = OrtValue.ortvalue_from_numpy(images, *device)
        given, names = plain.get_inputs()[0].name, [output.name for output in plain.get_outputs()]
        shown = plain.run(names, {given: images})
        self._made = {
            name: OrtValue.ortvalue_from_shape_and_type(each.shape, each.dtype.type, *device)
            for name, each in zip(names, shown, strict=True)
        }
        del plain
        body = self._open("body", enable_cuda_graph="1")
        self._binding = _bound(body, {given: self._given}, self._made)
        body.run_with_iobinding(self._binding)
        self._body = body

    def _finish(self) -> Arrays:
        found = {name: value.numpy() for name, value in self._made.items() if name in self.outputs}
        if self._tail is not None:
            binding = _bound(self._tail, self._made, {})
            self._tail.run_with_iobinding(binding)
            names = [output.name for output in self._tail.get_outputs()]
            found |= zip(names, binding.copy_outputs_to_cpu(), strict=True)
        return [found[name] for name in self.outputs]


def _bound(session: Any, given: Mapping[str, Any], made: Mapping[str, Any]) -> Any:
    """A session's inputs and outputs in the card's memory; outputs that have no place there come to the CPU."""
    binding = session.io_binding()
    for each in session.get_inputs():
        binding.bind_ortvalue_input(each.name, given[each.name])
    for each in session.get_outputs():
        if each.name in made:
            binding.bind_ortvalue_output(each.name, made[each.name])
        else:
            binding.bind_output(each.name, "cpu")
    return binding


class _Gate:
    """Many pass together, or one alone: while a graph is captured, CUDA refuses memory to all other threads."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._inside = 0

    @contextmanager
    def together(self) -> Iterator[None]:
        with self._changed:
            self._inside += 1
        try:
            yield
        finally:
            with self._changed:
                self._inside -= 1
                self._changed.notify_all()

    @contextmanager
    def alone(self) -> Iterator[None]:
        with self._changed:
            self._changed.wait_for(lambda: not self._inside)
            yield


_gate = _Gate()
