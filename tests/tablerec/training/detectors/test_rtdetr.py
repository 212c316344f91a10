"""RT-DETR as the loop sees it: PaddleX's answers and files, the truth, and that it learns."""

from __future__ import annotations

import importlib.util
import json
import shutil
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from postprocess.geometry.boxes import quads_to_boxes
from tablerec.cli import command
from tablerec.errors import InputError, ModelNotFoundError, SettingsError
from tablerec.training import train
from tablerec.training.settings import Augmentation
from tests.helpers.grids import draw_ruled, grid_quads

if any(importlib.util.find_spec(package) is None for package in ("paddle", "paddlex")):
    pytest.skip("needs the paddle extra", allow_module_level=True)

import paddle

from tablerec.models.arrays import network_to_arrays, trainable
from tablerec.models.rtdetr import load_rtdetr, read_side
from tablerec.paddlex_support import create_model
from tablerec.training.data.samples import Canvas, place_pictures
from tablerec.training.detectors.denoising import noise_cells
from tablerec.training.detectors.rtdetr import NAME, RTDETRTask, read_truths
from tablerec.training.memory import recompute_parts
from tablerec.training.trainer import Trainer
from tests.helpers.models.rtdetr import EMPTY, LARGE, NETWORK, SIDE, SMALL, batch_of, make, settings

pytestmark = pytest.mark.filterwarnings("ignore")  # PaddleX's and Paddle's own


class TestTruth:
    def test_none(self) -> None:
        (truth,) = read_truths(batch_of(EMPTY))
        assert truth.boxes.shape == (0, 4) and truth.labels.shape == (0,)

    def test_boxes_are_hulls_in_sides_of_the_canvas(self) -> None:
        turned = grid_quads([20, 50, 80], [20, 45, 70], 8)
        (truth,) = read_truths(batch_of(turned))
        hulls = quads_to_boxes(turned) / SIDE
        np.testing.assert_allclose(truth.boxes[:, :2] - truth.boxes[:, 2:] / 2, hulls[:, :2], atol=1e-6)
        np.testing.assert_allclose(truth.boxes[:, :2] + truth.boxes[:, 2:] / 2, hulls[:, 2:], atol=1e-6)

    def test_cells_are_cut_or_left_out_at_the_sides(self) -> None:
        outside = grid_quads([-50, -10, 14, 60, 90, 130, 200], [0, 30])
        (truth,) = read_truths(batch_of(outside))
        low, high = truth.boxes[:, :2] - truth.boxes[:, 2:] / 2, truth.boxes[:, :2] + truth.boxes[:, 2:] / 2
        np.testing.assert_allclose(low[:, 0] * SIDE, [0, 14, 60], atol=1e-4)
        np.testing.assert_allclose(high[:, 0] * SIDE, [14, 60, 90], atol=1e-4)

    def test_cells_without_a_size_are_left_out(self) -> None:
        flat = np.repeat(np.array([[[10.0, 10], [40, 10], [40, 10], [10, 10]]], np.float32), 2, 0)
        assert len(read_truths(batch_of(np.concatenate([flat, SMALL])))[0].boxes) == len(SMALL)


