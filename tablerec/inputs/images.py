"""Inputs: whatever holds a picture becomes a stream of pages, one in memory at a time."""

from __future__ import annotations

import glob
import io
import itertools
import os
import re
import stat
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeAlias, Union, cast

import numpy as np
from numpy.typing import NDArray

from postprocess.arrays import Image
from tablerec.config import Settings
from tablerec.errors import InputError
from tablerec.inputs.pixels import array_to_uint8, lay_on_ground, picture_to_pixels
from tablerec.result import PageImage

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

Source: TypeAlias = Union[
    str, "os.PathLike[str]", bytes, bytearray, memoryview, BinaryIO, NDArray[np.generic], "Picture", PageImage
]
"""What can be read. Arrays are ``(H, W)``, ``(H, W, 1)``, ``(H, W, 3)`` BGR or ``(H, W, 4)`` BGRA."""

SUFFIXES = frozenset(
    ".png .jpg .jpeg .jpe .jfif .tif .tiff .webp .bmp .gif .avif .heic .heif .hif .pdf".split()  # noqa: SIM905
)
"""Files that are taken from a folder; single files are judged by their content alone."""

OVERLAY_SUFFIX = ".overlay.png"
"""Our own pictures, which are no input when a folder is read again."""

_FORMATS = ("PNG", "JPEG", "TIFF", "WEBP", "BMP", "GIF", "AVIF")
_HEIF = re.compile(rb"....ftyp(hei[cmsx]|hev[cmsx]|mi[ah]f|mif[12]|msf1)", re.DOTALL)
_MAX_STREAM_BYTES = 1 << 30

_SIGNATURES = (
    (rb"\x89PNG", "broken or incomplete PNG picture", "export it again"),
    (rb"\xff\xd8\xff", "broken or incomplete JPEG picture", "export it again"),
    (rb"GIF8|BM|RIFF....WEBP", "broken or incomplete picture", "export it again"),
    (rb"II\*\0|MM\0\*|II\+\0|MM\0\+", "broken or incomplete TIFF picture", "export it again"),
    (rb"PK\x03\x04|\xd0\xcf\x11\xe0", "an Office document or zip file, not a picture", "save it as PDF first"),
    (rb"....ftypavi[fs]", "broken AVIF picture, or one that this Pillow does not read", "convert it to JPEG first"),
    (rb"....ftyp", "a video or sound, not a picture", "save a picture of it first"),
    (rb"%!PS", "a PostScript file, not a picture", "save it as PDF first"),
    (rb"\s*(<\?xml|<svg|<!doctype|<html)", "an HTML, XML or SVG file, not a picture", "save it as PNG or PDF first"),
)


def load_pages(source: Source, settings: Settings | None = None, first: int = 1) -> Iterator[PageImage]:
    """Read pictures and documents page by page.

    Args:
        source: A path; the bytes of a file; a binary file such as ``sys.stdin.buffer``;
            a picture of Pillow; a ``PageImage``; or an array ``(H, W)``, ``(H, W, 1)``,
            ``(H, W, 3)`` BGR or ``(H, W, 4)`` BGRA with bool, uint8 or uint16 values, or
            float values from 0 to 1. Files are PNG, JPEG, TIFF (all pages), WebP, BMP,
            GIF (first frame), AVIF, HEIC (with pillow-heif) or PDF (all pages); the content
            counts, not the suffix.
        settings: ``max_megapixels``, ``pages``, and for PDFs ``pdf_dpi``, ``text_layer``,
            ``password`` and ``max_page_*`` count here; the default where None.
        first: Number of the page of a file to begin with; those before it are not decoded.

    Yields:
        Upright pictures ``(H, W, 3)`` uint8 BGR; transparent parts are white, or black or
        grey where the print would be lost on white. Values of 10, 12 or 14 bits in uint16
        are brought to their range, which the greatest one tells. The words are those of a
        PDF's text layer, else None.

    Raises:
        InputError: While iterating; one line with the file, the cause and the next step.

    >>> page = next(load_pages(np.zeros((40, 60), np.uint8)))
    >>> page.source, page.number, page.image.shape
    ('array', 1, (40, 60, 3))
    """
    settings = settings or Settings()
    name = display_name(source_name(source))
    if isinstance(source, PageImage):
        yield replace(source, image=_array_to_image(source.image, name, settings))
    elif isinstance(source, np.ndarray):
        yield PageImage(source_name(source), 1, _array_to_image(source, name, settings))
    elif isinstance(source, (str, os.PathLike, bytes, bytearray, memoryview)) or hasattr(source, "read"):
        with _as_file(cast(BinaryIO, source), name) as file:
            yield from _file_pages(file, source_name(source), settings, first)
    else:
        yield from _object_pages(source, name, settings)


