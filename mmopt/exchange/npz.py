"""The problem as numpy arrays, in the terms of :class:`~mmopt.solvers.conic_problem.ConicProblem`.

``A_data``, ``A_indices``, ``A_indptr``, ``A_shape`` (for ``scipy.sparse.csc_array``), ``b``, ``c``,
``offset``, ``sense``, ``zero``, ``nonnegative``, ``second_order``, ``psd``, ``exponential``, ``power``,
``names`` of the columns, ``about`` (lines). ``numpy.load(file)`` reads it without pickles.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from mmopt.exchange.cbf import TAKES
from mmopt.solvers.conic_problem import ConicProblem

__all__ = ["TAKES", "written"]


def written(problem: ConicProblem, head: Sequence[str]) -> bytes:
    """The file's bytes; ``head`` becomes ``about``."""
    a = problem.A
    arrays: dict[str, Any] = {
        f.name: np.asarray(getattr(problem.cones, f.name)) for f in fields(problem.cones)
    }
    for name in ("second_order", "psd"):  # () alone would be floats
        arrays[name] = arrays[name].astype(np.int64)
    arrays |= {"A_data": a.data, "A_indices": a.indices, "A_indptr": a.indptr, "A_shape": np.asarray(a.shape)}
    arrays |= {"b": problem.b, "c": problem.c, "offset": np.asarray(problem.offset)}
    texts = {"sense": problem.sense, "names": problem.names, "about": list(head)}
    arrays |= {name: np.asarray(value, dtype=str) for name, value in texts.items()}
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()
