"""Maps rename, split, join and turn weights, and back again; the shipped ones agree with PaddleX's own conversion."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from tablerec.cli import command
from tablerec.errors import InputError, MissingDependencyError, OutputError, SettingsError
from tablerec.models.formats.mapping import (
    MAPS,
    Step,
    apply_map,
    check_round_trip,
    compare_names,
    load_weights,
    read_map,
    save_weights,
)

pytest.importorskip("safetensors")

STEPS = (
    Step("rename", ("a.#.bn.*",), ("b.#.norm.*",)),
    Step("split", ("*.qkv",), ("*.q", "*.k", "*.v"), -1),
    Step("transpose", ("*.q", "*.k", "*.v")),
    Step("pad", ("embed",)),
)


def test_nothing_to_map() -> None:
    assert apply_map({}, STEPS) == ({}, [])
    assert apply_map({"x": np.ones(1)}, ())[1] == ["x"]
    assert compare_names({}, {}) == check_round_trip({}, {}, STEPS) == []


@given(st.integers(0, 3), st.integers(1, 4), st.integers(1, 4))
def test_a_map_and_back(number: int, width: int, height: int) -> None:
    rng = np.random.default_rng(number)
    arrays = {
        f"a.{number}.bn.w": rng.random(width), f"x.{number}.qkv": rng.random((height, 3 * width)),
        "embed": rng.random((height, width)), "other": rng.random(2),
    }  # fmt: skip
    made, untouched = apply_map(arrays, STEPS)
    assert sorted(made) == sorted([f"b.{number}.norm.w", *(f"x.{number}.{k}" for k in "qkv"), "embed", "other"])
    assert untouched == ["other"] and made["embed"].shape == (height + 1, width) and not made["embed"][-1].any()
    np.testing.assert_array_equal(made[f"x.{number}.k"], arrays[f"x.{number}.qkv"][:, width : 2 * width].T)
    back = apply_map(made, STEPS, reverse=True).arrays
    assert back.keys() == arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(back[name], array)
    assert check_round_trip(arrays, made, STEPS) == []
    made[f"x.{number}.q"] = made[f"x.{number}.q"] + 1
    assert check_round_trip(arrays, made, STEPS) == [f"x.{number}.qkv is not as it was"]


def test_drop_and_cast() -> None:
    arrays = {"n.count": np.ones(1, np.int64), "w": np.ones(2, np.float32)}
    steps = (Step("drop", ("*.count",)), Step("cast", ("float16",)))
    made = apply_map(arrays, steps).arrays
    assert {name: array.dtype for name, array in made.items()} == {"w": np.float16}
    assert check_round_trip(arrays, made, steps) == []


@pytest.mark.parametrize(
    ("names", "step", "message"),
    [
        (["a", "b"], Step("rename", ("a",), ("b",)), "two arrays the name b"),
        (["a"], Step("transpose", ("a",)), "cannot be changed by transpose"),
        (["a"], Step("split", ("a",), ("b", "c"), 0), "no 2 equal parts"),
        (["a"], Step("split", ("a",), ("b", "c"), 4), "no 2 equal parts"),
        (["x.q"], Step("merge", ("*.q", "*.k"), ("*.qk",)), "x.k is missing"),
    ],
)
def test_arrays_that_do_not_fit(names: list[str], step: Step, message: str) -> None:
    with pytest.raises(InputError, match=message):
        apply_map({name: np.ones(3) for name in names}, [step])


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("a: b", SettingsError, "no list of steps"),
        ("- turn: a", SettingsError, "is no step"),
        ("- [rename]", SettingsError, "is no step"),
        ("- {rename: {a: b}, drop: c}", SettingsError, "is no step"),
        ("- {split: a}", SettingsError, "lacks names"),
        ("- {transpose: 3}", SettingsError, "lacks names"),
        ("- {cast: int8}", SettingsError, "choose float32"),
        ("- {rename: {'a.#': b}}", SettingsError, "other marks"),
        ("- {rename", InputError, "cannot be read"),
        ("- !!python/object/apply:os.system ['echo']", InputError, "cannot be read"),
    ],
)
def test_bad_maps(tmp_path: Path, text: str, error: type[Exception], message: str) -> None:
    (tmp_path / "map.yaml").write_text(text)
    with pytest.raises(error, match=message):
        read_map(str(tmp_path / "map.yaml"))


def test_no_such_map() -> None:
    with pytest.raises(InputError, match="one of cellnet_torch, paddledetection_rtdetr, paddlex_rtdetr"):
        read_map("absent")
    assert all(read_map(path.stem) for path in MAPS.glob("*.yaml"))


@pytest.fixture(scope="module")
def rtdetr() -> object:
    paddle = pytest.importorskip("paddle")
    pytest.importorskip("safetensors")
    from tablerec.paddlex_support import import_paddlex

    try:
        import_paddlex()
    except MissingDependencyError as error:
        pytest.skip(str(error))
    from paddlex.inference.models.object_detection.modeling._config_rt_detr import RTDETRConfig
    from paddlex.inference.models.object_detection.modeling.rt_detr import RTDETR

    from tablerec.devices.bench.networks import RTDETR_REDUCED

    paddle.seed(3)
    return RTDETR(RTDETRConfig(**RTDETR_REDUCED))


def hf_arrays(rtdetr: object) -> dict[str, np.ndarray]:
    """PaddleX's own conversion."""
    turned = set(rtdetr.get_transpose_weight_keys())
    return {
        name: each.numpy().T if name in turned and each.ndim == 2 else each.numpy()
        for name, each in rtdetr.get_hf_state_dict().items()
    }


