"""Arrays come out of Paddle's and PyTorch's pickles as they went in, and nothing in such a file is run."""

from __future__ import annotations

import collections
import io
import os
import pickle
import struct
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablerec.errors import InputError
from tablerec.models.formats.pickles import load_pdparams, load_torch, save_pdparams

ARRAYS = {
    "a.weight": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.array(3.0), "empty": np.zeros((0, 4)),
    "turned": np.asfortranarray(np.arange(6.0).reshape(2, 3)), "counts": np.arange(3), "yes": np.array([True, False]),
    "big": np.arange(3, dtype=">f4"),
}  # fmt: skip


def assert_same(found: dict[str, np.ndarray], wanted: dict[str, np.ndarray]) -> None:
    assert found.keys() == wanted.keys()
    for name, array in wanted.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].shape == array.shape and found[name].dtype == array.dtype, name


@pytest.mark.parametrize("protocol", [2, 3, 4])
def test_arrays_of_any_protocol(tmp_path: Path, protocol: int) -> None:
    path = tmp_path / "net.pdparams"
    path.write_bytes(pickle.dumps({}, protocol))
    assert load_pdparams(path) == {}
    content = {**ARRAYS, "StructuredToParameterName@@": {"b": "linear_0.w_0"}, "named": ("linear_0.w_0", np.ones(2))}
    path.write_bytes(pickle.dumps(collections.OrderedDict(content), protocol))
    assert_same(load_pdparams(path), {**ARRAYS, "named": np.ones(2)})


def test_paddle_reads_what_is_written_and_the_reverse(tmp_path: Path) -> None:
    paddle = pytest.importorskip("paddle")
    net = paddle.nn.Linear(3, 2)
    paddle.save(net.state_dict(), str(tmp_path / "net.pdparams"))
    arrays = load_pdparams(tmp_path / "net.pdparams")
    assert_same(arrays, {name: each.numpy() for name, each in net.state_dict().items()})
    save_pdparams(tmp_path / "ours.pdparams", {name: array + 1 for name, array in arrays.items()})
    net.set_state_dict(paddle.load(str(tmp_path / "ours.pdparams")))
    assert_same({name: each.numpy() - 1 for name, each in net.state_dict().items()}, arrays)
    net.to(dtype="bfloat16")
    paddle.save(net.state_dict(), str(tmp_path / "half.pdparams"))
    np.testing.assert_allclose(load_pdparams(tmp_path / "half.pdparams")["weight"], arrays["weight"] + 1, rtol=1e-2)


class Evil:
    def __init__(self, call: Callable[..., object], *arguments: object) -> None:
        self.reduced = call, arguments

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return self.reduced


