"""A bound derived from the lines of a program, at multipliers and slopes of any origin.

It needs no certificate. The Lagrangian is at least c + Σ <R, x> (``duality.lagrangian``). Here each term is
bounded by the range of x: nothing is lost where R is in the dual cone (psd for a psd variable, >= 0 for a
nonnegative one); otherwise R is charged with the range of the variable, which follows from the lines and from
the level up to which points count (``duality.ranges``).
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np

from mmopt.compiler import (
    AffineBound,
    Instance,
    Multipliers,
    Nodes,
    Range,
    Slopes,
    affine_bound,
    into_cones,
    is_in_no_cone,
    is_proved,
    is_shipped,
    nodes_of,
    ranges_by_cuts,
    ranges_of,
    without_remainder,
)
from mmopt.compiler.duality.ranges import times, total
from mmopt.driver.judge.charge_rounded_queries import balls_of_names, charged_bound, is_estimated
from mmopt.errors import ResultError
from mmopt.language.syntax.syntax_tree import Declaration
from mmopt.numerics import EPS, FEW, Array, Ball, ball_functions, balls, few_numbers
from mmopt.results import Grade

# The level is this far above the objective of the feasible point, relatively: the bound is below that anyhow.
ABOVE = 1e-3
INSIDE = 1e-10  # of a slope: what is left of it where it is corrected
ANY_SLOPE = frozenset({"logdet", "log", "exp", "pow", "entropy", "inv"})  # atoms that have any of their sign
HUGE = 1e6  # a range that is wider costs more than the tolerance of a solver's multipliers
CHARGED = 1e-7  # of the bound: where more is charged, the multipliers are moved
MARGIN = 1e-9  # relative: the rounding of sums of charges
ENTRIES = "a sum of entries, each times an end of its range"
LEVEL, LINE, SLOPE = "level", "line", "slope"  # words of ``Derived.saved``, before a name or places
Term = Mapping[str, float | str | Array]  # its name and value, and what it is the product of
TANGENT = "slope of tangent"  # begins the name of the figure that is the slope of a curved atom's tangent
SCALED = ("value", "residual's norm", "its largest entry")  # figures in units of the objective


@dataclass(frozen=True)
class Derived:
    """A bound, None where there is none, and its grade.

    saved : the level, and the multipliers and slopes, from which ``recomputed`` makes the bound again.
    why : in words, why there is none, or why it is an estimate. is_final : other perturbations of the problem
    for multipliers would not help. hint : in words, a line of the program that may raise the bound.
    is_over : the work on it took too long. terms : what it adds up from (``LineBounds.terms``).
    """

    bound: float | None
    grade: Grade | None = None
    saved: Mapping[str, Array] = field(default_factory=dict)
    why: str = ""
    is_final: bool = False
    hint: str = ""
    is_over: bool = False
    terms: tuple[Term, ...] = ()

    @property
    def multipliers(self) -> dict[str, Array]:
        """The saved multipliers, by line."""
        return {
            key.removeprefix(f"{LINE} "): y for key, y in self.saved.items() if key.startswith(f"{LINE} ")
        }


@dataclass(frozen=True)
class LineBounds:
    """Bounds from the lines of an instance: their nodes at a point, the ranges of variables up to a level.

    least : at most the objective (or minus it) at a feasible point up to the level, by ranges of its terms.
    is_charged : whether bounds are charged for the rounding of the queries, as those of shipped programs are.
    """

    nodes: Nodes
    level: float
    ranges: Mapping[str, Range]
    least: float
    grade: Grade
    is_charged: bool
    why: str = ""  # the bound is an estimate, where there is more to say
    missed: str = ""  # in words, by how much points of the ranges may miss the lines

    @np.errstate(all="ignore")
    def derived(self, multipliers: Multipliers, slopes: Slopes, *, is_exact: bool = False) -> Derived:
        """The bound at multipliers and slopes: at most a least optimum, at least a largest one.

        Those of another shape than their line or argument are left out. is_exact : the multipliers are not
        moved where that proves more.
        """
        instance, shapes = self.nodes.instance, self.nodes.shapes_of_multipliers()
        multipliers = {
            n: y for n, y in self.nodes.listed(multipliers).items() if np.shape(y) == shapes.get(n)
        }
        slopes = {at: s for at, s in slopes.items() if np.shape(s) == self.nodes.shape_of_argument(*at)}
        proper = into_cones(self.nodes, multipliers)
        affine = affine_bound(self.nodes, proper, slopes)
        value, most = self.all_but(affine, ()), float(affine.constant.lower)
        if not is_exact and value < most - CHARGED * abs(most):
            moved = without_remainder(self.nodes, self.ranges, proper, slopes)
            affine = moved if moved is not None and self.all_but(moved, ()) > value else affine
        missing = [
            name for name in affine.residuals if not np.isfinite(self.least_term(affine, name, self.ranges))
        ]
        # Cuts take long: ranges are sought by them only where a variable has no bound otherwise.
        more = missing and self._by_cuts(proper, missing)
        whole = replace(self, ranges={**self.ranges, **(more or {})})
        value = added = whole.all_but(affine, ())
        is_final = bool(missing and not more) and any(
            is_in_no_cone(self.nodes.chosen[name]) for name in missing
        )
        value = max(self.least, value if more or not missing else -np.inf)  # which may be no number
        if not np.isfinite(value):
            why = self._unlimited(missing) if missing else "the multipliers of the solver prove nothing"
            return Derived(None, why=why, is_final=is_final)
        value = min(value, self.level)
        bound = value if instance.program.sense == "minimize" else -value
        bound = charged_bound(instance, bound) if self.is_charged else bound
        saved = {LEVEL: np.asarray(self.level)}
        saved |= {f"{LINE} {name}": np.asarray(y) for name, y in proper.items()}
        saved |= {f"{SLOPE} {place} {number}": s for (place, number), s in slopes.items()}
        terms = whole.terms(affine, bound, more or {}, value == added, slopes)
        return Derived(bound, self.grade, saved, self.why, is_final, terms=terms)

    def _by_cuts(self, proper: Multipliers, missing: list[str]) -> Mapping[str, Range] | None:
        """The ranges of the variables without one by cuts; where that fails, with all that have open ends."""
        ends = [n for n, r in self.ranges.items() if np.isinf(r.largest).any()]
        for names in filter(None, (missing, ends)):
            if more := ranges_by_cuts(self.nodes, proper, names, self.level, self.all_but):
                return more
        return None

    def terms(
        self, affine: AffineBound, bound: float, cut: Collection[str], is_sum: bool, slopes: Slopes
    ) -> tuple[Term, ...]:
        """Terms that add up to a bound: the constant, the least of each variable, and a rest for rounding.

        Where minus the objective is minimized the terms have the other sign. ``cut``: the variables whose
        range is by cuts. is_sum : else the bound is the level, or follows from ranges of terms. slopes : of
        atoms; those without one are replaced by a tangent at the point.
        """
        sign = 1.0 if self.nodes.instance.program.sense == "minimize" else -1.0
        tangents = {
            f"{TANGENT} {number} ({self.nodes.all[place].name})": sign * slope + 0.0
            for number, ((place, _), slope) in enumerate(sorted(slopes.items()), start=1)
            if slope.size <= FEW
        }
        words = f"the Lagrangian's affine {'minorant' if sign > 0 else 'majorant'} at 0"
        if any(node.kind == "atom" and not node.inferred.curvature.is_affine for node in self.nodes.all):
            words += f", tangents{' at the point' * (not slopes)} for curved atoms"
        up_to = f"for points with an objective {'up' if sign > 0 else 'down'} to"
        terms: list[Term] = [
            {
                "name": "constant",
                "value": sign * float(affine.constant.lower) if is_sum else bound,
                "is": words if is_sum else "from ranges of terms, or the level",
                **cast(Term, tangents if is_sum else {}),
                **({up_to: sign * self.level} if np.isfinite(self.level) else {}),
            },
            *(
                {
                    "name": f"term of {name}",
                    "value": sign * self.least_term(affine, name, self.ranges) + 0.0,
                    **cast(Term, {"residual": sign * residual.mid} if residual.mid.size <= FEW else {}),
                    "that is": self._residual_words(name),
                    "residual's norm": float(np.linalg.norm(residual.mid)),
                    "its largest entry": float((np.abs(residual.mid) + residual.rad).max(initial=0.0)),
                    "range from": float(self.ranges[name].low.min(initial=np.inf)),
                    "to": float(self.ranges[name].high.max(initial=-np.inf)),
                    "range": _range_words(self.ranges[name]),
                    "by": f"{'cuts, linear programs,' if name in cut else 'intervals'} from the constraints"
                    f"{self.missed}",
                    "as": _least_product(self.nodes.chosen[name], residual, self.ranges[name])[1],
                }
                for name, residual in affine.residuals.items()
                if is_sum
            ),
        ]
        rest = bound - math.fsum(float(cast(float, term["value"])) for term in terms)
        return (*terms, {"name": "rounding", "value": rest}, {"name": "sum", "value": bound})

    def _residual_words(self, name: str) -> str:
        """The meaning of what is left of a variable."""
        d, over = self.nodes.chosen[name], "the slope of the Lagrangian"
        promise = f"{d.sign} 0" if d.sign else "psd" * (d.kind == "psd")
        return f"{over}, the multiplier of '{name}' {promise} if in its cone" if promise else over

    def corrected(self, multipliers: Multipliers, slopes: Slopes) -> dict[tuple[int, int], Array]:
        """The slopes less what is left of them by a variable, where an atom of it alone has any slope.

        In a cone a little is left, inside the dual cone.
        """
        left = dict(affine_bound(self.nodes, into_cones(self.nodes, multipliers), slopes).residuals)
        changed = {at: np.asarray(slope) for at, slope in slopes.items()}
        for (place, number), slope in slopes.items():
            argument = self.nodes.all[self.nodes.all[place].arguments[number]]
            if (
                self.nodes.all[place].name in ANY_SLOPE
                and argument.kind == "variable"
                and argument.name in left
            ):
                d, size = self.nodes.chosen[argument.name], INSIDE * float(np.abs(slope).max())
                inside = size * (np.eye(len(slope)) if d.kind == "psd" else float(bool(d.sign)))
                changed[place, number] = slope - left.pop(argument.name).mid + inside
        return changed

    @property
    def hint(self) -> str:
        """Name variables with an infinite range, or a huge one in no cone, and a line that helps; or ""."""
        huge = [
            name
            for name, span in self.ranges.items()
            if (most := span.largest.max(initial=0.0)) > HUGE
            and (is_in_no_cone(self.nodes.chosen[name]) or np.isinf(most))
        ]
        return self._unlimited(huge) if huge else ""

    def _unlimited(self, missing: Sequence[str]) -> str:
        """In words, that nothing limits the variables ``missing``, and a line that would."""
        first, *_ = names = sorted(missing)
        size = f"trace({first})" if self.nodes.chosen[first].kind == "psd" else f"abs({first})"
        words = " and ".join(f"'{name}'" for name in names)
        little = "nothing" if any(np.isinf(self.ranges[name].largest).any() for name in names) else "little"
        return f"{little} says how large {words} can be: a line such as 'limit_{first}: {size} <= …' would"

    def least_term(self, affine: AffineBound, name: str, ranges: Mapping[str, Range]) -> float:
        """The least term of a variable in an affine bound; -inf where that is not bounded."""
        return _least_product(self.nodes.chosen[name], affine.residuals[name], ranges[name])[0]

    def all_but(self, affine: AffineBound, names: Sequence[str]) -> float:
        """An affine bound with all but some variables at their least."""
        each = [self.least_term(affine, name, self.ranges) for name in affine.residuals if name not in names]
        value = float(affine.constant.lower) + sum(each)
        return value - EPS * (4 + len(each)) * (abs(float(affine.constant.lower)) + sum(map(abs, each)))


def shown_terms(terms: Sequence[Term], unit: float = 1.0) -> tuple[Mapping[str, float | str], ...]:
    """Terms in units of the objective, arrays of few entries in words."""
    return tuple(
        {
            name: few_numbers(cast(Array, value) / unit)
            if name == "residual" or name.startswith(TANGENT)
            else cast(float, value) / unit
            if name in SCALED
            else cast(str, value)
            for name, value in term.items()
        }
        for term in terms
    )


def _least_product(d: Declaration, residual: Ball, span: Range) -> tuple[float, str]:
    """At most <R, x> for every x that the declaration and the range allow, and how, in words.

    It is -inf where that is not bounded.
    """
    if d.kind in ("psd", "symmetric") and residual.mid.ndim == 2:
        mid = (residual.mid + residual.mid.T) / 2
        residual = Ball(mid, ((residual.rad + residual.rad.T) / 2 + np.abs(mid) * EPS) * balls.GROW)
    is_known = np.isfinite(residual.mid) & np.isfinite(residual.rad)
    low, high = residual.mid - residual.rad, residual.mid + residual.rad  # 0 stays 0
    ends = Range(np.where(is_known, low, -np.inf), np.where(is_known, high, np.inf))
    least = float(total(times(ends, span)).low)
    if d.kind != "psd" or least >= 0.0:
        return least, ENTRIES
    eigenvalue = ball_functions.eigenvalue_bound(residual)
    if eigenvalue >= 0.0:
        return 0.0, "0 in the order of psd matrices"
    trace = float(np.diagonal(span.high).sum()) * (1.0 + MARGIN)
    by_trace = eigenvalue * trace * (1.0 + MARGIN) if np.isfinite(eigenvalue) else -np.inf
    return (by_trace, "an eigenvalue times the largest trace") if by_trace > least else (least, ENTRIES)


def _range_words(span: Range) -> str:
    """A range in words: of few entries each, of more the diagonal of a matrix apart, or all together."""

    def ends(low: Array, high: Array) -> str:
        return f"{low.min(initial=np.inf):.6g} to {high.max(initial=-np.inf):.6g}"

    low, high = np.broadcast_arrays(span.low, span.high)
    if low.size <= FEW and not (np.all(low == low.min()) and np.all(high == high.max())):
        return f"{few_numbers(low)} to {few_numbers(high)}"
    if low.ndim == 2 and low.shape[0] == low.shape[1]:
        at = np.eye(len(low), dtype=bool)
        return f"{ends(low[at], high[at])} on the diagonal, {ends(low[~at], high[~at])} off it"
    return ends(low, high)


def level_above(instance: Instance, objective: float) -> float:
    """The level up to which points count: above a feasible objective, whose sign turns where maximised."""
    sign = 1.0 if instance.program.sense == "minimize" else -1.0
    return sign * objective + ABOVE * max(1.0, abs(objective))


def line_bounds(instance: Instance, point: Mapping[str, Any], level: float) -> LineBounds:
    """Bounds from the lines of an instance near a feasible point; TimeLimitError as ``require_time``."""
    names, is_known = balls_of_names(instance)
    nodes = nodes_of(instance, point, names)
    # The effect of the rounding of a basis is known for shipped programs, which are of squared norms.
    is_charged = not is_known and is_shipped(instance.checked) and not is_estimated(instance)
    # What shipped programs require is not moved by the rounding of the queries, or charged for it.
    doubtful = _not_proved(instance, instance.env[balls.BOUNDS] if is_shipped(instance.checked) else names)
    grade: Grade = "proved" if (is_known or is_charged) and not doubtful else "estimated"
    with np.errstate(all="ignore"):
        ranges, span = ranges_of(nodes, level)
    # Ranges rest on the signs of what is given, which have to be proved. Where lines contradict each other by
    # rounding, ranges are empty.
    is_proved = grade == "proved" and span.low <= span.high
    least = 0.0 + float(span.low if instance.program.sense == "minimize" else -span.high)
    return LineBounds(nodes, level, ranges, least if is_proved else -np.inf, grade, is_charged, doubtful)


def _not_proved(instance: Instance, names: Callable[[str], Any]) -> str:
    """In words, what numbers are up to rounding only and curvature rests on, psd or of a sign; or ""."""
    program = instance.program
    declared = [*program.givens, *(p.declared for p in program.parameters if p.declared is not None)]
    # A Gram matrix of the workload is one but for its rounding, which is judged apart.
    for name in [d.name for d in declared if d.kind == "psd" and (d.name in instance.passed or not d.source)]:
        if not ball_functions.is_semidefinite(balls.exact(instance.env[name])):
            return f"'{name}' is declared psd, which is not proved of its numbers"
    doubtful = [
        f"'{d.name}' is declared {d.sign} 0"
        for d in program.givens
        if d.sign and (ball := names(d.name)) is not None and not (ball.lower > 0.0).all()
    ]
    env = {**instance.env, balls.BOUNDS: names}
    doubtful += [f"'{c.name}' is required" for c in instance.checked.to_prove if not is_proved(c, env)]
    return f"{doubtful[0]}, which the rounding of the queries leaves open" if doubtful else ""


def recomputed(instance: Instance, point: Mapping[str, Any], saved: Mapping[str, Array]) -> Derived:
    """The bound at multipliers and slopes of a file, which are not trusted; ResultError for other data."""
    multipliers: dict[str, Array] = {}
    slopes: dict[tuple[int, int], Array] = {}
    level = saved.get(LEVEL)
    is_number = level is not None and np.shape(level) == () and np.asarray(level).dtype.kind in "fiu"
    if level is None or not is_number or not np.isfinite(level):
        raise ResultError("the derived bound has no level")
    for key, value in saved.items():
        if np.asarray(value).dtype.kind not in "fiu":
            raise ResultError(f"the derived bound has no numbers for '{key}'")
        word, _, rest = key.partition(" ")
        if word == LINE:
            multipliers[rest] = value
        elif word == SLOPE:
            # What is no number is no place of this program's: such a slope is left out.
            place, number = (int(part) if part.isdigit() else -1 for part in (*rest.split(), "")[:2])
            slopes[place, number] = value
    return line_bounds(instance, point, float(level)).derived(multipliers, slopes)
