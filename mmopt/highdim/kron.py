"""One product strategy A₁ ⊗ … ⊗ A_d for a union of products (OPT⊗ of the slides), an attribute at a time.

With the other factors fixed, total error is Σⱼ cⱼ tr(Gᵢⱼ (AᵢᵀAᵢ)⁺) with cⱼ = wⱼ Π_{k≠i} tr(Gₖⱼ (AₖᵀAₖ)⁺):
that of a workload on attribute i alone, with weights cⱼ. It is solved by a shipped program, and what comes
out is taken where it is better than what was there, so total error falls with every step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from mmopt.errors import WorkloadError
from mmopt.queries import Factor, Product, Strategy, Workload
from mmopt.queries.arrays import Array, Ints
from mmopt.queries.product_strategy import ProductStrategy, one_attribute, products_of

__all__ = ["Block", "Descent", "Solve", "product_strategy"]

ROUNDS = 40
SETTLED = 1e-7  # a round that gains less, relatively, is the last


@dataclass(frozen=True, eq=False)
class Block:
    """One attribute's strategy, and multipliers (n,) of its cells that bound its error from below."""

    strategy: Strategy
    multipliers: Array


Solve = Callable[[Workload], Block]


@dataclass(frozen=True, eq=False)
class Descent:
    """strategy : the product. multipliers : per attribute (nᵢ,). history : total error by round."""

    strategy: ProductStrategy
    multipliers: tuple[Array, ...]
    history: tuple[float, ...]

    @property
    def error(self) -> float:
        """The last of the history."""
        return self.history[-1]


def product_strategy(
    workload: Workload,
    solve: Solve,
    *,
    start: Sequence[Array] | None = None,
    rounds: int = ROUNDS,
) -> Descent:
    """Descend until a round gains nothing.

    Parameters
    ----------
    workload : from products. solve : for the workload of one attribute, a strategy of sensitivity 1.
    start : per attribute the errors (products,) from which the first weights come; by default those of
        independent noise on every value.
    rounds : over all attributes, at most.

    Raises
    ------
    OptionError : a workload from a matrix. WorkloadError : an attribute's strategy does not support it.
    """
    products = products_of(workload)
    weights = np.array([product.weight for product in products])
    lines = [_Line.of(products, i) for i in range(len(workload.domain.shape))]
    errors = np.array([line.identity for line in lines]) if start is None else np.array(start, dtype=float)
    blocks: list[Block | None] = [None] * len(lines)
    history: list[float] = []
    while len(history) < rounds:
        for i, line in enumerate(lines):
            others = weights * np.delete(errors, i, axis=0).prod(axis=0)
            found = solve(line.weighted(others))
            own = line.errors(found.strategy)
            if not np.isfinite(own).all():
                raise WorkloadError("the strategy found for an attribute does not support its queries")
            if blocks[i] is None or others @ own < others @ errors[i]:
                blocks[i], errors[i] = found, own
        history.append(float(weights @ errors.prod(axis=0)))
        if len(history) > 1 and history[-1] >= history[-2] * (1.0 - SETTLED):
            break
    done = [block for block in blocks if block is not None]
    strategy = ProductStrategy(tuple(block.strategy for block in done))
    return Descent(strategy, tuple(block.multipliers for block in done), tuple(history))


@dataclass(frozen=True, eq=False)
class _Line:
    """The factors of one attribute: ``distinct`` has each once, ``place`` (products,) which a product has."""

    distinct: tuple[Factor, ...]
    place: Ints

    @staticmethod
    def of(products: Sequence[Product], i: int) -> _Line:
        known: dict[Factor, int] = {}
        place = [known.setdefault(product.factors[i], len(known)) for product in products]
        return _Line(tuple(known), np.array(place))

    @property
    def identity(self) -> Array:
        """Total squared error of each product's queries under independent unit noise on every value."""
        return np.array([float(f.squared_norms().sum()) for f in self.distinct])[self.place]

    def weighted(self, weights: Array) -> Workload:
        """The attribute's own workload, with weights (products,) up to a common factor."""
        sums = np.bincount(self.place, weights, minlength=len(self.distinct))
        return one_attribute(list(zip(self.distinct, (sums / sums.max()).tolist(), strict=True)))

    def errors(self, strategy: Strategy) -> Array:
        """Total squared error of each product's queries on this attribute (products,)."""
        each = [float(strategy.variances(one_attribute([(f, 1.0)])).sum()) for f in self.distinct]
        return strategy.sensitivity**2 * np.array(each)[self.place]
