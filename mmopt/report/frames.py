"""Named columns of the objects that users hold, by kind: figures of charts, queries, outcomes compared."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from mmopt.comparison import Baselines, Comparison
from mmopt.driver import Tuned
from mmopt.errors import OptionError, ResultError, suggest
from mmopt.mechanism import Answers, Plan
from mmopt.mechanism.release_folder import accuracy_columns, answers_frame
from mmopt.numerics.arrays import Array
from mmopt.report.charts import entries, error_curves
from mmopt.report.solution_tables import history_frame
from mmopt.request import Request, WorkloadLike, as_workload
from mmopt.results import Frame, Solution, Verification
from mmopt.results.rows_and_json import levels
from mmopt.results.verification import shown
from mmopt.strategies import StrategyForm
from mmopt.workloads import Workload
from mmopt.workloads.tidy_columns import query_columns

TEXTS = ("program", "solver", "stop", "reason", "formulation_of", "noise")
NUMBERS = ("tolerance", "rmse", "seconds", "cpu", "memory")
FIGURES = ("objective", "bound", "gap", "error", "error_bound")
GRADES = ("objective_grade", "bound_grade")
OF_BASELINES = ("name", "noise", "reason", "sensitivity", "error", "rmse", "error_factor", "rmse_factor")


def kind_of(kind: str, kinds: Sequence[str], what: str) -> str:
    """The kind, by default the first; OptionError for one that is not among the kinds."""
    if kind and kind not in kinds:
        expected = ", ".join(f"'{one}'" for one in kinds)
        raise OptionError(
            f"there is no {what} '{kind}' of it, expected {expected}", hint=suggest(kind, kinds)
        )
    return kind or kinds[0]


def strategy_of(value: Solution | StrategyForm) -> StrategyForm:
    """A strategy itself, or that of a solution; ResultError where its program has none."""
    if isinstance(value, StrategyForm):
        return value
    if not value.has_strategy:
        raise ResultError(f"the program '{value.program}' says no strategy, so there is none to show")
    return value.strategy


def errors_workload(value: object, workload: WorkloadLike | None, call: str) -> Workload:
    """The workload whose errors are shown; OptionError without one, else as ``solved_workload``."""
    if workload is None:
        raise OptionError("errors are those of queries", hint=f"{call}('errors', workload)")
    return solved_workload(value, workload)


def solved_workload(value: object, workload: WorkloadLike) -> Workload:
    """The workload; ResultError where it is not that of the solution. A strategy is for any workload."""
    resolved = as_workload(workload)
    theirs = (
        resolved.hash if isinstance(value, StrategyForm) else getattr(value, "workload_hash", resolved.hash)
    )
    if theirs != resolved.hash:
        message = f"the solution is for the workload {theirs[:12]}…, this one is {resolved.hash[:12]}…"
        raise ResultError(message, hint="give the workload that was solved")
    return resolved


def framed(value: Any, kind: str = "", workload: WorkloadLike | None = None) -> Frame:
    """The table of this kind; parameters and errors as ``notebook.Charted.frame``."""
    return _frames(value)[kind_of(kind, kinds_of(value), "table")](value, workload)


def kinds_of(value: Any) -> tuple[str, ...]:
    """The kinds of tables of a value, also of charts (except for a comparison); the default first."""
    return tuple(_frames(value))


def _frames(value: Any) -> _Frames:
    if isinstance(value, Solution) and value.template:
        return _OF_STRATEGIES
    return next(frames for held, frames in FRAMES.items() if isinstance(value, held))


def _queries(value: Workload | Request, _: object) -> Frame:
    """Weight, requested largest variance (NaN: none), squared length (the number of cells of a count)."""
    workload = as_workload(value)
    columns = {
        "weight": workload.weights,
        "max_variance": np.where(np.isfinite(workload.targets), workload.targets, np.nan),
        "squared_length": workload.squared_norms(),
    }
    return Frame({**query_columns(workload, columns), **columns})


def _outcomes(comparison: Comparison, _: object) -> Frame:
    """A row for each outcome: the program, its figures, time and memory; unknown values are missing."""
    columns = {name: _texts(getattr(o, name) for o in comparison) for name in TEXTS}
    columns |= {name: _numbers(getattr(o, name) for o in comparison) for name in NUMBERS}
    columns |= {name: _numbers(getattr(o.solution, name, None) for o in comparison) for name in FIGURES}
    return Frame(columns | {n: _texts(getattr(o.solution, n, None) for o in comparison) for n in GRADES})


def _factors(baselines: Baselines, _: object) -> Frame:
    """A row for each baseline and noise, and a reason where it has no figures."""
    rows = [one.summary() for one in baselines]
    read = {name: _texts if name in ("name", "noise", "reason") else _numbers for name in OF_BASELINES}
    return Frame({name: columns(row[name] for row in rows) for name, columns in read.items()})


def _checks(verification: Verification, _: object) -> Frame:
    texts = {
        "what": _texts(row.what for row in verification.rows),
        "stated": _texts(shown(row.stated) for row in verification.rows),
        "recomputed": _texts(shown(row.recomputed) for row in verification.rows),
    }
    return Frame({**texts, "holds": np.array([row.holds for row in verification.rows], dtype=bool)})


def _parts(tuned: Tuned, _: object) -> Frame:
    return Frame({"part": _texts(tuned.rmse), "rmse": _numbers(tuned.rmse.values())})


def _history(solution: Solution, _: object) -> Frame:
    return history_frame(solution)


def _entries(value: Any, _: object) -> Frame:
    return Frame({f"cell {i}": column for i, column in enumerate(entries(strategy_of(value)).T)})


def _profile(value: Any, _: object) -> Frame:
    costs, sizes = levels(strategy_of(value).profile)
    return Frame({"squared_column": costs, "cells": sizes})


def _errors(value: Any, workload: WorkloadLike | None) -> Frame:
    queried, strategy = errors_workload(value, workload, "frame"), strategy_of(value)
    curves = error_curves(strategy, queried, "standard_error")
    return Frame({**query_columns(queried, curves), **curves})


_Frames = Mapping[str, Callable[[Any, WorkloadLike | None], Frame]]
_OF_STRATEGIES: _Frames = MappingProxyType({"strategy": _entries, "profile": _profile, "errors": _errors})
FRAMES: Mapping[type, _Frames] = MappingProxyType(
    {
        Comparison: {"outcomes": _outcomes},
        Baselines: {"baselines": _factors},
        Solution: {"convergence": _history, **_OF_STRATEGIES},
        StrategyForm: _OF_STRATEGIES,
        Workload: {"queries": _queries},
        Request: {"queries": _queries},
        Tuned: {"errors": _parts},
        Plan: {"errors": lambda plan, _: accuracy_columns(plan, 0.95)},
        Answers: {"answers": lambda answers, _: answers_frame(answers)},
        Verification: {"checks": _checks},
    }
)
"""The tables of each class by kind, the default first."""


def _texts(values: Iterable[str | None]) -> Array:
    return np.array([value or None for value in values], dtype=object)


def _numbers(values: Iterable[float | None]) -> Array:
    return np.array([math.nan if value is None else value for value in values], dtype=float)
