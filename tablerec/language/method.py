"""How a decoder is tuned on little memory: what is trained, in how many bits the rest lies, what is kept."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from tablerec.errors import InputError, OutputError, SettingsError
from tablerec.settings_fields import check_fields, setting, to_settings
from tablerec.training.settings import LoRA

if TYPE_CHECKING:
    from paddle import Tensor, nn

LAYERS = re.compile(r"(?:^|\.)layers\.\d+$")
"""Names of the decoder's layers in PaddleFormers."""
CHECKPOINT = "checkpoint.safetensors"
_LORA = LoRA()


@dataclass(frozen=True, slots=True)
class Method:
    """How a decoder is tuned. Each field works with each value of the others, but for what ``__post_init__`` says."""

    precision: Literal["float32", "bfloat16"] = setting(
        "bfloat16", "Of computation, and of weights that are kept neither in 8 nor in 4 bits."
    )
    frozen: Literal["whole", "int8", "int4"] = setting(
        "whole", "How the weights of linear layers are kept that are not trained; int8 and int4 need lora."
    )
    group_size: int | None = setting(
        64, "Inputs that share a scale in 8 and 4 bits: 64 or 128; none: all of an output.", low=64, high=128
    )
    lora: LoRA | None = setting(  # noqa: RUF009 - frozen, as setting is
        _LORA, "Changes of low rank, which alone are trained; none: all weights are trained."
    )
    attention: Literal["fused", "plain"] = setting(
        "fused", "By the device's own attention, which keeps no scores, or by single operators."
    )
    recompute: bool = setting(
        False, "Compute the activations of each layer of the decoder again for the gradients; its input alone is kept."
    )
    loss_tokens: int | None = setting(
        None, "Tokens whose logits are there at a time, in training; none: those of the whole batch.", low=1
    )
    optimizer: Literal["adamw", "adamw8bit"] = setting(
        "adamw", "AdamW, or AdamW whose moments are kept in 8 bits. It needs no second copy of weights in bfloat16."
    )
    state_on_host: bool = setting(False, "Keep the optimizer's state in the host's memory between steps.")
    learning_rate: float = setting(1e-4, "The greatest.", low=0)
    weight_decay: float = setting(0.01, "For all parameters but norms and biases.", low=0)
    max_grad_norm: float = setting(1.0, "Gradients are clipped to this norm.", above=0)

    def __post_init__(self) -> None:
        check_fields(self)
        if self.group_size not in (None, 64, 128):
            raise SettingsError(f"group_size is {self.group_size}: give 64, 128 or none")
        if self.frozen != "whole" and self.lora is None:
            raise SettingsError(f"frozen is {self.frozen} and lora is none: nothing would be trained, give lora")


def read_method(path: Path) -> Method:
    """Read a method from a YAML file, as ``tablerec tune`` writes it.

    Raises:
        SettingsError: The file cannot be read, or holds something else; the message names it.
    """
    from tablerec.fields import parse_yaml

    try:
        values = parse_yaml(path.read_text(encoding="utf-8"))
        if not isinstance(values, dict):
            raise SettingsError("it holds no fields")
        method: Method = to_settings(Method, values)
    except OSError as error:
        raise SettingsError(f"{path}: {error.strerror}: name the file that `tablerec tune` writes") from error
    except (ValueError, SettingsError) as error:
        raise SettingsError(f"{path}: {error}") from error
    return method


