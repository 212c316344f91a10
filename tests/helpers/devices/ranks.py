"""What tells several processes that they are ranks with a device each, as Paddle's launcher would."""

from __future__ import annotations

import contextlib
import socket


def rank_environments(count: int, devices: list[int] | None = None, kind: str = "tablerec_gpu") -> list[dict[str, str]]:
    """Return the environment of each rank.

    Args:
        count: How many there are.
        devices: The number of each one's device; by default 0 for all, as simulated devices are a process's own.
        kind: The name under which Paddle knows the device.

    >>> rank_environments(2)[1]["PADDLE_TRAINER_ID"]
    '1'
    """
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        endpoints = [f"127.0.0.1:{each.getsockname()[1]}" for each in sockets]
    return [
        {
            "PADDLE_TRAINERS_NUM": str(count),
            "PADDLE_TRAINER_ID": str(rank),
            "PADDLE_TRAINER_ENDPOINTS": ",".join(endpoints),
            "PADDLE_CURRENT_ENDPOINT": endpoints[rank],
            "PADDLE_DISTRI_BACKEND": "xccl",
            f"FLAGS_selected_{kind}s": str(devices[rank] if devices else 0),
            "GLOG_minloglevel": "1",
        }
        for rank in range(count)
    ]
