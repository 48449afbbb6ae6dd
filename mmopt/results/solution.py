"""``Solution``: a strategy and its certificate; in factors for products.

A ``Solution`` is that of a program for a workload, a strategy with a proof of how good it is, or the strategy
of a template, with its error for a workload and a bound.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from mmopt.display_base_classes import Charted, Reported
from mmopt.errors import Error, ResultError
from mmopt.numerics.arrays import Array, rounded
from mmopt.numerics.component_arrays import Kronecker, Level
from mmopt.results import solution_rows_and_json
from mmopt.results.saved_fields import (
    UNREADABLE,
    Value,
    build,
    npz_bytes,
    pack,
    plain,
    read_npz,
    unpack,
    write_npz,
)
from mmopt.results.status_grade_and_verification import Grade, Status, as_text, weakest
from mmopt.strategies import ADD_REMOVE, AnyStrategy, Neighbours, ProductStrategy, as_dense


def why_not_released(
    program: str, sensitivity: float, by_targets: bool, neighbours: Neighbours = ADD_REMOVE
) -> str:
    """Why a strategy, or the noise of a covariance (``by_targets``), is not released.

    sensitivity : that of the strategy as the author's program means it.
    """
    has, changed = (
        (f"largest column norm {sensitivity:.10g}", "a row of a table changes")
        if neighbours == ADD_REMOVE
        else (f"sensitivity {sensitivity:.10g} to '{neighbours}'", "neighbours differ by")
    )
    return (
        f"the noise of '{program}' has privacy cost {sensitivity**2:.10g}, which is neither its objective "
        f"nor 1, so its constraints bound something other than what {changed}, and it cannot be released"
        if by_targets
        else f"the strategy of '{program}' has {has}, not 1, so its constraints bound something other than "
        f"what {changed}: total error, rmse and sensitivity are those of the strategy scaled to 1, and it "
        "cannot be released"
    )


# A cell whose cost is below the largest by less than this part has no slack that could be relied on.
SLACK = 1e-4

LEAST_COMPARED = 0.01  # what a distance that is not relative to a bound is compared with, at least


def gap_between(
    objective: float, bound: float | None, sense: str = "minimize", is_logarithmic: bool = False
) -> float | None:
    """objective / bound - 1 (bound / objective - 1 when maximized) of positive numbers; None without a bound.

    Where one of them is not positive it is their distance over max(0.01, |objective|): a bound of 0 leaves a
    gap of 1, unless the objective is next to 0 as well. For a logarithm, whose zero depends on the units, it
    is their distance. It is negative where the bound is on the wrong side.
    """
    if bound is None:
        return None
    upper, lower = (objective, bound) if sense == "minimize" else (bound, objective)
    if kind_of_gap(objective, bound, is_logarithmic) == "":
        return relative_gap(upper, lower)
    if np.isinf(objective) or np.isinf(bound):
        return 0.0 if upper == lower else float("inf")
    return (upper - lower) / (1.0 if is_logarithmic else max(LEAST_COMPARED, abs(objective)))


def kind_of_gap(objective: float, bound: float | None, is_logarithmic: bool = False) -> str:
    """In words, the kind of a gap that is not relative; "" for a relative one."""
    if is_logarithmic:
        return "their distance: the objective has a logarithm"
    return (
        ""
        if bound is None or (objective > 0 and bound > 0)
        else f"their distance over max({LEAST_COMPARED}, |objective|)"
    )


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

#: The end of the name of a template whose weights followed the targets of the queries.
FOR_TARGETS = " for targets"

IN_FACTORS = "strategy in factors"  # the kind of a file with the strategy of a template
# The fields of a template's solution.
OF_TEMPLATES = (
    *("template", "strategy", "error", "rmse", "error_bound", "bound_from", "seconds", "workload_hash"),
)
# The other fields of a template's solution; those of its figures follow from error and bound.
NO_PROGRAM: Mapping[str, Any] = MappingProxyType(
    {
        **dict.fromkeys(("program", "title", "cite", "solver", "solver_version", "program_text"), ""),
        **{name: {} for name in ("variables", "multipliers", "options", "scaling")},
        "status": {"stop": "", "feasible": True, "violation": 0.0, "bound_valid": False, "raw": ""},
        "error_multipliers": np.zeros(0),
        "objective": 0.0,
        "value": 0.0,
        "bound": None,
        "sensitivity": 1.0,
        "iterations": None,
    }
)


@dataclass(frozen=True, eq=False, repr=False)
class Solution(Charted, Reported):
    """A certified solution: frozen data that need no solver, equal after ``save`` and ``load``.

    A solution over very many cells is by component: strategy a ``ComponentStrategy``, variables, multipliers,
    covariance and basis ``Split`` and ``Level`` (``numerics.component_arrays``): nothing has the size of the
    cells. A solution in factors has a certified solution for each attribute in ``steps``; its strategy is a
    ``ProductStrategy``, and its other values are ``Kronecker``, made of those of the factors.

    program, title, cite : which program, and its source.
    objective, bound, gap : of the program as stated (for its given design set, say). The objective is
        recomputed from the repaired point and rounded up, the bound from the multipliers and rounded
        down; gap = objective / bound - 1 (``gap_between``). Without a certificate bound and gap are None.
        Where the point violates a constraint by rounding (1e-10, relatively), the objective is its value
        there plus the violation times the constraint's multiplier, the most that the violation can gain;
        with a warning where that is more than the tolerance.
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
    multipliers : by the names of the constraints (not of psd blocks in several parts).
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
    stages : a row for each stage of the solve, in its order: ``stage`` (check, plan, loading, solver or
        kernel, point, replaced, repair, derive, figures), ``seconds``, what is known of it; ``part`` where
        reductions leave several; a row ``term`` for each number that a bound off the lines adds up from.
        ``mmopt.trace`` shows them.
    template : the name of the template whose strategy it is, "" for a program. It has the fields strategy,
        error, rmse, error_bound, seconds and workload_hash alone, with objective and bound as total error
        and its bound; no figure of a solver. bound_from : the source of that bound.
    """

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
    strategy: AnyStrategy  # of a template any ``StrategyForm``
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
    stages: tuple[Mapping[str, float | int | bool | str | None], ...] = ()
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
    template: str = ""
    bound_from: str = ""

    def __post_init__(self) -> None:
        implied: dict[str, Any] = {}
        if self.template:
            # A bound is on the least error, which is at most this one: a larger bound is rounding, or false.
            bound = min(self.error_bound, self.error)
            # By a shipped certificate, or by singular values and sums without an error bound.
            grade = "proved" if self.bound_from == "l2_strategy" else "estimated"
            implied = {
                "program": f"template {self.template}",
                **dict.fromkeys(("objective", "value"), self.error),
                **dict.fromkeys(("bound", "error_bound"), bound),
                **dict.fromkeys(("bound_grade", "error_bound_grade"), grade),
            }
        elif self.bound is not None and self.bound_grade is None:
            implied = {"bound_grade": "claimed"}
        for name, value in implied.items():
            object.__setattr__(self, name, value)

    @classmethod
    def of_template(cls, *, seconds: float, **fields: Any) -> Solution:
        """The solution with the strategy of a template; ``fields``: those of ``OF_TEMPLATES``."""
        return cls(
            **{
                **NO_PROGRAM,
                **fields,
                "status": Status(**NO_PROGRAM["status"]),
                "seconds": {"total": seconds},
            }
        )

    @property
    def is_in_factors(self) -> bool:
        """Whether it is the product of the solutions of its factors, which are its steps."""
        return isinstance(self.strategy, ProductStrategy) and not self.template

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
        return self.covariance is not None or self.template.endswith(FOR_TARGETS)

    @property
    def words(self) -> str:
        """Where the strategy is from."""
        return self.program if self.template else f"{self.program}, {self.status.stop}"

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
        costs, _ = solution_rows_and_json.levels(profile)
        below = costs.max(initial=0.0) - costs
        slack = np.where(below > SLACK * costs.max(initial=0.0), below, 0.0)
        return Level(profile.space, slack) if isinstance(profile, Level) else slack

    def about_program(self) -> dict[str, Any]:
        """The program's entry in a manifest; nothing for a template, which is no program."""
        if self.template:
            return {}
        sha256 = hashlib.sha256(self.program_text.encode()).hexdigest()
        return {"program": {"name": self.program, "title": self.title, "source": self.cite, "sha256": sha256}}

    rows = solution_rows_and_json.rows
    summary = solution_rows_and_json.summary

    def fields(self) -> dict[str, Any]:
        """Every field as plain numbers, texts, arrays and mappings of those; of a template a few."""
        if self.template:
            few = {name: plain(getattr(self, name)) for name in OF_TEMPLATES}
            return {"kind": IN_FACTORS, **few, "seconds": self.seconds["total"]}
        left_out = {"template", "bound_from", *(OF_FACTORS if self.is_in_factors else ())}
        kept = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in left_out}
        return {**plain(kept), "steps": {name: step.fields() for name, step in self.steps.items()}}

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> Solution:
        """The solution with these ``fields``; ResultError where one is of another type."""
        if fields.get("kind") == IN_FACTORS:
            # Version 0.1.0 called the bound on the error of every strategy 'bound'.
            few = {"error_bound": fields.get("bound"), **fields}
            few = {name: few[name] for name in OF_TEMPLATES}
            return build(cls, {**NO_PROGRAM, **few, "seconds": {"total": few["seconds"]}})
        completed, factors = {**fields, "template": "", "bound_from": ""}, fields.get("steps")
        is_in_factors = "strategy" not in fields and isinstance(factors, Mapping) and bool(factors)
        if is_in_factors:
            first = next(iter(fields["steps"].values()))
            completed = {**{name: first[name] for name in OF_FACTORS if name in first}, **completed}
        built = build(cls, completed)
        # In version 0.1.0, which has no grades, any certificate made a bound valid.
        status = built.status if "bound_grade" in fields else replace(built.status, bound_valid=False)
        steps = {name: Solution.from_fields(step) for name, step in fields.get("steps", {}).items()}
        return replace(built, status=status, steps=steps, **of_factors(steps) if is_in_factors else {})

    @classmethod
    def load(cls, path: str | Path) -> Solution:
        """Read a saved result; :class:`~mmopt.errors.ResultError` when it cannot be read."""
        record, arrays = read_npz(Path(path))
        is_template = record.get("kind") == IN_FACTORS
        command = "'mmopt templates --out'" if is_template else "--out"
        hint = f"save one with {command} or Solution.save"
        problem = f"'{path}' is not a saved {'strategy' if is_template else 'solution'}"
        try:
            return cls.from_fields(unpack(record, arrays))
        except UNREADABLE:
            raise ResultError(problem, hint=hint) from None
        except Error as error:
            raise ResultError(f"{problem}: {error.message}", hint=error.hint or hint) from None

    def save(self, path: str | Path) -> Path:
        """Write plain arrays and JSON into one .npz file (no pickle), atomically; returns the path.

        ``.npz`` is added where it is missing, a missing folder is made. ResultError : it cannot be written.
        """
        return write_npz(*pack(self.fields()), Path(path))

    def to_bytes(self) -> bytes:
        """The contents of the file that ``save`` writes."""
        return npz_bytes(*pack(self.fields()))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Solution):
            return NotImplemented
        (mine, my_arrays), (theirs, their_arrays) = pack(self.fields()), pack(other.fields())
        same = mine == theirs and my_arrays.keys() == their_arrays.keys()
        return same and all(np.array_equal(my_arrays[k], their_arrays[k]) for k in my_arrays)

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        return as_text(self.rows())

    def __repr__(self) -> str:
        if self.template:
            gap = rounded(self.error_gap, 2, up=True, layout="e")
            return f"Solution({self.program}: error {rounded(self.error, 8, up=True)}, gap {gap})"
        gap = "no bound" if self.gap is None else f"gap {rounded(self.gap, 2, up=True, layout='e')}"
        objective = rounded(self.objective, 8, up=self.sense == "minimize")
        return f"Solution({self.program} by {self.solver}: objective {objective}, {gap}, {self.status.stop})"


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
