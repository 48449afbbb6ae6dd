"""``Release.refine``: the nearest answers that non-negative counts of known totals can have.

Refined answers are added to the released ones: non-negative, of known totals, whole if requested. They are
those of counts x >= 0 whose answers W x are nearest to the released ones, each distance in standard errors
(``nearest_and_whole_counts.py``). Refining reads published numbers alone, so that privacy is as before. The
answers of the rows that were counted obey the same rules, if the totals are theirs. Then the sum of squared
errors, in standard errors, is never larger than before, whatever the noise was: the projection on a convex
set moves no farther from any of its points (Cheney and Goldstein, Proximity maps for convex sets, Proc. AMS
1959). Where answers are rounded to whole numbers it may be larger. And the answers become biased.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mmopt.answers.nearest_and_whole_counts import (
    PROGRAM,
    Figures,
    Whole,
    conflicting_totals,
    figures_of,
    nearest_counts,
    whole_counts,
)
from mmopt.answers.read_and_recheck_folder import CHANGED
from mmopt.errors import OptionError, ResultError, SolverError, TooLargeError, counted, whole as whole_number
from mmopt.limits import deadline, require_memory
from mmopt.mechanism.release_writing import REFINED, SMALL
from mmopt.numerics.arrays import Array
from mmopt.privacy.rounding.norms_and_measured_integers import MAX_ROWS
from mmopt.results import Frame, Solution
from mmopt.solvers import Options
from mmopt.strategies import Neighbours
from mmopt.workloads import Workload

if TYPE_CHECKING:
    from mmopt.answers.private_release import Release


Totals = float | Mapping[str | int | None, float]

MOST_CLASSES = 1024  # classes of cells that no query tells apart: so many counts take about a minute
MOST_LISTED = 2**22  # cells
FAR = 1e-4  # standard errors, or rows of a total: answers of counts, as written, are not farther from these
CONTRADICTED = 6.0  # standard errors of the noise, which are as good as never reached
FEWER_CELLS = "refine a release whose workload asks about fewer attributes, or coarser values of them"


@dataclass(frozen=True)
class _FixedTotals:
    """Queries (q, n) whose answers (q,) are known, with their names."""

    rows: Array
    values: Array
    names: tuple[str, ...]


def refine(
    release: Release,
    *,
    whole: bool = False,
    totals: Totals | None = None,
    tolerance: float | None = None,
    time_limit: float | None = None,
) -> Release:
    """Add a column, ``refined``, to a release, and an account of it to its manifest.

    Parameters
    ----------
    whole : whole numbers, by rounding the counts so that totals and hierarchies still add up
        (``whole_counts``). totals : the number of rows counted, without those that rules drop, where it is
        public; or known answers by the label of their query or its number, None standing for all rows.
    tolerance, time_limit : as for ``solve``; the limit is for all of it, rounding to whole numbers included.

    Raises
    ------
    OptionError : a release without its plan or refined already, an unknown query, a total that is no count,
        or, for whole answers, a query or a total that is not whole.
    SolverError : totals that no counts have together, and which; no point was found.
    TooLargeError : more cells than can be listed, or more counts than can be chosen in reasonable time.
    TimeLimitError : it takes longer than the time limit, and what ``solve`` adds to it.
    """
    options: dict[str, Any] = {"tolerance": tolerance, "time_limit": time_limit}
    # A bad option is refused before any work.
    Options(**{name: value for name, value in options.items() if value is not None})
    with deadline(time_limit):
        return _refined(release, whole, totals, tolerance, time_limit)


def _refined(
    release: Release, whole: bool, totals: Totals | None, tolerance: float | None, time_limit: float | None
) -> Release:
    """``refine``, within its time limit."""
    if release.plan is None:
        raise OptionError(
            "a release that was loaded from its folder does not hold its queries, which refining needs",
            hint="load it with them: mmopt.load_release(folder, workload=Workload.load(file))",
        )
    if "refined" in release.manifest:
        raise OptionError("the release is refined already", hint="refine the release that it was made from")
    queries = _listed(release.plan.workload)
    fixed = _fixed_totals(release, totals, queries)
    if whole:
        _refuse_fractions(release, fixed, queries)
    columns, matrix, sums = _merged(queries, fixed.rows)
    errors = np.asarray(release.answers["standard_error"], dtype=float)
    estimates = np.asarray(release.answers["estimate"], dtype=float)
    try:
        near = nearest_counts(
            matrix, estimates, errors, sums, fixed.values, tolerance=tolerance, time_limit=time_limit
        )
    except SolverError:
        if conflict := conflicting_totals(sums, fixed.values):
            raise _contradiction(fixed, conflict) from None
        raise
    rounded = whole_counts(near.counts, matrix, sums, fixed.values) if whole else None
    refined = np.array(
        [round(y, _places(s)) for y, s in zip(matrix @ near.base + matrix @ near.x, errors, strict=True)]
        if rounded is None
        else rounded.answers,
        dtype=float,
    )
    # Whole answers have figures of the counts before they are made whole.
    figures = figures_of(matrix, estimates, errors, sums, fixed.values, near, None if whole else refined)
    return replace(
        release,
        answers=_with_refined(
            release.answers, refined, _contradicted(fixed, matrix, sums, estimates, errors)
        ),
        manifest={
            **release.manifest,
            "refined": _about(release, fixed, near.solution, figures, rounded, columns),
        },
    )


def check_refined(release: Release, folder: Path) -> bool:
    """Whether non-negative counts have the refined answers of a saved release, and its totals: False where
    HiGHS does not decide it.

    Raises
    ------
    ResultError : there are no such counts.
    TooLargeError : as ``refine``.
    """
    totals = release.manifest["refined"]["totals"]
    try:
        far = _from_counts(release, {_query_of(one["of"]): one["value"] for one in totals})
    except (OptionError, ValueError) as error:
        raise ResultError(
            f"'{folder}' contradicts itself: refined totals: {getattr(error, 'message', error)}", hint=CHANGED
        ) from None
    if far is not None and far > FAR:
        raise ResultError(
            f"'{folder}' contradicts itself: its refined answers are {far:.2g} standard errors from those of "
            "any counts, 0 or above, that have its totals",
            hint=CHANGED,
        )
    return far is not None


def _query_of(name: str) -> str | int | None:
    """The query that a name of ``_fixed_totals`` is made of."""
    return None if name == "all rows" else int(name[6:]) if name.startswith("query ") else name[1:-1]


def _from_counts(release: Release, totals: Totals) -> float | None:
    """The distance of refined answers from those of the nearest counts that have these totals, by HiGHS.

    It is the largest distance of an answer in standard errors, or of a total in rows. None where HiGHS fails.
    """
    from scipy.optimize import linprog

    assert release.plan is not None
    queries, errors = _listed(release.plan.workload), release.answers["standard_error"]
    fixed = _fixed_totals(release, totals, queries)
    _, matrix, sums = _merged(queries, fixed.rows)
    rows = np.vstack([matrix / errors[:, None], sums])
    values = np.concatenate([release.answers["refined"] / errors, fixed.values])
    # Numbers near the values are subtracted, as in ``nearest_counts``.
    base = np.rint(np.maximum(np.linalg.lstsq(rows, values, rcond=None)[0], 0.0))
    off = values - rows @ base
    optimum = linprog(
        np.append(np.zeros(len(base)), 1.0),
        A_ub=np.column_stack([np.vstack([rows, -rows]), np.full(2 * len(rows), -1.0)]),
        b_ub=np.concatenate([off, -off]),
        bounds=[(low, None) for low in (*-base, 0.0)],
    )
    return float(optimum.fun) if optimum.success else None


def _places(error: float) -> int:
    """Decimals beyond which an answer's digits are less than ``SMALL`` standard errors."""
    return max(0, math.ceil(-math.log10(SMALL * error))) if error > 0 else 0


