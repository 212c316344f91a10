"""Random tables rebuilt from noisy cells: ``python -m tests.benchmarks.geometry.check_noisy_grids [COUNT] [-v]``.

The same tables and the same demands as in ``tests/postprocess/grid/test_noisy_grids.py``, counted by the kind of noise:
how many are determined by what is left of them, and how many of these come back exactly.
"""

from __future__ import annotations

import argparse
from collections import defaultdict

import numpy as np

from tests.helpers.strategies import NOISY_SIZES, is_exact, random_noisy_table, rebuild


def main() -> None:
    """Print one line for each kind of noise."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int, nargs="?", default=10_000)
    parser.add_argument("-v", "--verbose", action="store_true", help="name the tables that do not come back")
    args = parser.parse_args()
    cases: dict[str, list[tuple[bool, bool]]] = defaultdict(list)
    for seed in range(args.count):
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
        if determined and not result[1] and args.verbose:
            print(seed, table.spans[:, 2].max(), table.spans[:, 3].max(), NOISY_SIZES[seed % 3], noise)
    for name, results in cases.items():
        determined, exact = np.array(results).sum(axis=0)
        print(f"{name:18s}{len(results):6d} cases, {determined:6d} determined, {exact / determined:8.4f} exact")


if __name__ == "__main__":
    main()