def test_paddlexs_names_become_those_of_transformers(rtdetr: object) -> None:
    arrays = {name: each.numpy() for name, each in rtdetr.state_dict().items()}
    steps, wanted = read_map("paddlex_rtdetr"), hf_arrays(rtdetr)
    made = apply_map(arrays, steps).arrays
    assert compare_names(made, wanted) == [] and check_round_trip(arrays, made, steps) == []
    for name, array in wanted.items():
        np.testing.assert_array_equal(made[name], array)


def test_a_network_of_paddledetection_answers_the_same_in_paddlex(rtdetr: object, tmp_path: Path) -> None:
    import paddle

    from tablerec.models.rtdetr import load_rtdetr, save_rtdetr

    steps, wanted = read_map("paddledetection_rtdetr"), hf_arrays(rtdetr)
    theirs = apply_map(wanted, steps, reverse=True).arrays
    save_weights(tmp_path / "theirs.pdparams", theirs)
    made = apply_map(load_weights(tmp_path / "theirs.pdparams"), steps).arrays
    assert compare_names(made, wanted) == []
    save_rtdetr(rtdetr, tmp_path / "model", {"Global": {"model_name": "RT-DETR-L_wired_table_cell_det"}})
    save_weights(tmp_path / "model/model.safetensors", made)
    other = load_rtdetr(tmp_path / "model")
    picture = paddle.to_tensor(np.random.default_rng(0).random((1, 3, 64, 64), np.float32))
    answers = []
    for each in (rtdetr, other):
        each.eval()
        answers.append({name: value.numpy() for name, value in each.model(picture).items() if "intermediate" in name})
    for name, value in answers[0].items():
        np.testing.assert_allclose(value, answers[1][name], atol=1e-5)


