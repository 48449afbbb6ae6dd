"""Multipliers for a certificate from wherever they can be had; the best valid bound wins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mmopt.compiler import Instance, bind
from mmopt.driver.convex import Report, solve_convex
from mmopt.driver.judge.bounds import error_bound
from mmopt.driver.judge.score import Array, Candidate, bound_of, starts_from
from mmopt.driver.plan import Plan
from mmopt.errors import OptionError, SolverError, TooLargeError, suggest
from mmopt.language import Program
from mmopt.results import gap_between
from mmopt.strategies import Strategy

__all__ = ["Proof", "Prover"]


@dataclass
class Proof:
    """The best bound so far, its multipliers, and where they come from."""

    bound: float | None = None
    multipliers: Mapping[str, Any] = field(default_factory=dict)
    origin: str = ""
    remarks: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Prover:
    """Bounds for one point of a program: by its own certificate, or by that of ``l2_strategy``."""

    instance: Instance
    point: Candidate
    strategy: Strategy

    @property
    def judge(self) -> Instance | None:
        """The instance whose certificate is evaluated; None for a program without any bound."""
        if self.instance.program.certificate is not None:
            return self.instance
        if self.instance.program.bound == "l2_strategy":
            return bind(Program.load("l2_strategy"), self.instance.workload)
        return None

    def best(
        self,
        passed: Mapping[str, Any],
        tolerance: float,
        solving: bool,
        solver: str | None,
        overrides: Mapping[str, Any],
        report: Report | None,
    ) -> Proof:
        """Try the multipliers passed, those of the point, improved ones; then a solve, if the gap is larger.

        Raises
        ------
        OptionError : multipliers of another name or shape, or not finite.
        SolverError, TooLargeError : from a solver that the caller named.
        """
        judge, proof = self.judge, Proof()
        if judge is None:
            if passed:
                message = f"'{self.instance.program.name}' has no certificate, so multipliers prove nothing"
                raise OptionError(message)
            return proof
        for multipliers, origin in self._offers(judge, passed):
            self._try(proof, judge, multipliers, origin)
        if solving and judge.program.klass == "convex" and not self._gap(proof) <= tolerance:
            try:
                solved = solve_convex(Plan(judge), solver, overrides, report)
            except (SolverError, TooLargeError) as error:
                if solver is not None:
                    raise
                name = judge.program.name
                proof.remarks.append(f"'{name}' was not solved for better multipliers: {error.message}")
            else:
                by = f"{solved.solver} {solved.solver_version}, {solved.status.stop}"
                self._try(proof, judge, solved.multipliers, f"a solve of '{judge.program.name}' ({by})")
        return proof

    def _offers(
        self, judge: Instance, passed: Mapping[str, Any]
    ) -> Iterator[tuple[Mapping[str, Array], str]]:
        own = starts_from(judge, self.point.env) if judge is self.instance else {}
        if own:
            yield own, "the point, as the certificate says"
        if passed:
            yield {**own, **_named(judge, passed)}, "the caller"
        wanted = judge.program.multipliers
        shapes = [_shape(judge, position) for position in range(len(wanted))]
        if shapes == [(judge.workload.n,)]:
            _, improved = error_bound(judge.workload, self.strategy)
            yield {wanted[0].key: improved}, "the strategy by steps of improvement"

    def _try(self, proof: Proof, judge: Instance, multipliers: Mapping[str, Any], origin: str) -> None:
        bound = bound_of(judge, multipliers)
        if bound is None:
            return
        minimized = judge.program.sense == "minimize"
        if proof.bound is None or (bound > proof.bound if minimized else bound < proof.bound):
            proof.bound, proof.multipliers, proof.origin = bound, multipliers, origin

    def _gap(self, proof: Proof) -> float:
        gap = gap_between(self.point.objective, proof.bound, self.instance.program.sense)
        return float("inf") if gap is None else gap


def _shape(judge: Instance, position: int) -> tuple[int, ...]:
    dims = judge.program.multipliers[position].declaration.dims
    return tuple(dim.value(judge.sizes()) for dim in dims)


def _named(judge: Instance, passed: Mapping[str, Any]) -> dict[str, Array]:
    """The caller's multipliers by the names that a solution keeps them under."""
    places = {m.key: i for i, m in enumerate(judge.program.multipliers)}
    places |= {m.declaration.name: i for i, m in enumerate(judge.program.multipliers)}
    found: dict[str, Array] = {}
    for name, value in passed.items():
        if name not in places:
            message = f"the certificate of '{judge.program.name}' has no multiplier '{name}'"
            raise OptionError(message, hint=suggest(name, places))
        array = np.asarray(value)
        shape = _shape(judge, places[name])
        fits = array.shape == shape or array.size == 1 == int(np.prod(shape))  # one cell has one number
        if array.dtype.kind not in "biuf" or not fits or not np.isfinite(array).all():
            raise OptionError(
                f"the multiplier '{name}' has shape {array.shape}, expected finite numbers of shape {shape}"
            )
        found[judge.program.multipliers[places[name]].key] = array.astype(np.float64).reshape(shape)
    return found
