"""Rows that tests build by name: the identity, the Haar wavelet, hierarchies; as matrices."""

from __future__ import annotations

import numpy as np

from mmopt.workloads import query_product


def identity(n: int) -> np.ndarray:
    return query_product.identity(n).matrix()


def haar(n: int) -> np.ndarray:
    return query_product.haar(n).matrix()


def hierarchy(n: int, branching: int = 2) -> np.ndarray:
    return query_product.hierarchy(n, branching).matrix()
