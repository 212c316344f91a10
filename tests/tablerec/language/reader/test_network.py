from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tablerec.errors import InputError, SettingsError
from tablerec.language.reader.config import SIZES, ReaderConfig
from tablerec.language.reader.data import LEVELS, Drawing, Example
from tablerec.language.reader.packing import IGNORED, Batch, Shape, pack

paddle = pytest.importorskip("paddle")
from tablerec.language.reader.network import PATCH_WEIGHT, Reader, count_parameters, load_reader, save_reader  # noqa: E402

SHAPE = Shape(2, 160, 3, 192)


@pytest.fixture(scope="module")
def net() -> Reader:
    paddle.seed(0)
    made = Reader(SIZES["tiny"])
    for each in made.parameters():  # as if it were trained: all it knows has a say
        each.set_value(each + 0.05 * paddle.randn(each.shape))
    made.eval()
    return made


def batch_of(some: list[Example], shape: Shape = SHAPE) -> Batch:
    taken = iter(some)
    return pack(lambda: next(taken, None), shape)


def examples(count: int) -> list[Example]:
    load: Callable[[int], Example] = Drawing(tuple(LEVELS["numbers"][1:]), 3).load("")
    return [load(index) for index in range(count)]


def test_sizes_that_do_not_go_together_are_refused() -> None:
    with pytest.raises(SettingsError, match="multiple of 4"):
        ReaderConfig(size=30, heads=3)


def test_the_full_network_has_less_than_30_million_parameters() -> None:
    assert 20e6 < count_parameters(Reader(SIZES["full"])) < 30e6


def test_examples_of_a_batch_do_not_see_one_another(net: Reader) -> None:
    some = examples(4)
    together = batch_of(some)
    scores = net(together)[0].numpy()
    for number, example in enumerate(some, start=1):
        alone = batch_of([example], Shape(1, 80, 1, 136))
        wanted = net(alone)[0].numpy()[alone.labels != IGNORED]
        found = scores[(together.owners == number) & (together.labels != IGNORED)]
        np.testing.assert_allclose(found, wanted, atol=2e-5)


def test_a_token_does_not_see_what_follows(net: Reader) -> None:
    batch = batch_of(examples(1), Shape(1, 80, 1, 136))
    at = int(np.flatnonzero(batch.labels[0] != IGNORED)[3])
    changed = batch.inputs.copy()
    changed[0, at + 1] = 17
    scores, others = (net(each)[0].numpy() for each in (batch, batch._replace(inputs=changed)))
    np.testing.assert_allclose(others[0, : at + 1], scores[0, : at + 1], atol=1e-6)
    assert abs(others[0, at + 1] - scores[0, at + 1]).max() > 1e-3


def test_the_picture_and_its_places_count(net: Reader) -> None:
    batch = batch_of(examples(1), Shape(1, 80, 1, 136))
    known = batch.labels != IGNORED
    scores = net(batch)[0].numpy()[known]
    for other in (batch._replace(windows=255 - batch.windows), batch._replace(patch_places=batch.patch_places + 1)):
        assert abs(net(other)[0].numpy()[known] - scores).max() > 1e-4


def test_the_loss_is_the_mean_of_what_counts(net: Reader) -> None:
    batch = batch_of(examples(3))
    losses, held = net.loss(batch), net(batch)[1].reshape([*batch.patch_labels.shape, -1])
    for scores, labels, loss in (
        (losses.scores, batch.labels, losses.written),
        (held, batch.patch_labels, losses.seen),
    ):
        known = labels != IGNORED
        chances = paddle.nn.functional.softmax(scores).numpy()[known]
        wanted = -np.log(chances[np.arange(known.sum()), labels[known]]).mean()
        assert float(loss) == pytest.approx(wanted, rel=1e-5)
    assert float(losses.total) == pytest.approx(float(losses.written) + PATCH_WEIGHT * float(losses.seen), rel=1e-6)


def test_every_weight_is_trained(net: Reader) -> None:
    net.loss(batch_of(examples(3))).total.backward()
    assert [name for name, each in net.named_parameters() if each.grad is None or not each.grad.abs().sum()] == []
    net.clear_gradients()


def test_weights_are_kept_in_files_of_which_each_is_small(
    net: Reader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tablerec.language.reader.network.LARGEST_FILE", 20_000)
    (tmp_path / "reader-1-of-1.safetensors").write_bytes(b"of an earlier training")
    paths = save_reader(tmp_path, net, step="7")
    assert len(paths) > 2 and {path.name for path in tmp_path.iterdir()} == {path.name for path in paths}
    assert max(path.stat().st_size for path in paths) < 60_000
    again = load_reader(tmp_path)
    assert again.config == net.config and not again.training
    for name, tensor in net.state_dict().items():
        np.testing.assert_allclose(again.state_dict()[name].numpy(), tensor.numpy(), rtol=1e-3, atol=1e-6)
    paths[0].unlink()
    with pytest.raises(InputError, match="files of weights, not all"):
        load_reader(tmp_path)


def test_a_folder_without_weights_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds 0 files"):
        load_reader(tmp_path)
    (tmp_path / "reader-1-of-1.safetensors").write_bytes(b"no weights at all")
    with pytest.raises(InputError, match="cannot be read"):
        load_reader(tmp_path)
