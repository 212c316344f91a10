"""Arrays out of the pickles of Paddle and PyTorch, which may be hostile.

A pickle is a program: loading one as usual runs whatever it names. Here its opcodes are checked against a list, and
the few names that arrays need stand for classes of this file. Nothing of numpy, Paddle or PyTorch is called, and any
other name is refused.

A small pickle can also build what is endless to walk through: tuples nested a million deep, or each holding the one
before twice. So nothing in it is hashed, compared or shown but texts and numbers, and what it copies is counted.
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
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tablerec.errors import InputError
from tablerec.inputs.images import display_name
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
_MOST_OPCODES = 3_000_000
"""An array takes some forty."""
_MOST_COPIES = 8
"""So many times the size of its file the arrays may take, and what the program copies: some share their values, and \
bfloat16 becomes float32."""
_SMALL = 1 << 16
"""Bytes that any file may take."""
_SHOWN = 60
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
        if not isinstance(name, str) or name not in _KINDS:
            raise _RefusedError(f"arrays of the type {_show(name)}")
        self.dtype = _KINDS[name]

    def __setstate__(self, state: Any) -> None:
        if isinstance(state, tuple) and len(state) > 1 and isinstance(state[1], str) and state[1] == ">":
            self.dtype = self.dtype.newbyteorder(">")


class _Array:
    """Stands for ``numpy.ndarray``, and for tensors and storages of PyTorch."""

    def __init__(self, array: NDArray[Any] | None = None) -> None:
        self.array: NDArray[Any] = np.zeros(0) if array is None else array

    def __setstate__(self, state: Any) -> None:
        if not isinstance(state, tuple) or len(state) != 5:
            raise _RefusedError("an array that is none")
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
    if not isinstance(text, str) or not isinstance(encoding, str) or encoding != "latin1":
        raise _RefusedError("an encoding")
    return text.encode("latin1")


def _no_bytes() -> bytes:
    """Stands for ``bytes``, as which old protocols write no bytes."""
    return b""


class _Dict(dict[Any, Any]):
    """Stands for ``collections.OrderedDict``."""

    def __init__(self, pairs: Any = ()) -> None:
        items = pairs.items() if isinstance(pairs, dict) else pairs
        super().__init__((_as_key(key), value) for key, value in items)

    def __setstate__(self, state: Any) -> None:
        """Leave out its attributes: PyTorch keeps the versions of layers in one."""


_PADDLE: dict[tuple[str, str], Any] = {
    **{(f"numpy.{core}.multiarray", "_reconstruct"): _Name(_begin_array) for core in ("core", "_core")},
    ("numpy", "ndarray"): _Name(_begin_array),
    ("numpy", "dtype"): _Name(_Kind),
    ("_codecs", "encode"): _Name(_encode),
    ("__builtin__", "bytes"): _Name(_no_bytes),
    ("collections", "OrderedDict"): _Name(_Dict),
}


def _as_key(key: Any) -> str | int:
    """Refuse what is slow to hash, or has no end."""
    if type(key) not in (str, int):
        raise _RefusedError("names that are no text")
    return key


def _show(value: Any) -> str:
    """A text for a message; of anything else its type alone, as it may be endless."""
    return repr(value[:_SHOWN]) if isinstance(value, str) else type(value).__name__


def _size(value: Any) -> int:
    return len(value) if isinstance(value, (str, bytes, list, tuple, dict)) else 0


# The one in Python, since that in C lets nobody look at a key before it hashes it.
_Plain: Any = vars(pickle)["_Unpickler"]


class _Unpickler(_Plain):
    dispatch: ClassVar[dict[int, Callable[[Any], None]]] = dict(_Plain.dispatch)

    def __init__(
        self, content: bytes, names: Mapping[tuple[str, str], Any], find_storage: Callable[[Any], Any] | None = None
    ) -> None:
        super().__init__(io.BytesIO(content))
        self._names, self._find_storage = names, find_storage
        self._left = _MOST_COPIES * len(content) + _SMALL

    def load_setitem(self) -> None:
        _as_key(self.stack[-2])
        super().load_setitem()

    def load_items(self) -> None:
        """SETITEMS and DICT: keys and values by turns, since the last mark."""
        for key in self.stack[::2]:
            _as_key(key)

    def load_setitems(self) -> None:
        self.load_items()
        super().load_setitems()

    def load_dict(self) -> None:
        self.load_items()
        super().load_dict()

    def load_reduce(self) -> None:
        arguments = self.stack[-1]
        self._left -= _size(arguments) + sum(map(_size, arguments))
        if self._left < 0:
            raise _RefusedError("copies of itself")
        super().load_reduce()

    dispatch[pickle.SETITEM[0]] = load_setitem
    dispatch[pickle.SETITEMS[0]] = load_setitems
    dispatch[pickle.DICT[0]] = load_dict
    dispatch[pickle.REDUCE[0]] = load_reduce

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
        if number >= _MOST_OPCODES:
            raise _RefusedError(f"more than {_MOST_OPCODES:,} steps")
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
    name = display_name(str(path))
    if path.exists() and not path.is_file():  # a pipe, which might never end
        raise InputError(f"{name} is no file: name a file of weights")
    try:
        arrays: dict[str, NDArray[Any]] = {}
        left = _MOST_COPIES * path.stat().st_size + _SMALL
        for key, array in _arrays_of(read()):
            left -= array.nbytes * (2 if array.dtype == np.uint16 else 1)
            if left < 0:
                raise _RefusedError("many arrays with the same values")
            # Paddle keeps bfloat16 as uint16; no network has weights of the latter.
            arrays[key] = _widen(array) if array.dtype == np.uint16 else array
        return arrays
    except _RefusedError as error:
        raise InputError(f"{name} asks for {error}, which weights do not need: it was not loaded") from error
    except Exception as error:  # a broken pickle raises all kinds
        cause = display_name(repr(error)[:200])
        raise InputError(f"{name} holds no weights that can be read ({cause}): name another file") from error


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
            yield name, each.array
        elif name != "StructuredToParameterName@@":
            raise _RefusedError(f"{_show(name)}, which is no array")


def _widen(bits: NDArray[Any]) -> NDArray[np.float32]:
    """The upper halves of float32 numbers, as bfloat16 is, to float32."""
    return np.left_shift(bits.astype(np.uint32), 16).view(np.float32)


def _read_archive(path: Path) -> Any:
    """PyTorch's archive: a pickle, and a file for each storage, all uncompressed."""
    with zipfile.ZipFile(path) as archive:
        entries = {entry.filename: entry for entry in archive.infolist()}
        if len(entries) > _MOST_ENTRIES:
            raise _RefusedError("too many files")
        if sum(entry.compress_size for entry in entries.values()) > path.stat().st_size:
            raise _RefusedError("files that lie over one another")
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
            if not isinstance(pid, tuple) or [*map(type, pid)] != [str, str, str, str, int] or pid[0] != "storage":
                raise _RefusedError("a storage that is none")
            _, kind, key, _, n_values = pid
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
    ("collections", "OrderedDict"): _Name(_Dict),
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
