"""Compiling the device plugin: g++ for the simulated device, nvcc for CUDA. No network is used."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from tablerec.errors import MissingDependencyError, SettingsError, TablerecError

KINDS = ("simulated", "cuda")
SOURCES = Path(__file__).parent / "csrc"
LIBRARY = "libpaddle-tablerec.so"

_FOR_HOPPER = "attention_hopper_cuda.cc"
_OF_GRAPHS = "attention_graphs_cuda.cc"
_LAST_LINES = 12
_COMMON = "backend.h"
_SLOW = (
    *("comparison.cc", "attention_graphs_cuda.cc", "casting.cc", "searches.cc", "norms.cc", "sums.cc", "extremes.cc"),
    *("reduction.cc", "arithmetic_gradients.cc", "elementwise.cc"),
)
"""What compilers need longest for, which they begin with."""
_FEWEST_USERS = 3
_PADDLE_VERSION = re.compile(r"^full_version\s*=\s*'([^']*)'", re.MULTILINE)
_STAMP = re.compile(rb"tablerec for paddle (\d[\w.+-]*)\0")
_VERSION_SOURCE = (
    'extern "C" __attribute__((visibility("default"), used)) const char tablerec_paddle_version[] = '
    '"tablerec for paddle {}";\n'
)


class PluginBuildError(TablerecError):
    """The compiler refused the plugin's sources."""


@dataclass(frozen=True, slots=True)
class _Toolchain:
    """A compiler and what it is told; ``version`` is part of the cache's key."""

    compiler: str
    flags: tuple[str, ...]
    link: tuple[str, ...]
    version: str
    precompiles: bool = False


def build_plugin(
    kind: str = "simulated",
    folder: str | Path | None = None,
    jobs: int | None = None,
    architecture: str = "sm_90",
    sources: Sequence[str | Path] | None = None,
) -> Path:
    """Compile the plugin, unless the same sources were compiled before.

    The file serves under any device name: the name is chosen when it is loaded.

    Args:
        kind: ``simulated`` (g++ only; runs anywhere) or ``cuda`` (nvcc, and NVIDIA's
            headers of cuDNN 9 and cuBLAS 13).
        folder: Where compiled files are kept; by default ``tablerec/devices`` in the user's cache.
        jobs: Compilers at a time; by default one for each processor.
        architecture: What nvcc compiles for; ``sm_90`` is an H100.
        sources: Files to compile in place of the plugin's own, which may include the plugin's headers.

    Returns:
        The shared library, alone in its folder as Paddle wants it.

    Raises:
        MissingDependencyError: The compiler, Paddle, or a header is missing.
        PluginBuildError: The compiler failed; the message holds its first error.
        SettingsError: The kind is unknown, or a source is missing.

    >>> build_plugin("tpu")
    Traceback (most recent call last):
    postprocess.errors.SettingsError: plugin kind 'tpu' is unknown: choose simulated or cuda
    """
    if kind not in KINDS:
        raise SettingsError(f"plugin kind {kind!r} is unknown: choose {' or '.join(KINDS)}")
    files = _source_files(kind, sources)
    paddle = paddle_folder()
    _require_headers(paddle)
    tools = _gcc(paddle) if kind == "simulated" else _nvcc(paddle, architecture)
    for_file = {path.name: _tools_for(path.name, tools, architecture) for path in files if kind == "cuda"}
    cache = Path(folder) if folder else _cache_folder()
    texts = {path.name: path.read_bytes() for path in files}
    # The version travels in the file: the layout of Paddle's classes is not stable between versions.
    texts["version.cc"] = _VERSION_SOURCE.format(paddle_version(paddle)).encode()
    objects = {
        name: cache / "objects" / f"{name}-{_key(name, texts, for_file.get(name, tools))[:20].decode()}.o"
        for name in texts
        if name.endswith(".cc")
    }
    digest = _digest([path.name.encode() for path in objects.values()])[:12].decode()
    library = cache / f"{kind}-{digest}" / LIBRARY
    if library.is_file():
        return library
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(jobs or os.cpu_count()) as pool:
        # What is compiled is what was hashed, also where the sources change meanwhile.
        for name, text in texts.items():
            (Path(folder) / name).write_bytes(text)
        missing = [name for name, made in objects.items() if not made.is_file()]
        missing.sort(key=lambda name: (name not in _SLOW, -len(texts[name])))
        users = [name for name in missing if _COMMON in _included(name, texts)]
        shared = _precompile(tools, Path(folder), users)

        def compile_one(name: str) -> None:
            flags = shared if name in users else ()
            _write(objects[name], partial(_compile, for_file.get(name, tools), flags, Path(folder) / name))

        list(pool.map(compile_one, missing))
    _write(library, partial(_link, tools, list(objects.values())))
    return library


