"""Orbits of cells in words: cells that the symmetries of a workload do not tell apart."""

from __future__ import annotations

import numpy as np

from mmopt.symmetry.joint import Cells
from mmopt.workloads import Domain

__all__ = ["orbit_label"]

SHOWN = 2


def orbit_label(cells: Cells, domain: Domain, orbit: int) -> str:
    """The values of each attribute in an orbit: "F, any hispanic, 3 or 5 or 13 more"; how many cells."""
    joint = cells.joint
    assert cells.sizes is not None
    numbers = np.unravel_index(orbit, joint.shape)
    words = []
    for a, number, known in zip(domain.attributes, numbers, joint.attributes, strict=True):
        members = np.flatnonzero(known.orbit_of == number)
        if len(members) == a.size > 1:
            words.append(f"any {a.name}")
        else:
            shown = [a.labels[i] for i in members[:SHOWN]]
            rest = [f"{len(members) - SHOWN} more"] if len(members) > SHOWN else []
            words.append(" or ".join(shown + rest))
    size = cells.sizes[orbit]
    count = f"{int(size):,}" if size < 1e15 else f"{size:.0e}"
    return f"{', '.join(words)} ({count} cell{'' if size == 1 else 's'})"
