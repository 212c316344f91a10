"""What a card's machine without network needs, in archives: ``python -m tests.benchmarks.devices.pack FOLDER``.

A developer script, not a test; needs pip and this machine's network. FOLDER gets, for that machine's Python on Linux:

    headers.tar.xz   Paddle's and NVIDIA's headers, for ``tablerec device build cuda`` there; beside them Paddle's two
                     libraries by name alone, which is enough to link with
    site.tar.xz      PaddleFormers and what it imports that a machine with PyTorch lacks
    paddle.tar.xz-*  Paddle's CPU wheel without headers, in parts of at most --megabytes

There::

    tar xJf headers.tar.xz -C /opt; tar xJf site.tar.xz -C /opt; cat paddle.tar.xz-* | tar xJ -C /opt/paddle
    export TABLEREC_NVIDIA=/opt/headers/nvidia
    PYTHONPATH=CHECKOUT:/opt/headers python3 -m tablerec device build cuda   # prints LIBRARY; needs no Paddle yet
    export PYTHONPATH=CHECKOUT:/opt/site:/opt/paddle                        # for all scripts in this folder

The library needs no card to be built, and 10 MB by ``xz -9``: with nvcc and these headers, LIBRARY can be made here.

Torch's side of a comparison must not see ``site``, whose transformers is the one that PaddleFormers asks for.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

PADDLE = "paddlepaddle==3.3.1"
SITE = (
    *("paddleformers==1.2.0", "transformers<5.4", "tokenizers<=0.23.0", "omegaconf", "antlr4-python3-runtime==4.9.3"),
    *("chardet", "aistudio-sdk", "bce-python-sdk", "pycryptodome", "future", "prettytable", "wcwidth", "colorlog"),
    *("numpy<2.4", "opt-einsum", "setuptools<81", "astor", "openpyxl", "et-xmlfile", "pypdfium2", "shapely"),
)
"""Without what they depend on: PaddleFormers asks for much that it imports only when it is used."""
HEADERS = (
    *("nvidia-cudnn-cu13==9.19.*", "nvidia-cublas==13.1.*", "nvidia-cuda-runtime==13.0.*", "nvidia-cuda-nvrtc==13.0.*"),
    *("nvidia-nccl-cu13==2.28.*", "nvidia-curand==10.4.0.*", "nvidia-cudnn-frontend==1.32.0"),
)
"""Not newer than the libraries there."""
PLATFORMS = [f"manylinux{name}_x86_64" for name in ("1", "2014", "_2_17", "_2_18", "_2_24", "_2_27", "_2_28")]
LIBRARIES = ("libphi_core.so", "libcommon.so")


def download(package: str, folder: Path, python: str) -> Path:
    """Download a package's wheel; where there is none, make it of its sources."""
    folder.mkdir(parents=True, exist_ok=True)
    usual = [sys.executable, "-m", "pip"]
    of_machine = ["--only-binary=:all:", "--implementation", "cp", "--python-version", python]
    of_machine += [part for name in PLATFORMS for part in ("--platform", name)]
    for command in (["download", *of_machine, "-d"], ["wheel", "-w"]):
        done = subprocess.run([*usual, *command, str(folder), "--quiet", "--no-deps", package], check=False)
        if done.returncode == 0:
            return max(folder.glob("*.whl"), key=lambda path: path.stat().st_mtime_ns)
    sys.exit(f"{package} cannot be downloaded for Python {python}: see what pip says above")


def unpack(wheel: Path, folder: Path, part: str = "") -> None:
    """Unpack a wheel, or what lies in a folder of it."""
    whole = folder.with_name(f"{folder.name}-{wheel.stem}")
    shutil.unpack_archive(wheel, whole, "zip")
    for found in [whole] if not part else whole.rglob(part):
        target = folder / found.relative_to(whole)
        shutil.copytree(found, target, dirs_exist_ok=True)
    shutil.rmtree(whole)


def pack(folder: Path, path: Path) -> None:
    """Make an archive of a folder, under its name."""
    with tarfile.open(path, "w:xz", preset=3) as archive:
        archive.add(folder, folder.name)
    print(f"{path}: {path.stat().st_size / 1e6:.1f} MB", flush=True)


def pack_headers(wheel: Path, out: Path, work: Path, python: str) -> None:
    """Pack Paddle's and NVIDIA's headers."""
    headers = work / "headers"
    unpack(wheel, headers, "include")
    unpack(wheel, headers, "version")
    (headers / "paddle/__init__.py").touch()
    (headers / "paddle/libs").mkdir()
    for name in LIBRARIES:
        to = ["-o", str(headers / "paddle/libs" / name), f"-Wl,-soname,{name}"]
        subprocess.run(["g++", "-shared", "-x", "c++", "/dev/null", *to], check=True)
    for package in HEADERS:
        unpack(download(package, work / "wheels", python), headers, "include")
    pack(headers, out / "headers.tar.xz")


def pack_site(out: Path, work: Path, python: str) -> None:
    """Pack PaddleFormers and what it imports."""
    site = work / "site"
    for package in SITE:
        unpack(download(package, work / "wheels", python), site)
    pack(site, out / "site.tar.xz")


def pack_paddle(wheel: Path, out: Path, work: Path, most: int) -> None:
    """Pack Paddle without headers, in parts of at most so many bytes."""
    paddle = work / "paddle"
    unpack(wheel, paddle)
    shutil.rmtree(paddle / "paddle/include")
    for path in [*paddle.rglob("*.pyi"), *paddle.rglob("*openvino_intel_cpu_plugin*")]:
        path.unlink()
    whole = work / "paddle.tar.xz"
    pack(paddle, whole)
    data = whole.read_bytes()
    for number, start in enumerate(range(0, len(data), most)):
        (out / f"paddle.tar.xz-{number}").write_bytes(data[start : start + most])


def main() -> None:
    """Pack."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--python", default="3.12", help="of that machine  [default: 3.12]")
    parser.add_argument("--megabytes", type=int, default=38, help="of a part at most  [default: 38]")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        wheel = download(PADDLE, work / "wheels", options.python)
        pack_headers(wheel, options.folder, work, options.python)
        pack_site(options.folder, work, options.python)
        pack_paddle(wheel, options.folder, work, options.megabytes * 10**6)


if __name__ == "__main__":
    main()