def test_answers_are_compared(rtdetr: object, tmp_path: Path) -> None:
    from tablerec.models.rtdetr import save_rtdetr

    save_rtdetr(rtdetr, tmp_path, {"Global": {"model_name": "RT-DETR-L_wired_table_cell_det"}})
    words = ["weights", "convert", "--map", "paddledetection_rtdetr", "--check"]
    theirs, ours = tmp_path / "theirs.pdparams", tmp_path / "ours.safetensors"
    for more in ([str(tmp_path / "model.safetensors"), "--reverse", "-o", str(theirs)], [str(theirs), "-o", str(ours)]):
        done = CliRunner().invoke(command, [*words, *more])
        assert done.exit_code == 0 and "not compared" not in done.output, done.output
    (tmp_path / "elsewhere").mkdir()
    done = CliRunner().invoke(command, [*words, str(theirs), "-o", str(tmp_path / "elsewhere/net.safetensors")])
    assert done.exit_code == 0 and "not compared" not in done.output  # the config lies beside the source
    (tmp_path / "config.json").write_text("{}")
    done = CliRunner().invoke(command, [*words, str(theirs), "-o", str(ours)])
    assert done.exit_code == 1 and "holds no RT-DETR" in done.output


# Names in ppdet/modeling of PaddleDetection 2.8: hgnet_v2.py, hybrid_encoder.py, rtdetr_transformer.py.
PADDLEDETECTION = """
backbone.stem.stem1.conv.weight backbone.stem.stem2a.bn._mean backbone.stem.stem4.bn.bias
backbone.stages.0.blocks.0.layers.1.conv.weight backbone.stages.1.downsample.bn._variance
backbone.stages.2.blocks.1.layers.0.conv2.conv.weight backbone.stages.2.blocks.0.aggregation_squeeze_conv.bn.weight
backbone.stages.3.blocks.0.aggregation_excitation_conv.conv.weight
neck.input_proj.2.0.weight neck.input_proj.0.1._mean
neck.encoder.0.layers.0.self_attn.in_proj_weight neck.encoder.0.layers.0.self_attn.in_proj_bias
neck.encoder.0.layers.0.self_attn.out_proj.weight neck.encoder.0.layers.0.linear2.bias
neck.encoder.0.layers.0.norm1.weight neck.encoder.0.layers.0.norm2.bias
neck.lateral_convs.1.bn._mean neck.fpn_blocks.0.conv2.conv.weight neck.downsample_convs.1.conv.weight
neck.pan_blocks.1.bottlenecks.0.conv1.bn._variance neck.pan_blocks.0.bottlenecks.0.conv2.conv.weight
transformer.input_proj.0.conv.weight transformer.input_proj.2.norm._variance
transformer.decoder.layers.1.self_attn.in_proj_weight transformer.decoder.layers.0.self_attn.out_proj.bias
transformer.decoder.layers.0.cross_attn.sampling_offsets.weight
transformer.decoder.layers.0.cross_attn.attention_weights.bias transformer.decoder.layers.1.cross_attn.value_proj.weight
transformer.decoder.layers.1.cross_attn.output_proj.weight transformer.decoder.layers.0.linear1.weight
transformer.decoder.layers.0.norm1.weight transformer.decoder.layers.0.norm2.weight
transformer.decoder.layers.1.norm3.bias transformer.denoising_class_embed.weight
transformer.query_pos_head.layers.0.weight transformer.enc_output.0.weight transformer.enc_output.1.bias
transformer.enc_score_head.weight transformer.enc_bbox_head.layers.2.bias
transformer.dec_score_head.1.weight transformer.dec_bbox_head.0.layers.1.weight
"""


def test_the_names_of_paddledetection(rtdetr: object) -> None:
    made = apply_map(hf_arrays(rtdetr), read_map("paddledetection_rtdetr"), reverse=True).arrays
    kinds = {re.sub(r"\d+", "#", name) for name in made}
    assert [name for name in PADDLEDETECTION.split() if name not in made] == []
    assert {name.split(".")[0] for name in kinds} == {"backbone", "neck", "transformer"}
    assert not any(re.search("running|normalization|convolution|fc|layer_norm|[qkv]_proj", name) is not None
                   for name in kinds if "value_proj" not in name)  # fmt: skip
    assert made["neck.encoder.0.layers.0.self_attn.in_proj_weight"].shape == (32, 96)
    assert made["neck.encoder.0.layers.0.linear1.weight"].shape == (32, 64)
    assert made["transformer.denoising_class_embed.weight"].shape == (4, 32)


