"""Building the plugin: what is missing is named, what is there is kept."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tablerec.devices import build
from tablerec.errors import MissingDependencyError, SettingsError


@pytest.fixture
def fake_paddle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "paddle"
    header = folder / "include" / "paddle" / "phi" / "backends" / "device_ext.h"
    header.parent.mkdir(parents=True)
    header.touch()
    monkeypatch.setattr(build, "paddle_folder", lambda: folder)
    return folder


def fake_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str) -> Path:
    """Make a compiler that notes each call and runs a shell line with $OUT, the file to make."""
    calls = tmp_path / "calls"
    script = tmp_path / "compiler"
    script.write_text(
        f'#!/bin/sh\n[ "$1" = --version ] && exit\necho "$*" >> {calls}\nfor OUT; do :; done\n{body}\n',
        encoding="utf-8",
    )
    script.chmod(0o755)
    monkeypatch.setenv("CXX", str(script))
    return calls


def test_no_compiler(fake_paddle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(MissingDependencyError, match=r"g\+\+ is missing.*CXX"):
        build.build_plugin()


def test_no_cuda_headers(fake_paddle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NVCC", "sh")
    monkeypatch.setattr(build, "nvidia_folders", lambda part: [])
    with pytest.raises(MissingDependencyError, match=r"cudnn\.h is missing.*nvidia-cudnn-cu13"):
        build.build_plugin("cuda")


def test_no_paddle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingDependencyError, match="needs Paddle"):
        build.build_plugin()


def test_unknown_kind() -> None:
    with pytest.raises(SettingsError, match="choose simulated or cuda"):
        build.build_plugin("rocm")


@pytest.mark.skipif(os.name != "posix", reason="the compiler is a shell script")
def test_a_failure_shows_the_compilers_first_error(
    fake_paddle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_compiler(tmp_path, monkeypatch, "echo 'x.cc:3: error: no such thing' >&2; exit 1")
    with pytest.raises(build.PluginBuildError, match=r"failed with code 1:\nx\.cc:3: error: no such thing"):
        build.build_plugin(folder=tmp_path / "cache", jobs=1)
    assert list((tmp_path / "cache").rglob("*.so")) == []


@pytest.mark.skipif(os.name != "posix", reason="the compiler is a shell script")
def test_built_once_and_alone_in_its_folder(fake_paddle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = fake_compiler(tmp_path, monkeypatch, 'echo made > "$OUT"')
    first = build.build_plugin(folder=tmp_path / "cache", jobs=1)
    n_calls = len(calls.read_text(encoding="utf-8").splitlines())
    assert first.name == "libpaddle-tablerec.so"
    assert list(first.parent.iterdir()) == [first]
    assert "runtime_cuda.cc" not in calls.read_text(encoding="utf-8")
    assert build.build_plugin(folder=tmp_path / "cache", jobs=1) == first
    assert len(calls.read_text(encoding="utf-8").splitlines()) == n_calls


def write_sources(folder: Path, monkeypatch: pytest.MonkeyPatch, texts: dict[str, str]) -> Path:
    """Put sources in the place of the plugin's."""
    sources = folder / "sources"
    sources.mkdir()
    for name, text in texts.items():
        (sources / name).write_text(text, encoding="utf-8")
    monkeypatch.setattr(build, "SOURCES", sources)
    return sources


