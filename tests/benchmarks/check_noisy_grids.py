"""Random tables rebuilt from noisy cells: ``python tests/benchmarks/check_noisy_grids.py [COUNT]``.

The same tables and the same demands as in ``tests/postprocess/test_noisy_grids.py``, counted by the kind of noise:
how many are determined by what is left of them, and how many of these come back exactly.
"""

from __future__ import annotations

import sys
from collections import defaultdict

import numpy as np

from tests.postprocess.strategies import Disturbance, make_noisy_table
from tests.postprocess.test_noisy_grids import is_exact, rebuild

SIZES = [(20.0, 20.0), (15.0, 60.0), (6.0, 200.0)]


def random_noise(random: np.random.Generator) -> Disturbance:
    """Each kind of noise in half of the cases, or two thirds."""
    bent = random.random(3) < 0.5
    return Disturbance(
        jitter=random.choice([0.0, 0.1, 0.25]),
        dropped=random.choice([0.0, 0.1]),
        doubled=random.choice([0.0, 0.1]),
        degrees=bent[0] * random.uniform(-180, 180),
        perspective=tuple(bent[1] * random.uniform(-0.1, 0.1, 2)),
        curl=bent[2] * random.uniform(-1, 1),
    )


def main() -> None:
    """Print one line for each kind of noise."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    cases: dict[str, list[tuple[bool, bool]]] = defaultdict(list)
    for seed in range(count):
        random = np.random.default_rng(seed)
        noise = random_noise(random)
        table = make_noisy_table(seed, *random.integers(1, 10, 2).tolist(), SIZES[seed % 3], noise)
        determined = table.is_determined
        result = determined, determined and is_exact(rebuild(table), table)
        if not determined:
            rebuild(table)
        names = [f"{SIZES[seed % 3]} px", f"jitter {noise.jitter:g}"]
        names += [name for name in ("dropped", "doubled", "degrees", "curl") if getattr(noise, name)]
        names += ["perspective"] if any(noise.perspective) else []
        for name in ("all", *names):
            cases[name].append(result)
        if determined and not result[1] and "-v" in sys.argv:
            print(seed, table.spans[:, 2].max(), table.spans[:, 3].max(), SIZES[seed % 3], noise)
    for name, results in cases.items():
        determined, exact = np.array(results).sum(axis=0)
        print(f"{name:18s}{len(results):6d} cases, {determined:6d} determined, {exact / determined:8.4f} exact")


if __name__ == "__main__":
    main()