def _listed(workload: Workload) -> Array:
    """The queries (m, n) as a matrix."""
    m, n = workload.shape
    if n > MOST_LISTED:
        raise TooLargeError(
            f"refining counts every cell, and there are {whole_number(n)}; it lists at most {MOST_LISTED:,}",
            hint=FEWER_CELLS,
        )
    require_memory((m, n), "queries over the cells, which refining counts one by one", FEWER_CELLS, share=2)
    return workload.queries


def _fixed_totals(release: Release, totals: Totals | None, queries: Array) -> _FixedTotals:
    """The totals that a caller gives, as queries; OptionError for those that are none, or that no counts
    have."""
    # Any: callers are not checked.
    given: Mapping[Any, Any] = (
        {} if totals is None else totals if isinstance(totals, Mapping) else {None: totals}
    )
    if given and (column := Neighbours.of(release.manifest["privacy"]["neighbours"]).column):
        raise OptionError(
            f"totals are of rows that were counted, and of each person in '{column}' only some were: no such "
            "total is public",
            hint="leave totals out",
        )
    rows: list[Array] = []
    values: list[float] = []
    names: list[str] = []
    for query, value in given.items():
        name = "all rows" if query is None else f"'{query}'" if isinstance(query, str) else f"query {query}"
        if isinstance(query, bool) or not isinstance(query, str | Integral | None):
            raise OptionError(
                f"a total is given of {query!r}, expected a query's label or number, or None for all rows"
            )
        number = math.nan if isinstance(value, bool) or not isinstance(value, Real) else float(value)
        if not math.isfinite(number):
            raise OptionError(f"the total of {name} is {value!r}, expected a number")
        numbers = [0] if query is None else release.numbers(query)
        if len(numbers) > 1:
            raise OptionError(
                f"{name} is a group of {len(numbers)} queries, and a total is of one query",
                hint="name it by its label or its number",
            )
        row = np.ones(queries.shape[1]) if query is None else queries[numbers[0]]
        if abs(number) > MAX_ROWS * float(np.abs(row).max(initial=0.0)):
            raise OptionError(
                f"the total of {name} is {number:g}; a release counts at most {MAX_ROWS:,} rows"
            )
        if (number < 0 and (row >= 0).all()) or (number > 0 and (row <= 0).all()):
            raise OptionError(f"the total of {name} is {number:g}, which no counts add up to")
        for other, before, at in zip(names, values, rows, strict=True):
            if np.array_equal(row, at) and before != number:
                raise OptionError(
                    f"{name} and {other} count the same rows, and their totals are {number:g} and {before:g}"
                )
        rows, values, names = [*rows, row], [*values, number], [*names, name]
    return _FixedTotals(np.array(rows).reshape(-1, queries.shape[1]), np.array(values), tuple(names))


