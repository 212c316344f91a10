"""Small decoders of PaddleFormers with random weights, and the shape of Qwen3-0.6B; batches of token ids for them.

Every family is PaddleFormers' own code; ``standins`` imports those that ask for packages which PyPI does not have.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from tablerec.errors import SettingsError
from tablerec.language.standins import import_model

VOCABULARY = 1000
"""Token ids of the small models."""
IMAGE_TOKEN = VOCABULARY - 1
_PATCH = 14
_IMAGE_GRID = (1, 4, 6)
"""Patches of a picture: frames, rows, columns; four become a token."""

_TINY: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "max_position_embeddings": 128,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
_UNFUSED: dict[str, Any] = {"fuse_rms_norm": False, "fuse_swiglu": False}
_FUSED: dict[str, Any] = {"fuse_rms_norm": True, "fuse_swiglu": True}
_FUSED_ATTENTION: dict[str, Any] = {**_FUSED, "_attn_implementation": "sdpa"}
QWEN3_06B: dict[str, Any] = {
    "vocab_size": 151_936,
    "hidden_size": 1024,
    "intermediate_size": 3072,
    "num_hidden_layers": 28,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "max_position_embeddings": 40_960,
    "rope_theta": 1_000_000.0,
    "tie_word_embeddings": True,
}
"""The configuration of Qwen3-0.6B, as published; for ``make_model("qwen3", **QWEN3_06B)``."""


@dataclass(frozen=True, slots=True)
class LanguageModel:
    """A family of decoders.

    Args:
        family: Its package in ``paddleformers.transformers``.
        configuration: The class of its configuration.
        network: The class of its network with a head.
        options: What its small configuration has besides, or in place of, what is common to all.
        fused: What its configuration has besides with fused operators; empty where PaddleFormers has none for it.
        pictures: Whether it takes pictures.
        decodes: Whether PaddleFormers can decode with it.
    """

    family: str
    configuration: str
    network: str
    options: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    fused: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType(_FUSED))
    pictures: bool = False
    decodes: bool = True


MODELS: dict[str, LanguageModel] = {
    "ernie4_5": LanguageModel(
        "ernie4_5", "Ernie4_5Config", "Ernie4_5ForCausalLM", fused={**_FUSED_ATTENTION, "apply_rope_fusion": True}
    ),
    # Experts take as many rows as there are for them; by default 64 times their share, nearly all of them empty.
    "ernie4_5_moe": LanguageModel(
        "ernie4_5_moe",
        "Ernie4_5_MoeConfig",
        "Ernie4_5_MoeForCausalLM",
        {
            "moe_num_experts": 4,
            "moe_k": 2,
            "moe_intermediate_size": 32,
            "moe_layer_start_index": 0,
            "moe_multimodal_dispatch_use_allgather": "v2-unpad",
            "moe_group": "dummy",  # one process
            "num_nextn_predict_layers": 0,  # these would need tokens behind the last label
        },
        fused={**_FUSED_ATTENTION, "apply_rope_fusion": True},
    ),
    "llama": LanguageModel("llama", "LlamaConfig", "LlamaForCausalLM", fused=_FUSED_ATTENTION),
    # One layer of each kind; heads of 16 numbers are scaled by the square root of 16. It has a norm of its own, its
    # GELU would become SwiGLU with fuse_swiglu, and its SDPA does not cut the mask of a sliding window that is full.
    "gemma3": LanguageModel(
        "gemma3_text",
        "Gemma3TextConfig",
        "Gemma3ForCausalLM",
        {"query_pre_attn_scalar": 16, "sliding_window": 16, "layer_types": ["sliding_attention", "full_attention"]},
        fused={},
    ),
    "gpt_oss": LanguageModel(
        "gpt_oss",
        "GptOssConfig",
        "GptOssForCausalLM",
        {"num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": 16},
    ),
    # The classes without "Deprecated" hand their work to PaddleFleet.
    "qwen3": LanguageModel("qwen3", "Qwen3Config", "Qwen3ForCausalLMDeprecated", fused=_FUSED_ATTENTION),
    "qwen3_moe": LanguageModel(
        "qwen3_moe",
        "Qwen3MoeConfig",
        "Qwen3MoeForCausalLMDeprecated",
        {"moe_intermediate_size": 32, "num_experts": 4, "num_experts_per_tok": 2, "norm_topk_prob": True},
        fused=_FUSED_ATTENTION,
    ),
    "paddleocr_vl": LanguageModel(
        "paddleocr_vl",
        "PaddleOCRVLConfig",
        "PaddleOCRVLForConditionalGeneration",
        {
            "image_token_id": IMAGE_TOKEN,
            "rope_scaling": {"rope_type": "default", "mrope_section": [2, 3, 3]},
            "vision_config": {
                "hidden_size": 32,
                "intermediate_size": 64,
                "num_hidden_layers": 2,
                "num_attention_heads": 2,
                "patch_size": _PATCH,
                "image_size": 4 * _PATCH,
            },
        },
        pictures=True,
    ),
    "deepseek_v3": LanguageModel(
        "deepseek_v3",
        "DeepseekV3Config",
        "DeepseekV3ForCausalLM",
        {
            "num_key_value_heads": 4,
            "q_lora_rank": 32,
            "kv_lora_rank": 16,
            "qk_rope_head_dim": 8,
            "head_dim": 8,
            "qk_nope_head_dim": 16,
            "v_head_dim": 16,
            "first_k_dense_replace": 1,
            "moe_intermediate_size": 32,
            "n_shared_experts": 1,
            "n_routed_experts": 4,
            "num_experts_per_tok": 2,
            "n_group": 2,
            "topk_group": 1,
            "topk_method": "noaux_tc",
            "scoring_func": "sigmoid",
            "norm_topk_prob": True,
            # It reads these whatever the kind of its rotation.
            "rope_scaling": {
                "type": "yarn",
                "factor": 4.0,
                "original_max_position_embeddings": 32,
                "beta_fast": 32,
                "beta_slow": 1,
                "mscale": 1.0,
                "mscale_all_dim": 1.0,
            },
        },
        decodes=False,
    ),
}
"""The small models by name."""


def find_model(name: str) -> LanguageModel:
    """Look a model up.

    Raises:
        SettingsError: There is none of that name.

    >>> find_model("qwen3").network
    'Qwen3ForCausalLMDeprecated'
    >>> find_model("bert")
    Traceback (most recent call last):
    postprocess.errors.SettingsError: language model 'bert' is unknown: choose ernie4_5, ernie4_5_moe, llama, \