class NamedBytes(io.BytesIO):
    """A file in memory that has the name of the input that it came from.

    >>> NamedBytes(b"...", "scan.png").name
    'scan.png'
    """

    def __init__(self, content: bytes, name: str) -> None:
        super().__init__(content)
        self.name = name


def path_or_content(source: str | os.PathLike[str] | bytes | BinaryIO) -> str | bytes:
    """Return what another process can read as often as it wants: the path of a file, or what a stream or pipe holds.

    Raises:
        InputError: The stream cannot be read.

    >>> path_or_content("scan.png"), path_or_content(io.BytesIO(b"..."))
    ('scan.png', b'...')
    """
    if isinstance(source, bytes):
        return source
    name = display_name(source_name(source))
    if not isinstance(source, (str, os.PathLike)):
        return _read_stream(source, name).read()
    try:
        is_pipe = stat.S_ISFIFO(os.stat(source).st_mode)
    except (OSError, ValueError):  # whoever opens it says why
        is_pipe = False
    return _open(source, name).read() if is_pipe else os.fsdecode(source)


def wanted_pages(source: str | os.PathLike[str] | bytes | BinaryIO, settings: Settings | None = None) -> list[int]:
    """Return the numbers of the pages of a file that ``load_pages`` reads; none of them is decoded or drawn.

    Args:
        source: A path, the bytes of a file, or a binary file.
        settings: See ``load_pages``.

    Raises:
        InputError: It cannot be opened, or has none of the pages that the settings ask for.

    >>> import PIL.Image
    >>> pages, file = [PIL.Image.new("L", (40, 30), 255)] * 3, io.BytesIO()
    >>> pages[0].save(file, "TIFF", save_all=True, append_images=pages[1:])
    >>> wanted_pages(file.getvalue()), wanted_pages(file.getvalue(), Settings(pages="2-"))
    ([1, 2, 3], [2, 3])
    """
    settings = settings or Settings()
    name = display_name(source_name(source))
    with _as_file(source, name) as file:
        head = _read_head(file, name)
        if b"%PDF-" in head:
            from tablerec.inputs.pdf import pdf_page_numbers

            return pdf_page_numbers(file, name, settings)
        with _open_picture(file, head, name) as picture:
            return settings.page_numbers.within(sum(1 for _ in _frames(picture, name)), name)


def source_name(source: object) -> str:
    """Return the name of an input, as messages and output files use it.

    >>> source_name(Path("scans") / "a.png") == os.path.join("scans", "a.png"), source_name(b"...")
    (True, 'bytes')
    """
    if isinstance(source, PageImage):
        return source.source
    if isinstance(source, (str, os.PathLike)):
        return os.fsdecode(source)
    if isinstance(source, (bytes, bytearray, memoryview)):
        return "bytes"
    if isinstance(source, np.ndarray):
        return "array"
    name = getattr(source, "filename", None) or getattr(source, "name", None)
    fallback = "stream" if hasattr(source, "read") else "picture"
    return name.strip("<>") or fallback if isinstance(name, str) else fallback


