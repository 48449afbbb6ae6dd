"""An item of a paper: a table, figure, numbered example, theorem or program, and how it is reproduced."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

import numpy as np

__all__ = ["DIFFERS", "KINDS", "RELATIONS", "Item", "Kind", "Relation", "Reproduce", "Row", "Source", "worst"]

Kind = Literal["computed", "checked", "explained"]
Relation = Literal["=", "<=", ">="]

KINDS: dict[Kind, str] = {
    "computed": "figures of the paper, computed again",
    "checked": "a formula, both sides computed on drawn instances",
    "explained": "nothing to compute, or nothing that can be: the reason is given",
}

RELATIONS: dict[Relation, str] = {"=": "agrees", "<=": "upper bound holds", ">=": "lower bound holds"}
"""What ours is to the paper's figure, and the verdict where it is."""

DIFFERS = "differs"
ROUNDING = 1e-9
"""Relative: what two ways to compute the same number may differ by."""


@dataclass(frozen=True)
class Row:
    """One figure of the paper beside ours.

    label : what it is of. paper : as printed ("45.36"), compared to its last digit; a number is the other
    side of a formula, compared but for rounding. ours : what is found here. relation : what ours is to the
    paper's: equal, at most, at least. within : relative room, where the paper's figure is that of another
    draw or was rounded on the way. bound : a certified lower bound of what ours can be, where there is one.
    why : the reason of a difference; only a row that differs has one.
    """

    label: str
    paper: str | float
    ours: float
    relation: Relation = "="
    within: float = 0.0
    bound: float | None = None
    why: str = ""

    @property
    def verdict(self) -> str:
        """One of ``RELATIONS``, with the room where it was needed, or ``DIFFERS``."""
        paper = float(self.paper)
        exponent = Decimal(self.paper).as_tuple().exponent if isinstance(self.paper, str) else None
        digit = 0.5 * 10.0**exponent if isinstance(exponent, int) else 0.0
        near = digit + ROUNDING * max(1.0, abs(paper))
        for room, words in (
            (near, ""),
            (near + self.within * abs(paper), f" within {100 * self.within:g} %"),
        ):
            below, above = self.ours <= paper + room, self.ours >= paper - room  # neither, of nan
            if {"=": below and above, "<=": below, ">=": above}[self.relation]:
                return RELATIONS[self.relation] + words
        return DIFFERS

    @property
    def is_accounted_for(self) -> bool:
        """It agrees and says nothing, or it differs and says why."""
        return (self.verdict == DIFFERS) == bool(self.why)


Reproduce = Callable[[np.random.Generator], Iterable[Row]]

LONG_SECONDS = 15


@dataclass(frozen=True)
class Item:
    """One numbered thing of a paper.

    name : as the paper has it ("Table 2", "Theorem 5.20"). what : what it says, in a sentence. kind : of
    ``KINDS``. rows : the figures; random instances are drawn from its argument. seconds : of a processor core
    that this took once. remark : the reason of an explained item; else what was assumed. errata : names of
    entries of programs/ERRATA.md that are about it ("Table 7, the coin").
    """

    name: str
    what: str
    kind: Kind
    rows: Reproduce | None = None
    seconds: float = 1.0
    remark: str = ""
    errata: tuple[str, ...] = ()

    @property
    def is_long(self) -> bool:
        """Left out unless asked for."""
        return self.seconds > LONG_SECONDS


@dataclass(frozen=True)
class Source:
    """A paper or slides. key : of the command line. title : as in programs/ERRATA.md. note : on all items."""

    key: str
    title: str
    items: tuple[Item, ...]
    note: str = ""


def worst(
    label: str,
    pairs: Sequence[tuple[float, float]],
    relation: Relation = "=",
    within: float = 0.0,
) -> Row:
    """One row of many instances: the pair (paper, ours) nearest to breaking the relation.

    What is compared is relative to the paper's side.
    """

    def margin(pair: tuple[float, float]) -> float:
        paper, ours = pair
        difference = (paper - ours) / max(1.0, abs(paper))
        return {"=": -abs(difference), "<=": difference, ">=": -difference}[relation]

    paper, ours = min(pairs, key=margin)
    return Row(f"{label}, worst of {len(pairs)}", float(paper), float(ours), relation, within)
