"""Networks on a card, for many processes: one process holds the card, and batches what the others ask for.

A process of its own for each card, because ONNX Runtime on a card takes a second to start and memory there for every
process, and because small batches from many processes leave it idle. Workers hand over pictures and take outputs
through a socket of the machine.
"""

from __future__ import annotations

import os
import pickle
import secrets
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection, Listener
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tablerec.engine.child import end_with_parent
from tablerec.engine.tasks import Address
from tablerec.errors import TablerecError, WorkerLostError
from tablerec.models.opening import Network, NetworkFile, open_network, open_with
from tablerec.processes import share_memory_among_threads, start_process


class NetworkProcess:
    """A process that opens networks and runs them for others. It is started at the first ``address``.

    Raises:
        TablerecError: It cannot be started.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: Any = None
        self._folder: TemporaryDirectory[str] | None = None
        self._address: Address | None = None

    def address(self) -> Address:
        """Where it listens; a process that has died is replaced by another one."""
        with self._lock:
            if self._process is None or self._process.poll() is not None:
                self._end()
                self._start()
            assert self._address is not None
            return self._address

    def kill(self) -> None:
        """End it as a crash would: the next ``address`` starts another one."""
        with self._lock:
            if self._process is not None:
                self._process.kill()
                self._process.wait()

    def close(self) -> None:
        """End it; who asks it then, gets an error."""
        with self._lock:
            self._end()

    def _start(self) -> None:
        if sys.platform == "win32":
            name = rf"\\.\pipe\tablerec-{secrets.token_hex(16)}"
        else:
            self._folder = TemporaryDirectory(prefix="tablerec-")  # nobody else may look into it
            name = os.path.join(self._folder.name, "networks")
        self._address = Address(name, secrets.token_bytes(32))
        stderr = None if os.environ.get("TABLEREC_DEBUG") else subprocess.DEVNULL
        self._process = start_process("tablerec.engine.networks:main", 1, stderr, start_new_session=True)
        pickle.dump(self._address, self._process.stdin)
        self._process.stdin.flush()
        if not self._process.stdout.readline():
            raise TablerecError("the process that holds the card did not start; TABLEREC_DEBUG=1 shows why")

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for stream in (self._process.stdin, self._process.stdout):
                with suppress(OSError):
                    stream.close()
            self._process = None
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None


def use_networks_of(address: Address) -> None:
    """Have this process ask another one for its networks from now on."""
    open_with(lambda file: RemoteNetwork(address, file))


class RemoteNetwork:
    """A network that another process runs; several threads may call it.

    Args:
        address: Of that process.
        file: The network.

    Raises:
        TablerecError: What opening it raised there.
        WorkerLostError: That process is gone.
    """

    def __init__(self, address: Address, file: NetworkFile) -> None:
        self._address, self._file = address, file
        self._free: list[Connection] = [self._connect()]
        self._lock = threading.Lock()

    def __call__(self, images: NDArray[Any]) -> Sequence[NDArray[Any]]:
        """Run the network; see ``Network``."""
        with self._lock:
            connection = self._free.pop() if self._free else None
        if connection is None:
            connection = self._connect()
        try:
            _send_arrays(connection, [images])
            answer = _receive(connection)
        except (OSError, EOFError) as error:
            raise _lost(self._file.device) from error
        with self._lock:
            self._free.append(connection)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _connect(self) -> Connection:
        try:
            connection: Connection = Client(self._address.name, authkey=self._address.key)
            connection.send(self._file)
            answer = _receive(connection)
        except (OSError, EOFError) as error:
            raise _lost(self._file.device) from error
        if isinstance(answer, Exception):
            raise answer
        return connection


def main() -> None:
    """Serve: the address comes over standard input, and a line tells that it listens."""
    share_memory_among_threads()
    address: Address = pickle.load(sys.stdin.buffer)  # noqa: S301 - from the process that started this one
    threading.Thread(target=end_with_parent, args=[os.getppid()], daemon=True).start()
    with Listener(address.name, backlog=64, authkey=address.key) as listener:
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        while True:
            with suppress(OSError, EOFError, AuthenticationError):  # whoever does not know the key
                connection = listener.accept()
                threading.Thread(target=serve, args=[connection], daemon=True).start()


def serve(connection: Connection, open_file: Callable[[NetworkFile], Network] = open_network) -> None:
    """Open the network that the other side names, and run it as often as it asks.

    An answer is a text, which is followed by arrays if it is empty, or an error.
    """
    with suppress(OSError, EOFError), connection:
        try:
            network = open_file(connection.recv())
        except TablerecError as error:
            connection.send(error.with_traceback(None))
            return
        _send_arrays(connection, [])
        while True:
            _answer(connection, network)


def _answer(connection: Connection, network: Network) -> None:
    """Run a network once; a function of its own, so that no thread keeps arrays until its next call."""
    [images] = _receive_arrays(connection, connection.recv())
    try:
        outputs = network(images)
    except Exception as error:  # whatever a runtime raises concerns this picture alone
        connection.send(RuntimeError(f"{type(error).__name__}: {error}"))
    else:
        _send_arrays(connection, outputs)


Description = list[tuple[str, tuple[int, ...]]]
"""Types and shapes of arrays."""


def _send_arrays(connection: Connection, arrays: Sequence[NDArray[Any]]) -> None:
    whole = [np.ascontiguousarray(array) for array in arrays]
    connection.send([(array.dtype.str, array.shape) for array in whole])
    for array in whole:
        if array.size:
            connection.send_bytes(array.data.cast("B"))


def _receive(connection: Connection) -> list[NDArray[Any]] | Exception:
    answer = connection.recv()
    return answer if isinstance(answer, Exception) else _receive_arrays(connection, answer)


def _receive_arrays(connection: Connection, description: Description) -> list[NDArray[Any]]:
    arrays = [np.empty(shape, dtype) for dtype, shape in description]
    for array in arrays:
        if array.size:
            connection.recv_bytes_into(array.reshape(-1).data.cast("B"))
    return arrays


def _lost(device: str) -> WorkerLostError:
    return WorkerLostError(f"was lost: the process that holds {device} ended; try it again")
