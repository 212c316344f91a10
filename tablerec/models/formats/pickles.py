"""Arrays out of the pickles of Paddle and PyTorch, which may be hostile.

A pickle is a program: loading one as usual runs whatever it names. Here its opcodes are checked against a list, and
the few names that arrays need stand for classes of this file. Nothing of numpy, Paddle or PyTorch is called, and any
other name is refused.
"""

from __future__ import annotations

import io
import math
import pickle
import pickletools
import zipfile
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tablerec.errors import InputError
from tablerec.outputs.files import atomic_file

_OPCODES = """
    PROTO FRAME STOP MARK POP POP_MARK MEMOIZE PUT BINPUT LONG_BINPUT GET BINGET LONG_BINGET EMPTY_DICT DICT SETITEM
    SETITEMS EMPTY_LIST LIST APPEND APPENDS EMPTY_TUPLE TUPLE TUPLE1 TUPLE2 TUPLE3 NONE NEWTRUE NEWFALSE INT BININT
    BININT1 BININT2 LONG LONG1 LONG4 BINFLOAT UNICODE BINUNICODE SHORT_BINUNICODE BINUNICODE8 BINBYTES SHORT_BINBYTES
    BINBYTES8 BINSTRING SHORT_BINSTRING GLOBAL STACK_GLOBAL REDUCE BUILD BINPERSID
"""
_KINDS = {
    **{name: np.dtype(name) for name in ("f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")},
    "b1": np.dtype(np.bool_),
}
_STORAGES = {
    "HalfStorage": "f2", "FloatStorage": "f4", "DoubleStorage": "f8", "CharStorage": "i1", "ShortStorage": "i2",
    "IntStorage": "i4", "LongStorage": "i8", "ByteStorage": "u1", "BoolStorage": "b1", "BFloat16Storage": "bf16",
}  # fmt: skip
_MOST_ENTRIES = 100_000
_NESTED = ("state_dict", "model", "model_state_dict", "ema")
"""Where training programs put the weights beside other things."""


class _RefusedError(ValueError):
    """What the file wants is not what arrays need."""


class _Name:
    """What a name in a pickle stands for: it can be called, and nothing else."""

    __slots__ = ("_call",)

    def __init__(self, call: Callable[..., Any]) -> None:
        self._call = call

    def __call__(self, *arguments: Any) -> Any:
        return self._call(*arguments)

    def __setstate__(self, state: Any) -> None:
        raise _RefusedError("a change of what it calls")


class _Kind:
    """Stands for ``numpy.dtype``."""

    def __init__(self, name: Any, *_: Any) -> None:
        if name not in _KINDS:
            raise _RefusedError(f"arrays of the type {str(name)[:40]!r}")
        self.dtype = _KINDS[name]

    def __setstate__(self, state: Any) -> None:
        if isinstance(state, tuple) and len(state) > 1 and state[1] == ">":
            self.dtype = self.dtype.newbyteorder(">")


class _Array:
    """Stands for ``numpy.ndarray``, and for tensors and storages of PyTorch."""

    def __init__(self, array: NDArray[Any] | None = None) -> None:
        self.array: NDArray[Any] = np.zeros(0) if array is None else array

    def __setstate__(self, state: Any) -> None:
        _, shape, kind, by_columns, data = state
        if not (isinstance(kind, _Kind) and isinstance(data, bytes)):
            raise _RefusedError("an array that is no array of numbers")
        flat = np.frombuffer(data, kind.dtype)
        if math.prod(_checked(shape)) != len(flat):
            raise _RefusedError("an array with more or fewer values than its shape says")
        self.array = flat.reshape(shape, order="F" if by_columns else "C")


def _checked(sizes: Any) -> tuple[int, ...]:
    if not (isinstance(sizes, tuple) and len(sizes) < 10 and all(type(n) is int and 0 <= n < 2**40 for n in sizes)):
        raise _RefusedError("a shape that is none")
    return sizes