def _contradicted(
    fixed: _FixedTotals, matrix: Array, sums: Array, estimates: Array, errors: Array
) -> list[str]:
    """Totals that the released answers contradict, in words.

    One that the queries span is a sum of answers, of a standard error of at most the sum of theirs.
    """
    weights = np.linalg.lstsq(matrix.T, sums.T, rcond=None)[0].T
    sum_of, most = weights @ estimates, np.abs(weights) @ errors
    return [
        f"the total of {name} is {value:,.12g}, and by the released answers it is {estimate:,.6g}: at least "
        f"{math.floor(abs(value - estimate) / error):,} standard errors apart"
        for name, value, estimate, error, row, spanned in zip(
            fixed.names, fixed.values, sum_of, most, sums, weights @ matrix, strict=True
        )
        if abs(value - estimate) > CONTRADICTED * error and np.allclose(row, spanned)
    ]


def _contradiction(fixed: _FixedTotals, conflict: list[tuple[int, float, float]]) -> SolverError:
    """The error for totals that no counts have together; ``conflict`` as of ``conflicting_totals``."""
    totals = [f"{fixed.values[number]:.12g} of {fixed.names[number]}" for number, _, _ in conflict]
    ranges = [f"{fixed.names[number]} {_between(low, high)}" for number, low, high in conflict]
    return SolverError(
        f"no counts have all of these totals: {', '.join(totals)}",
        hint=f"correct one of them or leave it out; by the others it would be: {', '.join(ranges)}",
    )


