"""Drawing a class from the most likely ones whose chances reach p together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tablerec.devices.cases.case import HALVES, Case, n

_UNIT = 2.0**44


def cases() -> Iterator[Case]:
    """Yield the cases."""
    reached = ("top_p_sampling",)
    types = ("float32", *HALVES)
    for rows, classes in ((5, 700), (3, 1), (2, 7), (2, 5003)):
        chances, p = n(rows, classes, low=0.0, high=1.0), n(rows, low=0.0, high=min(classes / 2, 1000.0))
        seeds = n(rows, low=0, high=1 << 40, dtype="int64")
        for mode in ("truncated", "non-truncated"):
            yield Case(
                f"top_p_sampling {rows} x {classes} {mode}",
                reached,
                lambda p, x, ps, s, mode=mode: _draw(p, x, ps, s, None, mode),
                (chances, p, seeds),
                types,
            )
            least = n(rows, low=0.2, high=0.9)
            yield Case(
                f"top_p_sampling {rows} x {classes} {mode}, threshold",
                reached,
                lambda p, x, ps, s, t, mode=mode: _draw(p, x, ps, s, t, mode),
                (chances, p, seeds, least),
                types,
            )
    few = n(2, 90, low=-1.0, high=1.0), n(2, low=100.0, high=101.0), n(2, low=0, high=9, dtype="int64")
    yield Case(
        "top_p_sampling, all needed", reached, lambda p, x, ps, s: _draw(p, x, ps, s, None, "truncated"), few, types
    )
    yield Case("top_p_sampling, no chances", reached, _of_nothing, (few[0],), types)
    yield Case("top_p_sampling, the best", reached, _best, (n(3, 800, low=0.0, high=1.0),), types)
    yield Case("top_p_sampling, no rows", reached, _best, (n(0, 800, low=0.0, high=1.0),), types)


def _draw(p: Any, x: Any, ps: Any, seeds: Any, least: Any, mode: str) -> Any:
    if p.device.get_device() != "cpu":
        value, place, *top = p.tensor.top_p_sampling(
            x, ps, least, seeds, k=min(3, x.shape[1]), mode=mode, return_top=True
        )
        return [value, place, *top]
    drawn, best = [], []
    for row, chances in enumerate(x.numpy()):
        order = np.argsort(-chances, kind="stable")
        keys = np.maximum(chances, 0)
        shares = np.floor(np.minimum(keys, 2).astype("float64") * _UNIT).astype(np.uint64)
        reach_for = float(ps[row]) * (_uniform(int(seeds[row]), 0) if mode == "truncated" else 1)
        sums = np.cumsum(shares[order])
        end = int(np.searchsorted(sums, max(1, min(int(reach_for * _UNIT), int(sums[-1])))))
        lowest = 0.0 if least is None else float(least[row])
        enough = [place for place in order if keys[place] >= lowest]
        place = order[end] if keys[order[end]] >= lowest else enough[-1] if enough else order[0]
        if mode != "truncated":
            clocks = {
                k: -np.log(_uniform(int(seeds[row]), 1 + int(k))) / float(keys[k])
                for k in order[: end + 1]
                if keys[k] >= lowest
            }
            place = min(clocks, key=lambda k: clocks[k]) if clocks else order[0]
        drawn.append(place)
        best.append(order[: min(3, len(order))])
    places, top = np.array(drawn)[:, None], np.array(best)
    return [
        *(
            p.to_tensor(np.take_along_axis(x.numpy(), at, 1) if values else at)
            for at in (places, top)
            for values in (True, False)
        )
    ]


def _of_nothing(p: Any, x: Any) -> Any:
    """Return what is drawn where no class has a chance: the first."""
    if p.device.get_device() == "cpu":
        return p.zeros([x.shape[0], 1], "int64")
    return p.tensor.top_p_sampling(x * 0, p.full([x.shape[0]], 0.5, x.dtype))[1]


def _best(p: Any, x: Any) -> Any:
    """Return what is drawn where p is so small that the most likely class alone reaches it."""
    if p.device.get_device() == "cpu":
        return p.argmax(x, 1, keepdim=True) if x.shape[0] else p.zeros([0, 1], "int64")
    return p.tensor.top_p_sampling(x, p.full([x.shape[0]], 1e-5, x.dtype))[1]


def _uniform(seed: int, i: int) -> float:
    """Return the i-th number of SplitMix64, as ``random.h`` has it."""
    mask = (1 << 64) - 1
    z = (seed + (i + 1) * 0x9E3779B97F4A7C15) & mask
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
    return (((z ^ (z >> 31)) >> 11) + 0.5) / 2.0**53