@pytest.mark.skipif(os.name != "posix", reason="the compiler is a shell script")
def test_a_changed_source_is_compiled_alone(fake_paddle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sources = write_sources(tmp_path, monkeypatch, {name: name for name in ("a.cc", "b.cc", "c.h")})
    calls = fake_compiler(tmp_path, monkeypatch, 'echo made > "$OUT"')
    first = build.build_plugin(folder=tmp_path / "cache", jobs=1)
    calls.unlink()
    (sources / "a.cc").write_text("changed", encoding="utf-8")
    assert build.build_plugin(folder=tmp_path / "cache", jobs=1) != first
    compiled = [line for line in calls.read_text(encoding="utf-8").splitlines() if " -c " in line]
    assert len(compiled) == 1 and "a.cc" in compiled[0]


@pytest.mark.skipif(os.name != "posix", reason="the compiler is a shell script")
def test_a_changed_header_is_compiled_again_where_it_is_included(
    fake_paddle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = {
        "a.cc": '#include "own.h"\n',
        "b.cc": "#include <vector>\n",
        "own.h": '#include "float8.h"\n',
        "float8.h": "",
    }
    sources = write_sources(tmp_path, monkeypatch, texts)
    calls = fake_compiler(tmp_path, monkeypatch, 'echo made > "$OUT"')
    build.build_plugin(folder=tmp_path / "cache", jobs=1)
    calls.unlink()
    (sources / "float8.h").write_text("changed", encoding="utf-8")
    build.build_plugin(folder=tmp_path / "cache", jobs=1)
    compiled = [line for line in calls.read_text(encoding="utf-8").splitlines() if " -c " in line]
    assert len(compiled) == 1 and "a.cc" in compiled[0]


@pytest.mark.skipif(os.name != "posix", reason="the compiler is a shell script")
def test_the_header_that_most_include_is_compiled_once(
    fake_paddle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = dict.fromkeys(("a.cc", "b.cc", "c.cc"), '#include "elements.h"\n')
    texts |= {"d.cc": "", "elements.h": '#include "backend.h"\n', "backend.h": ""}
    sources = write_sources(tmp_path, monkeypatch, texts)
    calls = fake_compiler(tmp_path, monkeypatch, 'echo made > "$OUT"')
    build.build_plugin(folder=tmp_path / "cache", jobs=1)
    header, *others = [line for line in calls.read_text(encoding="utf-8").splitlines() if " -c " in line]
    assert "-x c++-header" in header and header.endswith("precompiled.h.gch")
    assert sum("-include" in line for line in others) == 3 and len(others) == 5  # d.cc and the version do without
    calls.unlink()
    (sources / "a.cc").write_text('#include "elements.h"\n// changed', encoding="utf-8")
    build.build_plugin(folder=tmp_path / "cache", jobs=1)
    assert "c++-header" not in calls.read_text(encoding="utf-8")  # for one file it is not worth it


@pytest.mark.skipif(os.name != "posix", reason="the compiler is a shell script")
def test_given_sources_are_compiled_in_place_of_the_plugins(
    fake_paddle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "mine.cc"
    source.write_text('#include "counters.h"\n#include "unknown.h"\n', encoding="utf-8")
    calls = fake_compiler(tmp_path, monkeypatch, 'echo made > "$OUT"')
    first = build.build_plugin(folder=tmp_path / "cache", jobs=1, sources=[source])
    compiled = [line for line in calls.read_text(encoding="utf-8").splitlines() if " -c " in line]
    # The stamp with Paddle's version goes into every library.
    assert len(compiled) == 2 and all(any(name in line for line in compiled) for name in ("mine.cc", "version.cc"))
    source.write_text("changed", encoding="utf-8")
    assert build.build_plugin(folder=tmp_path / "cache", jobs=1, sources=[source]) != first


@pytest.mark.skipif(os.name != "posix", reason="the compiler is a shell script")
def test_attention_is_told_of_hopper_and_of_the_headers_of_graphs_where_they_are(
    fake_paddle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nvidia = tmp_path / "site" / "nvidia"
    headers = [nvidia / "cu13" / "include" / name for name in ("cudnn.h", "cublas_v2.h", "nvrtc.h")]
    for header in (*headers, tmp_path / "site" / "include" / "cudnn_frontend.h"):
        header.parent.mkdir(parents=True, exist_ok=True)
        header.touch()
    monkeypatch.setattr(build, "_nvidia_roots", lambda: [nvidia])
    calls = fake_compiler(tmp_path, monkeypatch, 'echo made > "$OUT"')
    monkeypatch.setenv("NVCC", str(tmp_path / "compiler"))
    sources = [build.SOURCES / f"attention{name}.cc" for name in ("", "_graphs_cuda", "_hopper_cuda")]

    def compiled(architecture: str) -> list[str]:
        build.build_plugin("cuda", tmp_path / "cache", 1, architecture, sources)
        lines = calls.read_text(encoding="utf-8").splitlines()
        calls.unlink()
        return [line for source in sources for line in lines if " -c " in line and f"/{source.name} " in line]

    plain, graphs, hopper = compiled("sm_90")
    assert "-gencode=arch=compute_90a,code=sm_90a -DTABLEREC_HOPPER" in hopper and "-arch=sm_90 " not in hopper
    assert (
        "-arch=sm_90 " in graphs
        and "-DTABLEREC_CUDNN_FRONTEND" in graphs
        and f"-I{tmp_path / 'site' / 'include'} " in graphs
    )
    assert "-arch=sm_90 " in plain and "TABLEREC_HOPPER" not in plain and "FRONTEND" not in plain
    headers[2].unlink()
    (graphs,) = compiled("sm_90")  # the others are as before
    assert "FRONTEND" not in graphs
    *_, hopper = compiled("sm_100")
    assert "-arch=sm_100 " in hopper and "TABLEREC_HOPPER" not in hopper


@pytest.mark.parametrize("name", ["none.cc", "kernel.cu"])
def test_sources_that_cannot_be_compiled(name: str, tmp_path: Path) -> None:
    (tmp_path / "kernel.cu").touch()
    with pytest.raises(SettingsError, match=f"{name} cannot be compiled: name C\\+\\+ files"):
        build.build_plugin(sources=[tmp_path / name])


def test_what_is_compiled_first_is_there() -> None:
    assert [name for name in build._SLOW if not (build.SOURCES / name).is_file()] == []