def paddle_folder() -> Path:
    """Find the installed Paddle without importing it.

    Raises:
        MissingDependencyError: Paddle is not installed.
    """
    spec = importlib.util.find_spec("paddle")
    if spec is None or not spec.submodule_search_locations:
        raise MissingDependencyError("the device plugin needs Paddle: pip install 'tablerec[paddle]'")
    return Path(next(iter(spec.submodule_search_locations)))


def _require_headers(folder: Path) -> None:
    header = folder / "include" / "paddle" / "phi" / "backends" / "device_ext.h"
    if not header.is_file():
        raise MissingDependencyError(
            f"{header} is missing: reinstall paddlepaddle from its wheel, which holds the headers"
        )


def paddle_version(folder: Path) -> str:
    """Read the version of the Paddle in a folder without importing it; "" where it does not say."""
    file = folder / "version" / "__init__.py"
    found = _PADDLE_VERSION.search(file.read_text(encoding="utf-8")) if file.is_file() else None
    return found[1] if found else ""


def built_for(library: Path) -> str:
    """Read the version of Paddle that a library of ours was compiled for; "" for another's."""
    found = _STAMP.search(library.read_bytes())
    return found[1].decode() if found else ""


def nvidia_folders(part: str) -> list[Path]:
    """List the ``include`` or ``lib`` folders of NVIDIA's wheels, and of ``TABLEREC_NVIDIA`` before them."""
    return [folder for root in _nvidia_roots() for folder in sorted(root.glob(f"*/{part}"))]


def _nvidia_roots() -> list[Path]:
    roots = [Path(root) for root in os.environ.get("TABLEREC_NVIDIA", "").split(os.pathsep) if root]
    spec = importlib.util.find_spec("nvidia")
    return roots + ([Path(root) for root in (spec.submodule_search_locations or [])] if spec else [])


def _source_files(kind: str, sources: Sequence[str | Path] | None) -> list[Path]:
    """Return the plugin's headers, and the sources to compile."""
    if sources is None:
        others = "_cuda" if kind == "simulated" else "_simulated"
        return [path for path in sorted(SOURCES.iterdir()) if not path.stem.endswith(others)]
    paths = [Path(path) for path in sources]
    for path in paths:
        if path.suffix != ".cc" or not path.is_file():
            raise SettingsError(f"{path} cannot be compiled: name C++ files that end in .cc")
    return sorted([*SOURCES.glob("*.h"), *paths])


def _cache_folder() -> Path:
    root = os.environ.get("TABLEREC_CACHE") or os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(root) / "tablerec" / "devices"


def _included(name: str, texts: dict[str, bytes]) -> set[str]:
    """Find a source and the plugin's own headers that it includes, directly or not."""
    pending, included = [name], {name}
    while pending:
        for header in re.findall(rb'^#include "([a-z0-9_]+\.h)"', texts[pending.pop()], re.MULTILINE):
            if header.decode() not in included and header.decode() in texts:
                included.add(header.decode())
                pending.append(header.decode())
    return included


def _key(name: str, texts: dict[str, bytes], tools: _Toolchain) -> bytes:
    """Digest what decides an object file: the compiler, a source, and the headers that it includes."""
    return _digest([repr(tools).encode(), *(texts[part] for part in sorted(_included(name, texts)))])


def _digest(parts: Sequence[bytes]) -> bytes:
    total = hashlib.sha256()
    for part in parts:
        total.update(len(part).to_bytes(8, "big") + part)
    return total.hexdigest().encode()


def _find_compiler(name: str, variable: str, help_text: str) -> str:
    found = shutil.which(os.environ.get(variable) or name)
    if found is None:
        raise MissingDependencyError(f"the compiler {name} is missing: {help_text}, or name another in {variable}")
    return found


def _version(compiler: str) -> str:
    done = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=False)  # noqa: S603
    return done.stdout


def _gcc(paddle: Path) -> _Toolchain:
    compiler = _find_compiler("g++", "CXX", "install it (Debian, Ubuntu: apt install g++)")
    flags = ("-std=c++17", "-O2", "-fPIC", "-fvisibility=hidden", "-D_GLIBCXX_USE_CXX11_ABI=1", "-w")
    libs = paddle / "libs"
    link = ("-shared", f"-L{libs}", "-l:libphi_core.so", "-l:libcommon.so", f"-Wl,-rpath,{libs}")
    return _Toolchain(compiler, (*flags, f"-I{paddle / 'include'}", "-c"), link, _version(compiler), precompiles=True)


