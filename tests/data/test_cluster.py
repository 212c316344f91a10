"""The cluster file for Kubernetes: its fields are KubeRay's, its nodes fit together, and its command is one."""

from __future__ import annotations

import importlib.util
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from tablerec.bulk.command import command

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "data" / "cluster"
# Of the API ray.io/v1 as KubeRay 1.5.1 has it, the fields that may be used here.
JOB = {
    *("entrypoint", "backoffLimit", "shutdownAfterJobFinishes", "ttlSecondsAfterFinished", "rayClusterSpec"),
    *("activeDeadlineSeconds", "submissionMode", "entrypointNumCpus", "suspend", "metadata", "submitterPodTemplate"),
}
CLUSTER = {
    *("rayVersion", "authOptions", "enableInTreeAutoscaling", "autoscalerOptions", "headGroupSpec", "workerGroupSpecs"),
    *("gcsFaultToleranceOptions", "suspend"),
}
HEAD = {"rayStartParams", "template", "serviceType", "enableIngress", "headService"}
WORKERS = {"groupName", "replicas", "minReplicas", "maxReplicas", "numOfHosts", "rayStartParams", "template"}


@pytest.fixture(scope="module")
def job() -> dict[str, Any]:
    return yaml.safe_load((FOLDER / "rayjob.yaml").read_text(encoding="utf-8"))


def groups(job: dict[str, Any]) -> list[dict[str, Any]]:
    cluster = job["spec"]["rayClusterSpec"]
    return [cluster["headGroupSpec"], *cluster["workerGroupSpecs"]]


def test_fields_are_those_of_kuberay(job: dict[str, Any]) -> None:
    cluster = job["spec"]["rayClusterSpec"]
    assert (job["apiVersion"], job["kind"]) == ("ray.io/v1", "RayJob")
    assert job["spec"].keys() <= JOB and cluster.keys() <= CLUSTER
    assert cluster["headGroupSpec"].keys() <= HEAD
    for group in cluster["workerGroupSpecs"]:
        assert group.keys() <= WORKERS
        assert group["minReplicas"] <= group["replicas"] <= group["maxReplicas"]
    for group in groups(job):
        assert all(isinstance(value, str) for value in group["rayStartParams"].values())


def test_all_nodes_have_one_image_and_the_ray_of_the_containerfile(job: dict[str, Any]) -> None:
    containers = [container for group in groups(job) for container in group["template"]["spec"]["containers"]]
    assert len({container["image"] for container in containers}) == 1
    version = re.search(r"^ARG RAY=([\d.]+)-py", (FOLDER / "Containerfile").read_text(encoding="utf-8"), re.MULTILINE)
    assert version is not None and version[1] == job["spec"]["rayClusterSpec"]["rayVersion"]


def test_nodes_are_closed_and_of_a_known_size(job: dict[str, Any]) -> None:
    assert job["spec"]["rayClusterSpec"]["authOptions"] == {"mode": "token"}
    for group in groups(job):
        [container] = group["template"]["spec"]["containers"]
        assert container["resources"]["requests"] == container["resources"]["limits"]
        assert container["securityContext"]["runAsNonRoot"]
        assert not container["securityContext"]["allowPrivilegeEscalation"]


def test_the_entrypoint_is_a_command_of_ours(job: dict[str, Any]) -> None:
    program, verb, *arguments = shlex.split(job["spec"]["entrypoint"])
    assert (program, verb) == ("tablerec", "batch")
    given = command.make_context("tablerec batch", arguments).params
    assert given["engine"] == "ray" and given["address"] is None
    assert given["output"].startswith("s3://")


def test_the_autoscaler_of_ray_reads_it(job: dict[str, Any]) -> None:
    if importlib.util.find_spec("ray") is None:
        pytest.skip("needs the extra ray")
    from ray.autoscaler._private.kuberay.autoscaling_config import _derive_autoscaling_config_from_ray_cr

    resource = {"metadata": {"name": "a", "namespace": "b"}, "spec": job["spec"]["rayClusterSpec"]}
    types = _derive_autoscaling_config_from_ray_cr(resource)["available_node_types"]
    assert types["headgroup"]["resources"]["CPU"] == 0
    assert types["cpu"]["resources"] == {"CPU": 8, "memory": 16 << 30}
    assert types["gpu"]["resources"]["GPU"] == 1 and types["gpu"]["min_workers"] == 0
