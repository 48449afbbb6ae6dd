"""The figures of one solution, recomputed from its variables, multipliers or factors.

No statement of a file replaces a computation: the program's text is parsed and checked, the givens come from
the workload (or are the caller's, kept in the file), every constraint is evaluated, and each figure is
compared with its recomputation from variables, multipliers and strategy, or from the factors of a template's
strategy. No solver is needed.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np

from mmopt.compiler import FIELDS_OF_CLAIMS, Instance, bind
from mmopt.driver.judge import (
    FEASIBLE,
    Candidate,
    Derived,
    asymmetric,
    bound_of,
    charged,
    charged_error,
    check_figures,
    for_neighbours,
    gap_of,
    grade_of,
    meaning,
    objective_grade,
    own_sensitivity,
    recomputed,
    rounding_of_error,
    scored,
    try_to_refute,
    value_of,
    worst_line,
)
from mmopt.driver.templates import form_of, template_bound
from mmopt.errors import ContradictionError, Error, OptionError, ResultError
from mmopt.language import Checked, Program, check
from mmopt.limits import Stop
from mmopt.numerics import Array, is_finite, rounded, same_array
from mmopt.proof.saved_values_by_component import (
    gram_of,
    instance_by_component,
    placed_multipliers,
    placed_variables,
    proved_by_component,
    same_functions,
)
from mmopt.results import GRADES, Check, Figure, Grade, Solution, Value, is_stop
from mmopt.strategies import (
    ADD_REMOVE,
    AnyStrategy,
    ComponentStrategy,
    RowSpaceStrategy,
    SetStrategy,
    StrategyOfFew,
)
from mmopt.workloads import Workload, with_bases

T = TypeVar("T")

# A figure holds when it is this close to the recomputed one, relatively: another machine rounds differently.
CLOSE = 1e-9
# The same for a bound by sets of attributes: logarithms of determinants that are nearly 0 round more.
BY_SETS = 5e-8


def close(stated: Figure, actual: Figure, within: float = CLOSE) -> bool:
    """Whether two figures agree: finite numbers up to rounding, anything else exactly."""
    if isinstance(stated, int | float) and isinstance(actual, int | float):
        size = max(abs(stated), abs(actual))
        return bool(np.isfinite(size) and abs(stated - actual) <= within * size)
    return stated == actual


def _arrays(values: Mapping[str, Value]) -> dict[str, Array]:
    """The values as arrays; ResultError where one is by component, in a solution that is not."""
    if not all(isinstance(value, np.ndarray) for value in values.values()):
        raise ResultError("its bases are by component, its strategy is not")
    return {name: np.asarray(value) for name, value in values.items()}


def _shapes(values: Mapping[str, Value | tuple[int, ...]]) -> str:
    """Names with sizes, of arrays or as they are: ``X 8 × 8, u 3``."""
    sizes = ((name, v if isinstance(v, tuple) else v.shape) for name, v in sorted(values.items()))
    return ", ".join(f"{name} {' × '.join(map(str, size)) or 'number'}" for name, size in sizes) or "none"


@dataclass
class CheckRows:
    """The checks so far, in order; methods add to them."""

    checks: list[Check] = field(default_factory=list)

    def add(self, what: str, stated: Figure, recomputed: Figure, holds: bool, field: str = "") -> bool:
        """Add one check, as of a ``Check``; whether it holds."""
        self.checks.append(Check(what, stated, recomputed, bool(holds), field))
        return bool(holds)

    def same(self, what: str, stated: str, agrees: bool, is_what: str) -> bool:
        """Add a check of something that is, or is not, what it should be (``is_what``, in words)."""
        return self.add(what, stated, is_what if agrees else f"not {is_what}", agrees)

    def below(self, name: str, inner: "CheckRows") -> bool:
        """Add the checks of a step or factor under its name; whether all of them hold."""
        self.checks += [
            replace(row, what=f"{name}: {row.what}", field=f"{name}: {row.field}") for row in inner.checks
        ]
        return all(row.holds for row in inner.checks)

    def tried(
        self, what: str, stated: Figure, compute: Callable[[], T], why: str = "cannot be recomputed"
    ) -> T | None:
        """The result of a computation; where it fails None, and a row with the reason."""
        try:
            return compute()
        except (Error, np.linalg.LinAlgError) as error:
            self.add(what, stated, f"{why}: {error}", False)
            return None

    def figure(
        self,
        field: str,
        stated: Figure,
        compute: Callable[[], float | None],
        holds: bool = True,
        what: str = "",
        within: float = CLOSE,
    ) -> float | None:
        """The recomputed field, None where that fails, and its check; ``what``: words other than its name."""
        if (value := self.tried(what or field, stated, lambda: (compute(),))) is not None:
            self.add(what or field, stated, value[0], holds and close(stated, value[0], within), field)
        return value and value[0]


@dataclass
class Recheck:
    """The recheck of one solution against a workload; ``rows`` collect the checks."""

    solution: Solution
    workload: Workload
    rows: CheckRows = field(default_factory=CheckRows)

    @property
    def within(self) -> float:
        """How close a bound has to be to the recomputed one, relatively."""
        return BY_SETS if isinstance(self.solution.strategy, SetStrategy) else CLOSE

    def program(self, expected: Program | None, expected_is: str) -> Checked | None:
        """Parse and check the program's text; compare it with the ``expected`` program."""
        s = self.solution
        try:
            program = Program.parse(s.program_text, "the saved program")
            checked = check(program)
        except Error as error:
            self.rows.add("program", s.program, f"its text is not a program: {error.message}", False)
            return None
        named = {
            "program": program.name,
            "title": program.title,
            "cite": program.cite,
            "sense": program.sense,
            "is_logarithmic": checked.is_logarithmic,
        }
        if wrong := [name for name, value in named.items() if getattr(s, name) != value]:
            self.rows.add("program", s.program, f"its text says {wrong[0]} '{named[wrong[0]]}'", False)
        elif expected is None:
            self.rows.add("program", s.program, "not a shipped one; taken as its text says", True)
        else:
            self.rows.same(
                "program",
                s.program,
                all(getattr(program, name) == getattr(expected, name) for name in FIELDS_OF_CLAIMS),
                expected_is,
            )
        return checked

    def instance(self, checked: Checked) -> Instance | None:
        """The program with its givens: from the workload, or as the caller passed them."""
        s = self.solution
        if isinstance(s.strategy, ComponentStrategy | StrategyOfFew):
            return self._by_component(checked, s.strategy)
        try:
            instance = bind(checked, with_bases(self.workload, _arrays(s.bases)), s.givens)
        except Error as error:
            self.rows.add("givens", _shapes(s.givens), error.message, False)
            return None
        self._givens(checked)
        return instance

    def _givens(self, checked: Checked) -> None:
        """Add rows on givens that the caller passed, and on bases that belong to the workload."""
        s = self.solution
        if s.bases:
            self.rows.add("bases", _shapes(s.bases), "belong to the workload", True)
        sources = {d.name: d.source for d in checked.program.givens}
        for name, value in s.givens.items():
            place = f", in place of {sources[name]}" if sources.get(name) else ""
            self.rows.add(f"given {name}", _shapes({name: value}), f"passed by the caller{place}", True)

    def _by_component(self, checked: Checked, strategy: ComponentStrategy | StrategyOfFew) -> Instance | None:
        """The program on the components of the workload; ``solution`` then has the saved values on them.

        None, with a row that says why, where they do not fit.
        """
        s = self.solution
        words = (
            f"{strategy.p:,} measured queries"
            if isinstance(strategy, StrategyOfFew)
            else strategy.cells.words
        )
        try:
            instance = instance_by_component(s, strategy, checked, self.workload)
        except Error as error:
            self.rows.add("components", words, error.message, False)
            return None
        self.rows.add("components", words, "those of the workload", True)
        self._givens(checked)
        if (variables := placed_variables(instance, s.variables)) is None:
            self.rows.add("variables", _shapes(s.variables), "of other components than the workload's", False)
            return None
        self.solution = replace(
            s, variables=variables, multipliers=placed_multipliers(instance, s.multipliers)
        )
        return instance

    def point(self, instance: Instance) -> Candidate | None:
        """Check that the variables have the declared shapes, are finite, and feasible for the program."""
        s, sizes = self.solution, instance.sizes()
        shapes = {name: v.shape for name, v in s.variables.items()}
        wanted = {d.name: d.shape(sizes) for d in instance.program.choose}
        if shapes != wanted:
            self.rows.add("variables", _shapes(shapes), f"declared: {_shapes(wanted)}", False)
            return None
        if not all(map(is_finite, s.variables.values())):
            self.rows.add("variables", _shapes(shapes), "NaN or infinite entries", False)
            return None
        if off := asymmetric(instance, s.variables):
            self.rows.add("variables", _shapes(shapes), off, False)
            return None
        stated = feasible_or_not(s.status.feasible)
        point = self.rows.tried("feasible", stated, lambda: scored(instance, s.variables))
        if point is None:
            return None
        # Twice what a solve allows: another machine rounds differently.
        feasible = point.after <= 2 * FEASIBLE
        words = feasible_or_not(feasible) + (f"; off by {point.after:.1e}" if point.after > 0 else "")
        if not feasible and (line := worst_line(instance, point.env)):
            words += f" ({line.text(instance)})"
        self.rows.add("feasible", stated, words, feasible if s.status.feasible else point.after > FEASIBLE)
        return point

    def objective(self, instance: Instance, point: Candidate) -> None:
        """Check the objective, the bound by the program's certificate, the value, and the strategy meant."""
        s = self.solution
        derived = self.derived(instance)
        # Misses of the point may have been charged at either multipliers.
        at_own = charged(instance, point, s.multipliers, rounded=True)
        low, high = sorted(
            (point.objective, charged(instance, at_own, derived.multipliers, rounded=True).objective)
        )
        objective = self.rows.figure("objective", s.objective, lambda: min(max(s.objective, low), high))
        point = point if objective is None else replace(point, objective=objective)

        def bound() -> float | None:
            certified = bound_of(instance, s.multipliers)
            return derived.bound if certified is None else certified

        self.bound(objective, objective_grade(instance, point.proved), bound, instance, derived)
        arguments = instance, point.env, s.multipliers, point.objective
        self.rows.figure(
            "own_sensitivity", s.own_sensitivity, lambda: own_sensitivity(*arguments), what="own sensitivity"
        )
        self.rows.figure("value", s.value, lambda: value_of(instance, point.env, point.objective))
        meant = self.rows.tried(
            "strategy", "", lambda: meaning(instance, point.env, s.multipliers), "the point means none"
        )
        if meant is not None:
            self.strategy(*meant)

    def bound(
        self,
        objective: float | None,
        graded: Grade,
        certify: Callable[[], float | None],
        instance: Instance,
        derived: Derived | None = None,
    ) -> None:
        """Check the bound, by ``certify`` or by l2_strategy's certificate, the gap, grades and status.

        A claimed bound is tried on feasible points, and no figure may be beyond its bound.
        objective, graded : as recomputed, and its grade; no gap is checked without an objective.
        derived : the bound read off the constraints again, where the file has one.
        """
        compute = self.error_bound if instance.program.bound == "l2_strategy" else certify
        bound = self.rows.figure("bound", self.solution.bound, compute, within=self.within)
        if objective is not None:
            self.gap(gap_of(instance.checked, objective, bound))
        is_derived = derived is not None and bound is not None and bound == derived.bound
        grade = derived.grade if derived is not None and is_derived else grade_of(instance, bound)
        # The total error has at most the grade "estimated", its bound "proved".
        self.grades((graded, grade, "estimated", "proved"))
        if grade == "claimed" and bound is not None:
            self._claim(instance, bound)
        if objective is not None:
            self._agree(instance, objective, bound)
        self.status()

    def gap(self, gap: float | None) -> None:
        """Check the gap against the one that follows from the recomputed figures."""
        stated = self.solution.gap
        same = gap == stated or (
            gap is not None and stated is not None and abs(gap - stated) <= 10 * self.within * (1 + abs(gap))
        )
        self.rows.add("gap", stated, gap, same and (stated is None or stated >= 0.0))

    def status(self) -> None:
        """Check that a solve can end in this way, and that a gap stated as reached is so."""
        s = self.solution
        tolerance = s.options.get("tolerance")
        if s.status.stop == Stop.REACHED:
            reached = isinstance(tolerance, float) and s.gap is not None and s.gap <= tolerance
            self.rows.add("status", s.status.stop, f"asked for: {tolerance}", reached)
        elif not is_stop(s.status.stop):
            self.rows.add("status", s.status.stop, "no way in which a solve ends", False)

    def derived(self, instance: Instance) -> Derived:
        """The bound that is read off the program's lines, from the saved multipliers and slopes; checked."""
        s = self.solution
        if not s.derived_from and s.derived_bound is None and s.derived_grade is None:
            return Derived(None)
        bound = self.rows.tried(
            "derived bound", s.derived_bound, lambda: recomputed(instance, s.variables, s.derived_from)
        ) or Derived(None)
        holds = s.derived_grade == bound.grade or (s.derived_grade, bound.grade) == ("estimated", "proved")
        if unread := sorted(set(s.derived_from) - set(bound.saved)):
            self.rows.add("derived bound", ", ".join(unread), "no lines or slopes of this program", False)
        self.rows.figure("derived_bound", s.derived_bound, lambda: bound.bound, holds, "derived bound")
        return bound

    def grades(self, actual: tuple[Grade | None, ...]) -> None:
        """Check the grades of the figures. A file may state weaker ones: version 0.1.0 had none."""
        s, order = self.solution, (None, *GRADES)
        stated = (s.objective_grade, s.bound_grade, s.error_grade, s.error_bound_grade)
        names = ("objective", "bound", "error", "error bound")

        def words(grades: tuple[Grade | None, ...]) -> str:
            pairs = list(zip(names, grades, strict=True))[: 4 if s.has_strategy else 2]
            return ", ".join(f"{n} {g or '-'}" for n, g in pairs)

        no_more = all(order.index(a) <= order.index(b) for a, b in zip(stated, actual, strict=True))
        self.rows.add(
            "grades",
            words(stated),
            words(actual),
            no_more and s.status.bound_valid <= (actual[1] == "proved"),
        )

    def _claim(self, instance: Instance, bound: float) -> None:
        """Check that no feasible point refutes the author's certificate."""
        s = self.solution
        words = f"{rounded(bound, 10, up=s.sense == 'maximize')} is a bound"
        try:
            # A closed form and a procedure choose nothing: there is no point to start at.
            starts = {"the saved point": s.variables} if s.variables else {}
            points = try_to_refute(instance, bound, s.multipliers, starts)
        except ContradictionError as error:
            self.rows.add("claim", words, error.message, False)
        else:
            self.rows.add(
                "claim", words, f"{points} feasible points survived" if points else "not tested", True
            )

    def _agree(self, instance: Instance, objective: float, bound: float | None) -> None:
        """Check that no figure is beyond its bound."""
        s = self.solution
        try:
            error, error_bound = charged_error(s.strategy, self.workload), self.error_bound()
            off = rounding_of_error(s.strategy, self.workload)
            if error_bound is not None:
                check_figures(instance, objective, bound, error, error_bound, off, s.multipliers, s.variables)
        except (Error, np.linalg.LinAlgError) as error:
            self.rows.add("figures", "agree", str(error), False)

    def strategy(self, meant: AnyStrategy, covariance: Value | None, basis: Value | None) -> None:
        """Check the saved strategy, covariance and basis against what the variables mean: the arguments.

        The strategy is compared up to a rotation of its rows for norm 2.
        """
        s = self.solution
        of_parts = ComponentStrategy | StrategyOfFew
        same = all(getattr(s.strategy, f) == getattr(meant, f) for f in ("norm", "n", "neighbours"))
        if isinstance(s.strategy, RowSpaceStrategy):  # its stated largest column is proved again
            same = same and (
                isinstance(meant, RowSpaceStrategy)
                and s.strategy.largest >= meant.largest * (1.0 - CLOSE)
                and (covariance is None or close(s.strategy.scale, meant.scale))
            )
        if isinstance(s.strategy, StrategyOfFew):
            same = same and isinstance(meant, StrategyOfFew) and same_functions(s.strategy, meant)
        if isinstance(s.strategy, of_parts) or isinstance(meant, of_parts):
            same = same and same_array(gram_of(s.strategy), gram_of(meant))
        elif same:
            same = same_array(*(a.T @ a if meant.norm == 2 else a for a in (s.strategy.matrix, meant.matrix)))
        means = "what the variables mean"
        self.rows.same("strategy", f"{s.strategy.p} × {s.strategy.n}, norm {s.strategy.norm}", same, means)
        for name, stated, value in (("covariance", s.covariance, covariance), ("basis", s.basis, basis)):
            if stated is not None or value is not None:
                sizes = "none" if stated is None else " × ".join(map(str, stated.shape))
                self.rows.same(name, sizes, same_array(stated, value), means)

    def costs(self, scaled: bool) -> None:
        """Check the figures of the strategy for any program; ``scaled``: to sensitivity 1."""
        s = self.solution
        sensitivity = s.strategy.sensitivity
        holds = close(s.sensitivity, sensitivity) and not (scaled and sensitivity > 1.0 + 1e-12)
        self.rows.add("sensitivity", s.sensitivity, sensitivity, holds, "sensitivity")
        self.rows.figure(
            "error", s.error, lambda: charged_error(s.strategy, self.workload), what="total error"
        )
        self.rows.figure(
            "error_bound",
            s.error_bound,
            self.error_bound,
            s.error_bound <= s.error,
            "error bound",
            self.within,
        )
        # Two ways to the same mean differ by rounding, times the strategy's condition.
        self.rows.figure(
            "rmse",
            s.rmse,
            lambda: s.strategy.rmse(self.workload),
            within=CLOSE + rounding_of_error(s.strategy, self.workload),
        )

    def error_bound(self) -> float | None:
        """The bound by l2_strategy's certificate at the saved multipliers of total error."""
        strategy = self.solution.strategy
        if isinstance(strategy, ComponentStrategy | StrategyOfFew):
            return proved_by_component(self.workload, self.solution.error_multipliers, strategy)
        instance, d = bind(Program.load("l2_strategy"), self.workload), self.solution.error_multipliers
        bound = bound_of(instance, {"sensitivity": d})
        return (
            None if bound is None else for_neighbours(bound, np.asarray(d), self.solution.strategy.neighbours)
        )


