from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

from tablerec.processes import give_back_memory, share_memory_among_threads, tree_bytes

linux = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")


@linux
def test_memory_of_a_tree_counts_all_that_was_started() -> None:
    code = "import sys; kept = b'x' * (60 << 20); print(flush=True); sys.stdin.read()"
    alone = tree_bytes(os.getpid())
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        assert tree_bytes(os.getpid()) - alone > 60 << 20
        assert tree_bytes(child.pid) > 60 << 20
        child.communicate()
    assert tree_bytes(child.pid) == 0


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="needs glibc")
def test_memory_between_pieces_in_use_is_given_back() -> None:
    code = """if True:
        import os
        from tablerec.processes import give_back_memory, tree_bytes
        pieces = [bytes(100_000) for _ in range(2000)]
        kept = pieces[::20]
        del pieces
        before = tree_bytes(os.getpid())
        give_back_memory()
        print(before - tree_bytes(os.getpid()))
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) > 100_000_000


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="needs glibc")
def test_many_threads_share_few_pools_of_memory() -> None:
    code = """if True:
        import ctypes, os, sys, threading
        from tablerec.processes import share_memory_among_threads
        if sys.argv[1] == "shared":
            share_memory_among_threads()
        together = threading.Barrier(8)
        threads = [threading.Thread(target=lambda: (bytes(50_000), together.wait(), together.wait())) for _ in range(7)]
        for thread in threads:
            thread.start()
        together.wait()
        library = ctypes.CDLL(None)
        library.fdopen.restype = ctypes.c_void_p
        file = ctypes.c_void_p(library.fdopen(os.dup(1), b"w"))
        library.malloc_info(0, file)
        library.fclose(file)
        together.wait()
    """

    def count_pools(how: str) -> int:
        command = [sys.executable, "-c", code, how]
        environment = {**os.environ, "MALLOC_ARENA_MAX": "8"}
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        return done.stdout.count("<heap nr=")

    assert count_pools("shared") <= 2 < count_pools("as it is")


def test_where_nothing_can_be_given_back_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "another")
    give_back_memory()
    share_memory_among_threads()
