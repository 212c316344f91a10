"""The import arrows, the lazy imports and the tidiness of the repository."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# A layer imports the layers before it. "peers" may also import one another, "apart" may not.
# "command" is the command.py of any part: a verb of the command line.
LAYERS: list[tuple[str, str]] = [
    ("peers", "errors config display result"),
    (
        "peers",
        "detect devices editor evaluate images lab labels models ocr output overlay paddlex_support pdf synth trace "
        "turning unwarping",
    ),
    ("apart", "pipeline review training widgets"),
    ("apart", "__init__"),
    ("apart", "batch command pool"),
    ("apart", "cli plugins"),
    ("apart", "__main__"),
]
# What postprocess imports besides the standard library and itself: anywhere, and in one file each.
POSTPROCESS_ANYWHERE = {"numpy", "shapely"}
POSTPROCESS_BY_FILE = {"rulings.py": {"cv2"}, "lattice.py": {"cv2"}, "export/excel.py": {"openpyxl"}}
# Typing only: pandas is named in signatures.
POSTPROCESS_TYPING = {"pandas"}
HEAVY = {"cv2", "onnxruntime", "openpyxl", "paddle", "paddlex", "pandas", "PIL", "pypdfium2", "rapidocr"}
LARGE_FILES = {"tablerec/models/weights/inference.onnx", "tablerec/models/weights/inference.pdiparams"}


def python_files(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


def imported_modules(tree: ast.AST) -> Iterator[str]:
    """Yield dotted names; ``from a import b`` gives ``a.b``, of which ``a`` may be all that is a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide the arrows"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def part_of(dotted: str) -> str:
    """Return the part of tablerec that a dotted name belongs to."""
    names = dotted.split(".")[1:]
    if names[1:2] == ["command"]:
        return "command"
    is_module = bool(names) and (
        (ROOT / "tablerec" / names[0]).is_dir() or (ROOT / "tablerec" / f"{names[0]}.py").is_file()
    )
    return names[0] if is_module else "__init__"


def layer_of(part: str) -> int:
    found = [index for index, (_, parts) in enumerate(LAYERS) if part in parts.split()]
    assert found, f"tablerec.{part} has no layer: add it to LAYERS"
    return found[0]


def may_import(importer: str, imported: str) -> bool:
    if importer == imported:
        return True
    if imported in ("cli", "plugins"):
        return importer == "__main__"
    above, below = layer_of(importer), layer_of(imported)
    return below < above or (below == above and LAYERS[above][0] == "peers")


def test_the_rules_themselves() -> None:
    assert may_import("pipeline", "detect")
    assert may_import("detect", "models")
    assert may_import("cli", "__init__")
    assert not may_import("detect", "pipeline")
    assert not may_import("pipeline", "training")
    assert not may_import("training", "pipeline")
    assert not may_import("plugins", "cli")
    assert not may_import("__init__", "cli")
    assert not may_import("errors", "detect")
    assert not may_import("evaluate", part_of("tablerec.evaluate.command.eval_command"))
    assert may_import("command", part_of("tablerec.pipeline.Recognizer"))


def test_tablerec_imports_follow_the_layers() -> None:
    wrong = []
    for path in python_files("tablerec"):
        relative = path.relative_to(ROOT / "tablerec")
        importer = "command" if relative.name == "command.py" else relative.parts[0].removesuffix(".py")
        for dotted in imported_modules(ast.parse(path.read_text(encoding="utf-8"))):
            if dotted.split(".")[0] == "tablerec" and not may_import(importer, part_of(dotted)):
                wrong.append(f"{relative} imports {dotted}")
            if dotted.split(".")[0] in ("tests", "notebooks", "data"):
                wrong.append(f"{relative} imports {dotted}")
    assert wrong == []


def test_postprocess_imports_numpy_and_friends_only() -> None:
    wrong = []
    for path in python_files("postprocess"):
        relative = path.relative_to(ROOT / "postprocess").as_posix()
        tree = ast.parse(path.read_text(encoding="utf-8"))
        allowed = POSTPROCESS_ANYWHERE | POSTPROCESS_BY_FILE.get(relative, set()) | {"postprocess"}
        for dotted in imported_modules(tree):
            top = dotted.split(".")[0]
            typing_only = top in POSTPROCESS_TYPING and top not in eager_imports(tree)
            if top not in allowed and top not in sys.stdlib_module_names and not typing_only:
                wrong.append(f"postprocess/{relative} imports {dotted}")
    assert wrong == []


def eager_imports(tree: ast.Module) -> set[str]:
    """Return the top packages that importing a module imports: not in functions, not for typing only."""
    found: set[str] = set()
    pending: list[ast.AST] = list(tree.body)
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            found.update(name.split(".")[0] for name in imported_modules(ast.Module([node], [])))
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            pending.extend(node.orelse)
        elif not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            pending.extend(ast.iter_child_nodes(node))
    return found


@pytest.mark.parametrize("package", ["tablerec", "postprocess"])
def test_heavy_packages_are_imported_inside_functions(package: str) -> None:
    # These files are the homes of their package and are imported late themselves.
    homes = (
        "postprocess/rulings.py",
        "postprocess/lattice.py",
        "tablerec/models/",
        "tablerec/plugins/",
        "tablerec/training/",
    )
    wrong = {}
    for path in python_files(package):
        relative = path.relative_to(ROOT).as_posix()
        eager = eager_imports(ast.parse(path.read_text(encoding="utf-8"))) & HEAVY
        if eager and not relative.startswith(homes):
            wrong[relative] = eager
    assert wrong == {}


@pytest.mark.parametrize("statement", ["import tablerec", "import tablerec.cli", "import postprocess.table"])
def test_start_up_is_light(statement: str) -> None:
    code = f"import sys; {statement}; print(*({HEAVY!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == []


def kept_files() -> list[Path]:
    """Return the files that git keeps or would keep."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("needs a git checkout")
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    names = {name for name in listed.stdout.decode().split("\0") if name}
    return sorted(ROOT / name for name in names if (ROOT / name).is_file())


def test_top_level_is_the_agreed_one() -> None:
    names = {path.relative_to(ROOT).parts[0] for path in kept_files()}
    folders = {name for name in names if (ROOT / name).is_dir() and not name.startswith(".")}
    assert folders <= {"data", "notebooks", "postprocess", "tablerec", "tests"}


def test_no_machine_paths_in_kept_files() -> None:
    machine_path = re.compile(rb"""(?<![\w.~\-])(?:/(?:work|root|home|tmp|Users)/[\w.]|[A-Z]:\\Users\\)""")
    conflict = re.compile(rb"^(?:<{7}|>{7}) ", re.MULTILINE)
    key = re.compile(rb"-----BEGIN [A-Z ]*PRIVATE KEY|\bghp_[A-Za-z0-9]{30}|\bhf_[A-Za-z]{30}")
    found = []
    for path in kept_files():
        content = path.read_bytes()
        if b"\0" in content[:4096]:
            continue
        for pattern in (machine_path, conflict, key):
            found += [f"{path.relative_to(ROOT)}: {match[0]!r}" for match in pattern.finditer(content)]
    assert found == []


def test_no_large_files() -> None:
    large = {path.relative_to(ROOT).as_posix() for path in kept_files() if path.stat().st_size > 1_000_000}
    assert large == LARGE_FILES


def test_no_stored_notebook_output_is_large() -> None:
    assert [path.name for path in kept_files() if path.suffix == ".ipynb" and path.stat().st_size > 300_000] == []
