"""A release as it was planned: what is measured with which noise, and the claim that this proves."""

from __future__ import annotations

import math
from collections.abc import Sized
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mmopt.mechanism.accuracy import Intervals, intervals
from mmopt.notebook import Tabular
from mmopt.numerics.arrays import Array
from mmopt.numerics.outward import rounded
from mmopt.privacy.calibration import approximate_epsilon, finer
from mmopt.privacy.noise import Noise, cost
from mmopt.privacy.privacy_parameters import Privacy, privacy_warning
from mmopt.privacy.rounding.integer_strategy import MAX_ROWS, Measured, Part
from mmopt.privacy.rounding.rounded_rows import WORTH_SAYING
from mmopt.privacy.table_of_noises import noise_for
from mmopt.strategies import ADD_REMOVE, Neighbours
from mmopt.workloads import Workload, attribute_uses

__all__ = ["Plan", "claim", "composed", "guarantee_of"]


@dataclass(frozen=True, eq=False)
class Plan(Tabular):
    """A calibrated release; nothing in it depends on data.

    Attributes
    ----------
    integer : the integer matrix to measure, and how to reconstruct from it.
    absolute : the noise is what the targets ask for, rather than what `privacy` allows.
    scale : parameter of the noise, in units of the integer matrix; that of a part is this times its
        relative noise.
    fineness : the matrix is measured times 2^fineness, with as many times the noise.
    rho : zCDP cost that the release claims, rounded up; None for noise that costs epsilon (Laplace).
    delta, epsilon : the claimed (epsilon, delta), epsilon rounded up; None without a delta. For noise that
        costs epsilon delta is 0, also where `privacy` allows more. It need not follow from rho, which is
        kept for composition.
    allowed : the rho that `privacy` allows, or the epsilon; None when only the targets decide.
    theorem : what epsilon rests on; rho of Gaussian noise is always Theorem 14 of Canonne, Kamath and
        Steinke 2020.
    standard_errors : (m,) predicted, in counts.
    chosen_for : the set of neighbours that the strategy was chosen for; the noise is for ``neighbours``.
    """

    workload: Workload
    integer: Measured
    privacy: Privacy | None
    absolute: bool
    scale: float
    fineness: int
    rho: float | None
    delta: float | None
    epsilon: float | None
    allowed: float | None
    theorem: str
    standard_errors: Array
    chosen_for: Neighbours = ADD_REMOVE

    @property
    def neighbours(self) -> Neighbours:
        """What neighbouring tables are."""
        return self.integer.neighbours

    @property
    def sensitivity_of(self) -> str:
        """What bounds the change of the measured answers between neighbouring tables, in words."""
        norm, neighbours = f"L{self.integer.norm} norm of a", self.neighbours
        if neighbours.times is not None:
            often = "" if neighbours.is_one_row else f"{neighbours.times} times the "
            return f"{often}largest {norm} column"
        if neighbours.kind == "participation":
            what = (
                "root of the largest sum of |aᵢ · aⱼ|"
                if self.integer.norm == 2
                else "largest sum of L1 norms"
            )
            return f"upper bound: {what} over the columns of the steps of one person"
        if not self.integer.compares_columns:
            return f"upper bound, from the longest column, on the {norm} difference of two"
        dropped = ", or a column, as a row may be dropped" if neighbours.may_drop else ""
        return f"largest {norm} difference of two columns{dropped}"

    @property
    def scaled_from(self) -> str:
        """Where the strategy was chosen for another set of neighbours: that, in words."""
        chosen, asked = str(self.chosen_for), str(replace(self.neighbours, column=""))
        if chosen == asked or (self.chosen_for.is_one_row and self.neighbours.times is not None):
            return ""
        return f"the strategy was chosen for {chosen}; its sensitivity to {asked} sets the noise"

    @property
    def not_covered(self) -> str:
        """What may become known of the data beside what the claim covers, in words."""
        uses = attribute_uses(self.workload)
        read = (a for a in self.workload.domain.attributes if uses[a.name] != "none")
        names = ", ".join(a.name for a in read if {"", "refuse"} & {a.outside, a.missing})
        refused = f"; whether a row is refused, for {names}, and the message that says so" if names else ""
        person = "; whether a row names no person" if self.neighbours.column else ""
        return f"whether the table can be read, and has at most {MAX_ROWS} rows{refused}{person}"

    @property
    def warning(self) -> str:
        """What is to be said of a claim that protects next to nothing, or nothing."""
        return privacy_warning(self.epsilon, self.delta, self.rho)

    @property
    def rounding(self) -> str:
        """Where integers do not come close to the strategy: how far they are from it, in words."""
        grown = self.integer.loss
        if grown <= WORTH_SAYING:
            return ""
        more = f"{100 * (grown - 1):.2g} %" if grown < 2 else f"a factor of {grown:.3g}"
        return f"a variance is larger by up to {more}, as integers are measured; all figures include it"

    @property
    def law(self) -> Noise:
        """The noise that is drawn."""
        return noise_for(self.integer.norm, self.privacy)

    @property
    def kind(self) -> str:
        """The kind of the noise: "discrete Gaussian" or "discrete Laplace"."""
        return f"discrete {self.law.name}"

    @property
    def guarantee(self) -> str:
        """The kind of the claim: "pure epsilon", "(epsilon, delta)" or "zCDP"."""
        return guarantee_of(self.rho, self.delta)

    @property
    def privacy_cost(self) -> float:
        """The privacy cost Delta = sensitivity over noise scale; rho = Delta² / 2, or epsilon = Delta."""
        if self.rho is None:
            assert self.epsilon is not None
            return self.epsilon
        return math.sqrt(2 * self.rho)

    @property
    def spent(self) -> tuple[str, float]:
        """The claim as one number: ("epsilon", that at ``delta``), or ("rho", that) without a delta."""
        if self.epsilon is not None:
            return "epsilon", self.epsilon
        assert self.rho is not None
        return "rho", self.rho

    @property
    def set_by(self) -> str:
        """What set the scale of the noise: "targets" or "privacy parameters"."""
        return "targets" if self.absolute else "privacy parameters"

    @property
    def noise(self) -> float:
        """Noise scale on the unrounded strategy: 1 is the unit noise that targets refer to."""
        return math.ldexp(self.scale, -self.integer.bits)

    @property
    def parts(self) -> tuple[Part, ...]:
        """What is measured: the parts of the integer matrix, at this fineness."""
        return finer(self.integer.parts, self.fineness)

    def intervals(self, confidence: float) -> Intervals:
        """The queries' intervals, as ``accuracy.intervals``.

        Where queries have no integer basis they are wider by what rounding these biases MAX_ROWS rows.
        """
        found = intervals(self.law, self.integer, self.scale, self.fineness, confidence)
        if not self.integer.is_biased:
            return found
        bias = self.integer.bias * float(np.abs(self.workload.queries).max()) * MAX_ROWS
        return Intervals(found.widths + bias, found.coverage, found.is_exact and bias == 0)

    @property
    def rmse(self) -> float:
        """Predicted root mean squared error over the m queries, in counts."""
        return float(np.sqrt(np.mean(self.standard_errors**2)))

    def summary(self) -> dict[str, Any]:
        """Noise, cost and error as one JSON object."""
        return {
            "noise": self.kind,
            "guarantee": self.guarantee,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "rho": self.rho,
            "neighbours": str(self.neighbours),
            "set_by": self.set_by,
            "rmse": self.rmse,
        }

    def __repr__(self) -> str:
        words = [] if self.rho is None else [f"rho {rounded(str(self.rho), 6, up=True)}"]
        if self.epsilon is not None:
            words.append(f"epsilon {rounded(str(self.epsilon), 6, up=True)} at delta {self.delta!r}")
        words.append(str(self.neighbours))
        return f"Plan({self.workload.m} queries, {', '.join(words)}, rmse {rounded(self.rmse, 6, up=True)})"


def claim(
    noise: Noise, integer: Measured, fineness: int, scale: float, delta: float | None, asked: float
) -> tuple[float | None, float | None, float | None, str]:
    """The rho, delta, epsilon and theorem that noise of this scale proves, as ``Plan`` holds them.

    Errors, and `asked`, as ``calibration.approximate_epsilon``.
    """
    cheap = cost(noise, integer.parts, scale)
    if noise.unit == "epsilon":
        return None, 0.0, cheap, noise.theorem
    if delta is None:
        return cheap, None, None, noise.theorem
    return cheap, delta, *approximate_epsilon(noise, integer, fineness, scale, delta, asked)


def guarantee_of(rho: float | None, delta: float | None) -> str:
    """The kind of a claim, as ``Plan.guarantee``."""
    if rho is None:
        return "pure epsilon"
    return "zCDP" if delta is None else "(epsilon, delta)"


def composed(theorem: str, parts: Sized) -> str:
    """The theorem, with what makes one claim of several measurements."""
    count = len(parts)
    return theorem if count == 1 else f"{theorem}; the costs of {count} measurements add up (composition)"
