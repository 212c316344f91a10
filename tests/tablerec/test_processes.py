from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tablerec.processes import give_back_memory, tree_bytes

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


@linux
def test_memory_between_pieces_in_use_is_given_back() -> None:
    code = """if True:
        import os
        import numpy as np
        from tablerec.processes import give_back_memory, tree_bytes
        # One that is given back at once teaches the C library to keep pieces of this size.
        np.ones(30 << 20, np.uint8)
        pieces = [np.ones(1 << 20, np.uint8) for _ in range(200)]
        last = np.ones(1 << 10, np.uint8)
        del pieces
        before = tree_bytes(os.getpid())
        give_back_memory()
        print(before - tree_bytes(os.getpid()))
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) >= 0
    give_back_memory()