class Tuned:
    """A decoder that is being tuned; made by ``prepare``.

    Args:
        net: The model.
        method: How.
        parameters: What is trained, by name.

    Attributes:
        optimizer: Has ``set_lr``, ``step`` and ``clear_grad``.
    """

    def __init__(self, net: nn.Layer, method: Method, parameters: dict[str, Tensor]) -> None:
        self.net, self.method, self.parameters = net, method, parameters
        self.optimizer = _make_optimizer(method, parameters)

    def step(self) -> None:
        """Follow the gradients, and forget them."""
        self.optimizer.step()
        for each in self.parameters.values():
            each.grad = None  # Paddle's clear_gradient keeps the memory until the next one

    def save(self, folder: Path) -> Path:
        """Write what is trained and the optimizer's state, completely or not at all; the frozen weights are not in it.

        Returns:
            ``checkpoint.safetensors`` in the folder.

        Raises:
            OutputError: It cannot be written.
        """
        from tablerec.models.arrays import save_arrays

        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"{folder} cannot be made ({error.strerror}): name another folder") from error
        arrays = {f"parameters/{name}": _to_array(each) for name, each in self.parameters.items()}
        arrays |= {f"optimizer/{name}": array for name, array in _state_arrays(self.optimizer, self.parameters).items()}
        save_arrays(folder / CHECKPOINT, arrays, {"base": _fingerprint(self.net)})
        return folder / CHECKPOINT

    def load(self, folder: Path) -> None:
        """Go on from what ``save`` wrote, with the same model and method.

        Raises:
            InputError: The file is missing or broken, or is of another model or method.
        """
        from tablerec.models.arrays import load_arrays, load_notes

        path = folder / CHECKPOINT
        arrays = load_arrays(path)
        if load_notes(path).get("base") != _fingerprint(self.net):
            raise InputError(f"{path} was trained on other weights: load those that the training began with")
        found = {name.removeprefix("parameters/"): each for name, each in arrays.items() if name.startswith("param")}
        if {name: array.shape for name, array in found.items()} != {
            name: tuple(each.shape) for name, each in self.parameters.items()
        }:
            raise InputError(f"{path} has other trained parameters: give lora as it was")
        for name, each in self.parameters.items():
            each.set_value(_to_tensor(found[name], each.dtype))
        state = {
            name.removeprefix("optimizer/"): each for name, each in arrays.items() if name.startswith("optimizer/")
        }
        _load_state(self.optimizer, self.parameters, state, path)


def prepare(net: nn.Layer, method: Method) -> Tuned:
    """Make a model of PaddleFormers ready to be tuned, on the device that is set.

    A large model is best made on the CPU: its weights then go to the device one by one, in as many bits as they are
    kept in. The model is changed; afterwards it is called as before.

    Args:
        net: The model with its weights, for example ``LlamaForCausalLM``.
        method: What is trained and what saves memory.

    Returns:
        The model, what is trained of it, and the optimizer.

    Raises:
        SettingsError: The device or the model cannot do what the method asks for.
    """
    from tablerec.language.loss import use_head_loss
    from tablerec.training.memory import recompute_parts
    from tablerec.training.methods.lora import add_lora
    from tablerec.training.methods.quantized import quantize_frozen

    layers = [name for name, _ in net.named_sublayers() if LAYERS.search(name)]
    if not layers:
        raise SettingsError(
            f"{type(net).__name__} has no sublayers named layers.0, layers.1 and so on: it is no decoder"
        )
    if method.frozen != "whole":
        target = "|".join(map(re.escape, layers))
        quantize_frozen(net, method.frozen, method.group_size or -1, target, method.precision)
    _place(net, method.precision)
    if method.lora is not None:
        for parameter in net.parameters():
            parameter.stop_gradient = True
        inner = "|".join(map(re.escape, layers))
        target = f"^(?:{inner})\\..*(?:{method.lora.target_modules})"
        add_lora(net, LoRA(method.lora.rank, method.lora.alpha, target))
    if hasattr(net, "config"):
        net.config.use_cache = False  # a layer that is computed again would find its own keys there
    if method.attention == "fused":
        _fuse_attention(net)
    if method.loss_tokens is not None:
        use_head_loss(net, method.loss_tokens)
    if method.recompute:
        recompute_parts(net, layers)
    net.train()
    names = {name: each for name, each in net.named_parameters() if not each.stop_gradient}
    return Tuned(net, method, names)


def _place(net: Any, precision: str) -> None:
    """Bring all to the device, and parameters to a precision; buffers, such as positions' frequencies, keep theirs."""
    import paddle

    place = paddle.framework._current_expected_place()

    def transform(tensor: Any, *_: Any) -> Any:
        floats = isinstance(tensor, paddle.base.framework.EagerParamBase) and paddle.is_floating_point(tensor)
        return net._transform(tensor, place, precision if floats else None, True)

    net._apply(transform, place, None, True, True)


