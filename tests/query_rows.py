"""Rows that tests build by name: the identity, the Haar wavelet, hierarchies; as matrices."""

from __future__ import annotations

import numpy as np

from mmopt.workloads.blocks import factor_blocks


def identity(n: int) -> np.ndarray:
    return factor_blocks.identity(n).matrix()


def haar(n: int) -> np.ndarray:
    return factor_blocks.haar(n).matrix()


def hierarchy(n: int, branching: int = 2) -> np.ndarray:
    return factor_blocks.hierarchy(n, branching).matrix()
