"""The import arrows, the lazy imports and the tidiness of the repository."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# A layer imports the layers before it. "peers" may also import one another, "apart" may not.
# "command" is the command.py of any part: a verb of the command line.
LAYERS: list[tuple[str, str]] = [
    ("peers", "errors fields page_numbers settings_fields config"),
    ("apart", "processes usage"),
    (
        "peers",
        "course demo detect devices evaluate inputs labels models ocr outputs paddlex_support result stages synth",
    ),
    ("apart", "engine"),
    ("apart", "pipeline corrections training"),
    ("apart", "language"),
    ("apart", "__init__"),
    ("apart", "batch"),
    ("apart", "bulk serve"),
    ("apart", "command"),
    ("apart", "cli plugins"),
    ("apart", "__main__"),
]
# The rooms and modules of postprocess: each imports those before it, and itself.
ROOMS = [
    *("errors", "arrays", "characters", "raised", "cell", "odds", "geometry", "preview", "word", "table", "values"),
    *("text", "grid", "lineless", "candidates", "meaning", "captions", "editing", "export"),
]
MOST_MODULES = 14
"""In one folder, side by side, ``__init__`` counted."""
# What postprocess imports besides the standard library and itself: anywhere, and in one file each.
POSTPROCESS_ANYWHERE = {"numpy", "shapely"}
POSTPROCESS_BY_FILE = {"geometry/rulings.py": {"cv2"}, "export/excel.py": {"openpyxl"}}
# Typing only: pandas is named in signatures.
POSTPROCESS_TYPING = {"pandas"}
HEAVY = {
    *("cv2", "onnxruntime", "openpyxl", "paddle", "paddlex", "pandas", "PIL", "pillow_heif", "pypdfium2", "rapidocr"),
    "ray",
}
LARGE_FILES = {"tablerec/models/weights/inference.onnx", "tablerec/models/weights/linenet/inference.onnx"}


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


def test_rooms_of_postprocess_import_those_before_them() -> None:
    there = {each.name.removesuffix(".py") for each in (ROOT / "postprocess").iterdir() if is_module(each)}
    assert there == set(ROOMS), "add the room to ROOMS, where it imports no room behind it"
    wrong = []
    for name, imported in static_imports("postprocess").items():
        room = name.split(".")[1:2] or [ROOMS[-1]]
        wrong += [
            f"{name} imports {each}"
            for each in imported
            if "." in each and ROOMS.index(each.split(".")[1]) > ROOMS.index(room[0])
        ]
    assert wrong == []


def static_imports(*packages: str) -> dict[str, set[str]]:
    """The modules that each module imports from these packages: anywhere in it, for typing and in functions too."""
    files = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
        for package in packages
        for path in python_files(package)
    }
    graph: dict[str, set[str]] = {}
    for name, path in files.items():
        dotted = imported_modules(ast.parse(path.read_text(encoding="utf-8")))
        # "a.b" is the module, or the name b of the module a.
        named = {each if each in files else each.rpartition(".")[0] for each in dotted}
        graph[name] = (named & files.keys()) - {name}
    return graph


def circles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """The groups of modules that import one another, by Tarjan's algorithm."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found = []

    def visit(name: str) -> None:
        order[name] = low[name] = len(order)
        stack.append(name)
        for other in sorted(graph[name]):
            if other not in order:
                visit(other)
            if other in stack:
                low[name] = min(low[name], low[other])
        if low[name] == order[name]:
            group = stack[stack.index(name) :]
            del stack[stack.index(name) :]
            if len(group) > 1:
                found.append(sorted(group))

    for name in graph:
        if name not in order:
            visit(name)
    return found


def test_a_circle_is_found() -> None:
    assert circles({}) == [] and circles({"a": {"b"}, "b": set()}) == []
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a", "e"}, "e": set()}) == [["a", "b", "c"]]


def test_no_imports_go_in_a_circle() -> None:
    assert circles(static_imports("postprocess", "tablerec")) == []


def test_no_folder_has_too_many_modules() -> None:
    counts = Counter(path.parent for package in ("postprocess", "tablerec", "tests") for path in python_files(package))
    assert {str(folder): count for folder, count in counts.items() if count > MOST_MODULES} == {}


@pytest.mark.parametrize("package", ["postprocess", "tablerec"])
def test_each_package_begins_with_a_map(package: str) -> None:
    """The docstring of each package names each of its modules; that of tablerec is for its users."""
    missing = {}
    for path in (ROOT / package).rglob("__init__.py"):
        inside = {each.name.removesuffix(".py") for each in path.parent.iterdir() if is_module(each)}
        words = set(re.findall(r"\w+", ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""))
        if path.parent != ROOT / "tablerec" and inside - words:
            missing[str(path.relative_to(ROOT))] = inside - words
    assert missing == {}


def is_module(path: Path) -> bool:
    return (path.suffix == ".py" and not path.stem.startswith("__")) or (path / "__init__.py").exists()


def test_tests_import_helpers_and_no_other_tests() -> None:
    wrong = [
        f"{path.relative_to(ROOT)} imports {dotted}"
        for path in python_files("tests")
        for dotted in imported_modules(ast.parse(path.read_text(encoding="utf-8")))
        if dotted.startswith("tests.") and re.search(r"\.(test_\w+|conftest)\b", dotted)
    ]
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
        "postprocess/geometry/rulings.py",
        "tablerec/language/reader/",
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
    assert folders <= {"data", "docs", "notebooks", "postprocess", "tablerec", "tests"}


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