def unframed(*parts: bytes) -> bytes:
    return b"\x80\x04" + b"".join(parts) + b"."


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (pickle.dumps({"a": Evil(os.system, "echo")}), "system"),
        (pickle.dumps({"a": Evil(eval, "1")}), "eval"),
        (pickle.dumps({"a": Evil(np.load, "x")}), "load"),
        (pickle.dumps({"a": Evil(getattr, "x", "y")}), "getattr"),
        (pickle.dumps({"a": np.array([{}], object)}, 4), "which weights do not need"),
        (pickle.dumps({"a": np.array(["text"])}, 4), "arrays of the type"),
        (pickle.dumps({"a": 3}, 4), "which is no array"),
        (pickle.dumps({3: np.ones(1)}, 4), "names that are no text"),
        (pickle.dumps([np.ones(1)], 4), "no dictionary"),
        (pickle.dumps({"a": Evil(collections.OrderedDict, 3)}, 4), "can be read"),
        # a change of what a name stands for: BUILD on a global
        (unframed(b"cnumpy\ndtype\n", b"}", b"b"), "a change of what it calls"),
        (unframed(b"cnumpy\ndtype\n", b"N}\x86", b"b"), "a change of what it calls"),
        # an instance of a class by its name, an extension, a persistent name, a place far off in memory
        (unframed(b"(ios\nsystem\n"), "the opcode INST"),
        (unframed(b"\x82\x01"), "the opcode EXT1"),
        (unframed(b"Px\n"), "the opcode PERSID"),
        (unframed(b"\x8c\x01xQ"), "another file"),
        (unframed(b"}r" + struct.pack("<I", 2**31 - 1)), "more memory"),
        # bytes that are not there
        (unframed(b"\x8e" + struct.pack("<Q", 2**60)), "can be read"),
        (b"", "can be read"),
        (b"\x80\x04}", "can be read"),
        (b"no pickle at all", "can be read"),
    ],
)
def test_hostile_pickles(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "net.pdparams"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        load_pdparams(path)


def nested(start: bytes, step: bytes, count: int = 60) -> bytes:
    """Tuples of which each is made of the one before."""
    return start + step * count


def doubled(count: int = 60) -> bytes:
    """Tuples of which each holds the one before twice: 2 ** 60 walks through them."""
    return b"N\x85q\x00" + b"".join(b"h%c\x86q%c" % (n, n + 1) for n in range(count))


DEEP = nested(b"N", b"\x85", 200_000)
PAIRS = b"ccollections\nOrderedDict\n]("
ENDLESS = [
    *((b"}" + each + b"K\x01s", "names that are no text") for each in (doubled(), DEEP)),
    *((b"}(" + each + b"K\x01u", "names that are no text") for each in (doubled(), DEEP)),
    *((b"(" + each + b"K\x01d", "names that are no text") for each in (doubled(), DEEP)),
    *((PAIRS + each + b"N\x86e\x85R", "names that are no text") for each in (doubled(), DEEP)),
    *((b"}Va\ncnumpy\ndtype\n" + each + b"\x85Rs", "arrays of the type tuple") for each in (doubled(), DEEP)),
    *((b"}Va\n" + each + b"s", "which is no array") for each in (doubled(), DEEP)),
    *((b"}Va\nc_codecs\nencode\nVx\n" + each + b"\x86Rs", "an encoding") for each in (doubled(), DEEP)),
    *((b"}Va\n" + each + b"Q", "another file") for each in (doubled(), DEEP)),
    *((each, "no dictionary") for each in (doubled(), DEEP)),
    # a list that holds itself, and a dictionary that does
    (b"}Va\n]q\x00h\x00as", "which is no array"),
    (b"}q\x00Va\nh\x00s", "which is no array"),
    # a text that is encoded, and a dictionary that is copied, again and again
    (b"V" + b"x" * 100_000 + b"\nq\x000" + b"c_codecs\nencode\nh\x00Vlatin1\n\x86R" * 200, "copies of itself"),
    (
        b"}(" + b"".join(b"V%d\nN" % n for n in range(9000)) + b"uq\x000"
        + b"ccollections\nOrderedDict\nh\x00\x85R" * 200,
        "copies of itself",
    ),
    (b"N" * 3_000_001, "more than 3,000,000 steps"),
]  # fmt: skip


@pytest.mark.parametrize(("program", "message"), ENDLESS)
def test_pickles_that_have_no_end_are_refused_at_once(tmp_path: Path, program: bytes, message: str) -> None:
    """Two of them kept the reader busy for ever; tuples nested in a key ended the process."""
    path = tmp_path / "net.pdparams"
    path.write_bytes(b"\x80\x02" + program + b".")
    with pytest.raises(InputError, match=message) as caught:
        load_pdparams(path)
    assert len(str(caught.value)) < 500


PARTS = [
    b"N", b"}", b"]", b")", b"(", b"0", b"1", b"Va\n", b"I3\n", b"K\x01", b"U\x01x", b"C\x01x", b"q\x00", b"q\x01",
    b"h\x00", b"h\x01", b"\x94", b"\x85", b"\x86", b"\x87", b"t", b"l", b"d", b"s", b"u", b"a", b"e", b"R", b"b", b"Q",
    b"cnumpy\ndtype\n", b"cnumpy\nndarray\n", b"cnumpy.core.multiarray\n_reconstruct\n", b"c_codecs\nencode\n",
    b"ccollections\nOrderedDict\n", b"c__builtin__\nbytes\n", b"Vlatin1\n", b"Vf4\n", b"\x93", doubled(),
    b"cos\nsystem\n",
]  # fmt: skip


@given(st.lists(st.sampled_from(PARTS), max_size=40))
def test_any_program_gives_arrays_or_an_error_of_ours(
    tmp_path_factory: pytest.TempPathFactory, parts: list[bytes]
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.pdparams"
    path.write_bytes(b"\x80\x02" + b"".join(parts) + b".")
    for load in (load_pdparams, load_torch):
        with suppress(InputError):
            assert all(isinstance(array, np.ndarray) for array in load(path).values())


def test_arrays_that_share_values_take_no_more_memory_than_their_file_allows(tmp_path: Path) -> None:
    values = np.zeros(40_000, np.uint16)
    path = tmp_path / "net.pdparams"
    path.write_bytes(pickle.dumps({"a": values, "tied": values}))
    assert len(load_pdparams(path)) == 2
    path.write_bytes(pickle.dumps({str(n): values for n in range(100)}))
    with pytest.raises(InputError, match="the same values"):
        load_pdparams(path)


def test_the_attributes_of_a_state_are_left_out(tmp_path: Path) -> None:
    """PyTorch keeps the versions of layers in one, in every file of ``torch.save(net.state_dict(), path)``."""
    state = collections.OrderedDict(a=np.ones(2))
    state._metadata = {"": {"version": 1}}  # type: ignore[attr-defined]
    path = tmp_path / "net.pdparams"
    path.write_bytes(pickle.dumps(state, 2))
    assert load_pdparams(path)["a"].tolist() == [1, 1]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes of POSIX")
def test_a_pipe_is_no_file_of_weights(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "net.pdparams")
    with pytest.raises(InputError, match="is no file"):
        load_pdparams(tmp_path / "net.pdparams")
    with pytest.raises(InputError, match="is no file"):
        load_torch(tmp_path / "net.pdparams")


def array_program(shape: str, data: bytes, kind: str = "f4") -> bytes:
    """A pickle of one array with whatever shape."""
    head = "cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(I0\ntVb\ntR(I1\n"
    type_of_it = f"cnumpy\ndtype\n(V{kind}\nI0\nI1\ntR"
    return unframed(b"}Va\n", (head + shape + type_of_it).encode(), b"I00\nC", bytes([len(data)]), data, b"tbs")


@pytest.mark.parametrize(
    ("shape", "data", "kind", "message"),
    [
        ("(I1\nt", b"\0" * 4, "f4", None),
        ("(L1000000000000L\nt", b"\0" * 4, "f4", "more or fewer values"),
        ("(I-1\nt", b"\0" * 4, "f4", "a shape that is none"),
        ("(I1099511627776\nI0\nt", b"", "f4", "a shape that is none"),
        ("N", b"\0" * 4, "f4", "a shape that is none"),
        ("(I1\nt", b"\0" * 3, "f4", "can be read"),
        ("(I1\nt", b"\0" * 8, "O8", "arrays of the type"),
    ],
)
def test_arrays_that_are_none(tmp_path: Path, shape: str, data: bytes, kind: str, message: str | None) -> None:
    path = tmp_path / "net.pdparams"
    path.write_bytes(array_program(shape, data, kind))
    if message is None:
        assert load_pdparams(path)["a"].tolist() == [0]
        return
    with pytest.raises(InputError, match=message):
        load_pdparams(path)


# PyTorch's archive, written as torch.save writes it, without PyTorch.


def tensor(
    key: str, n_values: int, offset: int, shape: tuple[int, ...], strides: tuple[int, ...], kind: str = "FloatStorage"
) -> bytes:
    storage = b"(Vstorage\n" + f"ctorch\n{kind}\nV{key}\nVcpu\nI{n_values}\ntQ".encode()
    sizes = "".join(f"({''.join(f'I{n}' + chr(10) for n in each)}t" for each in (shape, strides))
    hooks = b"I00\nccollections\nOrderedDict\n(tR"
    return b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + f"I{offset}\n{sizes}".encode() + hooks + b"tR"


def write_archive(
    path: Path, tensors: dict[str, bytes], storages: dict[str, np.ndarray], compression: int = zipfile.ZIP_STORED
) -> Path:
    items = b"".join(b"V" + name.encode() + b"\n" + program + b"s" for name, program in tensors.items())
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", compression) as archive:
        archive.writestr("net/data.pkl", b"\x80\x02}" + items + b".")
        for key, values in storages.items():
            archive.writestr(f"net/data/{key}", values.tobytes())
    path.write_bytes(content.getvalue())
    return path


def test_tensors_of_pytorch(tmp_path: Path) -> None:
    values = np.arange(12, dtype=np.float32)
    bits = (np.array([1.5, -2], np.float32).view(np.uint32) >> 16).astype(np.uint16)
    tensors = {
        "whole": tensor("0", 12, 0, (3, 4), (4, 1)), "turned": tensor("0", 12, 0, (4, 3), (1, 4)),
        "part": tensor("0", 12, 5, (2,), (2,)), "scalar": tensor("0", 12, 11, (), ()),
        "none": tensor("0", 12, 0, (0,), (1,)),
        "half": tensor("1", 2, 0, (2,), (1,), "BFloat16Storage"), "count": tensor("2", 1, 0, (), (), "LongStorage"),
    }  # fmt: skip
    found = load_torch(write_archive(tmp_path / "net.pt", tensors, {"0": values, "1": bits, "2": np.array([7])}))
    whole = values.reshape(3, 4)
    assert_same(found, {
        "whole": whole, "turned": whole.T, "part": values[[5, 7]], "scalar": values[11], "none": values[:0],
        "half": np.array([1.5, -2], np.float32), "count": np.int64(7).reshape(()),
    })  # fmt: skip


def test_weights_beside_other_things(tmp_path: Path) -> None:
    nested = b"}Vw\n" + tensor("0", 2, 0, (2,), (1,)) + b"s"
    path = write_archive(tmp_path / "net.pt", {"state_dict": nested, "epoch": b"I3\n"}, {"0": np.ones(2, np.float32)})
    assert load_torch(path)["w"].tolist() == [1, 1]


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (tensor("0", 4, 1, (4,), (1,)), "beyond its storage"),
        (tensor("0", 4, 0, (2, 2), (3, 1)), "beyond its storage"),
        (tensor("0", 4, 0, (10**9,), (0,)), "beyond its storage"),
        (tensor("0", 4, 0, (2,), (-1,)), "a shape that is none"),
        (tensor("0", 9, 0, (4,), (1,)), "more or fewer values"),
        (tensor("1", 4, 0, (4,), (1,)), "can be read"),
        (tensor("../0", 4, 0, (4,), (1,)), "can be read"),
        (tensor("0", 4, 0, (4,), (1,), "load"), "torch.load"),
        (b"cos\nsystem\n(Vecho\ntR", "os.system"),
        (b"I3\n", "no array"),
    ],
)
def test_hostile_archives(tmp_path: Path, program: bytes, message: str) -> None:
    path = write_archive(tmp_path / "net.pt", {"a": program}, {"0": np.zeros(4, np.float32)})
    with pytest.raises(InputError, match=message):
        load_torch(path)


