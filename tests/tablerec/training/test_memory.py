"""Recomputation changes nothing but the memory, and a lack of memory is explained."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from tablerec.errors import SettingsError, TrainingError
from tablerec.training.settings import TrainSettings
from tests.helpers.training import make_settings

paddle = pytest.importorskip("paddle")

from paddle import nn  # noqa: E402

from tablerec.models.arrays import arrays_to_network, network_to_arrays, trainable  # noqa: E402
from tablerec.models.cellnet import CellNet  # noqa: E402
from tablerec.training.detectors.cellnet import CellNetTask  # noqa: E402
from tablerec.training.memory import (  # noqa: E402
    PartCost,
    StepCost,
    choose_parts,
    current_memory,
    measure_step,
    peak_memory,
    process_peak_bytes,
    recompute_parts,
    remedies,
    reset_peak_memory,
)


def settings(**changes: object) -> TrainSettings:
    return make_settings(**changes)


def pictures(side: int = 64, count: int = 2) -> paddle.Tensor:
    return paddle.to_tensor(np.random.default_rng(0).uniform(0, 255, (count, 3, side, side)).astype(np.float32))


def step(net: nn.Layer, images: paddle.Tensor) -> tuple[float, int]:
    """Compute gradients; the loss and the bytes that it took."""
    before = current_memory("cpu")
    reset_peak_memory("cpu")
    loss = (net(images) ** 2).mean()
    loss.backward()
    return float(loss), peak_memory("cpu") - before


def test_the_peak_is_that_of_the_tensors() -> None:
    gc.collect()  # what other tests have left
    before = current_memory("cpu")
    reset_peak_memory("cpu")
    one = paddle.zeros([256, 1024])
    both = one + 1
    del one
    assert peak_memory("cpu") - before == pytest.approx(2 << 20, rel=0.01)
    assert current_memory("cpu") - before == pytest.approx(1 << 20, rel=0.01)
    del both


def test_recomputed_gradients_and_statistics_are_the_same() -> None:
    paddle.seed(0)
    plain, again = CellNet(), CellNet()
    arrays_to_network(network_to_arrays(plain), again)
    recompute_parts(again, CellNetTask.parts)
    taken = []
    for net in (plain, again):
        net.train()
        taken.append(step(net, pictures(320)))
    assert taken[0][0] == taken[1][0]
    assert taken[1][1] < 0.6 * taken[0][1]
    for name, parameter in trainable(plain).items():
        other = trainable(again)[name].grad
        assert float((parameter.grad - other).abs().max()) <= 1e-6 * float(parameter.grad.abs().max()) + 1e-12
    states = network_to_arrays(plain), network_to_arrays(again)
    assert all((states[0][name] == states[1][name]).all() for name in states[0])
    plain.eval(), again.eval()
    assert (plain(pictures()) == again(pictures())).all()


def test_parts_may_take_and_return_nested_values() -> None:
    class Pair(nn.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(3, 3)

        def forward(self, both: list[paddle.Tensor], factor: float, *, shift: paddle.Tensor) -> dict:
            return {"a": [self.linear(both[0]) * factor, both[1]], "b": shift + both[1]}

    class Net(nn.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.pair = Pair()

        def forward(self, x: paddle.Tensor) -> paddle.Tensor:
            found = self.pair([x, 2 * x], 3.0, shift=x)
            return (found["a"][0] * found["a"][1]).sum() + found["b"].sum()

    net, x = Net(), paddle.rand([4, 3])
    x.stop_gradient = False
    gradients = []
    for _ in range(2):
        net(x).backward()
        gradients.append((x.grad.numpy(), net.pair.linear.weight.grad.numpy(), net.pair.linear.bias.grad.numpy()))
        net.clear_gradients(), x.clear_grad()
        recompute_parts(net, ["pair"])  # the second time
    for one, other in zip(*gradients, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


def test_random_parts_are_refused() -> None:
    with pytest.raises(SettingsError, match="dropout"):
        recompute_parts(nn.Sequential(nn.Sequential(nn.Dropout(0.5))), ["0"])


@pytest.mark.parametrize("limit", [100.0, 40.0, 25.0])
def test_the_choice_fits_and_nothing_in_it_is_superfluous(limit: float) -> None:
    rng = np.random.default_rng(1)
    kept = rng.uniform(1, 9, 12)
    parts = [PartCost(str(k), each, each * 0.2, float(rng.uniform(0.1, 1))) for k, each in enumerate(kept)]
    cost = StepCost(2.0, 0.5, parts)
    chosen = choose_parts(cost, 1, limit)
    assert cost.peak_bytes(chosen, 1) <= limit
    assert all(cost.peak_bytes([name for name in chosen if name != each], 1) > limit for each in chosen)


def test_what_cannot_fit_is_said() -> None:
    with pytest.raises(SettingsError, match=r"lower data\.batch_size"):
        choose_parts(StepCost(10, 1, [PartCost("a", 8, 2, 0.1)]), 2, 20)


def test_measured_parts_predict_the_peak() -> None:
    net = CellNet()
    net.train()
    before = network_to_arrays(net)
    cost = measure_step(net, CellNetTask.parts, lambda: step_only(net, pictures(320, 1)), "cpu", 0)
    assert all((array == before[name]).all() for name, array in network_to_arrays(net).items())
    chosen = choose_parts(cost, 2, 0.3 * cost.fixed_bytes + 0.7 * cost.peak_bytes([], 2))
    assert 0 < len(chosen) < len(CellNetTask.parts)
    for again in ([], chosen):
        recompute_parts(net, again)
        start = current_memory("cpu")
        assert start + step(net, pictures(320))[1] == pytest.approx(cost.peak_bytes(again, 2), rel=0.1)
        net.clear_gradients()


def step_only(net: nn.Layer, images: paddle.Tensor) -> None:
    (net(images) ** 2).mean().backward()


@pytest.mark.parametrize(
    "error",
    [
        MemoryError("ResourceExhaustedError: \n Fail to alloc memory of 8000000000000 size"),
        RuntimeError("\n\nOut of memory error on gpu:0. Cannot allocate 4.000000GB memory"),
    ],
)
def test_a_lack_of_memory_names_what_to_change(error: Exception) -> None:
    chosen = settings(batch_size=8, accumulation_steps=2)
    with pytest.raises(TrainingError) as caught, remedies(chosen):
        raise error
    said = str(caught.value)
    wanted = [
        "data.batch_size=4 optimizer.accumulation_steps=4", "memory.recompute=all", "optimizer.trainable=lora",
        "data.image_size=704", "out is whole",
    ]  # fmt: skip
    places = [said.index(each) for each in wanted]
    assert places == sorted(places)
    assert "emory" in said.split("Change")[0].partition("(")[2]


def test_paddles_own_lack_of_memory() -> None:
    with pytest.raises(TrainingError, match="not enough memory"), remedies(settings()):
        paddle.empty([1 << 22, 1 << 22]).sum()


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (OSError("(External) \n {NotFound: kernel `strange_op` is not registered. Selected wrong}"), "strange_op"),
        (NotImplementedError("(Unimplemented) cast to int4 is not supported on card\n  [Hint: ...]"), "cast to int4"),
    ],
)
def test_what_a_device_lacks_is_named_and_not_taken_for_a_full_disk(error: Exception, told: str) -> None:
    with pytest.raises(TrainingError, match=rf"{told}.*tablerec device coverage") as caught, remedies(settings()):
        raise error
    assert "Hint" not in str(caught.value)


def test_other_errors_stay() -> None:
    with pytest.raises(OSError, match="No space"), remedies(settings()):
        raise OSError(28, "No space left on device")
    with pytest.raises(RuntimeError, match="shape"), remedies(settings()):
        raise RuntimeError("shape")


def test_the_peak_grows_with_what_is_held() -> None:
    before = process_peak_bytes()
    if before is None:
        pytest.skip("the system does not tell")
    held = bytearray(before + 50_000_000)
    after = process_peak_bytes()
    assert after is not None and after >= len(held)
