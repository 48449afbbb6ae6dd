"""``Solution``: a strategy and its certificate; in factors for products.

A ``Solution`` is that of a program for a workload: a strategy with a proof of how good it is. A
``FactoredSolution`` is the strategy of a template, with its error for a workload and a bound.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from mmopt.notebook import Charted, Reported
from mmopt.numerics.arrays import Array
from mmopt.numerics.outward import rounded
from mmopt.numerics.split_arrays import Kronecker, Level
from mmopt.results import npz_file, rows_and_json
from mmopt.results.rows_and_json import error_rows
from mmopt.results.saved_fields import Grade, Saved, Status, Value, build, weakest
from mmopt.strategies import ADD_REMOVE, AnyStrategy, Neighbours, ProductStrategy, StrategyForm, as_dense


def why_not_released(
    program: str, sensitivity: float, by_targets: bool, neighbours: Neighbours = ADD_REMOVE
) -> str:
    """Why a strategy, or the noise of a covariance, of its own ``sensitivity`` is not released."""
    has, changed = f"largest column norm {sensitivity:.10g}", "a row of a table changes"
    if neighbours != ADD_REMOVE:
        has, changed = f"sensitivity {sensitivity:.10g} to '{neighbours}'", "neighbours differ by"
    return (
        f"the noise of '{program}' has privacy cost {sensitivity**2:.10g}, which is neither its objective "
        f"nor 1, so its lines bound something else than what {changed}, and it cannot be released"
        if by_targets
        else f"the strategy of '{program}' has {has}, not 1, so its lines bound something else than what "
        f"{changed}: total error, rmse and sensitivity are those of the strategy scaled to 1, and it cannot "
        "be released"
    )


# A cell whose cost is below the largest by less than this part has no slack that could be relied on.
SLACK = 1e-4


def gap_between(
    objective: float, bound: float | None, sense: str = "minimize", is_logarithmic: bool = False
) -> float | None:
    """objective / bound - 1 (bound / objective - 1 when maximized) of positive numbers; None without a bound.

    Where one of them is not positive it is their distance over max(1, |objective|). For a logarithm, whose
    zero depends on the units, it is their distance. It is negative where the bound is on the wrong side.
    """
    if bound is None:
        return None
    upper, lower = (objective, bound) if sense == "minimize" else (bound, objective)
    if kind_of_gap(objective, bound, is_logarithmic) == "":
        return relative_gap(upper, lower)
    if np.isinf(objective) or np.isinf(bound):
        return 0.0 if upper == lower else float("inf")
    return (upper - lower) / (1.0 if is_logarithmic else max(1.0, abs(objective)))


def kind_of_gap(objective: float, bound: float | None, is_logarithmic: bool = False) -> str:
    """In words, the kind of a gap that is not relative; "" for a relative one."""
    if is_logarithmic:
        return "absolute: of a logarithm"
    return "" if bound is None or (objective > 0 and bound > 0) else "absolute, over max(1, |objective|)"


def relative_gap(upper: float, lower: float) -> float:
    """upper / lower - 1.

    For numbers that are not both positive, their distance relative to the lower one; infinity when that
    is zero and the other is not.
    """
    if lower > 0:
        return upper / lower - 1.0
    if upper == lower:
        return 0.0
    return (upper - lower) / abs(lower) if lower < 0 else float("inf")


# Fields that a solution in factors makes from those of its factors; its file does not keep them twice.
OF_FACTORS = ("strategy", "variables", "multipliers", "error_multipliers", "covariance", "basis", "bases")


@dataclass(frozen=True, eq=False, repr=False)
class Solution(Saved, Charted, Reported):
    """A certified solution: frozen data that need no solver, equal after ``save`` and ``load``.

    A solution over very many cells is by component: strategy a ``ComponentStrategy``, variables, multipliers,
    covariance and basis ``Split`` and ``Level`` (``numerics.split_arrays``): nothing has the size of the
    cells. A solution in factors has a certified solution for each attribute in ``steps``; its strategy is a
    ``ProductStrategy``, and its other values are ``Kronecker``, made of those of the factors.

    program, title, cite : which program, and its source.
    objective, bound, gap : of the program as stated (for its given design set, say). The objective is
        recomputed from the repaired point and rounded up, the bound from the multipliers and rounded
        down; gap = objective / bound - 1 (``gap_between``). Without a certificate bound and gap are None.
        Where the point misses a line by rounding (1e-10, relatively), the objective is its value there plus
        the miss times the line's multiplier, the most that the miss can gain; with a warning where that is
        more than the tolerance.
    error, error_bound, error_gap : total error of the strategy (‖A‖² ‖W A⁺‖²_F, weighted), and a bound
        over *all* strategies, from ``l2_strategy``'s certificate at ``error_multipliers``.
    objective_grade, bound_grade, error_grade, error_bound_grade : the ``Grade`` of each; that of a gap is the
        weaker of its two. survived : the number of feasible points that did not refute a claimed bound.
    derived_bound, derived_grade : a bound read off the program's own lines, without a certificate; the bound
        itself where the program has no other. derived_from : the multipliers and slopes that it follows from.
    own_sensitivity : sensitivity of the strategy as the author's program means it, to its neighbours, where
        that is not 1: then its lines bound something else, and total error, rmse and sensitivity are those of
        the strategy scaled to 1.
    strategy : A, with the program's neighbours, scaled to sensitivity at most 1; for a covariance program the
        A = Σ^(-1/2) B whose unit noise has exactly the covariance Σ.
    has_strategy : False where the program has neither strategy nor covariance: then the strategy measures the
        cells one by one, its figures mean nothing, and nothing is released.
    covariance, basis : Σ (k, k) and B (k, n), for covariance programs.
    multipliers : by the names of the constraints (not of psd blocks, whose parts scale differently).
    variables : the repaired point.
    sensitivity : of the strategy, rounded up. rmse : √(total unweighted squared error / m), noise of
        unit variance per unit of sensitivity.
    steps : the solutions of the convex steps of a procedure, or of the factors of a product by attribute,
        each with its own bound.
    givens : those that the caller passed.
    bases : ``basis`` and ``eigenqueries`` of the workload as used, where the workload does not determine them
        uniquely and another machine may compute others.
    sense : of the program; when it maximizes, the bound is an upper one. is_logarithmic : whether the
        objective is a logarithm by its form, so that its gap is absolute.
    reductions : a line for each reduction before the solve, with the sizes.
    history : a row for each iteration: its number, seconds since the start, objective, bound, primal and dual
        residual, the number of the run, as far as the solver has these. ``certified`` is True where objective
        and bound are those of the best repaired point so far, by the program file; False where they are the
        solver's own count, which is not checked. For a search (classes rank and smooth) a row for each round:
        start, round, objective, and further columns of the class.
    """

    WHAT = "solution"
    HINT = "save one with --out or Solution.save"
    COMMAND = "solve"

    program: str
    title: str
    cite: str
    solver: str
    solver_version: str
    status: Status
    objective: float
    bound: float | None
    error: float
    error_bound: float
    sensitivity: float
    rmse: float
    strategy: AnyStrategy
    variables: Mapping[str, Value]
    multipliers: Mapping[str, Value]
    error_multipliers: Value
    value: float
    iterations: int | None
    seconds: Mapping[str, float]
    options: Mapping[str, float | int | bool | str | None]
    scaling: Mapping[str, float]
    workload_hash: str
    program_text: str
    covariance: Value | None = None
    basis: Value | None = None
    givens: Mapping[str, Array] = field(default_factory=dict)
    bases: Mapping[str, Value] = field(default_factory=dict)
    sense: str = "minimize"
    history: tuple[Mapping[str, float | bool], ...] = ()
    reductions: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    steps: Mapping[str, Solution] = field(default_factory=dict)
    # Nothing in a file of version 0.1.0 counts as proved before ``verify``.
    objective_grade: Grade = "estimated"
    bound_grade: Grade | None = None
    error_grade: Grade = "estimated"
    error_bound_grade: Grade = "claimed"
    survived: int = 0
    own_sensitivity: float | None = None
    has_strategy: bool = True
    is_logarithmic: bool = False
    derived_bound: float | None = None
    derived_grade: Grade | None = None
    derived_from: Mapping[str, Array] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.bound is not None and self.bound_grade is None:
            object.__setattr__(self, "bound_grade", "claimed")

    @property
    def is_in_factors(self) -> bool:
        """Whether it is the product of the solutions of its factors, which are its steps."""
        return isinstance(self.strategy, ProductStrategy)

    @property
    def gap(self) -> float | None:
        """objective / bound - 1 (see ``gap_between``), or None without a bound."""
        return gap_between(self.objective, self.bound, self.sense, self.is_logarithmic)

    @property
    def kind_of_gap(self) -> str:
        """In words, the kind of a gap that is not relative; "" for a relative one."""
        return kind_of_gap(self.objective, self.bound, self.is_logarithmic)

    @property
    def derived_gap(self) -> float | None:
        """objective / derived_bound - 1, or None without one."""
        return gap_between(self.objective, self.derived_bound, self.sense, self.is_logarithmic)

    @property
    def gap_grade(self) -> Grade | None:
        """The grade of the gap; None without one."""
        return None if self.bound_grade is None else weakest(self.objective_grade, self.bound_grade)

    @property
    def error_gap_grade(self) -> Grade:
        """The grade of the gap of total error."""
        return weakest(self.error_grade, self.error_bound_grade)

    @property
    def error_gap(self) -> float:
        """error / error_bound - 1."""
        return relative_gap(self.error, self.error_bound)

    @property
    def by_targets(self) -> bool:
        """Whether the targets of the queries set the noise of a release."""
        return self.covariance is not None

    @property
    def words(self) -> str:
        """Where the strategy is from."""
        return f"{self.program}, {self.status.stop}"

    @property
    def privacy_cost(self) -> float:
        """Δ of the strategy with unit noise: √α for a covariance program, at most 1 otherwise."""
        return self.sensitivity

    @property
    def profile(self) -> Array | Level:
        """The privacy profile (n,): the squared length of each column of the strategy at unit noise.

        For a covariance program that is bᵢᵀ Σ⁻¹ bᵢ, the privacy cost of a person in cell i (PVLDB 2021,
        section 4). For a strategy by component it is by orbit of cells.
        """
        return self.strategy.profile

    @property
    def slack(self) -> Array | Level:
        """How far each cell's cost is below the largest (n,); 0 where that may be the solver's error."""
        profile = self.profile
        costs, _ = rows_and_json.levels(profile)
        below = costs.max(initial=0.0) - costs
        slack = np.where(below > SLACK * costs.max(initial=0.0), below, 0.0)
        return Level(profile.space, slack) if isinstance(profile, Level) else slack

    def about_program(self) -> dict[str, Any]:
        """The program's entry in a manifest."""
        sha256 = hashlib.sha256(self.program_text.encode()).hexdigest()
        program = {"name": self.program, "title": self.title, "source": self.cite, "sha256": sha256}
        return {"program": program}

    rows = rows_and_json.rows
    summary = rows_and_json.summary

    def fields(self) -> dict[str, Any]:
        left_out = OF_FACTORS if self.is_in_factors else ()
        return {name: value for name, value in super().fields().items() if name not in left_out}

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> Solution:
        completed, factors = fields, fields.get("steps")
        if "strategy" not in fields and isinstance(factors, Mapping) and factors:
            first = next(iter(factors.values()))
            completed = {**{name: first[name] for name in OF_FACTORS if name in first}, **fields}
        built = build(cls, completed)
        status = built.status
        if "bound_grade" not in fields:  # of version 0.1.0, where any certificate made a bound valid
            status = replace(status, bound_valid=False)
        steps = {name: Solution.from_fields(step) for name, step in fields.get("steps", {}).items()}
        made = {} if completed is fields else of_factors(steps)
        return replace(built, status=status, steps=steps, **made)

    def __repr__(self) -> str:
        gap = "no bound" if self.gap is None else f"gap {rounded(self.gap, 2, up=True, layout='e')}"
        objective = rounded(self.objective, 8, up=self.sense == "minimize")
        figures = f"objective {objective}, {gap}, {self.status.stop}"
        return f"Solution({self.program} by {self.solver}: {figures})"