def display_name(name: str) -> str:
    r"""Return a name that stays on one line of a terminal, whatever characters it holds.

    >>> print(display_name("表 1\n.png"))
    表 1\n.png
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in name)


def expand_inputs(
    args: Sequence[str], recursive: bool = False, on_error: Callable[[InputError], None] | None = None
) -> list[str | BinaryIO]:
    """Turn command-line arguments into inputs for ``load_pages``.

    Args:
        args: Files, folders, globs, and ``-`` for standard input. A folder stands for
            its pictures and PDFs in natural order (``page2`` before ``page10``).
        recursive: Whether folders inside folders count too.
        on_error: Called with each argument that names nothing, so that the others go
            on; without it the error is raised.

    Returns:
        Each input once, in the order of the arguments. Files are not opened: whether
        one exists and can be read is for ``load_pages`` to say.

    Raises:
        InputError: A URL, a folder without pictures, or a glob without a match.
    """
    inputs: dict[object, str | BinaryIO] = {}
    for arg in args:
        try:
            for item in _expand(arg, recursive):
                inputs.setdefault(os.path.realpath(item) if isinstance(item, str) else 0, item)
        except InputError as error:
            if on_error is None:
                raise
            on_error(error)
    return list(inputs.values())


def _expand(arg: str, recursive: bool) -> Sequence[str | BinaryIO]:
    if arg == "-":
        return [sys.stdin.buffer]
    if os.path.isdir(arg):
        found = _pictures_in(Path(arg), recursive)
        if not found:
            hint = "check the folder" if recursive else "name another one, or use --recursive for the folders inside"
            raise InputError(f"{display_name(arg)}: no pictures or PDFs in this folder; {hint}")
        return found
    _refuse_url(arg)
    if os.path.lexists(arg) or not glob.has_magic(arg):
        return [arg]
    matches = [match for match in glob.glob(arg, recursive=True) if _is_input(Path(match))]
    if not matches:
        raise InputError(f"{display_name(arg)}: no picture or PDF has such a name; check the pattern")
    return sorted(matches, key=_natural_key)


def _pictures_in(folder: Path, recursive: bool) -> list[str]:
    # os.walk does not follow links to folders, so a circle of links cannot trap us.
    walk = os.walk(folder) if recursive else itertools.islice(os.walk(folder), 1)
    paths = (Path(parent, name) for parent, _, names in walk for name in names)
    return sorted((str(path) for path in paths if _is_input(path)), key=_natural_key)


def _is_input(path: Path) -> bool:
    named = path.suffix.lower() in SUFFIXES and not path.name.startswith(".")
    ours = path.name.lower().endswith(OVERLAY_SUFFIX)
    # A dangling link stays, to be reported; pipes and devices would block.
    return named and not ours and (path.is_file() or not path.exists())


def _natural_key(name: str) -> list[str | int]:
    parts = re.split(r"([0-9]+)", name.casefold())
    return [int(part) if index % 2 else part for index, part in enumerate(parts)]


def _refuse_url(name: str) -> None:
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]+:/", name) and not os.path.lexists(name):
        raise InputError(f"{display_name(name)}: a URL is not read, as the network is never used; download it first")


def _as_file(source: str | os.PathLike[str] | bytes | bytearray | memoryview | BinaryIO, name: str) -> BinaryIO:
    if isinstance(source, (str, os.PathLike)):
        return _open(source, name)
    if isinstance(source, (bytes, bytearray, memoryview)):
        return io.BytesIO(source)
    return _read_stream(source, name)


def _open(path: str | os.PathLike[str], name: str) -> BinaryIO:
    _refuse_url(os.fsdecode(path))
    try:
        mode = os.stat(path).st_mode
        if stat.S_ISDIR(mode):
            raise InputError(f"{name}: a folder, not a picture; give the files in it one by one")
        if stat.S_ISFIFO(mode):
            with open(path, "rb") as pipe:
                return _read_stream(pipe, name)
        if not stat.S_ISREG(mode):
            raise InputError(f"{name}: a device, not a file; use - for standard input")
        return open(path, "rb")
    except FileNotFoundError as error:
        raise InputError(f"{name}: no such file; check the name and the folder") from error
    except PermissionError as error:
        raise InputError(f"{name}: no permission to read it; change its permissions or copy it") from error
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{name}: cannot be opened ({reason}); check the name") from error


def _read_stream(stream: BinaryIO, name: str) -> BinaryIO:
    try:
        content = stream.read(_MAX_STREAM_BYTES + 1)
    except (OSError, ValueError) as error:
        raise InputError(f"{name}: cannot be read ({error}); save it to a file and give that") from error
    if not isinstance(content, bytes):
        raise InputError(f"{name}: gives text, not bytes; open it in binary mode")
    if len(content) > _MAX_STREAM_BYTES:
        raise InputError(f"{name}: more than {_MAX_STREAM_BYTES >> 30} GiB; save it to a file and give that")
    return io.BytesIO(content)


def _file_pages(file: BinaryIO, source: str, settings: Settings, first: int) -> Iterator[PageImage]:
    name = display_name(source)
    head = _read_head(file, name)
    if b"%PDF-" in head:
        from tablerec.inputs.pdf import pdf_pages

        yield from pdf_pages(file, source, name, settings, first)
    else:
        yield from _picture_pages(file, head, source, name, settings, first)


def _read_head(file: BinaryIO, name: str) -> bytes:
    try:
        head = file.read(1024)
        file.seek(0)
    except OSError as error:
        raise InputError(f"{name}: cannot be read ({error.strerror}); copy it and try again") from error
    if not head:
        raise InputError(f"{name}: the file is empty; save or download it again")
    return head


def _picture_pages(
    file: BinaryIO, head: bytes, source: str, name: str, settings: Settings, first: int
) -> Iterator[PageImage]:
    wanted, number = settings.page_numbers, 0
    with _open_picture(file, head, name) as picture:
        for number, frame in enumerate(_frames(picture, name), start=1):
            if number >= first and number in wanted:
                yield PageImage(source, number, _picture_to_image(frame, name, settings))
            if wanted.last is not None and number >= wanted.last:
                return
    wanted.check(number, name)


def _open_picture(file: BinaryIO, head: bytes, name: str) -> Picture:
    import PIL.Image

    try:
        with warnings.catch_warnings():
            # Pillow warns about its own size limit; ours is checked before anything is decoded.
            warnings.simplefilter("ignore")
            return PIL.Image.open(file, formats=_FORMATS)
    except PIL.UnidentifiedImageError as error:
        if _HEIF.match(head):
            return _open_heif(file, name)
        cause, step = _describe(head)
        raise InputError(f"{name}: {cause}; {step}") from error
    except PIL.Image.DecompressionBombError as error:
        raise InputError(f"{name}: far too many pixels, maybe a decompression bomb; scale it down first") from error
    except Exception as error:  # a hostile header can raise nearly anything
        raise InputError(f"{name}: broken picture ({_reason(error)}); export it again") from error


def _open_heif(file: BinaryIO, name: str) -> Picture:
    try:
        from pillow_heif import HeifImageFile
    except ImportError as error:
        raise InputError(f'{name}: a HEIC photo needs pillow-heif; run: pip install "tablerec[heic]"') from error
    try:
        return cast("Picture", HeifImageFile(file))
    except Exception as error:  # as above
        raise InputError(f"{name}: broken or incomplete HEIC photo ({_reason(error)}); export it again") from error


def _describe(head: bytes) -> tuple[str, str]:
    for pattern, cause, step in _SIGNATURES:
        if re.match(pattern, head, re.DOTALL | re.IGNORECASE):
            return cause, step
    if not re.search(rb"[\x00-\x08\x0e-\x1a\x7f]", head):
        return "a text file, not a picture", "give a PNG, JPEG, TIFF, WebP, BMP, HEIC or PDF file"
    return "not a picture or PDF", "give a PNG, JPEG, TIFF, WebP, BMP, HEIC or PDF file"


def _frames(picture: Picture, name: str) -> Iterator[Picture]:
    """Yield the pages of a TIFF without their thumbnails and masks; of other formats the first frame."""
    yield picture
    if picture.format != "TIFF":
        return
    for index in itertools.count(1):
        try:
            picture.seek(index)
            kind = int(picture.tag_v2.get(254, 0))  # type: ignore[attr-defined]
        except EOFError:
            return
        except Exception as error:  # a hostile page can raise nearly anything
            raise InputError(f"{name}: page {index + 1} is broken ({_reason(error)}); export it again") from error
        if not kind & 0b101:
            yield picture


def _object_pages(source: object, name: str, settings: Settings) -> Iterator[PageImage]:
    import PIL.Image

    if not isinstance(source, PIL.Image.Image):
        raise InputError(f"{name}: cannot read a {type(source).__name__}; give a path, bytes, an array or a picture")
    yield PageImage(source_name(source), 1, _picture_to_image(source, name, settings))


def _picture_to_image(picture: Picture, name: str, settings: Settings) -> Image:
    _check_size(*picture.size, name, settings)
    try:
        pixels = picture_to_pixels(picture)
    except Exception as error:  # a hostile body can raise nearly anything
        raise InputError(
            f"{name}: broken or incomplete picture ({_reason(error)}); export it again, for example as PNG"
        ) from error
    return _array_to_image(pixels, name, settings)


def _array_to_image(array: NDArray[np.generic], name: str, settings: Settings) -> Image:
    if array.ndim == 2:
        array = array[..., np.newaxis]
    if array.ndim != 3 or array.shape[2] not in (1, 3, 4):
        raise InputError(
            f"{name}: an array of shape {array.shape} is no picture; "
            "give (height, width), or (height, width, 3) with the channels blue, green, red"
        )
    height, width, n_channels = array.shape
    _check_size(width, height, name, settings)
    pixels = array_to_uint8(array, name)
    if n_channels == 4:
        pixels = lay_on_ground(pixels)
    return np.ascontiguousarray(np.broadcast_to(pixels, (height, width, 3)))


def _check_size(width: int, height: int, name: str, settings: Settings) -> None:
    if not width or not height:
        raise InputError(f"{name}: the picture is empty ({width} x {height} pixels); give one with content")
    if width * height > settings.max_megapixels * 1e6:
        raise InputError(
            f"{name}: {width} x {height} pixels, more than max_megapixels = {settings.max_megapixels:g}; "
            "scale it down, cut out the table, or raise max_megapixels"
        )


def _reason(error: Exception) -> str:
    return display_name(str(error).strip() or type(error).__name__)[:200]
