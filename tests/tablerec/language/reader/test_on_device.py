"""The reader on the simulated device, with the CPU fallback off."""

from __future__ import annotations

import pytest

from tests.helpers.devices.plugin_process import ask, needs_device

pytestmark = needs_device

SETUP = """
import numpy as np
from tablerec.language.reader.config import SIZES
from tablerec.language.reader.data import LEVELS, Drawing
from tablerec.language.reader.generate import read_grey
from tablerec.language.reader.network import Reader
from tablerec.language.reader.packing import Shape, pack
load = Drawing(tuple(LEVELS["numbers"][1:]), 3).load("")
examples = [load(index) for index in range(4)]
taken = iter(examples)
batch = pack(lambda: next(taken, None), Shape(1, 160, 1, 224))
paddle.set_device("cpu")
paddle.seed(0)
noise = np.random.default_rng(0)  # as if it were trained: what is written depends on the picture
state = {
    name: (each.numpy() + 0.1 * noise.normal(size=each.shape)).astype("float32")
    for name, each in Reader(SIZES["tiny"]).state_dict().items()
}
"""

FOLLOW = """
def train(device, dtype):
    paddle.set_device(device)
    net = Reader(SIZES["tiny"])
    net.set_state_dict({name: paddle.to_tensor(each) for name, each in state.items()})
    if dtype != "float32":
        net.to(dtype=dtype)
    net.eval()
    readings = read_grey(net, [example.grey for example in examples[:2]], 20)
    net.train()
    update = paddle.optimizer.AdamW(
        5e-3, parameters=net.parameters(), grad_clip=paddle.nn.ClipGradByGlobalNorm(1.0),
        multi_precision=dtype != "float32",
    )
    losses = []
    for _ in range(4):
        loss = net.loss(batch).total
        loss.backward()
        update.step()
        update.clear_grad()
        losses.append(float(loss))
    return losses, [reading.tokens.tolist() for reading in readings]
answer([train("cpu", "float32"), train(plugin.device, "float32"), train(plugin.device, "bfloat16")])
"""


def test_training_and_decoding_follow_the_cpu() -> None:
    (expected, tokens), (losses, same), (halves, _) = ask(SETUP + FOLLOW)
    assert losses[-1] < losses[0] - 0.2
    assert losses == pytest.approx(expected, rel=5e-6)
    assert same == tokens and len({token for some in tokens for token in some}) > 2
    assert halves == pytest.approx(expected, rel=1e-2)


FLASH = """
paddle.set_device(plugin.device)
net = Reader(SIZES["tiny"])
net.set_state_dict({name: paddle.to_tensor(each) for name, each in state.items()})
def gradients(flash):
    loss = net.loss(batch, flash).total
    loss.backward()
    found = [each.grad.numpy() for each in net.parameters()]
    net.clear_gradients()
    return float(loss), found
plain, wanted = gradients(False)
try:
    flash, found = gradients(True)
except RuntimeError as error:
    answer(str(error))
else:
    worst = max(float(abs(one - other).max() / abs(other).max()) for one, other in zip(found, wanted, strict=True))
    answer([plain, flash, worst])
"""


def test_flash_attention_of_packed_pictures_is_the_same() -> None:
    found = ask(SETUP + FLASH)
    if isinstance(found, str):
        pytest.skip("the plugin has no flash attention of unlike lengths")
    plain, flash, worst = found
    assert flash == pytest.approx(plain, rel=1e-6) and worst < 1e-5