class TestNetwork:
    @pytest.fixture(scope="class")
    def task(self) -> RTDETRTask:
        return RTDETRTask(settings(Path("unused")))

    def test_it_answers_as_paddlex(self, task: RTDETRTask) -> None:
        net = make(task)
        images = batch_of(SMALL, LARGE).images
        net.eval()
        theirs, ours = net.paddlex[0].model(images / 255), net(images)
        for name, found in (("logits", ours.logits), ("reference_points", ours.boxes)):
            np.testing.assert_allclose(found[:, 1:].numpy(), theirs[f"intermediate_{name}"].numpy(), atol=1e-5)

    def test_noised_queries_do_not_change_the_others(self, task: RTDETRTask) -> None:
        net, batch = make(task), batch_of(SMALL, LARGE)
        noised = noise_cells(read_truths(batch), 1, np.random.default_rng(0))
        net.eval()
        alone, beside = net(batch.images), net(batch.images, noised)
        np.testing.assert_allclose(alone.logits.numpy(), beside.logits.numpy(), atol=1e-5)
        np.testing.assert_allclose(alone.boxes.numpy(), beside.boxes.numpy(), atol=1e-5)
        assert beside.noised_boxes.shape == [2, 2, noised.labels.shape[1], 4]
        assert alone.noised_boxes is None

    def test_the_parts_hold_all_weights_and_run_in_their_order(self, task: RTDETRTask) -> None:
        net = make(task)
        layers, order = dict(net.named_sublayers()), []
        for name in task.parts:
            layers[name].register_forward_pre_hook(lambda *_, name=name: order.append(name))
        task.loss(net, batch_of(SMALL), nullcontext)
        # The embedding of the noised cells does not run: it is looked up.
        assert list(dict.fromkeys(order)) == [name for name in task.parts if "denoising" not in name]
        held = {f"{part}.{name}" for part in task.parts for name, _ in layers[part].named_parameters()}
        assert held == {name for name, _ in net.named_parameters()}
        assert task.parts[-len(task.head) :] == task.head

    @pytest.mark.parametrize("pictures", [(SMALL, EMPTY), (LARGE, SMALL)])
    def test_all_weights_learn(self, task: RTDETRTask, pictures: tuple[np.ndarray, ...]) -> None:
        """With more cells than queries too."""
        net = make(task)
        parts = task.loss(net, batch_of(*pictures), nullcontext)
        parts["total"].backward()
        for name, each in net.named_parameters():
            if not each.stop_gradient:
                assert each.grad is not None and np.isfinite(each.grad.numpy()).all(), name

    def test_pictures_without_cells_teach_to_find_none(self, task: RTDETRTask) -> None:
        parts = task.loss(make(task), batch_of(EMPTY), nullcontext)
        assert float(parts["class"]) > 0
        assert float(parts["distance"]) == float(parts["overlap"]) == float(parts["noised"]) == 0

    def test_recomputed_parts_have_the_same_gradients(self, task: RTDETRTask) -> None:
        found = []
        for again in (False, True):
            net = make(task)
            recompute_parts(net, task.parts if again else [])
            task.loss(net, batch_of(SMALL, LARGE), nullcontext)["total"].backward()
            found.append({name: each.grad.numpy() for name, each in net.named_parameters() if each.grad is not None})
        assert found[0].keys() == found[1].keys()
        for name, gradient in found[0].items():
            tolerance = 1e-6 + 1e-5 * float(np.abs(gradient).max())
            np.testing.assert_allclose(gradient, found[1][name], rtol=0, atol=tolerance, err_msg=name)

    def test_the_same_step_has_the_same_loss(self, task: RTDETRTask) -> None:
        net, totals = make(task), []
        for seed in (1, 1, 2):
            batch = batch_of(SMALL, LARGE)
            paddle.seed(seed)
            totals.append(float(task.loss(net, batch, nullcontext)["total"]))
        assert totals[0] == totals[1] != totals[2]

    def test_detection_takes_the_threshold(self, task: RTDETRTask) -> None:
        net, images = make(task), batch_of(SMALL, LARGE).images
        net.eval()
        for found in task.detect(net, images, 0.0):
            assert found.quads.shape == (20, 4, 2) and (np.diff(found.scores) <= 0).all()
            some = task.detect(net, images, float(found.scores[4]))
            assert min(len(each.scores) for each in some) <= 5
        assert all(len(found.scores) == 0 for found in task.detect(net, images, 1.1))

    def test_constants_are_float32_in_every_precision(self, task: RTDETRTask) -> None:
        model = task.make().model
        (places,) = (each.position_embedding(width=3, height=2, dtype=paddle.bfloat16) for each in model.encoder.aifi)
        anchors, _ = model.generate_anchors(((3, 3), (2, 2)))
        assert places.dtype == anchors.dtype == paddle.float32
        assert places.shape == [1, 6, 32] and anchors.shape == [1, 13, 4]

    def test_norms_of_the_backbone_are_fixed_on_demand(self, task: RTDETRTask) -> None:
        fixed = RTDETRTask(settings(Path("unused"), network={**NETWORK, "freeze_backbone_batch_norms": True}))
        norms = {name for name in trainable(task.make()) if "backbone" in name and "normalization" in name}
        net = make(fixed)
        assert norms and not norms & set(trainable(net))
        for name, tensor in net.state_dict().items():
            if "backbone" in name and name.endswith("_variance"):
                assert (tensor.numpy() == 1).all()  # though it has seen pictures