def same_arrays(stated: Mapping[str, Value], actual: Mapping[str, Value]) -> bool:
    """Whether both have the same names, each with the same array."""
    return stated.keys() == actual.keys() and all(same_array(stated[n], actual[n]) for n in actual)


def feasible_or_not(holds: bool) -> str:
    """The word for a point."""
    return "feasible" if holds else "not feasible"


SEARCHED = 2e-6  # relatively: how far below the stated bound one from a new search may be


def recheck_template(s: Solution, workload: Workload, expected: Program | None) -> list[Check]:
    """The checks of a strategy in factors; the bound on every strategy's error is computed anew.

    Raises
    ------
    OptionError : a program is expected, and there is none.
    """
    if expected is not None:
        raise OptionError(f"'{s.program}' is a strategy in factors, which is of no program")
    rows, sensitivity = CheckRows(), s.strategy.sensitivity
    rows.add("template", s.template, repr(s.strategy), type(s.strategy) is form_of(s.template))
    is_same = rows.add("workload", s.workload_hash, workload.hash, s.workload_hash == workload.hash)
    rows.add("sensitivity", 1.0, sensitivity, sensitivity <= 1.0 + CLOSE)
    if (neighbours := s.strategy.neighbours) != ADD_REMOVE:  # the bound is for these alone
        rows.add("neighbours", neighbours.words, ADD_REMOVE.words, False)
    if not is_same:
        return rows.checks
    error, rmse = s.strategy.total_error(workload), s.strategy.rmse(workload)
    rows.add("total error", s.error, error, close(s.error, error), "error")
    rows.add("rmse", s.rmse, rmse, close(s.rmse, rmse), "rmse")
    bound, source = template_bound(workload)
    # Two searches do not end at the same bound to the last digit; a smaller one holds, too.
    holds = 0.0 <= s.error_bound <= bound * (1 + SEARCHED) and s.error_bound <= error * (1 + CLOSE)
    rows.add("error bound", s.error_bound, bound, holds, "error_bound")
    rows.add("bound by", s.bound_from, source, s.bound_from == source)
    return rows.checks
