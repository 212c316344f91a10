"""What the wheel holds, what it asks for, and that one OpenCV is installed."""

from __future__ import annotations

import configparser
import email
import importlib.metadata
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from email.message import Message
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.benchmarks.install.extras import BASE, FIRST

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    from hatchling.builders.wheel import WheelBuilder

    folder = tmp_path_factory.mktemp("wheel")
    built = list(WheelBuilder(str(ROOT)).build(directory=str(folder), versions=["standard"]))
    return zipfile.ZipFile(built[0])


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tarfile.TarFile]:
    from hatchling.builders.sdist import SdistBuilder

    folder = tmp_path_factory.mktemp("sdist")
    with tarfile.open(next(SdistBuilder(str(ROOT)).build(directory=str(folder), versions=["standard"]))) as archive:
        yield archive


@pytest.fixture(scope="module")
def metadata(wheel: zipfile.ZipFile) -> Message:
    name = next(name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    return email.message_from_bytes(wheel.read(name))


@pytest.fixture(scope="module")
def requirements(metadata: Message) -> list[Requirement]:
    return [Requirement(text) for text in metadata.get_all("Requires-Dist", [])]


def of_extra(requirements: list[Requirement], extra: str) -> dict[str, Requirement]:
    """Return what an extra adds to the base install, by normalized name."""
    chosen = [
        requirement
        for requirement in requirements
        if requirement.marker
        and requirement.marker.evaluate({"extra": extra})
        and not requirement.marker.evaluate({"extra": ""})
    ]
    return {normalized(requirement.name): requirement for requirement in chosen}


def normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_wheel_holds_the_two_packages_only(wheel: zipfile.ZipFile) -> None:
    tops = {name.split("/")[0] for name in wheel.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"tablerec", "postprocess"}


def test_wheel_holds_every_source_file(wheel: zipfile.ZipFile) -> None:
    sources = {
        path.relative_to(ROOT).as_posix()
        for package in ("tablerec", "postprocess")
        for path in (ROOT / package).rglob("*")
        if path.suffix in (".py", ".typed")
    }
    assert {"tablerec/py.typed", "postprocess/py.typed"} <= sources
    assert sources <= set(wheel.namelist())


def test_wheel_holds_the_files_of_synth(wheel: zipfile.ZipFile) -> None:
    folder = ROOT / "tablerec" / "synth"
    kept = {path.relative_to(ROOT).as_posix() for path in folder.rglob("*") if path.suffix in (".yaml", ".txt", ".js")}
    assert {"tablerec/synth/recipes/mixed.yaml", "tablerec/synth/vocabulary/english.txt"} <= kept
    assert kept <= set(wheel.namelist())


def test_wheel_and_sdist_hold_the_weights(wheel: zipfile.ZipFile, sdist: tarfile.TarFile) -> None:
    """Each file at most 8 MB, and all of them with the samples at most 30 MB."""
    weights = [path for path in (ROOT / "tablerec" / "models" / "weights").rglob("*") if path.is_file()]
    names = {path.relative_to(ROOT).as_posix() for path in weights}
    assert "tablerec/models/weights/README.md" in names
    assert names <= set(wheel.namelist())
    assert names <= {name.split("/", 1)[1] for name in sdist.getnames()}
    sizes = [path.stat().st_size for path in weights]
    samples = [path.stat().st_size for path in (ROOT / "data" / "samples").iterdir()]
    assert max(sizes) <= 8_000_000
    assert sum(sizes) + sum(samples) <= 30_000_000


def test_wheel_and_sdist_hold_the_weights_for_scripts(wheel: zipfile.ZipFile, sdist: tarfile.TarFile) -> None:
    assert "tablerec/ocr/script.onnx" in wheel.namelist()
    assert "tablerec/ocr/script.onnx" in {name.split("/", 1)[1] for name in sdist.getnames()}
    assert (ROOT / "tablerec/ocr/script.onnx").stat().st_size <= 500_000


def run_installed(wheel: zipfile.ZipFile, folder: Path, code: str) -> str:
    """What a program prints that finds tablerec as the wheel installs it."""
    wheel.extractall(folder / "installed")
    search = os.pathsep.join([str(folder / "installed"), *filter(None, sys.path)])
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": search},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_installed_wheel_copies_the_course(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    """What `tablerec lab` needs is in the wheel, and takes little room there."""
    course = [entry for entry in wheel.infolist() if entry.filename.startswith("tablerec/course/course/")]
    assert sum(entry.compress_size for entry in course) <= 8_000_000
    code = "from tablerec.course import copy_course; from pathlib import Path; print(*copy_course(Path('mine')).new)"
    printed = run_installed(wheel, tmp_path, code)
    sources = [entry for entry in course if "/notebooks/source/" in entry.filename]
    assert len(printed.split()) == len(course) - len(sources)
    copied = {path.relative_to(tmp_path / "mine") for path in (tmp_path / "mine").rglob("*.*") if path.is_file()}
    kept = [*(ROOT / "notebooks").rglob("*.ipynb"), *(ROOT / "data" / "samples").glob("*.*")]
    assert {path.relative_to(ROOT) for path in kept} <= copied


def test_sdist_holds_what_the_wheel_is_built_from(wheel: zipfile.ZipFile, sdist: tarfile.TarFile) -> None:
    names = {name.split("/", 1)[1] for name in sdist.getnames()}
    course = [name for name in wheel.namelist() if name.startswith("tablerec/course/course/")]
    assert course and {name.removeprefix("tablerec/course/course/") for name in course} <= names


def test_wheel_carries_licence_and_command(wheel: zipfile.ZipFile, metadata: Message) -> None:
    assert metadata["License-Expression"] == "Apache-2.0"
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in wheel.namelist())
    entry_points = next(name for name in wheel.namelist() if name.endswith("entry_points.txt"))
    assert b"tablerec = tablerec.cli:main" in wheel.read(entry_points)


def test_docling_finds_its_plugin_by_an_entry_point(wheel: zipfile.ZipFile) -> None:
    name = next(name for name in wheel.namelist() if name.endswith("entry_points.txt"))
    points = configparser.ConfigParser()
    points.read_string(wheel.read(name).decode())
    assert dict(points["docling"]) == {"tablerec": "tablerec.plugins.docling"}
    assert "tablerec/plugins/docling/__init__.py" in wheel.namelist()


def test_version_has_one_source(metadata: Message) -> None:
    import tablerec

    assert metadata["Version"] == tablerec.__version__


def test_this_python_is_supported(metadata: Message) -> None:
    from packaging.specifiers import SpecifierSet

    assert ".".join(map(str, sys.version_info[:3])) in SpecifierSet(metadata["Requires-Python"])


def test_base_install_needs_no_paddle(requirements: list[Requirement]) -> None:
    base = {normalized(requirement.name) for requirement in requirements if requirement.marker is None}
    assert base == BASE, "a new dependency of the base install is a decision: write it down there"
    assert not any("paddle" in name or name in ("pandas", "matplotlib", "torch") for name in base)


def test_each_extra_has_a_first_command_that_is_tried(metadata: Message) -> None:
    assert set(metadata.get_all("Provides-Extra", [])) <= FIRST.keys()


def test_one_opencv_is_asked_for(requirements: list[Requirement]) -> None:
    asked = {requirement.name for requirement in requirements if requirement.name.startswith("opencv")}
    assert asked == {"opencv-python-headless"}
    # Any extra of PaddleX would bring opencv-contrib-python.
    assert not any(requirement.extras for requirement in requirements if requirement.name == "paddlex")


def test_one_opencv_is_installed() -> None:
    providers = set(importlib.metadata.packages_distributions()["cv2"])
    assert len(providers) == 1, f"uninstall all of {providers}, then install opencv-python-headless again"


@pytest.mark.parametrize(("ours", "theirs"), [(["paddle"], "ocr"), (["paddle", "serving"], "serving")])
def test_extras_cover_those_of_paddlex(requirements: list[Requirement], ours: list[str], theirs: str) -> None:
    try:
        wanted = [Requirement(text) for text in importlib.metadata.requires("paddlex") or []]
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("needs paddlex")
    offered = {normalized(requirement.name): requirement for requirement in requirements if requirement.marker is None}
    for extra in ours:
        offered |= of_extra(requirements, extra)
    asked = {
        name: requirement
        for name, requirement in of_extra(wanted, theirs).items()
        if not requirement.name.startswith("opencv")
    }
    assert asked.keys() <= offered.keys()
    for name, requirement in asked.items():
        try:
            assert importlib.metadata.version(name) in requirement.specifier
        except importlib.metadata.PackageNotFoundError:
            pytest.skip(f"needs {name}")


def test_wheel_holds_the_file_of_the_pipeline(wheel: zipfile.ZipFile) -> None:
    assert "tablerec/plugins/paddlex/table_recognition_cells.yaml" in wheel.namelist()


def test_installed_wheel_shows_a_sample(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    """What `tablerec demo` needs is in the wheel: the page and the samples."""
    code = (
        "from tablerec.demo.command import find_picture; from tablerec.demo.page import result_to_page; "
        "from tablerec import Result; print(find_picture('spans')); print(result_to_page(Result('a', ()), None)[:15])"
    )
    printed = run_installed(wheel, tmp_path, code)
    picture, page = printed.splitlines()
    assert Path(picture).is_relative_to(tmp_path / "installed") and Path(picture).is_file()
    assert page == "<!doctype html>"
