"""A server with a stand-in for the engine."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.serve.serving import Running, needs_serve, resolve, serving


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip all of it without the extra; what uvicorn and Starlette say of their own future is not ours."""
    for item in items:
        if Path(item.path).is_relative_to(Path(__file__).parent):
            item.add_marker(needs_serve)
            item.add_marker(pytest.mark.filterwarnings("ignore::DeprecationWarning"))


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    """Return a server that all tests of a module share."""
    with serving() as running:
        yield running


@pytest.fixture
def localhost(monkeypatch: pytest.MonkeyPatch, no_network: None) -> None:
    """Let this machine's own name be looked up."""

    def numbers_only(host: Any, *args: Any, **kwargs: Any) -> Any:
        assert host in ("127.0.0.1", "localhost"), f"a test tried to look up {host!r}"
        return resolve("127.0.0.1", *args, **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", numbers_only)