def _between(low: float, high: float) -> str:
    """A range in words, to thousandths: its ends are known up to a millionth."""
    least, most = (f"{round(end, 3) + 0.0:.12g}" for end in (low, high))
    if math.isinf(high):
        return f"at least {least}"
    if math.isinf(low):
        return f"at most {most}"
    return least if least == most else f"{least} to {most}"


def _refuse_fractions(release: Release, fixed: _FixedTotals, queries: Array) -> None:
    """OptionError where answers cannot be whole, whatever the counts are."""
    parted = np.flatnonzero((queries != np.rint(queries)).any(axis=1))
    if parted.size:
        raise OptionError(
            f"the query '{release.answers['label'][parted[0]]}' has weights that are not whole numbers, so "
            f"its answers are not whole ({counted(int(parted.size), 'query')} of {len(queries):,})",
            hint="refine without whole answers, or leave such queries out of the workload",
        )
    for name, value in zip(fixed.names, fixed.values, strict=True):
        if value != round(value):
            raise OptionError(f"the total of {name} is {value:g}, and whole answers cannot add up to it")


def _merged(queries: Array, sums: Array) -> tuple[int, Array, Array]:
    """Merge cells that no query tells apart: their number c, the queries (m, c), the sums (q, c).

    Cells that no query counts are left out.
    """
    distinct = np.unique(np.vstack([queries, sums]), axis=1)
    distinct = distinct[:, distinct.any(axis=0)]
    columns = distinct.shape[1]
    if columns > MOST_CLASSES:
        raise TooLargeError(
            f"the queries tell {columns:,} cells apart, and refining chooses at most {MOST_CLASSES:,} counts",
            hint=FEWER_CELLS,
        )
    return columns, distinct[: len(queries)], distinct[len(queries) :]


def _with_refined(answers: Frame, refined: Array, contradicted: list[str]) -> Frame:
    """Answers with the column ``refined`` after the others; the mark of simulated answers stays last.

    Their metadata say which totals the released answers contradict.
    """
    mark = {"private": answers["private"]} if "private" in answers.names else {}
    metadata = {"contradicted totals": "; ".join(contradicted)} if contradicted else {}
    before = {name: answers[name] for name in answers.names if name not in mark}
    return Frame({**before, "refined": refined, **mark}, {**answers.metadata, "refined": REFINED, **metadata})


def _about(
    release: Release,
    fixed: _FixedTotals,
    solution: Solution,
    figures: Figures,
    rounded: Whole | None,
    columns: int,
) -> dict[str, Any]:
    """The section of a manifest about refined answers."""
    return {
        "note": REFINED,
        "of": {"answers_sha256": hashlib.sha256(release.answers.to_csv().encode()).hexdigest()},
        "program": PROGRAM,
        "counts": columns,
        "totals": [
            {"of": name, "value": value}
            for name, value in zip(fixed.names, fixed.values.tolist(), strict=True)
        ],
        "objective": figures.objective,
        "bound": figures.bound,
        "gap": figures.gap,
        "grade": solution.gap_grade,
        "standard_errors_from_best": figures.distance,
        "status": str(solution.status),
        "whole": None
        if rounded is None
        else {
            "within_one": int(rounded.within_one.sum()),
            "others": int((~rounded.within_one).sum()),
            "largest_distance_of_others": rounded.farthest,
        },
    }
