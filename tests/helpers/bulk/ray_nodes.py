"""A Ray cluster of several nodes on this machine, any of which can be killed."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import cv2
import numpy as np
import pytest


@contextmanager
def ray_nodes(n_nodes: int, cpus: int = 1) -> Iterator[tuple[Any, list[Any]]]:
    """Start a head without CPUs, and so many nodes; yield the cluster of ``ray.cluster_utils``, and the nodes.

    Nothing is connected to it. Its ports are those of this machine, behind a token; drivers that are started from here
    find it in their environment. Ray must not have been imported before.
    """
    ours = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32), "RAY_USAGE_STATS_ENABLED": "0"}
    ours["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"  # on Linux too: nodes listen to this machine only
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**ours, "RAY_BACKEND_LOG_LEVEL": "fatal"}.items():
            patch.setenv(name, value)
        from ray.cluster_utils import Cluster

        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
        try:
            yield cluster, [cluster.add_node(num_cpus=cpus) for _ in range(n_nodes)]
        finally:
            cluster.shutdown()


def draw_numbered(number: int) -> bytes:
    """A small PNG of a ruled table whose shape tells its number: ``shape_of(number)``; no two are equal."""
    rows, cols = shape_of(number)
    image = np.full((rows * 24 + 21, cols * 40 + 21, 3), 255, np.uint8)
    for y in range(10, rows * 24 + 11, 24):
        cv2.line(image, (10, y), (10 + cols * 40, y), (0, 0, 0), 1)
    for x in range(10, cols * 40 + 11, 40):
        cv2.line(image, (x, 10), (x, 10 + rows * 24), (0, 0, 0), 1)
    # Nearly white: the number is in the bytes, and nowhere in the table.
    image[2, :20] = 250 + np.array([number >> bit & 1 for bit in range(20)])[:, None]
    return cv2.imencode(".png", image)[1].tobytes()


def shape_of(number: int) -> tuple[int, int]:
    """Rows and columns of a drawn table.

    >>> shape_of(0), shape_of(63)
    ((2, 2), (9, 9))
    """
    return 2 + number % 8, 2 + number // 8 % 8
