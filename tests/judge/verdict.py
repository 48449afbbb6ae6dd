"""The second judge: whether the figures of a saved result are what they are called.

``judge(solution, workload)`` evaluates everything that a solution claims in balls of sixty digits and more,
from the workload's queries as given and the saved arrays, by formulas written here by hand. It shares no code
with mmopt. An upper value must not be below the truth, a lower one not above it: no tolerance, but where the
README states one.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from flint import arb, ctx
from judge import balls, lifting
from judge.measured import ROUNDING, Asked, Measured, exact_sensitivity
from judge.neighbourhoods import SINGLE, bound_for, sensitivity_to
from judge.programs import Point, l2_certificate, strategy_of
from judge.table import RULES

TARGET = 1e-10
"""What a variance may be above its target, relatively: the tolerance of feasibility."""
FOLLOWS = 1e-12
"""Where only the scaled strategy is stored: the rounding of its scaling."""
UNJUDGED = ("fitness_level",)
"""Steps whose formulas are not written here: with the noise of some queries held."""
ROUNDS = 3
ESTIMATE = 1e-9
"""Figures that nobody calls bounds: rmse, and what mmopt says is an estimate."""
RIVAL = "bound against a rival"


@dataclass(frozen=True)
class Verdict:
    """One claim: what is printed, what the judge finds (to read), and whether the claim holds.

    estimate : mmopt says that the figure is one. Then only its large directions are judged, roughly.
    """

    name: str
    printed: float
    judged: str
    holds: bool
    estimate: bool = False

    def __str__(self) -> str:
        return (
            f"{self.name}: {self.printed!r} printed, {self.judged} judged{'' if self.holds else ', REFUTED'}"
        )


def refuted(verdicts: Iterable[Verdict], estimates: bool = False) -> list[str]:
    """The claims that do not hold, as text; [] where all do. ``estimates``: what promises nothing, too."""
    return [str(v) for v in verdicts if not v.holds and (estimates or not v.estimate)]


def judge(solution: Any, workload: Any, asked: Asked | None = None) -> tuple[Verdict, ...]:
    """The verdicts on a ``Solution`` (not on the steps of a procedure).

    asked : what the workload asks, where the caller built it without mmopt; else read from it.
    """
    fields = solution.fields()
    asked = Asked.of(workload) if asked is None else asked
    if "template" in fields:
        return _judge_template(fields, float(solution.strategy.sensitivity), asked)
    return _judge_solution(fields, workload, asked)


def attack(solution: Any, workload: Any, rival: Callable[[Point], arb]) -> tuple[Verdict, float]:
    """The lower value of a solution against a point of another solver, and how far above it that point is.

    Relatively, where the lower value is not zero.
    """
    fields = solution.fields()
    point = _point(fields, workload, Asked.of(workload))
    maximises = fields["program"] in RULES and RULES[fields["program"]].maximises
    lower = fields["objective"] if maximises else fields["bound"]
    with ctx.workdps(balls.DIGITS[0]):
        value = rival(point)
    above = float(value) / lower - 1 if lower > 0 else float(value) - lower
    return Verdict(RIVAL, lower, value.str(20), bool(value >= arb(lower))), above


def _judge_template(fields: Mapping[str, Any], sensitivity: float, asked: Asked) -> tuple[Verdict, ...]:
    strategy = _Strategy(fields, asked, strict=True)
    ordered = fields["error_bound"] <= fields["error"]
    return (
        _at_least("sensitivity", sensitivity, strategy.sensitivity),
        _at_least("support", ROUNDING**2, lambda: strategy.told()[1]),
        _at_least("total error", fields["error"], strategy.error),
        _at_least("rmse", fields["rmse"] * (1 + ESTIMATE), strategy.rmse),
        Verdict("bound against error", fields["error_bound"], repr(fields["error"]), ordered),
    )


def _judge_solution(fields: Mapping[str, Any], workload: Any, asked: Asked) -> tuple[Verdict, ...]:
    point = _point(fields, workload, asked)
    strategy = _Strategy(fields, asked, _is_proved(fields, "error"))
    ordered = fields["error_bound"] <= fields["error"]
    out = [
        *_figures(fields, point),
        _sensitivity(fields, strategy),
        _at_least("support", ROUNDING**2, lambda: strategy.told()[1]),
        replace(_at_least("total error", fields["error"], strategy.error), estimate=not strategy.strict),
        _at_most(
            "bound over all strategies",
            fields["error_bound"],
            lambda: _of_any_strategy(fields, asked),
        ),
        Verdict("that bound against the error", fields["error_bound"], repr(fields["error"]), ordered),
        replace(_close("rmse", fields["rmse"], strategy.rmse), estimate=not strategy.strict),
    ]
    if fields["program"] in RULES and RULES[fields["program"]].promises:
        out.append(_at_least("targets", 1.0 + TARGET, strategy.worst_ratio))
    for name, step in _steps(fields):
        out += [replace(v, name=f"{name}: {v.name}") for v in _figures(step, replace(point, fields=step))]
    return tuple(out)


def _point(fields: Mapping[str, Any], workload: Any, asked: Asked) -> Point:
    given = {"D": workload.matrix, "basis": workload.basis, "eigenqueries": workload.eigenqueries}
    return Point(fields, asked, workload.root, given, _is_proved(fields, "objective"))


def _steps(fields: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """The steps of a procedure with what they inherit; of hundreds of rounds the first and the last."""
    steps = [(name, step) for name, step in fields["steps"].items() if step["program"] not in UNJUDGED]
    if len(steps) > 2 * ROUNDS:
        steps = steps[:ROUNDS] + steps[-ROUNDS:]
    inherited = {"bases": fields["bases"], "basis": fields["basis"]}
    own = [{k: v for k, v in inherited.items() if not np.size(step[k])} for _, step in steps]
    return [(name, {**step, **more}) for (name, step), more in zip(steps, own, strict=True)]


def _figures(fields: Mapping[str, Any], point: Point) -> list[Verdict]:
    """Objective and bound of the program as stated, by its own formulas where they are known here."""
    objective, bound, out = fields["objective"], fields["bound"], []
    maximises = fields["sense"] == "maximize"
    if fields["program"] in RULES:
        rule = RULES[fields["program"]]
        assert maximises == rule.maximises
        upper, lower = (_at_most, _at_least) if maximises else (_at_least, _at_most)
        slack = FOLLOWS if rule.follows else 0.0 if _is_proved(fields, "objective") else ESTIMATE
        slack = -slack if maximises else slack
        own = upper("objective", objective, lambda: _less(rule.attained(point), arb(slack)))
        out.append(replace(own, estimate=not _is_proved(fields, "objective")))
        if bound is not None:
            out.append(lower("bound", bound, lambda: rule.proved(point)))
    if bound is not None:
        holds = bound >= objective if maximises else bound <= objective
        out.append(Verdict("bound against objective", bound, repr(objective), holds))
    return out


def _neighbours(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    return fields["strategy"].get("neighbours", SINGLE)


def _of_any_strategy(fields: Mapping[str, Any], asked: Asked) -> arb:
    d = [x.max(arb(0)) for x in lifting.vector(fields["error_multipliers"])]
    return bound_for(_neighbours(fields), l2_certificate(asked.weighted(), d), d)


def _less(value: arb, slack: arb) -> arb:
    """Less by so much, relatively."""
    return value - abs(value) * slack


class _Strategy:
    """A saved strategy; what all queries are told by it is worked out once at each precision."""

    def __init__(self, fields: Mapping[str, Any], asked: Asked, strict: bool) -> None:
        self.fields, self.asked, self.strict = fields["strategy"], asked, strict
        self._known: dict[int, tuple[Measured, list[arb], arb]] = {}

    def _at_this_precision(self) -> tuple[Measured, list[arb], arb]:
        if ctx.dps not in self._known:
            strategy, queries = strategy_of(self.fields), balls.matrix(self.asked.queries)
            told = strategy.told(queries) if self.strict else strategy.nearly(queries)
            self._known[ctx.dps] = (strategy, *told)
        return self._known[ctx.dps]

    def told(self) -> tuple[list[arb], arb]:
        return self._at_this_precision()[1:]

    def sensitivity(self) -> arb:
        measured, neighbours = self._at_this_precision()[0], _neighbours({"strategy": self.fields})
        if neighbours["kind"] == "add-remove":
            return measured.sensitivity()
        return sensitivity_to(neighbours, measured.rows, measured.norm)

    def error(self) -> arb:
        weights = balls.reals(self.asked.weights)
        each = (w * v for w, v in zip(weights, self.told()[0], strict=True))
        return self.sensitivity() ** 2 * sum(each, arb(0))

    def rmse(self) -> arb:
        variances, _ = self.told()
        return self.sensitivity() * balls.root(sum(variances, arb(0)) / len(variances))

    def worst_ratio(self) -> arb:
        """The largest variance over target, of the strategy as it is measured."""
        pairs = zip(self.told()[0], np.asarray(self.asked.targets).tolist(), strict=True)
        return balls.greatest([v / arb(c) for v, c in pairs if math.isfinite(c)])


def _is_proved(fields: Mapping[str, Any], figure: str) -> bool:
    """Whether a figure is called proved; saved without a grade, all are."""
    return bool(fields.get(f"{figure}_grade", "proved") == "proved")


def _at_least(name: str, printed: float, judged: Callable[[], arb]) -> Verdict:
    """An upper value: no less than what is judged."""
    return _compared(name, printed, judged, lambda own: (own, arb(printed)))


def _at_most(name: str, printed: float, judged: Callable[[], arb]) -> Verdict:
    """A lower value: no more than what is judged."""
    return _compared(name, printed, judged, lambda own: (arb(printed), own))


def _compared(
    name: str, printed: float, judged: Callable[[], arb], sides: Callable[[arb], tuple[arb, arb]]
) -> Verdict:
    seen: list[arb] = []

    def compare() -> tuple[arb, arb]:
        seen.append(judged())
        return sides(seen[-1])

    holds = math.isfinite(printed) and balls.decided(compare)
    return Verdict(name, float(printed), seen[-1].str(20) if seen else "nothing", holds)


def _close(name: str, printed: float, judged: Callable[[], arb]) -> Verdict:
    """A figure that is no bound."""
    with ctx.workdps(balls.DIGITS[0]):
        own = judged()
    return Verdict(name, printed, own.str(20), bool(abs(own / printed - 1) <= ESTIMATE))


def _sensitivity(fields: Mapping[str, Any], strategy: _Strategy) -> Verdict:
    """Exact sensitivity of doubles, by rational numbers."""
    printed = float(fields["sensitivity"])
    if "matrix" not in fields["strategy"] or _neighbours(fields)["kind"] != "add-remove":
        return _at_least("sensitivity", printed, strategy.sensitivity)
    norm = int(fields["strategy"]["norm"])
    exact = exact_sensitivity(np.asarray(fields["strategy"]["matrix"]), norm)
    return Verdict(
        "sensitivity", printed, arb(exact).root(norm).str(20), exact <= balls.exact(printed) ** norm
    )
