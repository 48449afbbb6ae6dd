"""The privacy parameters that an analyst asks for; calibration stands in ``calibration.py``."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from numbers import Real
from typing import Any

from mmopt.errors import PrivacyError, suggest
from mmopt.notebook import Displayed

__all__ = [
    "MOST_COST",
    "Privacy",
    "PrivacyFault",
    "privacy_fault",
    "privacy_warning",
]

_BOTH = "give epsilon, epsilon with delta, or rho"
_PURE = "for pure epsilon (Laplace noise) leave delta out"

MOST_COST = 1e4
"""Largest epsilon or rho.

The standard deviation of a count is then below 1/70 at rho and far below at epsilon: noise on integers is
zero in every draw. exp(epsilon), which calibration needs, has no exponent from 1e19 on.
"""


@dataclass(frozen=True)
class PrivacyFault:
    """What is wrong with a set of parameters, and at which of them (``""``: at all of them)."""

    field: str
    message: str
    hint: str = ""


def privacy_fault(epsilon: float | None, delta: float | None, rho: float | None) -> PrivacyFault | None:
    """The first rule that the parameters break, or None. One place for code and workload files."""
    if rho is not None and (epsilon is not None or delta is not None):
        other = "epsilon" if epsilon is not None else "delta"
        value = epsilon if epsilon is not None else delta
        return PrivacyFault("rho", f"both rho ({rho!r}) and {other} ({value!r}) are given", _BOTH)
    if rho is None and epsilon is None and delta is None:
        return PrivacyFault("", "no privacy parameter is given", _BOTH)
    if rho is None and epsilon is None:
        return PrivacyFault("delta", f"delta ({delta!r}) is given without epsilon", _BOTH)
    if epsilon is not None and not _positive(epsilon):
        return PrivacyFault("epsilon", f"epsilon must be a finite number > 0, not {epsilon!r}")
    if rho is not None and not _positive(rho):
        return PrivacyFault("rho", f"rho must be a finite number > 0, not {rho!r}")
    for name, value in (("epsilon", epsilon), ("rho", rho)):
        if value is not None and value > MOST_COST:
            return PrivacyFault(
                name, f"{name} must be at most {MOST_COST:g}, not {value!r}", "it protects nobody"
            )
    if delta is not None and not (math.isfinite(delta) and 0.0 < delta < 1.0):
        hint = _PURE if delta == 0.0 else "a usual delta is well below 1 / (number of rows), such as 1.0e-6"
        return PrivacyFault("delta", f"delta must lie strictly between 0 and 1, not be {delta!r}", hint)
    return None


def privacy_warning(epsilon: float | None, delta: float | None, rho: float | None) -> str:
    """What is to be said of a claim that protects next to nothing, or ""; rho counts without epsilon."""
    # The largest release known, the United States census of 2020, took epsilon 19.6 at delta 1e-10 (rho 2.6).
    # At rho 10 the best test of whether a row is there is right in 98.7 % of cases.
    limits = (
        ("epsilon", epsilon, 20.0, "the odds of a guess at a row may change by a factor of exp(epsilon)"),
        ("delta", delta, 1e-3, "with that chance a row may be published as it is"),
        ("rho", rho if epsilon is None else None, 10.0, "whether a row is there can be told almost surely"),
    )
    return next(
        (
            f"{name} {value:g} is no protection in practice: {why}"
            for name, value, most, why in limits
            if value is not None and value > most
        ),
        "",
    )


@dataclass(frozen=True)
class Privacy(Displayed):
    """``epsilon`` or ``(epsilon, delta)`` differential privacy, or ``rho`` zero-concentrated (zCDP).

    >>> print(Privacy(epsilon=1.0, delta=1e-6))
    epsilon = 1, delta = 1e-06

    Raises
    ------
    PrivacyError : both kinds or neither, delta without epsilon, epsilon or rho outside (0, 10000], delta
        outside (0, 1), NaN or infinite.
    """

    epsilon: float | None = None
    delta: float | None = None
    rho: float | None = None

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value is not None and (isinstance(value, bool) or not isinstance(value, Real)):
                raise PrivacyError(f"{name} must be a number, not {value!r}")
            object.__setattr__(self, name, None if value is None else float(value))
        if fault := privacy_fault(self.epsilon, self.delta, self.rho):
            raise PrivacyError(fault.message, hint=fault.hint)

    @staticmethod
    def of(value: object) -> Privacy:
        """The privacy that a value says: a Privacy, a dictionary of its parameters, or that of a request.

        Raises
        ------
        PrivacyError : a number (of what?), an unknown parameter (the nearest is named), a request without
            privacy, anything else; parameters that are invalid.

        >>> Privacy.of({"epsilon": 1, "delta": 1e-6})
        Privacy(epsilon=1.0, delta=1e-06, rho=None)
        >>> Privacy.of(1.0)
        Traceback (most recent call last):
        ...
        mmopt.errors.PrivacyError: privacy is the number 1.0, and does not say of what
          write Privacy(epsilon=1.0), Privacy(epsilon=1.0, delta=1e-6) or Privacy(rho=1.0)
        """
        if isinstance(value, Privacy):
            return value
        if isinstance(value, Mapping):
            return _of_parameters(value)
        if isinstance(value, Real):
            number = float(value)
            raise PrivacyError(
                f"privacy is the number {number}, and does not say of what",
                hint=f"write Privacy(epsilon={number}), Privacy(epsilon={number}, delta=1e-6) "
                f"or Privacy(rho={number})",
            )
        asked = getattr(value, "privacy", None)  # of a Request, which stands above this folder
        if isinstance(asked, Privacy):
            return asked
        what = "no privacy is given" if value is None else f"a {type(value).__name__} is no privacy"
        if hasattr(value, "privacy"):
            what = f"the {type(value).__name__} asks for no privacy"
        raise PrivacyError(what, hint="write Privacy(epsilon=1.0), or {'epsilon': 1.0, 'delta': 1e-6}")

    @property
    def is_pure(self) -> bool:
        """Whether epsilon is given alone: only Laplace noise satisfies it."""
        return self.epsilon is not None and self.delta is None

    def __str__(self) -> str:
        if self.rho is not None:
            return f"rho = {self.rho:g} (zCDP)"
        if self.delta is None:
            return f"epsilon = {self.epsilon:g}"
        return f"epsilon = {self.epsilon:g}, delta = {self.delta:g}"


def _of_parameters(values: Mapping[Any, Any]) -> Privacy:
    known = tuple(field.name for field in fields(Privacy))
    for name in values:
        if name not in known:
            near = suggest(str(name), known)
            hint = near if near.startswith("did") else _BOTH
            raise PrivacyError(f"privacy has no parameter {name!r}, expected {', '.join(known)}", hint=hint)
    return Privacy(**values)


def _positive(value: float) -> bool:
    return math.isfinite(value) and value > 0.0
