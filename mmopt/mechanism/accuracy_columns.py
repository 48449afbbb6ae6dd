"""The accuracy of each query as columns: what a table, a file and a chart of it are made from."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mmopt.mechanism.accuracy import BEYOND
from mmopt.mechanism.release_plan import Plan
from mmopt.workloads.query_product import wishes

__all__ = ["accuracy_columns", "as_csv"]


def accuracy_columns(plan: Plan, confidence: float) -> dict[str, list[Any]]:
    """Columns of m values each, in the order of the queries; nothing in them depends on data.

    group, query : texts. standard_error, half_width : in counts, the latter of the interval of this
    confidence; noise : its kind; max_variance, within, within_confidence : what was asked for, or None (a
    max_variance that a wish implies is not asked for); meets : whether that is held, None where nothing was
    asked for.

    Raises
    ------
    OptionError : a confidence outside (0, 1).
    """
    workload = plan.workload
    groups = [[name] * (rows.stop - rows.start) for name, rows in workload.groups()]
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
    return {
        "group": list(itertools.chain.from_iterable(groups)),
        "query": workload.labels(),
        "standard_error": plan.standard_errors.tolist(),
        "half_width": plan.intervals(confidence).widths.tolist(),
        "noise": [plan.kind] * workload.m,
        "max_variance": _or_none(targets),
        "within": _or_none(half_widths),
        "within_confidence": _or_none(confidences),
        "meets": [bool(met) if is_asked else None for met, is_asked in zip(meets, asked, strict=True)],
    }


def as_csv(columns: Mapping[str, Sequence[Any]]) -> str:
    """The columns as a CSV text; what is None is left empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue()


def _or_none(values: np.ndarray[Any, Any]) -> list[float | None]:
    return [float(value) if np.isfinite(value) else None for value in values]