def _begin_array(*_: Any) -> _Array:
    return _Array()


def _encode(text: Any, encoding: Any) -> bytes:
    """Stands for ``_codecs.encode``, with which old protocols write bytes."""
    if encoding != "latin1" or not isinstance(text, str):
        raise _RefusedError("an encoding")
    return text.encode("latin1")


def _no_bytes() -> bytes:
    """Stands for ``bytes``, as which old protocols write no bytes."""
    return b""


def _make_dict(pairs: Any = ()) -> dict[Any, Any]:
    """Stands for ``collections.OrderedDict``."""
    return dict(pairs)


_PADDLE: dict[tuple[str, str], Any] = {
    **{(f"numpy.{core}.multiarray", "_reconstruct"): _Name(_begin_array) for core in ("core", "_core")},
    ("numpy", "ndarray"): _Name(_begin_array),
    ("numpy", "dtype"): _Name(_Kind),
    ("_codecs", "encode"): _Name(_encode),
    ("__builtin__", "bytes"): _Name(_no_bytes),
    ("collections", "OrderedDict"): _Name(_make_dict),
}


class _Unpickler(pickle.Unpickler):
    def __init__(
        self, content: bytes, names: Mapping[tuple[str, str], Any], find_storage: Callable[[Any], Any] | None = None
    ) -> None:
        super().__init__(io.BytesIO(content))
        self._names, self._find_storage = names, find_storage

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in self._names:
            raise _RefusedError(f"{module}.{name}")
        return self._names[module, name]

    def persistent_load(self, pid: Any) -> Any:
        if self._find_storage is None:
            raise _RefusedError("another file")
        return self._find_storage(pid)


def _unpickle(
    content: bytes, names: Mapping[tuple[str, str], Any], find_storage: Callable[[Any], Any] | None = None
) -> Any:
    allowed = set(_OPCODES.split())
    for number, (opcode, argument, _) in enumerate(pickletools.genops(content)):
        if opcode.name not in allowed:
            raise _RefusedError(f"the opcode {opcode.name}")
        if opcode.name in ("PUT", "BINPUT", "LONG_BINPUT") and not 0 <= int(argument or 0) <= number + 1:
            raise _RefusedError("more memory than it has content")
    return _Unpickler(content, names, find_storage).load()


def load_pdparams(path: Path) -> dict[str, NDArray[Any]]:
    """Read a file of ``paddle.save(net.state_dict(), path)``.

    Returns:
        Arrays by name; what Paddle keeps as bfloat16 comes as float32.

    Raises:
        InputError: The file is missing or broken, or holds anything but arrays.
    """
    return _load(path, lambda: _unpickle(path.read_bytes(), _PADDLE))


def load_torch(path: Path) -> dict[str, NDArray[Any]]:
    """Read a file of ``torch.save(net.state_dict(), path)``, of PyTorch 1.6 and later; PyTorch is not needed.

    Returns:
        Arrays by name; bfloat16 comes as float32. The state may lie in a dictionary beside other things.

    Raises:
        InputError: The file is missing or broken, or holds anything but arrays.
    """
    return _load(path, lambda: _read_archive(path))


def _load(path: Path, read: Callable[[], Any]) -> dict[str, NDArray[Any]]:
    try:
        return dict(_arrays_of(read()))
    except _RefusedError as error:
        raise InputError(f"{path} asks for {error}, which weights do not need: it was not loaded") from error
    except Exception as error:  # a broken pickle raises all kinds
        raise InputError(f"{path} holds no weights that can be read ({error!r}): name another file") from error


