"""What is trained: the right parameters, nothing else, and adapters that merge into the plain weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tablerec.errors import InputError, SettingsError
from tablerec.training.settings import LoRA, OptimizerSettings, read_settings
from tests.helpers.training import make_settings

paddle = pytest.importorskip("paddle")

from tablerec.models.adapter import apply_adapter, fingerprint, is_adapter, merge_adapter, save_adapter  # noqa: E402
from tablerec.models.arrays import arrays_to_network, network_to_arrays, save_arrays, trainable  # noqa: E402
from tablerec.models.cellnet import CellNet  # noqa: E402
from tablerec.training.detectors.cellnet import CellNetTask  # noqa: E402
from tablerec.training.methods.lora import adapter_arrays, add_lora  # noqa: E402
from tablerec.training.methods.trainable import choose  # noqa: E402

SMALL = {"widths": (8, 8, 16, 16, 16), "depths": (0, 1, 0, 1), "pyramid": (16, 16)}
CHOICES = ["all", "head", "norm_bias", "lora", "lora+head", "norm_bias + lora", r"re:^maps\.(weight|bias)+$"]


def settings(learns: str, **changes: object) -> OptimizerSettings:
    return make_settings(trainable=learns, **changes).optimizer


def small_net() -> CellNet:
    paddle.seed(0)
    return CellNet(**SMALL)


def pictures() -> paddle.Tensor:
    return paddle.to_tensor(np.random.default_rng(0).uniform(0, 255, (2, 3, 64, 64)).astype(np.float32))


def merge(net: paddle.nn.Layer, plain: paddle.nn.Layer) -> None:
    """Give a plain network the weights of one with factors, merged."""
    scale = next(layer.lora_scale for layer in net.sublayers() if hasattr(layer, "lora_scale"))
    base = {name: array for name, array in network_to_arrays(net).items() if not is_adapter(name)}
    arrays_to_network(merge_adapter(base, adapter_arrays(net), scale), plain)


def learn(net: CellNet, steps: int = 3) -> None:
    """Take steps of some optimizer towards maps of ones."""
    optimizer = paddle.optimizer.Adam(1e-2, parameters=list(trainable(net).values()))
    net.train()
    for _ in range(steps):
        ((net(pictures()) - 1) ** 2).mean().backward()
        optimizer.step()
        optimizer.clear_grad()
    net.eval()


@pytest.mark.parametrize("learns", CHOICES)
def test_only_what_is_trained_changes(learns: str) -> None:
    net = small_net()
    chosen = set(choose(net, settings(learns), CellNetTask.head))
    before = network_to_arrays(net)
    learn(net)
    changed = {name for name, array in network_to_arrays(net).items() if (array != before[name]).any()}
    statistics = {name for name in changed if name.endswith(("._mean", "._variance"))}
    assert changed - statistics == chosen == set(trainable(net))
    learning = {name.rpartition(".")[0] for name in chosen}
    assert {name.rpartition(".")[0] for name in statistics} <= learning
    norms = {name: layer for name, layer in net.named_sublayers() if isinstance(layer, paddle.nn.BatchNorm2D)}
    assert {name for name, layer in norms.items() if layer._use_global_stats} == norms.keys() - learning


def test_the_sizes_fall_as_expected() -> None:
    counts = {}
    for learns in ("all", "head", "norm_bias", "lora"):
        chosen = choose(small_net(), settings(learns, lora=LoRA(rank=1)), CellNetTask.head)
        counts[learns] = sum(int(np.prod(each.shape)) for each in chosen.values())
    assert counts["all"] == sum(int(np.prod(each.shape)) for each in trainable(small_net()).values())
    assert max(counts["head"], counts["norm_bias"], counts["lora"]) < 0.5 * counts["all"]


def test_nothing_is_kept_before_the_head() -> None:
    net = small_net()
    choose(net, settings("head"), CellNetTask.head)
    net.train()
    assert net.narrow(net.up8(net.side8(net.stage8(net.stage4(pictures()))))).stop_gradient
    assert not net(pictures()).stop_gradient


def test_lora_begins_as_the_network_and_merges_into_its_weights() -> None:
    net, plain = small_net().eval(), small_net().eval()
    names = add_lora(net, LoRA(rank=3, alpha=5))
    assert set(names) >= {"maps", "stage4.0.0", "up8.1.rows.0"} and "head.0.0" not in names  # depthwise
    assert (net(pictures()) == plain(pictures())).all()
    for parameter in trainable(net).values():
        parameter.set_value(parameter + 0.05 * paddle.randn(parameter.shape))
    trained, before = net(pictures()), plain(pictures())
    merge(net, plain)
    assert float((plain(pictures()) - trained).abs().max()) < 1e-5 * float(trained.abs().max())
    assert float((plain(pictures()) - before).abs().max()) > 1e-2


@pytest.mark.parametrize(
    ("layer", "shape"),
    [
        (lambda: paddle.nn.Linear(5, 7), (2, 4, 5)),
        (lambda: paddle.nn.Conv2D(6, 4, 1), (2, 6, 9, 9)),
        (lambda: paddle.nn.Conv2D(6, 4, (3, 5), stride=2, padding=(1, 2), dilation=2), (2, 6, 19, 17)),
        (lambda: paddle.nn.Conv2D(6, 4, 3, padding="SAME", bias_attr=False), (2, 6, 8, 8)),
    ],
)
def test_each_kind_of_layer_merges(layer: object, shape: tuple[int, ...]) -> None:
    net, plain = paddle.nn.Sequential(layer()), paddle.nn.Sequential(layer())
    x = paddle.randn(list(shape))
    add_lora(net, LoRA(rank=2))
    net[0].lora_b.set_value(paddle.randn(net[0].lora_b.shape))
    merge(net, plain)
    assert float((plain(x) - net(x)).abs().max()) < 1e-5 * float(net(x).abs().max())


def test_grouped_convolutions_are_left(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="matches no layer"):
        add_lora(paddle.nn.Sequential(paddle.nn.Conv2D(4, 4, 3, groups=2)), LoRA())


def test_an_adapter_is_small_and_belongs_to_its_weights(tmp_path: Path) -> None:
    net, plain = CellNet(), CellNet()
    arrays_to_network(network_to_arrays(net), plain)
    base = fingerprint(network_to_arrays(plain))
    choose(net, settings("lora", lora=LoRA(rank=4)), CellNetTask.head)
    for name, parameter in trainable(net).items():
        parameter.set_value(0.1 * paddle.randn(parameter.shape) if name.endswith("b") else parameter)
    path = tmp_path / "adapter.safetensors"
    save_adapter(path, adapter_arrays(net), 4.0, base)
    assert path.stat().st_size < 400_000
    apply_adapter(plain, path)
    net.eval(), plain.eval()
    assert float((net(pictures()) - plain(pictures())).abs().max()) < 1e-4 * float(net(pictures()).abs().max())
    with pytest.raises(InputError, match="trained on other weights"):
        apply_adapter(plain, path)  # a second time


def test_broken_adapters_are_named(tmp_path: Path) -> None:
    net = small_net()
    base = fingerprint(network_to_arrays(net))
    a, b = np.zeros((2, 16, 1, 1), np.float32), np.zeros((14, 2, 1, 1), np.float32)
    wrong = [{"maps.lora_a": a}, {"x.lora_a": a, "x.lora_b": b}, {"maps.lora_a": a, "maps.lora_b": b[:3]}]
    for number, arrays in enumerate(wrong):
        save_adapter(tmp_path / f"{number}", arrays, 1.0, base)
        with pytest.raises(InputError, match="fit"):
            apply_adapter(net, tmp_path / f"{number}")
    save_arrays(tmp_path / "plain", network_to_arrays(net))
    with pytest.raises(InputError, match="no adapter"):
        apply_adapter(net, tmp_path / "plain")
    with pytest.raises(InputError, match="cannot be read"):
        apply_adapter(net, tmp_path / "missing")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("optimizer: {trainable: everything}", r"optimizer\.trainable 'everything' is unknown"),
        ("optimizer: {trainable: 're:('}", "no regular expression"),
        ("optimizer: {lora: {rank: 0}}", r"optimizer\.lora\.rank is 0"),
        ("optimizer: {lora: {target_modules: '('}}", r"optimizer\.lora\.target_modules .* no regular expression"),
        ("optimizer: {lora: {width: 2}}", r"optimizer\.lora\.width is unknown"),
        ("memory: {frozen_precision: int4}", r"memory\.frozen_precision is 'int4'"),
        ("memory: {frozen_precision: int8}", "but all weights are trained"),
        ("memory: {recompute: auto}", "give limit_gb too"),
    ],
)
def test_settings_that_cannot_be(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(f"data: {{source: synth:mixed}}\noutput: out\nschedule: {{steps: 1}}\n{line}\n", encoding="utf-8")
    with pytest.raises(SettingsError, match=message):
        read_settings(path)


def test_nothing_to_train_is_an_error() -> None:
    with pytest.raises(SettingsError, match="matches no parameter"):
        choose(small_net(), settings("re:nowhere"), CellNetTask.head)