def test_the_command_line(tmp_path: Path) -> None:
    run = lambda *words: CliRunner().invoke(command, ["weights", *map(str, words)])  # noqa: E731
    source, to, back = tmp_path / "net.safetensors", tmp_path / "torch.safetensors", tmp_path / "back.pdparams"
    save_weights(source, {"bn._mean": np.zeros(2, np.float32), "conv.weight": np.ones((2, 3), np.float32)})
    shown = run("inspect", source)
    assert shown.exit_code == 0 and "bn._mean  float32  [2]" in shown.output and "2 arrays, 8 values" in shown.output
    done = run("convert", source, "--map", "cellnet_torch", "-o", to, "--check")
    assert done.exit_code == 0 and "1 as they were: conv.weight" in done.output, done.output
    assert sorted(load_weights(to)) == ["bn.running_mean", "conv.weight"]
    done = run("convert", to, "--map", "cellnet_torch", "--reverse", "-o", back, "--like", source)
    assert done.exit_code == 0 and compare_names(load_weights(back), load_weights(source)) == []
    done = run("convert", to, "--map", "cellnet_torch", "-o", back, "--like", source)
    assert done.exit_code == 1 and "differs: missing: bn._mean" in done.output
    for words, message in [
        (("inspect", tmp_path / "absent.pdparams"), "holds no weights that can be read"),
        (("inspect", tmp_path / "absent.safetensors"), "cannot be read"),
        (("convert", source, "--map", "absent", "-o", to), "cannot be read"),
        (("convert", source, "--map", "cellnet_torch", "-o", tmp_path / "net.pt"), "written as .safetensors"),
        (("convert", source, "--map", "cellnet_torch", "-o", source / "net.pdparams"), "cannot be written"),
    ]:
        done = run(*words)
        assert done.exit_code in (1, 2) and message in done.output, done.output


def test_an_adapter_is_merged(tmp_path: Path) -> None:
    from tablerec.models.adapter import fingerprint, save_adapter

    weights = {"a.weight": np.zeros((3, 2), np.float32)}
    save_weights(tmp_path / "net.safetensors", weights)
    factors = {"a.lora_a": np.ones((3, 1), np.float32), "a.lora_b": np.ones((1, 2), np.float32)}
    save_adapter(tmp_path / "adapter.safetensors", factors, 2.0, fingerprint(weights))
    words = [
        "convert",
        str(tmp_path / "net.safetensors"),
        "--map",
        "cellnet_torch",
        "-o",
        str(tmp_path / "out.safetensors"),
    ]
    done = CliRunner().invoke(command, ["weights", *words, "--adapter", str(tmp_path / "adapter.safetensors")])
    assert done.exit_code == 0, done.output
    assert (load_weights(tmp_path / "out.safetensors")["a.weight"] == 2).all()


def test_files_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"\.pdparams"):
        save_weights(tmp_path / "net.onnx", {})
    (tmp_path / "file").touch()
    for suffix in (".safetensors", ".pdparams"):
        with pytest.raises(OutputError, match="cannot be written"):
            save_weights(tmp_path / f"file/net{suffix}", {"a": np.ones(1)})
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_names_that_command_a_terminal_are_shown_escaped(tmp_path: Path) -> None:
    name = "\x1b]0;title\x07\x1b[31mred\n\u202e"
    save_weights(tmp_path / "a.pdparams", {name: np.ones(2)})
    run = lambda *words: CliRunner().invoke(command, ["weights", *map(str, words)])  # noqa: E731
    done = run("inspect", tmp_path / "a.pdparams")
    assert done.output.startswith(r"\x1b]0;title\x07\x1b[31mred\n\u202e  float64  [2]") and "\x1b" not in done.output
    done = run("convert", tmp_path / "a.pdparams", "--map", "cellnet_torch", "-o", tmp_path / "b.pdparams")
    assert done.exit_code == 0 and "\x1b" not in done.output and "title" in done.output
