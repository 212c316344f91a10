"""PaddleFormers' models without the packages that it imports and PyPI does not have.

PaddleFormers 1.2 defines Qwen3, Qwen3-MoE and DeepSeek-V3 in ``paddle.nn`` alone, but the modules that hold them also
import ``paddlefleet`` or ``paddlefleet_ops``, and PaddleOCR-VL decorates a function with ``triton.jit`` whether Triton
is installed or not. ``import_model`` puts empty modules in their places while such a module is imported, and takes them
away again: whatever asks for the packages later is told that they are not installed, as is true. A package that is
installed is left alone.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import sys
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, NoReturn

from tablerec.errors import MissingDependencyError, SettingsError

INSTALL_COMMAND = 'pip install "tablerec[language]"'
STAND_INS: dict[str, dict[str, tuple[str, ...]]] = {
    "paddlefleet": {
        "paddlefleet": ("parallel_state", "tensor_parallel"),
        "paddlefleet.gpt_builders": ("gpt_builder",),
        "paddlefleet.models": (),
        "paddlefleet.models.gpt": ("GPTModel",),
        "paddlefleet.models.gpt.gpt_config": ("GPTConfig",),
        "paddlefleet.models.gpt.gpt_layer_specs": ("get_gpt_layer_local_spec",),
        "paddlefleet.transformer": (),
        "paddlefleet.transformer.enums": ("ModelType",),
        "paddlefleet.transformer.layer": ("FleetLayer",),
        "paddlefleet.utils": ("get_model_config",),
    },
    "paddlefleet_ops": {"paddlefleet_ops": ()},
    "triton": {"triton": (), "triton.language": ("constexpr",)},
}
"""The modules that stand in for a package, each with the classes and functions that PaddleFormers takes from it."""


def require_paddleformers() -> None:
    """Make sure that PaddleFormers is installed; nothing is imported.

    Raises:
        MissingDependencyError: It or Paddle is not.
    """
    for package, name in (("paddle", "Paddle"), ("paddleformers", "PaddleFormers")):
        if importlib.util.find_spec(package) is None:
            raise MissingDependencyError(f"{name} is not installed: run {INSTALL_COMMAND} (Python 3.12 or older)")


def import_paddleformers() -> ModuleType:
    """Import PaddleFormers' models, without their families.

    Returns:
        The module ``paddleformers.transformers``.

    Raises:
        MissingDependencyError: PaddleFormers, Paddle or something that they need is not installed.
    """
    require_paddleformers()
    first = "paddleformers" not in sys.modules
    try:
        module = importlib.import_module("paddleformers.transformers")
        # They ask at import whether PaddleFleet is there, so before anything stands in for it.
        importlib.import_module("paddleformers.peft.lora.lora_model")
        log = importlib.import_module("paddleformers.utils.log")
    except ImportError as error:
        raise MissingDependencyError(
            f"PaddleFormers cannot be imported ({_first_cause(error)}): run {INSTALL_COMMAND}"
        ) from error
    if first:
        log.logger.set_level("ERROR")
    return module


def import_model(family: str) -> ModuleType:
    """Import a family of models, with stand-ins for what is missing.

    Args:
        family: The name of its package in ``paddleformers.transformers``: ``qwen3``, ``paddleocr_vl``.

    Returns:
        The module of the models, ``paddleformers.transformers.qwen3.modeling``, with their configurations in it.

    Raises:
        MissingDependencyError: PaddleFormers is not installed, or lacks a package that nothing stands in for.
        SettingsError: It has no such family.
    """
    package = import_paddleformers()
    name = f"{package.__name__}.{family}.modeling"
    try:
        with stand_ins():
            module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and name.startswith(error.name):
            raise SettingsError(f"PaddleFormers has no models named {family!r}") from error
        raise MissingDependencyError(
            f"{name} cannot be imported ({_first_cause(error)}): install what it asks for"
        ) from error
    if family == "ernie4_5_moe":
        from tablerec.language.expert_operators import provide_expert_operators

        provide_expert_operators()
    return module


@contextlib.contextmanager
def stand_ins() -> Iterator[tuple[str, ...]]:
    """Put stand-ins into ``sys.modules`` where packages are missing, until the context ends.

    Yields:
        The packages that were missing.

    >>> with stand_ins() as missing:
    ...     import triton
    >>> "triton" in sys.modules and "triton" in missing
    False
    """
    missing = tuple(name for name in STAND_INS if importlib.util.find_spec(name) is None)
    modules = {path: _make_module(path, names) for name in missing for path, names in STAND_INS[name].items()}
    for path, module in modules.items():
        parent, _, child = path.rpartition(".")
        if parent:
            setattr(modules[parent], child, module)
    sys.modules.update(modules)
    try:
        yield missing
    finally:
        for path in modules:
            sys.modules.pop(path, None)


def _first_cause(error: BaseException) -> BaseException:
    """Return what went wrong first: PaddleFormers' lazy modules say no more than that they could not be imported."""
    while error.__cause__ is not None:
        error = error.__cause__
    return error


def _make_module(path: str, names: tuple[str, ...]) -> ModuleType:
    module = ModuleType(path)
    spec = ModuleSpec(path, None, origin="tablerec.language.standins", is_package=True)
    spec.has_location = True  # PaddleFormers looks whether the module has a file
    module.__spec__, module.__path__ = spec, []
    for name in names:
        setattr(module, name, _make_class(f"{path}.{name}"))
    if path == "paddlefleet.transformer.enums":
        module.ModelType.encoder_or_decoder = None
    elif path == "paddlefleet_ops":
        module.is_deep_ep_available = lambda: False  # type: ignore[attr-defined]
    elif path == "triton":
        module.jit = lambda function: function  # type: ignore[attr-defined]
    return module


def _make_class(path: str) -> type:
    """Make a class that may be named and inherited from, and that refuses to be used."""

    def refuse(cls: type, *arguments: Any, **options: Any) -> NoReturn:
        raise MissingDependencyError(
            f"{cls.__name__} needs {path}, which is not installed: tablerec.language.models makes the models that do "
            "without, such as Qwen3ForCausalLMDeprecated"
        )

    return type(path.rpartition(".")[2], (), {"__new__": refuse, "from_config": classmethod(refuse)})
