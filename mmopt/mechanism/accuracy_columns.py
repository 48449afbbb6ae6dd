"""The accuracy of each query as columns: what a table, a file and a chart of it are made from."""

from __future__ import annotations

import numpy as np

from mmopt.mechanism.accuracy import BEYOND
from mmopt.mechanism.release_plan import Plan
from mmopt.numerics.arrays import Array
from mmopt.results import Frame
from mmopt.workloads.query_product import wishes
from mmopt.workloads.tidy_columns import query_columns

__all__ = ["NAMES", "accuracy_columns", "accuracy_figures"]

NAMES = (
    *("query", "label", "standard_error", "half_width", "noise", "max_variance", "within"),
    *("within_confidence", "meets", "share_of_cost"),
)
"""Of columns, that no attribute has."""


def accuracy_columns(plan: Plan, confidence: float) -> Frame:
    """One row a query, in their order; nothing in them depends on data.

    query, label : its group and its own text; then what the query says of each attribute (``tidy_columns``).
    standard_error, half_width : in counts, the latter of the interval of this confidence; noise : its kind.
    max_variance, within, within_confidence : what is asked for, or NaN (a max_variance that a wish implies is
    not); meets : whether that is held, NaN where nothing is asked for. None of these where nothing is at all.

    Raises
    ------
    OptionError : a confidence outside (0, 1). TooLargeError : more queries than a table has memory for.
    """
    return Frame({**query_columns(plan.workload, NAMES), **accuracy_figures(plan, confidence)})


def accuracy_figures(plan: Plan, confidence: float) -> dict[str, Array]:
    """The columns that say no more than numbers do, and the kind of the noise: all but texts of the queries.

    Raises
    ------
    OptionError : a confidence outside (0, 1).
    """
    workload = plan.workload
    targets = np.array(workload.targets)
    asked = np.isfinite(targets)
    meets = np.square(plan.standard_errors) <= targets
    half_widths, confidences = np.full(workload.m, np.inf), np.full(workload.m, np.nan)
    for rows, wish in wishes(workload.blocks):
        half_widths[rows], confidences[rows] = wish.half_width, wish.confidence
        is_stricter = targets[rows] < wish.variance
        widths = plan.intervals(wish.confidence).widths[rows]
        meets[rows] = (widths <= wish.half_width * (1 + 2 * BEYOND)) & (meets[rows] | ~is_stricter)
        targets[rows] = np.where(is_stricter, targets[rows], np.inf)
    columns = {
        "standard_error": plan.standard_errors,
        "half_width": plan.intervals(confidence).widths,
        "noise": np.full(workload.m, plan.kind, dtype=object),
    }
    if asked.any():
        columns |= {
            "max_variance": np.where(np.isfinite(targets), targets, np.nan),
            "within": np.where(np.isfinite(half_widths), half_widths, np.nan),
            "within_confidence": confidences,
            "meets": np.where(asked, meets, np.nan),
        }
    return columns
