"""Language models in ``tablerec device bench`` and ``coverage``: launches, fused and not, and what is missing."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys

import pytest

from tablerec.errors import SettingsError
from tablerec.language.bench import LanguageRun, LanguageSpeed
from tests.helpers.devices.plugin_process import ROOT, device, needs_device

needs_paddleformers = pytest.mark.skipif(
    importlib.util.find_spec("paddleformers") is None, reason="needs PaddleFormers"
)


def test_what_cannot_be_run_is_said() -> None:
    with pytest.raises(SettingsError, match="language model 'gpt2' is unknown"):
        LanguageRun("gpt2")
    with pytest.raises(SettingsError, match="deepseek_v3: PaddleFormers cannot decode with it"):
        LanguageRun("deepseek_v3", train=False)
    with pytest.raises(SettingsError, match="dtype 'tf32' is not for language models: choose float32, float16 or"):
        LanguageRun("llama", dtype="tf32")


def test_lines_for_people() -> None:
    speed = LanguageSpeed(LanguageRun("llama", 1, 32, fused=True), 0.5, 64.0, 20.0, 1.0, {"matmul": 8.0})
    head, counts, kernel = speed.lines()
    assert head == "llama 1x32 float32, training, fused: 64.0 tokens/s, 500.00 ms a step"
    assert counts == "  20 launches a step, 1 copies to the host" and kernel == "         8 matmul"


@needs_device
@needs_paddleformers
def test_decoding_with_fused_operators_takes_fewer_launches() -> None:
    done = device(
        "bench", "--plugin", "simulated", "--model", "ernie4_5", "--infer", "--steps", 1, "--batch", 1, "--json"
    )
    assert done.returncode == 0, done.stderr
    plain, fused = (json.loads(line) for line in done.stdout.splitlines() if line.startswith("{"))
    assert not plain["run"]["fused"] and fused["run"]["fused"]
    assert fused["launches"] < 0.6 * plain["launches"]
    assert fused["kernels"]["fused_rms_norm_ext"] == 5


def test_the_sample_says_which_models_there_are() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tablerec.language.sample"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1 and done.stderr.splitlines()[-1].startswith("give one model: ernie4_5, ernie4_5_moe,")


@needs_device
@needs_paddleformers
def test_coverage_of_experts_lists_operators_that_the_cpu_lacks() -> None:
    done = device("coverage", "ernie4_5_moe", "--plugin", "simulated", "--list")
    assert done.returncode == 0, done.stdout + done.stderr
    names = {line.split()[1] for line in done.stdout.splitlines() if len(line.split()) == 3}
    assert {"expand_modality_expert_id", "moe_gate_dispatch_partial_nosoftmaxtopk", "moe_combine"} <= names


@needs_device
@needs_paddleformers
def test_coverage_of_a_language_model_lists_what_the_device_has() -> None:
    done = device("coverage", "llama", "--plugin", "simulated", "--list")
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    assert {("embedding_grad", "float32"), ("argmax", "float32")} <= {
        tuple(line[1:]) for line in lines if len(line) == 3
    }
    assert done.stdout.endswith(" operators by type, 0 missing on tablerec_gpu\n")


@needs_device
@pytest.mark.skipif(importlib.util.find_spec("paddleformers") is not None, reason="PaddleFormers is installed")
@pytest.mark.parametrize("verb", [("coverage", "llama"), ("bench", "--model", "llama")])
def test_without_paddleformers_the_verbs_say_what_to_install(verb: tuple[str, ...]) -> None:
    done = device(*verb, "--plugin", "simulated")
    assert done.returncode and 'PaddleFormers is not installed: run pip install "tablerec[language]"' in done.stderr
