"""What a release costs in the measure of a ledger, and what many cost together, exactly.

Costs are doubles; they are added as fractions, so that no rounding lets a total be passed.

**Why the total holds.** A pair of neighbouring tables is fixed, and what is released one after another is a
random walk: each step's law, its cost too, may depend on what was released before, never on the data beside.
A step of cost ρ_t is ρ_t-zCDP: the α-th moment of its likelihood ratio is at most exp((α - 1) α ρ_t) for each
α > 1, given what went before. So the α-th power of the ratio up to step t, times exp(-(α - 1) α Σ ρ_s), is a
supermartingale, and where Σ ρ_s <= ρ always, all together is ρ-zCDP (for costs fixed beforehand Bun and
Steinke 2016, Lemma 1.7; for costs that are chosen on the way Feldman and Zrnic 2021). For pure ε the
logarithm of each ratio is at most ε_t, and they add up (Dwork et al. 2006; Rogers, Roth, Ullman and Vadhan
2016). A release that fails after it was charged has released nothing more than it would have.

**Noise that costs ε** in a ledger of ρ costs ε²/2 (Bun and Steinke 2016, Proposition 1.4).

**Parts.** Neighbours differ by one row, which has one value in the partition's column. A release of the rows
of another value has the same law on both tables: it costs this pair nothing, so the pair's walk costs what
was spent on the whole table and on the part of its row, at most the largest of these sums over the parts
(McSherry 2009, Theorem 4, for ε). A row without a value is in no part. Rows of one person may stand in
several parts, and a row that is replaced may move from one to another: there parts do not compose so, and a
ledger of other units has no partition. Another copy of the table may spell a row's value otherwise (``1``,
``1.0``, ``true``): each part has the ``readings`` of its text, and the row's value is one of them. So the
pair's walk costs at most what was spent on the whole table and on the parts that share a reading, at the
reading of which most was.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from fractions import Fraction

from mmopt.errors import PrivacyError
from mmopt.ledger.account import Account, Entry, Measure
from mmopt.ledger.part_accounts import readings
from mmopt.numerics.outward import rounded
from mmopt.privacy.guarantee import float_above, zcdp_epsilon

__all__ = [
    "above",
    "below",
    "cost_in",
    "epsilon_of",
    "left",
    "left_for_new_part",
    "same_account",
    "shown",
    "spent",
    "total_spent",
]


def cost_in(measure: Measure, rho: float | None, epsilon: float | None) -> Fraction:
    """What a release costs.

    Parameters
    ----------
    rho : of its noise; None where that costs epsilon. epsilon : of noise that costs epsilon.

    Raises
    ------
    PrivacyError : Gaussian noise, which has no epsilon, in a ledger of epsilon; a cost that is not finite.
    """
    cost = epsilon if rho is None else rho
    if cost is None or not math.isfinite(cost) or cost < 0:
        raise PrivacyError(f"the release costs {cost!r}, which no ledger can add up")
    if measure == "rho":
        return Fraction(cost) if rho is not None else Fraction(cost) ** 2 / 2
    if rho is not None:
        raise PrivacyError(
            f"the ledger counts pure epsilon, and this release has Gaussian noise (rho {rho!r}), "
            "which satisfies none",
            hint="release with Laplace noise: privacy {epsilon: …} without a delta; or use a ledger of rho",
        )
    return Fraction(cost)


def spent(entries: Iterable[Entry], part: str | None) -> Fraction:
    """What a release of this part adds to: what was spent on the whole table, and on the part.

    Of the whole table (None): on the whole table, and on the parts of which most was. Parts that may be one
    value count together.
    """
    whole, parts = Fraction(0), defaultdict[str, Fraction](Fraction)
    for entry in entries:
        if entry.part is None:
            whole += entry.spent
        else:
            for reading in readings(entry.part):
                parts[reading] += entry.spent
    counted = parts if part is None else readings(part)
    return whole + max((parts.get(reading, Fraction(0)) for reading in counted), default=Fraction(0))


def same_account(entries: Iterable[Entry], part: str) -> list[str]:
    """Other spellings of which releases were made that may be the value of this part."""
    names = {entry.part for entry in entries if entry.part is not None}
    return sorted(name for name in names - {part} if readings(name) & readings(part))


def total_spent(account: Account) -> Fraction:
    """The cost of all releases together."""
    return spent(account.entries, None)


def left(account: Account, part: str | None = None) -> Fraction:
    """What a release of this part, or of the whole table, may cost; below 0 where the total was lowered."""
    return account.terms.total - spent(account.entries, part)


def left_for_new_part(account: Account) -> Fraction:
    """What a release of a part may cost of which none was released."""
    return account.terms.total - sum(
        (entry.spent for entry in account.entries if entry.part is None), Fraction(0)
    )


def epsilon_of(rho: Fraction, delta: float) -> float:
    """The epsilon that so much rho amounts to at a delta, rounded up (Canonne, Kamath and Steinke 2020)."""
    return zcdp_epsilon(above(rho), delta)


def above(cost: Fraction) -> float:
    """The smallest double that is not below."""
    return float_above(cost)


def below(cost: Fraction) -> float:
    """The largest double that is not above."""
    return 0.0 - float_above(-cost)  # no -0


def shown(cost: Fraction, *, is_left: bool = False) -> str:
    """In six digits: what is spent rounded up, what is left rounded down."""
    nearest = below(cost) if is_left else above(cost)
    return rounded(str(nearest), 6, up=not is_left)
