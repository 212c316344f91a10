"""Random tables rebuilt from noisy cells: ``python tests/benchmarks/check_noisy_grids.py [COUNT]``.

The same tables and the same demands as in ``tests/postprocess/test_noisy_grids.py``, counted by the kind of noise:
how many are determined by what is left of them, and how many of these come back exactly.
"""

from __future__ import annotations

import sys
from collections import defaultdict

import numpy as np

from tests.postprocess.strategies import NOISY_SIZES, random_noisy_table
from tests.postprocess.test_noisy_grids import is_exact, rebuild


def main() -> None:
    """Print one line for each kind of noise."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    cases: dict[str, list[tuple[bool, bool]]] = defaultdict(list)
    for seed in range(count):
        table, noise = random_noisy_table(seed)
        determined = table.is_determined
        result = determined, determined and is_exact(rebuild(table), table)
        if not determined:
            rebuild(table)
        names = [f"{NOISY_SIZES[seed % 3]} px", f"jitter {noise.jitter:g}"]
        names += [name for name in ("dropped", "doubled", "degrees", "curl") if getattr(noise, name)]
        names += ["perspective"] if any(noise.perspective) else []
        for name in ("all", *names):
            cases[name].append(result)
        if determined and not result[1] and "-v" in sys.argv:
            print(seed, table.spans[:, 2].max(), table.spans[:, 3].max(), NOISY_SIZES[seed % 3], noise)
    for name, results in cases.items():
        determined, exact = np.array(results).sum(axis=0)
        print(f"{name:18s}{len(results):6d} cases, {determined:6d} determined, {exact / determined:8.4f} exact")


if __name__ == "__main__":
    main()