gemma3, gpt_oss, qwen3, qwen3_moe, paddleocr_vl or deepseek_v3
    """
    if name not in MODELS:
        *first, last = MODELS
        raise SettingsError(f"language model {name!r} is unknown: choose {', '.join(first)} or {last}")
    return MODELS[name]


def make_model(name: str, fused: bool = False, **changes: Any) -> Any:
    """Make a model with random weights on Paddle's current device; draw them with ``paddle.seed`` before.

    Args:
        name: A name out of ``MODELS``.
        fused: With the model's fused operators, of which Paddle has kernels for GPUs alone: not on the CPU.
        changes: Arguments of the configuration, in place of those of the small one.

    Returns:
        A network that takes ``make_batch``'s arrays as tensors and returns the loss first where it is given labels.

    Raises:
        MissingDependencyError: PaddleFormers is not installed.
        SettingsError: There is no such model, fused operators are asked for on the CPU, or PaddleFormers refuses the
            configuration.
    """
    model = find_model(name)
    module = import_model(model.family)
    import paddle

    if fused and model.fused and paddle.get_device() == "cpu":
        raise SettingsError(f"{name}: the CPU has no fused operators; leave out fused, or set a device")
    options = {**_TINY, **model.options, **_UNFUSED, **(model.fused if fused else {}), **changes}
    try:
        return getattr(module, model.network)(getattr(module, model.configuration)(**options))
    except (AssertionError, TypeError, ValueError) as error:
        raise SettingsError(f"{name}: PaddleFormers refuses the configuration: {error}") from error


def make_batch(
    name: str, size: int = 2, length: int = 40, seed: int = 0, vocabulary: int = VOCABULARY
) -> dict[str, np.ndarray]:
    """Draw a batch, the same for the same arguments.

    Args:
        name: A name out of ``MODELS``.
        size: Sequences.
        length: Tokens of each; one with a picture begins with its tokens.
        seed: Of the numbers.
        vocabulary: Token ids are below; 0 to 2 are special and not drawn.

    Returns:
        ``input_ids`` and ``labels``, ``(size, length)`` int64: a label is the token after, and -100 where there is none
        to learn, as at the end. With pictures ``pixel_values``, ``(patches, 3, 14, 14)`` float32 in -1 to 1, and
        ``image_grid_thw``, ``(size, 3)`` int64: frames, rows and columns of patches.

    Raises:
        SettingsError: There is no such model, or a length of less than a token, or than a picture's.

    >>> batch = make_batch("llama", size=1, length=4)
    >>> bool((batch["input_ids"][0, 1:] == batch["labels"][0, :-1]).all()), int(batch["labels"][0, -1])
    (True, -100)
    """
    numbers = np.random.default_rng(seed)
    pictures = find_model(name).pictures
    least = 1 + pictures * int(np.prod(_IMAGE_GRID)) // 4
    if length < least:
        raise SettingsError(f"length is {length}: give {least} or more for {name}")
    ids = numbers.integers(3, vocabulary - pictures, (size, length))
    labels = np.concatenate([ids[:, 1:], np.full((size, 1), -100)], 1)
    if not pictures:
        return {"input_ids": ids, "labels": labels}
    frames, rows, columns = _IMAGE_GRID
    n_tokens = frames * rows * columns // 4
    ids[:, :n_tokens] = IMAGE_TOKEN
    labels[:, : n_tokens - 1] = -100
    return {
        "input_ids": ids,
        "labels": labels,
        "pixel_values": numbers.uniform(-1, 1, (size * frames * rows * columns, 3, _PATCH, _PATCH)).astype("float32"),
        "image_grid_thw": np.tile(np.array(_IMAGE_GRID, "int64"), (size, 1)),
    }