def _fuse_attention(net: Any) -> None:
    """Let layers that multiply scores by single operators ask Paddle for attention, which chooses the device's own."""
    for layer in net.sublayers(include_self=True):
        for holder, name in ((getattr(layer, "config", None), "_attn_implementation"), (layer, "attn_implementation")):
            if getattr(holder, name, "") == "eager":
                setattr(holder, name, "sdpa")


def _make_optimizer(method: Method, parameters: dict[str, Tensor]) -> Any:
    import paddle

    from tablerec.training.methods.optimizer import make_optimizer
    from tablerec.training.methods.paged import PagedOptimizer
    from tablerec.training.settings import OptimizerSettings

    settings = OptimizerSettings(
        name=method.optimizer,
        learning_rate=method.learning_rate,
        weight_decay=method.weight_decay,
        max_grad_norm=method.max_grad_norm,
    )
    optimizer = make_optimizer(parameters, settings)
    if isinstance(optimizer, paddle.optimizer.AdamW):
        optimizer._multi_precision = (
            True  # weights in bfloat16 have a second copy in float32, which takes the small steps
        )
    return PagedOptimizer(optimizer) if method.state_on_host else optimizer


def _inner(optimizer: Any) -> Any:
    return getattr(optimizer, "inner", optimizer)


def _state_arrays(optimizer: Any, parameters: dict[str, Tensor]) -> dict[str, NDArray[Any]]:
    """Copy the optimizer's state, by the names of parameters in the network, which another process has too."""
    state = _inner(optimizer)
    if hasattr(state, "arrays"):
        arrays: dict[str, NDArray[Any]] = state.arrays()
        return arrays
    given = state.state_dict()
    names = {each.name: name for name, each in parameters.items()}
    found = {f"master/{names[of]}": each.numpy() for of, each in given.get("master_weights", {}).items()}
    for key, each in given.items():
        of = max((name for name in names if key.startswith(f"{name}_")), key=len, default="")
        if of:
            found[f"moment/{names[of]}/{key.removeprefix(of)}"] = each.numpy()
    return found


def _load_state(optimizer: Any, parameters: dict[str, Tensor], arrays: dict[str, NDArray[Any]], path: Path) -> None:
    import paddle

    state = _inner(optimizer)
    if hasattr(state, "arrays") != ("step" in arrays) and arrays:
        raise InputError(f"{path} has the state of another optimizer: give optimizer as it was")
    if hasattr(state, "arrays"):
        state.load(arrays)
    elif arrays:
        given: dict[str, Any] = {"master_weights": {}}
        for key, array in arrays.items():
            kind, _, rest = key.partition("/")
            name, _, end = rest.rpartition("/") if kind == "moment" else (rest, "", "")
            of = parameters[name].name
            tensor = paddle.to_tensor(array)
            if kind == "master":
                tensor.name = f"{of}_fp32_master_0"
                given["master_weights"][of] = tensor
            else:
                given[of + end] = tensor
        state.set_state_dict(given)
    if state is not optimizer:
        optimizer.page_out()


def _to_array(tensor: Tensor) -> NDArray[np.float32]:
    array: NDArray[np.float32] = tensor.astype("float32").numpy()
    return array


def _to_tensor(array: NDArray[Any], dtype: Any) -> Any:
    import paddle

    return paddle.to_tensor(array).astype(dtype)


def _fingerprint(net: nn.Layer) -> str:
    """Tell base weights apart, in whatever precision they are: by the beginnings of embeddings and norms in bfloat16.

    Empty where all weights are trained.
    """
    from tablerec.models.adapter import fingerprint

    frozen: Iterable[tuple[str, Any]] = ((name, each) for name, each in net.named_parameters() if each.stop_gradient)
    arrays = {
        name: _to_array(each.flatten()[:4096].astype("bfloat16"))
        for name, each in frozen
        if each.ndim == 1 or "embed" in name
    }
    return fingerprint(arrays) if arrays else ""