def test_a_few_tables_are_fitted(tmp_path: Path) -> None:
    """From random weights."""
    network = {**NETWORK, "num_denoising": 40}
    folder = train(settings(tmp_path, network=network, steps=110, learning_rate=3e-3, ema_decay=0.9, weight_decay=1e-4))
    first, *_, last = (json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines())
    for name in ("distance", "overlap"):
        assert last[name] < first[name] / 5
    (*_, last) = (json.loads(line) for line in (tmp_path / "curve.jsonl").read_text().splitlines())
    assert last["f1_60"] > 0.5
    assert folder == tmp_path / "rtdetr"


def losses(output: Path) -> list[float]:
    return [json.loads(line)["total"] for line in (output / "log.jsonl").read_text().splitlines()]


def test_a_resumed_run_is_the_uninterrupted_one(tmp_path: Path) -> None:
    """The noise of the noised queries too."""
    chosen = {"steps": 4, "checkpoint_every": 2, "augmentation": Augmentation(), "validation_samples": 0}
    train(settings(tmp_path / "whole", **chosen))
    shutil.copytree(tmp_path / "whole/checkpoint-00000002", tmp_path / "half/checkpoint-00000002")
    train(settings(tmp_path / "second", resume=tmp_path / "half", **chosen))
    assert losses(tmp_path / "second")[-2:] == losses(tmp_path / "whole")[2:]


class TestFiles:
    @pytest.fixture(scope="class")
    def folder(self, tmp_path_factory: pytest.TempPathFactory) -> Path:
        output = tmp_path_factory.mktemp("saved")
        task = RTDETRTask(settings(output))
        return task.save(make(task), output)

    def test_paddlex_and_the_export_take_what_was_saved(self, folder: Path, tmp_path: Path) -> None:
        picture = np.random.default_rng(0).integers(0, 255, (70, 120, 3), np.uint8)
        result = CliRunner().invoke(command, ["export", str(folder), "-o", str(tmp_path / "static")])
        assert result.exit_code == 0, result.output
        rows = []
        for each in (folder, tmp_path / "static"):
            (found,) = create_model(NAME, each).predict([picture], threshold=0.0)
            assert len(found["boxes"]) == 20 and found["boxes"][0]["label"] == "cell"
            rows.append([[box["score"], *box["coordinate"]] for box in found["boxes"]])
        np.testing.assert_allclose(*rows, atol=0.05)

    def test_what_was_saved_answers_the_same(self, folder: Path, tmp_path: Path) -> None:
        before = make(RTDETRTask(settings(tmp_path)))
        again = RTDETRTask(settings(tmp_path, initial=folder, network={}))
        after = again.make()
        again.load(after, folder)
        images = batch_of(SMALL, LARGE).images
        before.eval()
        after.eval()
        wanted, found = before(images), after(images)
        np.testing.assert_allclose(found.logits.numpy(), wanted.logits.numpy(), atol=1e-5)
        np.testing.assert_allclose(found.boxes.numpy(), wanted.boxes.numpy(), atol=1e-5)
        # The norms of the backbone are fixed where a training goes on from weights.
        assert len(trainable(after)) < len(trainable(before))

    def test_what_is_shown_has_the_fixed_norms_of_the_weights(self, folder: Path, tmp_path: Path) -> None:
        """Also where a training goes on from a checkpoint."""
        chosen = settings(tmp_path, initial=folder, network={})
        trainer = Trainer(chosen)
        buffer = trainer.task.buffer(chosen, 2)
        drawn = place_pictures([draw_ruled(0)], 0, Canvas(SIDE, 32, stretch=True))
        assert drawn is not None
        buffer.put(drawn, 0)
        trainer.train_step(buffer, 0.0)
        shown, wanted = (net.state_dict() for net in (trainer.show(buffer), trainer.net))
        fixed = [name for name in wanted if "backbone" in name and name.endswith(("_mean", "_variance"))]
        assert fixed and any((wanted[name].numpy() > 1.001).any() for name in fixed)
        for name in fixed:
            assert (shown[name].numpy() == wanted[name].numpy()).all()

    def test_a_training_starts_from_it(self, folder: Path, tmp_path: Path) -> None:
        said: list[str] = []
        assert train(settings(tmp_path, initial=folder, network={}), said.append).is_dir()

    @pytest.mark.parametrize(
        ("learns", "changes"),
        [
            ("head", {"accumulation_steps": 2}),
            ("norm_bias", {"optimizer_name": "adamw8bit"}),
            ("lora", {"recompute": "all", "frozen_precision": "int8"}),
            ("lora", {"recompute": "auto", "limit_gb": 0.5}),
        ],
    )
    def test_what_learns_changes_and_the_rest_does_not(
        self, folder: Path, tmp_path: Path, learns: str, changes: dict[str, object]
    ) -> None:
        few = {"initial": folder, "network": {}, "trainable": learns, "steps": 2, "ema_decay": 0.0}
        saved = train(settings(tmp_path, **few, **changes))
        before, after = (network_to_arrays(load_rtdetr(each)) for each in (folder, saved))
        moved = {name for name, array in before.items() if np.abs(array - after[name]).max() > 1e-7}
        head = {name for name in before if name.startswith(RTDETRTask(settings(tmp_path)).head)}
        statistics = {name for name in before if name.endswith(("_mean", "_variance"))}
        assert moved
        if learns == "head":
            assert moved <= head
        elif learns == "norm_bias":
            assert all(before[name].ndim == 1 for name in moved)
        else:
            assert not any(name.endswith("bias") for name in moved - statistics)

    def test_a_part_of_the_weights_is_refused(self, folder: Path, tmp_path: Path) -> None:
        from safetensors.numpy import load_file, save_file

        for name in ("config.json", "inference.yml"):
            (tmp_path / name).write_bytes((folder / name).read_bytes())
        arrays = load_file(folder / "model.safetensors")
        without = {name: array for name, array in arrays.items() if "denoising_class_embed" not in name}
        save_file(without, tmp_path / "model.safetensors", {"format": "pt"})
        load_rtdetr(tmp_path)  # only training needs these
        dropped = sorted(name for name in without if "enc_output" in name)
        save_file({n: a for n, a in without.items() if n not in dropped}, tmp_path / "model.safetensors")
        with pytest.raises(InputError, match=r"lacks \d+ weights, such as model\.enc_output"):
            load_rtdetr(tmp_path)