def _arrays_of(found: Any) -> Iterator[tuple[str, NDArray[Any]]]:
    if not isinstance(found, dict):
        raise _RefusedError("something that is no dictionary")
    for key in _NESTED:
        if isinstance(found.get(key), dict):
            found = found[key]
    for name, value in found.items():
        each = value[1] if isinstance(value, tuple) and len(value) == 2 else value
        if not isinstance(name, str):
            raise _RefusedError("names that are no text")
        if isinstance(each, _Array):
            # Paddle keeps bfloat16 as uint16; no network has weights of the latter.
            yield name, _widen(each.array) if each.array.dtype == np.uint16 else each.array
        elif name != "StructuredToParameterName@@":
            raise _RefusedError(f"{name[:60]!r}, which is no array")


def _widen(bits: NDArray[Any]) -> NDArray[np.float32]:
    """The upper halves of float32 numbers, as bfloat16 is, to float32."""
    return np.left_shift(bits.astype(np.uint32), 16).view(np.float32)


def _read_archive(path: Path) -> Any:
    """PyTorch's archive: a pickle, and a file for each storage, all uncompressed."""
    with zipfile.ZipFile(path) as archive:
        entries = {entry.filename: entry for entry in archive.infolist()}
        if len(entries) > _MOST_ENTRIES:
            raise _RefusedError("too many files")
        if any(entry.compress_type != zipfile.ZIP_STORED for entry in entries.values()):
            raise _RefusedError("compressed files")
        pickled = next((name for name in entries if name.count("/") == 1 and name.endswith("/data.pkl")), None)
        if pickled is None:
            raise _RefusedError("a PyTorch older than 1.6, or TorchScript")
        folder = pickled.partition("/")[0]

        @cache
        def read_storage(kind: str, key: str) -> NDArray[Any]:
            content = archive.read(f"{folder}/data/{key}")
            return np.frombuffer(content, "u2" if kind == "bf16" else _KINDS[kind])

        def find_storage(pid: Any) -> _Array:
            kind, key, n_values = pid[1], pid[2], pid[4]
            if pid[0] != "storage" or not isinstance(kind, str) or not isinstance(key, str):
                raise _RefusedError("a storage that is none")
            values = read_storage(kind, key)
            if len(values) != n_values:
                raise _RefusedError("a storage with more or fewer values than it says")
            return _Array(values)

        return _unpickle(archive.read(pickled), _TORCH, find_storage)


def _view(storage: Any, offset: Any, shape: Any, strides: Any, *_: Any) -> _Array:
    """Stands for ``torch._utils._rebuild_tensor_v2``."""
    if not isinstance(storage, _Array) or len(_checked(shape)) != len(_checked(strides)):
        raise _RefusedError("a tensor that is none")
    values, n_values = storage.array, math.prod(shape)
    last = _checked((offset,))[0] + sum((n - 1) * step for n, step in zip(shape, strides, strict=True))
    if values.ndim != 1 or (n_values and (last >= len(values) or n_values > len(values))):
        raise _RefusedError("a tensor beyond its storage")
    if not n_values:
        return _Array(values[:0].reshape(shape))
    steps = [step * values.itemsize for step in strides]
    # No copy: however often a file names a storage, it is in memory once.
    return _Array(np.lib.stride_tricks.as_strided(values[offset:], shape, steps, writeable=False))


def _parameter(tensor: Any, *_: Any) -> Any:
    """Stands for ``torch._utils._rebuild_parameter``."""
    return tensor


_TORCH: dict[tuple[str, str], Any] = {
    ("torch._utils", "_rebuild_tensor_v2"): _Name(_view),
    ("torch._utils", "_rebuild_parameter"): _Name(_parameter),
    ("collections", "OrderedDict"): _Name(_make_dict),
    **{("torch", name): kind for name, kind in _STORAGES.items()},
}


def save_pdparams(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write a file that ``paddle.load`` reads, completely or not at all.

    Args:
        path: The file.
        arrays: Arrays by name.

    Raises:
        OutputError: It cannot be written.
    """
    with atomic_file(path) as file:
        pickle.dump({name: np.ascontiguousarray(array) for name, array in arrays.items()}, file, protocol=4)
