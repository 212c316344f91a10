"""Fixtures for all tests, and the promise that no test uses the network."""

from __future__ import annotations

import shutil
import socket
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

ROOT = Path(__file__).resolve().parent.parent

# The same examples on every run: a change is to blame for a failure, not chance.
# Speed is no property here: a busy machine must not fail a test.
settings.register_profile(
    "steady", derandomize=True, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("steady")
# Hypothesis also draws constants of all modules that happen to be imported: any new line would change the examples.
if hasattr(providers, "_get_local_constants"):
    providers._get_local_constants = lambda: providers._local_constants


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Fail on a test module that cannot be imported; ``--doctest-ignore-import-errors`` would skip all its tests."""
    report = yield
    if (
        report.skipped
        and collector.nodeid.rpartition("/")[2].startswith("test_")
        and "unable to import module" in str(report.longrepr)
    ):
        report.outcome = "failed"
    return report


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail a test that connects to anything but this machine."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: object) -> None:
        host = address[0] if isinstance(address, tuple) else "localhost"
        if host not in ("localhost", "127.0.0.1", "::1"):
            raise AssertionError(f"a test tried to connect to {address}")
        connect(self, address)

    def resolve(host: object, *args: object, **kwargs: object) -> list[object]:
        raise AssertionError(f"a test tried to look up {host!r}")

    monkeypatch.setattr(socket.socket, "connect", guarded)
    monkeypatch.setattr(socket, "getaddrinfo", resolve)


@pytest.fixture(scope="session")
def repository() -> Path:
    """Return the root of the checkout."""
    return ROOT


@pytest.fixture(scope="session")
def samples(repository: Path) -> Path:
    """Return the folder of our own labelled pictures."""
    return repository / "data" / "samples"


@pytest.fixture(scope="session")
def shared(repository: Path) -> Path:
    """Return the optional folder beside the checkout that holds the benchmark."""
    folder = repository.parent / "shared"
    if not folder.is_dir():
        pytest.skip("needs the folder shared/ beside the checkout")
    return folder


@pytest.fixture(scope="session")
def soffice() -> str:
    """Return LibreOffice's command."""
    command = shutil.which("soffice")
    if command is None:
        pytest.skip("needs LibreOffice (soffice)")
    return command