def of_factors(factors: Mapping[str, Solution]) -> dict[str, Any]:
    """The fields of the whole that its factors give, as unformed products: the strategy and every value."""
    values_by_name: dict[str, Any] = {}
    for name in OF_FACTORS:
        first, *_ = values = [getattr(s, name) for s in factors.values()]
        if isinstance(first, Mapping):
            values_by_name[name] = {key: Kronecker(tuple(v[key] for v in values)) for key in first}
        else:
            values_by_name[name] = None if first is None else Kronecker(tuple(values))
    strategies = (as_dense(s.strategy) for s in factors.values())
    return {**values_by_name, "strategy": ProductStrategy(tuple(strategies)), "bases": {}}


FOR_TARGETS = " for targets"
"""The end of the name of a template whose weights followed the targets of the queries."""


@dataclass(frozen=True, eq=False, repr=False)
class FactoredSolution(Saved, Charted, Reported):
    """A template's strategy, equal after ``save`` and ``load``.

    template : its name. error : total squared error, weighted, at unit noise per unit of sensitivity.
    rmse : √(mean unweighted variance) at the same noise. error_bound : on the error of every strategy;
    bound_from : its source. Fields of a program alone (targets, a scale, steps) are empty.
    """

    KIND = "strategy in factors"
    WHAT = "strategy"
    HINT = "save one with 'mmopt templates --out' or FactoredSolution.save"
    COMMAND = "templates"

    template: str
    strategy: StrategyForm
    error: float
    rmse: float
    error_bound: float
    bound_from: str
    seconds: float
    workload_hash: str

    sense: ClassVar[str] = "minimize"
    covariance: ClassVar[None] = None
    own_sensitivity: ClassVar[None] = None
    has_strategy: ClassVar[bool] = True
    steps: ClassVar[Mapping[str, Any]] = {}
    # Singular values and sums without error bounds.
    error_grade: ClassVar[Grade] = "estimated"
    error_gap_grade: ClassVar[Grade] = "estimated"

    def __post_init__(self) -> None:
        # The bound is on the least error, which is at most this one: a larger bound is rounding, or false.
        object.__setattr__(self, "error_bound", min(self.error_bound, self.error))

    @property
    def program(self) -> str:
        """The template's name, in place of a program's."""
        return f"template {self.template}"

    @property
    def by_targets(self) -> bool:
        """Whether the targets of the queries set the noise of a release."""
        return self.template.endswith(FOR_TARGETS)

    @property
    def words(self) -> str:
        """Where the strategy is from."""
        return self.program

    @property
    def error_gap(self) -> float:
        """error / error_bound - 1."""
        return relative_gap(self.error, self.error_bound)

    @property
    def error_bound_grade(self) -> Grade:
        """The grade of the bound: by a shipped certificate, or by singular values without an error bound."""
        return "proved" if self.bound_from == "l2_strategy" else "estimated"

    def about_program(self) -> dict[str, Any]:
        """Nothing: a template is no program."""
        return {}

    def rows(self) -> list[tuple[str, str]]:
        """The rows of a table, (name, text), the most important first."""
        named = [("template", self.template), ("strategy", repr(self.strategy))]
        return named + error_rows(self, by=f", by {self.bound_from}")

    def summary(self) -> dict[str, Any]:
        """The figures as one JSON object."""
        return {
            "template": self.template,
            "strategy": repr(self.strategy),
            "norm": self.strategy.norm,
            "error": self.error,
            "error_grade": self.error_grade,
            "error_bound": self.error_bound,
            "error_bound_grade": self.error_bound_grade,
            "bound_from": self.bound_from,
            "rmse": self.rmse,
            "seconds": self.seconds,
        }

    def fields(self) -> dict[str, Any]:
        return {"kind": self.KIND, **super().fields()}

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> FactoredSolution:
        # Version 0.1.0 called the bound on the error of every strategy 'bound'.
        renamed = {"error_bound" if name == "bound" else name: value for name, value in fields.items()}
        return build(cls, {name: value for name, value in renamed.items() if name != "kind"})

    def __repr__(self) -> str:
        gap = rounded(self.error_gap, 2, up=True, layout="e")
        return f"FactoredSolution({self.template}: error {rounded(self.error, 8, up=True)}, gap {gap})"


# Both are ``Saved`` and have the strategy and its figures under the same names, so that either can be passed.
AnySolution = Solution | FactoredSolution


def load_saved(path: str | Path) -> AnySolution:
    """A saved solution, or a saved strategy in factors; ResultError when it cannot be read."""
    record, arrays = npz_file.read(Path(path))
    kind = FactoredSolution if record.get("kind") == FactoredSolution.KIND else Solution
    return kind.unpacked(path, record, arrays)