class TestRefusals:
    @pytest.mark.parametrize(
        "step", ["{type: Resize, target_size: 640}", "{type: Resize, target_size: [640, 320]}", "{}", "3"]
    )
    def test_sides_that_cannot_be_exported(self, tmp_path: Path, step: str) -> None:
        (tmp_path / "inference.yml").write_text(f"Preprocess: [{step}]", encoding="utf-8")
        with pytest.raises(InputError, match=r"inference\.yml"):
            read_side(tmp_path)

    @pytest.mark.parametrize(
        "text", ["", "[1]", "{", '{"decoder_layers": "x"}', '{"decoder_layers": 1e12}', '{"backbone_config": 3}']
    )
    def test_broken_configurations(self, tmp_path: Path, text: str) -> None:
        with pytest.raises(InputError, match=r"config\.json"):
            RTDETRTask(settings(tmp_path, initial=tmp_path))
        (tmp_path / "config.json").write_text(text, encoding="utf-8")
        with pytest.raises((InputError, SettingsError), match=r"config\.json|network"):
            RTDETRTask(settings(tmp_path, initial=tmp_path, network={})).make()

    def test_broken_descriptions(self, tmp_path: Path) -> None:
        (tmp_path / "config.json").write_text(json.dumps(NETWORK), encoding="utf-8")
        (tmp_path / "inference.yml").write_text("Global: 3", encoding="utf-8")
        with pytest.raises(ModelNotFoundError, match=r"inference\.yml is damaged"):
            RTDETRTask(settings(tmp_path, initial=tmp_path))

    def test_a_canvas_with_too_few_places(self, tmp_path: Path) -> None:
        with pytest.raises(SettingsError, match=r"data\.image_size is 32: RT-DETR sees 21 places there and asks 300"):
            RTDETRTask(settings(tmp_path, image_size=32, network={}))

    def test_networks_that_are_not_trained(self, tmp_path: Path) -> None:
        task = RTDETRTask(settings(tmp_path, network={**NETWORK, "learn_initial_query": True}))
        with pytest.raises(SettingsError, match="learn_initial_query"):
            task.make()
