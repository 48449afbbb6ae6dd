"""Answers as columns: what each query says, then its numbers, rounded as they are published."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from mmopt.mechanism.measurement import FIGURES, Answers
from mmopt.numerics.outward import rounded
from mmopt.results import Frame

__all__ = ["REFINED", "SIMULATED", "SMALL", "answers_frame"]

SMALL = 1e-9
"""Standard errors: finer digits of refined answers are not written."""

SIMULATED = "SIMULATED NOISE: these answers are not private and must not be published"
REFINED = (
    "refined answers are post-processing: they spend no privacy, and are biased; standard errors and "
    "intervals are of the unbiased estimates beside them"
)


def answers_frame(answers: Answers, metadata: Mapping[str, str] | None = None) -> Frame:
    """The columns query (the group), label, those of ``Answers.columns``, and ``FIGURES``.

    Numbers are rounded far below their standard errors, the ends of intervals and the coverage outwards: the
    CSV and the Parquet file hold the same ones. Simulated answers have one more column, ``private``, which is
    False in every row, and a ``warning`` in the metadata.
    """
    numbers = (answers.estimates, answers.standard_errors, answers.low, answers.high, answers.coverage)
    shown = np.array([_rounded(*row) for row in zip(*(column.tolist() for column in numbers), strict=True)])
    # A last column, not a comment: readers by name or by position go on, and rows that are copied keep it.
    mark = {} if answers.private else {"private": np.zeros(len(shown), dtype=bool)}
    warning = {} if answers.private else {"warning": SIMULATED}
    return Frame(
        {
            "query": np.array(answers.groups, dtype=object),
            "label": np.array(answers.labels, dtype=object),
            **answers.columns,
            **dict(zip(FIGURES, shown.T, strict=True)),
            **mark,
        },
        {
            "confidence": repr(answers.confidence),
            "private": str(answers.private).lower(),
            **(metadata or {}),
            **warning,
        },
    )


def _rounded(estimate: float, error: float, low: float, high: float, covered: float) -> list[float]:
    texts = (
        f"{estimate:.{_digits(estimate, error)}g}",
        f"{error:.12g}",
        rounded(str(low), min(_digits(low, error), 15), up=False),
        rounded(str(high), min(_digits(high, error), 15), up=True),
        rounded(covered, 6, up=False),
    )
    return [float(text) for text in texts]


def _digits(number: float, error: float) -> int:
    """Twelve, or more where they are above 1e-6 standard errors: beyond is what arithmetic rounds."""
    ratio = math.log10(abs(number) / error) if number and error else 0
    return min(17, max(12, 7 + math.floor(ratio)))
