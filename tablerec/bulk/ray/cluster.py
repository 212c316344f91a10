"""What a pool asks of Ray."""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import shutil
import signal
import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from tablerec.bulk.ray.pool import LostError
from tablerec.bulk.ray.reader import Answer, Order, Reader
from tablerec.bulk.results import Encode
from tablerec.config import Settings
from tablerec.devices import parse_device
from tablerec.devices.select import AUTO
from tablerec.engine import Limits
from tablerec.engine.child import collect_notes
from tablerec.errors import MissingDependencyError, SettingsError, TablerecError
from tablerec.inputs.images import display_name
from tablerec.processes import usable_jobs

_STORE = 512 << 20
"""Bytes of the object store of a Ray that is started here: the contents of pages at hand. More goes to the disk."""

_SMALL = 100_000
"""Bytes of a content that travels with the order for each page: one message in place of three."""

_CONNECT = 10.0
"""Seconds within which somebody answers at an address."""

_LONGEST = 40
"""Characters of the name of the folder for temporary files: those of sockets, 62 more, may have 107."""

_CPUS = 8
"""Of an actor with a card, where no node with one is there yet."""


class ReaderActor(Reader):
    """A reader as Ray runs it: the content comes as a reference, which is followed where it is needed."""

    def __init__(self, settings: Settings, jobs: int, limits: Limits, encode: Encode | None) -> None:
        super().__init__(settings, jobs, limits, encode, collect_notes())

    def read_here(self, order: Order, content: list[Any]) -> Answer:
        """Read a page.

        Args:
            order: Which.
            content: The content of its input, or a reference to it. Ray follows those that are no part of something.
        """
        import ray

        return self.read(order, lambda: content[0] if isinstance(content[0], bytes) else ray.get(content[0]))


class RayCluster:
    """Ray, as it is connected to.

    Args:
        settings: What the actors use.
        limits: Of a page.
        encode: See ``Reader``.
    """

    def __init__(self, settings: Settings, limits: Limits, encode: Encode | None = None) -> None:
        import ray

        self._ray = ray
        kind = _to_kind(settings.device, ray.nodes())
        self.jobs = 1 if kind == "cpu" else _cpus_of_card(ray.nodes())
        # Ray shows an actor its own card only, as the first one.
        settings = replace(settings, device=kind if kind == "cpu" else "gpu:0")
        self._actors = ray.remote(ReaderActor).options(
            num_cpus=self.jobs,
            num_gpus=0 if kind == "cpu" else 1,
            max_concurrency=self.jobs,
            max_restarts=0,
            max_task_retries=0,
            scheduling_strategy="SPREAD",
        )
        self._arguments = settings, self.jobs, limits, encode

    def start(self) -> tuple[Any, Any]:
        """Ask for an actor; see ``pool.Cluster``."""
        actor = self._actors.remote(*self._arguments)
        return actor, actor.begin.remote()

    def keep(self, content: bytes) -> Any:
        """Keep a content; see ``pool.Cluster``."""
        return content if len(content) <= _SMALL else self._ray.put(content)

    def read(self, actor: Any, order: Order, content: Any) -> Any:
        """Have a page read; see ``pool.Cluster``."""
        return actor.read_here.remote(order, [content])

    def wait(self, references: list[Any], seconds: float) -> list[Any]:
        """Wait for answers; see ``pool.Cluster``."""
        done, _ = self._ray.wait(references, timeout=seconds, fetch_local=False)
        if done:
            done, _ = self._ray.wait(references, num_returns=len(references), timeout=0, fetch_local=False)
        return list(done)

    def get(self, reference: Any) -> Any:
        """Return an answer; see ``pool.Cluster``."""
        errors = self._ray.exceptions
        try:
            return self._ray.get(reference)
        except errors.LocalRayletDiedError as error:
            raise TablerecError("Ray has ended on this machine; give the same command again") from error
        except errors.ActorDiedError as error:
            raise LostError(_reason(error), by_node=_is_of_node(error)) from error
        except (errors.ActorUnavailableError, errors.ObjectLostError, errors.NodeDiedError) as error:
            raise LostError(_reason(error), by_node=True) from error
        except errors.RayTaskError as error:
            by_node = isinstance(error.cause, (errors.ObjectLostError, errors.GetTimeoutError))
            raise LostError(_reason(error.cause or error), by_node) from error
        except errors.RayError as error:
            raise LostError(_reason(error), by_node=False) from error

    def stop(self, actor: Any) -> None:
        """End an actor; see ``pool.Cluster``."""
        with contextlib.suppress(Exception):  # it has ended, or the way to it
            self._ray.kill(actor)


