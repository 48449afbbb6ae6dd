"""Answers of products from tables over the attributes that each looks at, whatever the number of cells."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mmopt.numerics.arrays import Array
from mmopt.workloads.blocks.kronecker_products import Kron
from mmopt.workloads.query_product import Product

__all__ = ["answers_of_product"]


def answers_of_product(product: Product, table: Callable[[tuple[int, ...]], Array]) -> Array:
    """The unweighted answers (m,) of a product: the data are asked for by ``product.looked_at`` alone.

    table : the sums of the data vector over all attributes but these, an array of these attributes' sizes.
    """
    axes = product.looked_at
    data = np.asarray(table(axes), dtype=np.float64)
    if not axes:
        return np.array([float(data.sum())])
    return Kron([product.factors[axis] for axis in axes]).apply(data.ravel())
