"""Making Paddle's attention functions choose the device's flash attention.

On a custom device ``paddle.nn.functional.scaled_dot_product_attention`` and ``flash_attention`` compute the whole
matrix of scores by single operators (Paddle calls that ``math``), as the flash backend is enabled by a flag that
only GPU builds of Paddle have.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from typing import Any

from tablerec.errors import SettingsError

SETTING = "TABLEREC_ATTENTION"
"""Variable of the environment: ``cudnn`` (the default), ``own`` or ``plain`` say how the device attends; ``math``
leaves Paddle's choice as it is."""

WAYS = ("cudnn", "own", "plain", "math")

LARGEST_HEAD = 256
"""Numbers of a head up to which Paddle's functions choose flash attention."""

GPU_FLAGS = {"FLAGS_flash_attn_version": 2, "FLAGS_cudnn_deterministic": 0}
"""Flags that Paddle's attention functions ask for and only GPU builds have, with their defaults there. The environment
may set them, as it sets Paddle's others."""

_chosen_types: set[str] = set()


def chooses_flash_attention(dtype: str, size: int) -> bool:
    """Return whether Paddle's functions have been told to choose flash attention for a type and heads of a size.

    >>> chooses_flash_attention("float64", 64)
    False
    """
    return dtype in _chosen_types and size % 8 == 0 and size <= LARGEST_HEAD


def choose_flash_attention(in_float32: bool) -> None:
    """Let Paddle's attention functions choose flash attention for tensors on a custom device.

    They still choose single operators for heads that are no multiple of 8 or larger than 256, for a scale of the
    caller's, for causal masks with unlike lengths, and for dropout, which the device's kernels do not have.

    Args:
        in_float32: Choose it for float32 too, not for half precision alone.

    Raises:
        SettingsError: ``TABLEREC_ATTENTION`` names no way.
    """
    way = os.environ.get(SETTING) or WAYS[0]
    if way not in WAYS:
        raise SettingsError(f"{SETTING}={way!r} is no way to attend: choose {', '.join(WAYS[:-1])} or {WAYS[-1]}")
    _chosen_types.clear()
    if way == "math":
        return
    _chosen_types.update(("float16", "bfloat16"), ("float32",) if in_float32 else ())
    import paddle

    backends: Any = sys.modules["paddle.nn.attention.sdpa"]
    functions: Any = sys.modules["paddle.nn.functional.sdpa"]
    backends._backend_enabled[backends.SDPBackend.FLASH_ATTENTION] = True
    functions.init_config()
    functions._config["flash_attn"]["support_dtypes"] = tuple(getattr(paddle, name) for name in sorted(_chosen_types))
    usual = functions.can_use_flash_attention
    functions.can_use_flash_attention = lambda params: params.dropout == 0 and usual(params)
    missing = [name for name in GPU_FLAGS if not _has_flag(paddle, name)]
    framework: Any = sys.modules["paddle.base.framework"]
    paddle.get_flags = framework.get_flags = with_defaults(paddle.get_flags, missing)


def _has_flag(paddle: Any, name: str) -> bool:
    try:
        paddle.get_flags([name])
    except ValueError:
        return False
    return True


def with_defaults(usual: Callable[..., dict[str, Any]], missing: Iterable[str]) -> Callable[..., dict[str, Any]]:
    """Answer for flags that Paddle lacks; the others are asked of ``usual``."""

    def get_flags(flags: Any) -> dict[str, Any]:
        names = [flags] if isinstance(flags, str) else list(flags)
        known = [name for name in names if name not in missing]
        found = usual(known) if known or not names else {}
        return found | {name: int(os.environ.get(name, GPU_FLAGS[name])) for name in names if name in missing}

    return get_flags