def _nvcc(paddle: Path, architecture: str) -> _Toolchain:
    compiler = _find_compiler("nvcc", "NVCC", "install NVIDIA's CUDA toolkit 13")
    include = [paddle / "include", *nvidia_folders("include")]
    for header in ("cudnn.h", "cublas_v2.h"):
        if not any(
            (folder / header).is_file() for folder in [*include, Path(compiler).resolve().parent.parent / "include"]
        ):
            raise MissingDependencyError(
                f"the header {header} is missing: pip install nvidia-cudnn-cu13 nvidia-cublas, "
                "or name the folder that holds NVIDIA's packages in TABLEREC_NVIDIA"
            )
    host = "-fPIC,-fvisibility=hidden,-D_GLIBCXX_USE_CXX11_ABI=1"
    # Paddle's half types need CUDA_VERSION from cuda.h, and clash with CUDA's own operators.
    half = ("-include", "cuda.h", "-D__CUDA_NO_HALF_OPERATORS__", "-D__CUDA_NO_HALF_CONVERSIONS__")
    # As if included already: 30,000 lines of x86's intrinsics, a quarter of what Paddle's headers cost nvcc each time.
    unused = ("-D_IMMINTRIN_H_INCLUDED", "-D_X86INTRIN_H_INCLUDED")
    flags = ("-std=c++17", "-O2", f"-arch={architecture}", "--extended-lambda", "--expt-relaxed-constexpr", "-w", *half)
    # To compile without Paddle, libraries without symbols stand in for its own: they are kept all the same.
    paddle_libraries = "--no-as-needed,-l:libphi_core.so,-l:libcommon.so"
    link = ("-shared", "-cudart", "static", f"-L{paddle / 'libs'}", "-Xlinker", paddle_libraries)
    compiled = (
        "-DTABLEREC_CUDA",
        *unused,
        "-Xcompiler",
        host,
        *(f"-I{folder}" for folder in include),
        "-x",
        "cu",
        "-c",
    )
    return _Toolchain(compiler, (*flags, *compiled), link, _version(compiler))


def _tools_for(name: str, tools: _Toolchain, architecture: str) -> _Toolchain:
    """Add what single files need: Hopper's own instructions, and the headers of cuDNN's graphs where they are."""
    if name == _FOR_HOPPER and architecture == "sm_90":
        others = tuple(flag for flag in tools.flags if not flag.startswith("-arch="))
        return replace(tools, flags=("-gencode=arch=compute_90a,code=sm_90a", "-DTABLEREC_HOPPER", *others))
    if name == _OF_GRAPHS:
        return replace(tools, flags=(*cudnn_frontend(tools.compiler), *tools.flags))
    return tools


def cudnn_frontend(compiler: str = "nvcc") -> tuple[str, ...]:
    """Return what to tell the compiler of NVIDIA's headers ``nvidia-cudnn-frontend``; nothing where they are missing.

    The wheel's headers are in ``include`` beside the folder ``nvidia``, and need ``nvrtc.h`` of ``nvidia-cuda-nvrtc``.
    """
    roots = _nvidia_roots()
    toolkit = Path(shutil.which(compiler) or compiler).resolve().parent.parent / "include"
    folders = [*nvidia_folders("include"), *(root.parent / "include" for root in roots), toolkit]
    found = [
        next((folder for folder in folders if (folder / header).is_file()), None)
        for header in ("cudnn_frontend.h", "nvrtc.h")
    ]
    if None in found:
        return ()
    return ("-DTABLEREC_CUDNN_FRONTEND", *dict.fromkeys(f"-I{folder}" for folder in found))


def _precompile(tools: _Toolchain, folder: Path, users: Sequence[str]) -> tuple[str, ...]:
    """Compile once what most sources include, most of it Paddle's headers; return what their compilers are told."""
    if not tools.precompiles or len(users) < _FEWEST_USERS:
        return ()
    header = folder / "precompiled.h"  # around the common one: a header that is compiled itself would be read twice
    header.write_text(f'#include "{_COMMON}"\n', encoding="utf-8")
    _run([tools.compiler, *tools.flags, "-x", "c++-header", str(header), "-o", f"{header}.gch"], header.name)
    return ("-include", str(header))


def _compile(tools: _Toolchain, flags: Sequence[str], source: Path, target: Path) -> None:
    _run([tools.compiler, *tools.flags, *flags, str(source), "-o", str(target)], source.name)


def _link(tools: _Toolchain, objects: Sequence[Path], target: Path) -> None:
    _run([tools.compiler, *map(str, objects), *tools.link, "-o", str(target)], LIBRARY)


def _run(command: Sequence[str], what: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode == 0:
        return
    lines = done.stderr.splitlines()
    first = next((k for k, line in enumerate(lines) if "error" in line), 0)
    raise PluginBuildError(
        f"{what}: {Path(command[0]).name} failed with code {done.returncode}:\n"
        + "\n".join(lines[first : first + _LAST_LINES])
    )


def _write(target: Path, make: partial[None]) -> None:
    """Make a file elsewhere and move it to its place whole: builds at the same time do not disturb each other."""
    target.parent.mkdir(parents=True, exist_ok=True)
    # Outside the final folder: Paddle loads every library that it finds there.
    with tempfile.TemporaryDirectory(dir=target.parent.parent) as folder:
        fresh = Path(folder) / target.name
        make(fresh)
        fresh.replace(target)
