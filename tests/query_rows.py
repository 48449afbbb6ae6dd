"""Rows that tests build by name: the identity, the Haar wavelet, hierarchies; as matrices."""

from __future__ import annotations

import numpy as np

from mmopt.workloads import factors_and_products


def identity(n: int) -> np.ndarray:
    return factors_and_products.identity(n).matrix()


def haar(n: int) -> np.ndarray:
    return factors_and_products.haar(n).matrix()


def hierarchy(n: int, branching: int = 2) -> np.ndarray:
    return factors_and_products.hierarchy(n, branching).matrix()