def test_archives_that_are_none(tmp_path: Path) -> None:
    zeros = np.zeros(10**6, np.float32)
    tensors = {"a": tensor("0", len(zeros), 0, zeros.shape, (1,))}
    bomb = write_archive(tmp_path / "bomb.pt", tensors, {"0": zeros}, zipfile.ZIP_DEFLATED)
    with pytest.raises(InputError, match="compressed files"):
        load_torch(bomb)
    with zipfile.ZipFile(tmp_path / "other.pt", "w") as archive:
        archive.writestr("text", "")
    with pytest.raises(InputError, match=r"older than 1\.6"):
        load_torch(tmp_path / "other.pt")
    (tmp_path / "old.pt").write_bytes(pickle.dumps({}))
    with pytest.raises(InputError, match="can be read"):
        load_torch(tmp_path / "old.pt")


def test_a_safetensors_file_with_a_huge_header(tmp_path: Path) -> None:
    pytest.importorskip("safetensors")
    from tablerec.models.arrays import load_arrays

    for size in (2**62, 10**8, 100):
        (tmp_path / "net.safetensors").write_bytes(struct.pack("<Q", size) + b"{}")
        with pytest.raises(InputError, match="cannot be read"):
            load_arrays(tmp_path / "net.safetensors")


def test_nothing_half_written(tmp_path: Path) -> None:
    save_pdparams(tmp_path / "a.pdparams", {"a": np.ones(2)})
    assert [path.name for path in tmp_path.iterdir()] == ["a.pdparams"]
