"""Sums of products by labels of dimensions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tablerec.devices.cases.case import FLOATS, HALVES, Call, Case, n

_TYPES = FLOATS + HALVES


def cases() -> Iterator[Case]:
    """Yield the cases."""
    reached = ("einsum", "einsum_grad")
    for equation, *shapes in (
        ("ij,jk->ik", (3, 4), (4, 5)),
        ("ij,jk->ki", (3, 4), (4, 5)),
        ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)),
        ("bhqd,bhkd->bhqk", (2, 3, 4, 5), (2, 3, 7, 5)),
        ("bqhd,bkhd->bhqk", (2, 4, 3, 5), (2, 7, 3, 5)),  # heads lie inside: copied, then multiplied
        ("bhqk,bkhd->bqhd", (2, 3, 4, 7), (2, 7, 3, 5)),
        ("se,sc->sec", (6, 3), (6, 4)),
        ("sec,sm->ecm", (6, 3, 2), (6, 5)),
        ("sec,ecm->sm", (6, 3, 2), (3, 2, 5)),
        ("se,se->s", (6, 3), (6, 3)),
        ("s,se->se", (6,), (6, 3)),
        ("ij,k->ijk", (3, 4), (5,)),
        ("i,i->", (7,), (7,)),
        ("abc,cd->abd", (2, 3, 4), (4, 5)),
        ("abcd,dcbe->ae", (2, 3, 4, 5), (5, 4, 3, 6)),
        ("ijk,kl->il", (3, 2, 4), (4, 5)),  # j is in one of them alone
        ("ij,ij->ij", (3, 4), (3, 4)),
        ("ij,kj->ij", (3, 4), (5, 4)),
        ("ij->ji", (3, 4)),
        ("ijk->jik", (3, 4, 5)),
        ("ij->i", (3, 4)),
        ("ijk->ki", (3, 4, 5)),
        ("ij->", (3, 4)),
        ("ij->ij", (3, 4)),
        ("ii->i", (4, 4)),
        ("ii->", (4, 4)),
        ("iji->j", (4, 3, 4)),
        ("ii,ij->ij", (4, 4), (4, 5)),
        ("...ij,...jk->...ik", (2, 1, 3, 4), (5, 4, 6)),  # stretched
        ("...ij,...jk->...ik", (1, 3, 4), (5, 4, 1)),
    ):
        call: Call = lambda p, *x, e=equation: p.einsum(e, *x)  # noqa: E731
        yield Case(f"einsum {equation} {shapes}", reached, call, tuple(n(*s) for s in shapes), _TYPES, True, 4, 4)
    # On the CPU by another way, as its gradient of what is stretched and summed fails.
    stretched: Call = lambda p, x, y: p.einsum("ij,ij->j", x if _on_device(p) else x.expand(y.shape), y)  # noqa: E731
    yield Case("einsum stretched and summed", reached, stretched, (n(1, 4), n(3, 4)), _TYPES, True, 4, 4)
    three: Call = lambda p, *x: p.einsum("ij,jk,kl->il", *x)  # noqa: E731
    yield Case("einsum of three", reached, three, (n(3, 4), n(4, 5), n(5, 2)), _TYPES, True, 8, 8)
    for equation, *empty in (("ij,jk->ik", (0, 4), (4, 5)), ("ij,jk->ik", (3, 0), (0, 5)), ("ij->j", (0, 4))):
        nothing: Call = lambda p, *x, e=equation: p.einsum(e, *x)  # noqa: E731
        yield Case(f"einsum {equation} {empty}", reached, nothing, tuple(n(*s) for s in empty), FLOATS, True)


def _on_device(p: Any) -> bool:
    return bool(p.device.get_device() != "cpu")
