"""A row of the table of atoms: all that the compiler knows of an atom."""

from collections.abc import Callable
from dataclasses import dataclass
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
    arguments, balls for constants and None for variables; it gives an affine
    function below that number, as a ball of its constant and one for each argument (see ``minorants``).
    Every atom that has a curvature in variables has one.

    ``by_component`` takes a number system, the atom's name and arguments that split into components (see
    ``component_forms``); absent for atoms without such a form. ``on_entry`` takes a number system and
    vectors, and does to their entries what the atom does to matrices of one entry; with ``positive`` it is
    called for positive ones only.

    ``chooses`` lists the arguments, by number, that choose rows, groups or entries: the form with error
    bounds takes balls around their plain values, so that the shape is that of the plain form. It returns no
    bound unless all numbers of such a ball lead to the same choice. ``guess`` is a name that no program can
    use: under it values may hold what the form with error bounds takes as its argument of that name, a guess.

    ``cones`` says what cvxpy makes of the atom of variables, as (kind, size, count, variables added),
    from the shape of the first argument (of a quotient the last), the number of entries of the value, and the
    exponent of a power; absent when it makes nothing.
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
    chooses: tuple[int, ...] = ()
    guess: str = ""
    degrees: tuple[float, ...] | None = None
    alike: bool = False
    unitless: bool = False
    equivariance: str = ""
    even: bool = False
    takes_dim: bool = False
    axis: bool = False
