"""A row of the table of atoms: all that the compiler knows of an atom; and the cones of powers.

A power of what is chosen becomes a few second-order cones where its exponent is simple, else one power cone.
``t <= x**p`` for a fraction p is a geometric mean, and that is a tree of means of two: with p = a / b and 2^k
the least power of two that is at least b, it has the weights (a, b - a, 2^k - b) / 2^k, where the third is
the weight of t itself (Alizadeh & Goldfarb 2003, Second-order cone programming, section 2.3). cvxpy halves
the weights in the same way, so that the cones counted here are those that it passes on.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from mmopt.language.atoms.minorants import Minorant
from mmopt.language.atoms.rules import Rule
from mmopt.numerics.balls import Ball


@dataclass(frozen=True)
class PrintedForm:
    """How an atom is printed: {0}, {1} are its arguments.

    ``binds`` is the strength with which the form holds together: sums 1, quotients and entry-by-entry
    products 2, products 3, fractions 4, what is written after or before its argument 8, what is
    enclosed 9.
    """

    text: str
    binds: int = 9


@dataclass(frozen=True)
class Atom:
    """One row of the table.

    ``numpy`` and ``ball`` take the arguments and an optional ``axis``; ``cvxpy`` takes the cvxpy module
    first. ``text`` is the form in the language itself and ``binds`` its strength in Python's grammar (a
    sum 1, a product 2, a minus 3, a power 5, ``.T`` 8, a call 9).

    ``example`` is a small program in a line that uses the atom: ``minimize … where …``, perhaps ``with …``
    (``examples/site/atom_pages.py`` makes its text).

    ``degrees`` says how the value scales: by which power of each argument's scale (the inverse -1, a
    product 1 and 1). ``alike`` says instead that the arguments have to scale alike, and the value as they
    do (a sum), or that they have to be free of units, as the value then is (``unitless``, a logarithm). A
    program with an atom that says none of these is solved as given, unscaled.

    ``equivariance`` is the word for how the atom commutes with a change of the axes of its arguments (cells
    permuted or repeated, queries permuted, a basis rotated), with block diagonal arguments and with Kronecker
    products; ``compiler/actions_on_expressions.py`` defines each word. "": with none of them.
    ``even``: entry by entry, whatever the sign of an entry.

    ``gradient`` takes the arguments, the value and the derivative of a number by the value, and gives
    that number's derivative by each argument (of its shape); absent for atoms that have none. An atom
    that is not smooth has ``rounded``, its numpy form rounded off by the option ``rounding``, which
    its gradient then takes too.

    ``minorant`` takes the derivative of a number by the value, what is near (``minorants.Near``) and the
    arguments, balls of those that are constant and None for those that are chosen; it gives an affine
    function below that number, as a ball of its constant and one for each argument (see ``minorants``).
    Every atom that has a curvature on what is chosen has one.

    ``by_component`` takes a number system, the atom's name and arguments that split into components (see
    ``component_forms``); absent for atoms without such a form. ``on_entry`` takes a number system and
    vectors, and does to their entries what the atom does to matrices of one entry; with ``positive`` it is
    called for positive ones only.

    ``plainly`` lists the arguments, by number, that the form with error bounds takes as plain values: where
    numbers choose, the plain numbers of the let choose. ``guess`` is a name that no program can use: under it
    values may hold what the form with error bounds takes as its argument of that name, a guess.

    ``cones`` says what cvxpy makes of the atom on what is chosen, as (kind, size, count, unknowns added),
    from the shape of the argument that is chosen, the number of entries of the value, and the exponent of
    a power; absent when it makes nothing.
    """

    name: str
    arity: int
    rule: Rule
    numpy: Callable[..., Any]
    about: str
    example: str
    latex: PrintedForm
    plain: PrintedForm
    text: str
    binds: int = 9
    ball: Callable[..., Ball] | None = None
    cvxpy: Callable[..., Any] | None = None
    gradient: Callable[..., tuple[Any, ...]] | None = None
    rounded: Callable[..., Any] | None = None
    minorant: Callable[..., Minorant] | None = None
    cones: Callable[[tuple[int, ...], int, float], tuple[tuple[str, int, int, int], ...]] | None = None
    by_component: Callable[..., Any] | None = None
    on_entry: Callable[..., Any] | None = None
    positive: bool = False
    plainly: tuple[int, ...] = ()
    guess: str = ""
    degrees: tuple[float, ...] | None = None
    alike: bool = False
    unitless: bool = False
    equivariance: str = ""
    even: bool = False
    takes_dim: bool = False
    axis: bool = False


LARGEST_DENOMINATOR = 1024
MOST_MEANS = 4  # beyond it cvxpy itself advises a power cone
EXACT = 1e-14


def is_quadratic(exponent: float) -> bool:
    """Whether the power is exactly a few second-order cones."""
    means = _means(exponent)
    return means is not None and means <= MOST_MEANS


def cones(shape: tuple[int, ...], outputs: int, exponent: float) -> tuple[tuple[str, int, int, int], ...]:
    """(kind, size, count, unknowns) of the cones of the power of every entry."""
    if exponent in (0.0, 1.0):
        return ()
    means = _means(exponent)
    if means is None or means > MOST_MEANS:
        above = (("nonnegative", 1, outputs, 0),) if exponent > 1 and exponent % 2 else ()
        return (("power", 3, outputs, outputs), *above)
    return (("second-order", 3, means * outputs, means * outputs),)


def _means(exponent: float) -> int | None:
    """How many means of two make the power; None for an exponent that is no simple fraction."""
    p = Fraction(exponent).limit_denominator(LARGEST_DENOMINATOR)
    if abs(float(p) - exponent) > EXACT * max(1.0, abs(exponent)):
        return None
    weight = p if 0 <= p <= 1 else 1 / p if p > 1 else p / (p - 1)
    whole = 1 << (weight.denominator - 1).bit_length()
    weights = [weight.numerator, weight.denominator - weight.numerator]
    if whole > weight.denominator:
        weights.append(whole - weight.denominator)
    seen: set[tuple[int, ...]] = set()
    todo = [tuple(weights)]
    while todo:
        now = todo.pop()
        if whole not in now and now not in seen:
            seen.add(now)
            todo += _halves(now, whole)
    return len(seen)


def _halves(weights: tuple[int, ...], whole: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Two lists of weights whose mean is the one given; the first takes the largest powers of two."""
    first, second = [0] * len(weights), [2 * w for w in weights]
    bit = whole
    while sum(first) < whole:
        for i, w in enumerate(second):
            if w >= bit and sum(first) < whole:
                first[i], second[i] = first[i] + bit, w - bit
        bit //= 2
    return tuple(first), tuple(second)
