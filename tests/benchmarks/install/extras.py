"""Whether each extra installs and its first command works: ``python -m tests.benchmarks.install.extras [EXTRA...]``.

For the base install, named ``base``, and for each extra that is named (all of pyproject.toml where none is), makes a
fresh environment, installs the checkout with the extra into it from PyPI, checks that the packages fit together, runs
the first command of the table below, and removes the environment. Prints seconds, MB, packages, and OK or the fault;
ends with 1 if there is one. The base install must ask for the packages in ``BASE`` and for no others.
Needs the network for PyPI, and up to 7 GB of disk (docling brings PyTorch with CUDA).
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
BASE = {
    *("click", "numpy", "onnxruntime", "opencv-python-headless", "openpyxl", "pillow", "pypdfium2", "pyyaml"),
    *("rapidocr", "shapely"),
}
"""What the base install asks for."""
_PICTURE = str(ROOT / "data/samples/ruled.png")
_ANSWER_SECONDS = 120.0


@dataclass(frozen=True)
class First:
    """The first command of an extra.

    Args:
        command: Arguments, the program being one of the environment's; it runs in an empty folder.
        says: What its output must hold.
        url: Of a server: what must answer; the server is then ended.
    """

    command: tuple[str, ...]
    says: str = ""
    url: str | None = None


_HEIC = f"""
import pillow_heif
from PIL import Image
pillow_heif.register_heif_opener()
Image.open({_PICTURE!r}).save("table.heic")
from tablerec import recognize
print(recognize("table.heic", ocr="none").tables)
"""
_CONVERT = """
from pathlib import Path
Path("torch_code").mkdir()
Path("torch_code/net.py").write_text("import torch\\nprint(torch.ones([2]).sum())\\n")
from tablerec.models.migration.conversion import convert
print(convert(Path("torch_code"), Path("paddle_code")), Path("paddle_code/net.py").read_text())
"""
_LOAD = f"""
from tablerec.plugins.langchain import TablerecLoader
print(TablerecLoader({_PICTURE!r}).load())
"""
_DECODE = """
import paddle
from tablerec.language.models import make_batch, make_model
from tablerec.language.training import decode
batch = {key: paddle.to_tensor(value) for key, value in make_batch("qwen3").items()}
print(decode(make_model("qwen3"), batch, 3).shape)
"""
_TRAIN = {
    "data.source": f"crops:{ROOT / 'data/samples'}",
    "data.buffer_size": "4",
    "data.min_buffer": "2",
    "data.image_size": "320",
    "schedule.steps": "2",
    "validation.source": f"folder:{ROOT / 'data/samples'}",
    "validation.samples": "2",
}
_PADDLEX = ("python", "-m", "tablerec.plugins.paddlex", "--pipeline", "table_recognition_cells", "--device", "cpu")
_SERVER = "http://127.0.0.1:18080"

FIRST = {
    "base": First(("tablerec", _PICTURE, "-o", "out"), "ruled"),
    "paddle": First((*_PADDLEX, "--input", _PICTURE, "--save_path", "out")),
    "serving": First((*_PADDLEX, "--serve", "--port", "18080"), url=f"{_SERVER}/health"),
    "train": First(
        (
            *("tablerec", "train", str(ROOT / "data/training/finetune_small.yaml")),
            *(part for key, value in _TRAIN.items() for part in ("--set", f"{key}={value}")),
        ),
        "step",
    ),
    "language": First(("python", "-c", _DECODE), "(2, 3)"),
    "migrate": First(("python", "-c", _CONVERT), "import paddle"),
    "notebook": First(("jupyter", "lab", "--version")),
    "lab": First(("tablerec", "lab", "course", "--no-browser", "--port", "18080"), url=f"{_SERVER}/api"),
    "heic": First(("python", "-c", _HEIC), "13 rows x 8 columns"),
    "eval": First(("tablerec", "eval", str(ROOT / "data/samples"), "--errors"), "TEDS"),
    "browser": First(("tablerec", "synth", "webpage", "--renderer", "browser", "-n", "1", "-o", "out")),
    "docling": First(("docling", "options", "--allow-external-plugins", "table-structure", "tablerec"), "detector_dir"),
    "langchain": First(("python", "-c", _LOAD), "'n_rows': 13"),
    "dev": First(("pytest", "-q", str(ROOT / "tests/postprocess/test_table.py"), "-p", "no:cacheprovider"), "passed"),
    "gpu": First(("tablerec", _PICTURE, "-o", "out", "--device", "auto"), "ruled"),
    "batch": First(("tablerec", "batch", str(ROOT / "data/samples"), "-o", "out")),
    "ray": First(("tablerec", "batch", str(ROOT / "data/samples"), "-o", "out", "--engine", "ray")),
    "docs": First(("sphinx-build", "--version"), "sphinx-build"),
    "serve": First(("tablerec", "serve", "--port", "18080"), url=f"{_SERVER}/readyz"),
}
"""By extra; some of them may not be in this checkout."""


class InstallError(Exception):
    """What went wrong, in one line or some."""


@dataclass(frozen=True)
class Environment:
    """A fresh virtual environment."""

    folder: Path

    @property
    def variables(self) -> Mapping[str, str]:
        """Those of a shell in which it is activated; nothing of the checkout is on Python's path."""
        kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
        return {**kept, "VIRTUAL_ENV": str(self.folder), "PATH": f"{self.folder / 'bin'}{os.pathsep}{kept['PATH']}"}

    def run(self, command: Sequence[str], cwd: Path = ROOT) -> str:
        """Run a command to its end and return what it says.

        Raises:
            InstallError: It fails, with its last lines.
        """
        try:
            done = subprocess.run(
                command,
                cwd=cwd,
                env=self.variables,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
                timeout=1800,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise InstallError(f"{command[0]}: {error}") from error
        if done.returncode:
            raise InstallError("\n".join([f"{command[0]} ends with {done.returncode}", *done.stdout.splitlines()[-8:]]))
        return done.stdout

    def install(self, extra: str) -> None:
        """Install the checkout with an extra, with uv where there is one, else with pip."""
        what = str(ROOT) if extra == "base" else f"{ROOT}[{extra}]"
        if shutil.which("uv"):
            self.run(["uv", "venv", "-q", "--python", sys.executable, str(self.folder)])
            self.run(["uv", "pip", "install", "-q", what])
            self.run(["uv", "pip", "check"])
        else:
            self.run([sys.executable, "-m", "venv", str(self.folder)])
            self.run(["python", "-m", "pip", "install", "-q", what])
            self.run(["python", "-m", "pip", "check"])

    def asked_for(self) -> set[str]:
        """The packages that tablerec asks for without any extra, by their normal names."""
        code = (
            "import json, re; from importlib.metadata import requires; "
            "print(json.dumps([r for r in requires('tablerec') if 'extra ==' not in r]))"
        )
        names = [line.partition(";")[0] for line in json.loads(self.run(["python", "-c", code]))]
        return {"".join(c if c.isalnum() or c in "-_." else " " for c in name).split()[0].lower() for name in names}

    def count(self) -> int:
        """Number of packages in it."""
        return len(list(self.folder.glob("lib/python*/site-packages/*.dist-info")))

    def megabytes(self) -> float:
        """Its size."""
        return sum(path.lstat().st_size for path in self.folder.rglob("*") if not path.is_dir()) / 1e6


def try_first(environment: Environment, first: First, cwd: Path) -> None:
    """Run the first command of an extra.

    Raises:
        InstallError: It fails, says something else, or does not answer.
    """
    if first.url is None:
        said = environment.run(first.command, cwd)
        if first.says not in said:
            raise InstallError("\n".join([f"{first.says!r} is not in what it says:", *said.splitlines()[-8:]]))
        return
    with (cwd / "log").open("w+") as log:
        server = subprocess.Popen(first.command, cwd=cwd, env=environment.variables, stdout=log, stderr=log)
        try:
            _wait_for(first.url, server)
        except InstallError as fault:
            log.seek(0)
            raise InstallError("\n".join([str(fault), *log.read().splitlines()[-8:]])) from fault
        finally:
            server.terminate()
            server.wait(60)


def _wait_for(url: str, server: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + _ANSWER_SECONDS
    while time.monotonic() < end:
        if server.poll() is not None:
            raise InstallError(f"the server ended with {server.returncode}")
        try:
            urllib.request.urlopen(url, timeout=5).close()
            return
        except urllib.error.HTTPError:
            return  # it answers, if only to those who may ask
        except OSError:
            time.sleep(0.5)
    raise InstallError(f"{url} did not answer within {_ANSWER_SECONDS:.0f} s")


def extras_of_checkout() -> list[str]:
    """The names in pyproject.toml."""
    import tomllib

    return list(tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"])


def try_extra(extra: str) -> None:
    """Install an extra, run its first command, and print how that went.

    Raises:
        InstallError: Something went wrong.
    """
    if extra not in FIRST:
        raise InstallError("has no first command: add it to FIRST")
    with tempfile.TemporaryDirectory() as folder:
        environment = Environment(Path(folder) / "environment")
        started = time.perf_counter()
        environment.install(extra)
        installed = time.perf_counter()
        if environment.asked_for() != BASE:
            raise InstallError(f"the base install asks for other packages: {sorted(environment.asked_for() ^ BASE)}")
        (Path(folder) / "work").mkdir()
        middle = time.perf_counter()
        try_first(environment, FIRST[extra], Path(folder) / "work")
        print(
            f"{extra:10} OK  installed in {installed - started:.0f} s, {environment.megabytes():.0f} MB, "
            f"{environment.count()} packages; first command {time.perf_counter() - middle:.1f} s",
            flush=True,
        )


def main(arguments: Sequence[str] | None = None) -> None:
    """Try each extra."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("extras", nargs="*", help="base, or names of extras; all where none is given")
    options = parser.parse_args(arguments)
    faults = 0
    for extra in options.extras or ["base", *extras_of_checkout()]:
        try:
            try_extra(extra)
        except InstallError as fault:
            faults += 1
            print(f"{extra:10} FAULT  {fault}", flush=True)
    sys.exit(faults > 0)


if __name__ == "__main__":
    main()