@contextmanager
def open_cluster(
    settings: Settings, limits: Limits, most: int | None, address: str | None, encode: Encode | None = None
) -> Iterator[RayCluster]:
    """Connect to a cluster, or start Ray here; one that this process is connected to already is used, and left.

    Args:
        settings: What the actors use.
        limits: Of a page.
        most: Pages that are read at the same time; None leaves it to the cluster.
        address: See ``executor.ray_executor``.
        encode: See ``Reader``.

    Raises:
        MissingDependencyError: Ray is not installed.
        SettingsError: There is no cluster at this address.
    """
    with contextlib.ExitStack() as stack:
        address = address or os.environ.get("RAY_ADDRESS")
        if not address:
            stack.enter_context(_private_environment())
        try:
            import ray
        except ImportError as error:
            raise MissingDependencyError('--engine ray needs Ray; run: pip install "tablerec[ray]"') from error
        if not ray.is_initialized():
            if address:
                _connect(ray, address)
            else:
                folder = stack.enter_context(_session_folder())
                _begin(ray, num_cpus=most or usable_jobs(), object_store_memory=_STORE, **folder)
            stack.callback(ray.shutdown)
        yield RayCluster(settings, limits, encode)


def _connect(ray: Any, address: str) -> None:
    host, _, port = address.rpartition(":")
    try:
        if port.isdecimal() and "/" not in host:  # Ray itself would try for minutes
            socket.create_connection((host.strip("[]"), int(port)), _CONNECT).close()
        _init(ray, address=address)
    except (ValueError, RuntimeError, OSError, OverflowError, ImportError) as error:
        reason = display_name(str(error).partition("\n")[0])[:300]
        hint = '; ray:// needs pip install "ray[client]"' if address.startswith("ray://") else ""
        raise SettingsError(f"{display_name(address)}: no Ray cluster to be had there ({reason}){hint}") from error


def _begin(ray: Any, **options: Any) -> None:
    try:
        _init(ray, address="local", **options)
    except Exception as error:  # it has no base of its own
        raise TablerecError(
            f"Ray cannot be started here: {_reason(error)}; try --address, or without --engine"
        ) from error


def _init(ray: Any, **options: Any) -> None:
    """Connect without a word, and leave signals as they are."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        with _without_standard_error():
            ray.init(include_dashboard=False, log_to_driver=False, logging_level=logging.CRITICAL, **options)
    finally:
        with contextlib.suppress(ValueError):  # not in the main thread
            signal.signal(signal.SIGTERM, before)


@contextmanager
def _without_standard_error() -> Iterator[None]:
    """Keep what C++ code prints from the terminal; its errors come as exceptions too."""
    sys.stderr.flush()
    kept = os.dup(2)
    try:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


@contextmanager
def _private_environment() -> Iterator[None]:
    """Ray runs what it is sent: one that is started here listens to this machine only, and to who knows a secret."""
    ours = {
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_BACKEND_LOG_LEVEL": "fatal",
    }
    if "ray" not in sys.modules:  # it is read when Ray is imported; later, Ray itself sees to it
        ours |= {"RAY_AUTH_MODE": "token", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
    before = {name: os.environ.get(name) for name in ours}
    os.environ.update(ours)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def _session_folder() -> Iterator[dict[str, str]]:
    """The option for a folder of our own for sockets and logs; none where its name is too long for sockets."""
    if len(tempfile.gettempdir()) > _LONGEST:
        yield {}
        return
    folder = tempfile.mkdtemp(prefix="tablerec-ray-")
    try:
        yield {"_temp_dir": folder}
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _to_kind(device: str, nodes: list[dict[str, Any]]) -> str:
    """What actors use; ``auto`` is what the cluster has now.

    >>> _to_kind("auto", []), _to_kind("auto", [{"Alive": True, "Resources": {"GPU": 1.0}}]), _to_kind("gpu:0", [])
    ('cpu', 'gpu', 'gpu')
    """
    if device == AUTO:
        has_cards = any(node["Alive"] and node["Resources"].get("GPU") for node in nodes)
        return "gpu" if has_cards else "cpu"
    kind = parse_device(device).kind
    if kind not in ("cpu", "gpu"):
        raise SettingsError(f"device is {device!r}: actors of Ray use cpu, gpu or auto")
    return kind


def _cpus_of_card(nodes: list[dict[str, Any]]) -> int:
    """CPUs for each card, by the node that has fewest.

    >>> _cpus_of_card([{"Alive": True, "Resources": {"CPU": 32.0, "GPU": 2.0}}])
    16
    >>> _cpus_of_card([])
    8
    """
    resources = [node["Resources"] for node in nodes if node["Alive"]]
    return min((max(1, int(each.get("CPU", 1) / each["GPU"])) for each in resources if each.get("GPU")), default=_CPUS)


def _is_of_node(error: Any) -> bool:
    return error.preempted or "its node has died" in str(error)


def _reason(error: BaseException) -> str:
    """The line of an error of Ray's that says most.

    >>> _reason(RuntimeError("The actor died.\\n\\tpid: 7\\nIts process has died. Worker exit type: ..."))
    'Its process has died'
    """
    lines = [line for line in str(error).splitlines() if line and not line.startswith("\t")]
    return display_name((lines or [type(error).__name__])[-1].partition(". ")[0])[:200]
