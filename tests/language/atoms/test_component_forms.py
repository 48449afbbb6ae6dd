"""Every structured form of an atom gives the components of what the dense form gives on the dense value.

Guards numerics/component_arrays.py.
"""

import functools
import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import tolerances
from symmetric_workloads import random_products, random_symmetric_matrix

from mmopt.errors import ProgramError
from mmopt.language import evaluate, evaluate_ball
from mmopt.language.atoms import component_forms
from mmopt.language.atoms.table_of_atoms import ATOMS
from mmopt.language.evaluate.number_systems import BALLS, PLAIN, ByComponent, Numbers
from mmopt.language.syntax.syntax_tree import Apply, Name, Span
from mmopt.numerics.balls import Ball
from mmopt.numerics.component_arrays import Level, Space, Split, lift
from mmopt.symmetry import symmetry
from mmopt.testing.problem_registry import domain_of
from mmopt.workloads import Product, Workload, factors_and_products as f

HERE = Span(1, 1)
FORMS = {name for name, atom in ATOMS.items() if atom.by_component is not None}


def remembered(root: Split) -> Split:
    """Keep the bases of a space's components, which dense forms need again and again."""
    assert root.columns.bases is not None
    columns = replace(root.columns, bases=functools.cache(root.columns.bases))
    return Split(root.rows, columns, root.parts)


def apply(numbers: Numbers, atom: str, args: tuple[Any, ...], options: dict[str, int]) -> Any:
    return ByComponent(numbers).call(atom, *args, **options)


def drawn(rng: np.random.Generator) -> Split:
    """A split root with more than one component, of full rank or not."""
    while True:
        workload = (
            random_products(rng, full=rng.random() < 0.5)
            if rng.random() < 0.7
            else random_symmetric_matrix(rng)
        )
        found = symmetry(workload, False)
        if found is not None and found.cells.count > 1:
            return remembered(found.sources["workload.root"])


def many(rng: np.random.Generator) -> Split:
    """Eight components of one row and column, and as many others: marginals, and a group of values.

    So many go together: ``component_forms.FEWEST_PARTS``.
    """
    sizes = (2, 2, 2, 4)
    group = f.predicates([[1.0, 1.0, 1.0, 2.0]], ["g"])
    kinds = [*((f.identity(n), f.total(n)) for n in sizes[:3]), (f.identity(4), group)]
    products = [Product(own, weight=float(rng.uniform(0.5, 2.0))) for own in itertools.product(*kinds)]
    found = symmetry(Workload.from_products(domain_of(*sizes), products), False)
    assert found is not None and found.cells.dims.count(1) == 8 and found.cells.count == 16
    return remembered(found.sources["workload.root"])


RootOf = Callable[[np.random.Generator], Split]
ROOTS = pytest.mark.parametrize("root_of", [drawn, many])


def psd(rng: np.random.Generator, space: Space) -> Split:
    parts = []
    for d in space.dims:
        rows = rng.normal(size=(d + 1, d))
        parts.append(rows.T @ rows + 0.1 * np.eye(d))
    return Split(space, space, tuple(parts))


def level(rng: np.random.Generator, space: Space) -> Level:
    return Level(space, rng.uniform(0.5, 2.0, size=len(space.sizes)))


def dense(value: Any) -> Any:
    return lift(value) if isinstance(value, Split | Level) else value


def mids(value: Any) -> Any:
    """The midpoints of a ball, or of a Split or Level of balls."""
    return balls_of(value, "mid")


def balls_of(value: Any, which: str) -> Any:
    if isinstance(value, Split):
        return Split(value.rows, value.columns, tuple(getattr(p, which) for p in value.parts))
    if isinstance(value, Level):
        return Level(value.space, getattr(value.values, which))
    return getattr(value, which)


def kept(space: Space) -> np.ndarray:
    """The projection on the kept components."""
    return lift(Split(space, space, tuple(np.eye(d) for d in space.dims)))


def arguments(rng: np.random.Generator, root: Split) -> dict[str, list[tuple[Any, ...]]]:
    """Per atom the arguments on which it has a form."""
    space = root.columns
    x, y, u, v = psd(rng, space), psd(rng, space), level(rng, space), level(rng, space)
    both = [(x, y), (u, v), (u, 2.0), (3.0, v)]
    return {
        "add": both,
        "sub": both,
        "neg": [(x,), (u,)],
        "mul": [(u, v), (2.0, x), (x, 0.5), (u, 3.0)],
        "div": [(u, v), (x, 3.0), (2.0, u)],
        "pow": [(u, 2.0), (u, -0.5)],
        "matmul": [(x, y), (root, x), (u, v)],
        "transpose": [(root,), (u,)],
        "inv": [(x,)],
        "pinv": [(root,), (x,)],
        "root": [(x,)],
        "trace": [(x,)],
        "nuclear": [(root,)],
        "diag": [(x,), (u,)],
        "support": [(u,)],
        **{
            name: [(u,)]
            for name in ("sum", "logsumexp", "max", "min", "abs", "sqrt", "exp", "log", "logistic")
        },
    }


def wanted(atom: str, args: tuple[Any, ...], space: Space) -> Any:
    """The dense form, on what is kept."""
    if atom == "inv":  # zero where the components are left out
        return np.linalg.pinv(dense(args[0]), rcond=1e-12)
    out = ATOMS[atom].numpy(*map(dense, args))
    return kept(space) @ out if atom == "diag" and isinstance(args[0], Level) else out


@ROOTS
def test_structured_forms_are_the_dense_ones(rng: np.random.Generator, root_of: RootOf) -> None:
    for root in [root_of(rng) for _ in range(1 if root_of is many else 3)]:
        for atom, args in [(atom, args) for atom, cases in arguments(rng, root).items() for args in cases]:
            truth = np.asarray(wanted(atom, args, root.columns))
            found = apply(PLAIN, atom, args, {})
            # The dense root of a singular matrix has the root of its rounding errors.
            close = (1e-7 if atom == "root" else 1e-9) * max(1.0, float(np.abs(truth).max()))
            np.testing.assert_allclose(dense(found), truth, rtol=1e-9, atol=close, err_msg=atom)


@ROOTS
def test_balls_contain_the_plain_value_and_are_small(rng: np.random.Generator, root_of: RootOf) -> None:
    """The midpoint is the plain value up to the radius, and the radius is one of rounding."""
    root = root_of(rng)
    for atom, cases in arguments(rng, root).items():
        if ATOMS[atom].ball is None:
            continue
        for args in cases:
            plain = apply(PLAIN, atom, args, {})
            ball = apply(BALLS, atom, tuple(map(_exact, args)), {})
            value, mid, rad = (np.asarray(flat(v)) for v in (plain, mids(ball), balls_of(ball, "rad")))
            size = np.abs(value).max()
            assert (np.abs(mid - value) <= 2 * rad + 1e-14 * size).all(), atom
            assert rad.max() <= 1e-6 * max(1.0, size), atom


def _exact(value: Any) -> Any:
    if isinstance(value, Split):
        return Split(value.rows, value.columns, tuple(BALLS.exact(p) for p in value.parts))
    return Level(value.space, BALLS.exact(value.values)) if isinstance(value, Level) else BALLS.exact(value)


def flat(value: Any) -> np.ndarray:
    if isinstance(value, Split):
        return np.concatenate([np.ravel(p) for p in value.parts])
    return np.ravel(value.values if isinstance(value, Level) else value)


@ROOTS
def test_wide_balls_contain_every_value(rng: np.random.Generator, root_of: RootOf) -> None:
    """Parts that are only known to a radius: any parts within it give a result within the result's radius."""
    root = root_of(rng)
    names = {"X": psd(rng, root.columns), "W": root, "d": level(rng, root.columns)}
    near = {name: moved(rng, value, 1e-4) for name, value in names.items()}
    far = {name: widened(value, 1e-4) for name, value in names.items()}
    w, x, d = (Name(id, HERE) for id in ("W", "X", "d"))
    scaled = Apply("matmul", (w, Apply("diag", (Apply("sqrt", (d,), HERE),), HERE)), HERE)
    for expr in (
        Apply("nuclear", (scaled,), HERE),
        Apply("trace", (x,), HERE),
        Apply("max", (Apply("diag", (x,), HERE),), HERE),
        Apply("sum", (Apply("div", (Apply("diag", (x,), HERE), d), HERE),), HERE),
    ):
        ball = evaluate_ball(expr, far)
        assert isinstance(ball, Ball)
        value = float(evaluate(expr, near))
        assert float(ball.lower) - 1e-12 * abs(value) <= value <= float(ball.upper) + 1e-12 * abs(value)
        assert 0 < float(ball.rad) < 0.1 * (1 + abs(value))


def moved(rng: np.random.Generator, value: Any, by: float) -> Any:
    def shaken(a: np.ndarray) -> np.ndarray:
        return a + by * rng.uniform(-1, 1, size=a.shape)

    if isinstance(value, Split):
        return Split(value.rows, value.columns, tuple(shaken(p) for p in value.parts))
    return Level(value.space, shaken(value.values))


def widened(value: Any, by: float) -> Any:
    def wide(a: np.ndarray) -> Ball:
        return Ball(a, np.full(a.shape, by))

    if isinstance(value, Split):
        return Split(value.rows, value.columns, tuple(wide(p) for p in value.parts))
    return Level(value.space, wide(value.values))


@ROOTS
def test_factors_have_the_gram_matrix(rng: np.random.Generator, root_of: RootOf) -> None:
    root = root_of(rng)
    x = psd(rng, root.columns)
    rows = apply(PLAIN, "factor", (x,), {})
    np.testing.assert_allclose(lift(rows).T @ lift(rows), lift(x), atol=1e-10 * np.abs(lift(x)).max())


def test_every_form_in_the_table_is_tested(rng: np.random.Generator) -> None:
    root = drawn(rng)
    assert {*arguments(rng, root), "factor"} == FORMS


def test_counts_beyond_the_floats_are_charged() -> None:
    """A multiplicity of 10^30 is rounded when it becomes a float."""
    space = Space(np.array([1.0, 1e30]), (1, 1))
    split = Split(space, space, (np.zeros((1, 1)), np.full((1, 1), 3.0)))
    ball = evaluate_ball(Apply("trace", (Name("X", HERE),), HERE), {"X": split})
    assert float(ball.lower) < 3 * 10**30 < float(ball.upper)
    assert float(ball.rad) < 1e-14 * 3e30


NO_FORM = [
    ("exp", "x", "a matrix that splits into components"),
    ("sum", "x", "a matrix that splits into components"),
    ("mul", "xx", "a matrix that splits into components, a matrix that splits into components"),
    ("add", "x1", "a matrix that splits into components, a number"),
    ("matmul", "xu", "a matrix that splits into components, a vector that is constant on orbits"),
    ("add", "ua", "a vector that is constant on orbits, a dense vector"),
    ("div", "ux", "a vector that is constant on orbits, a matrix that splits into components"),
    ("polar", "x", "a matrix that splits into components"),
    ("stack", "xx", "a matrix that splits into components, a matrix that splits into components"),
]


def test_what_has_no_form_is_refused_by_name(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    root = drawn(rng)
    known = {"x": psd(rng, root.columns), "u": level(rng, root.columns), "1": 1.0, "a": np.ones(3)}
    for atom, pick, words in NO_FORM:
        with subtests.test(f"{atom} of {pick}"):
            with pytest.raises(ProgramError) as caught:
                apply(PLAIN, atom, tuple(known[p] for p in pick), {})
            assert str(caught.value) == (
                f"'{atom}' has no form by components for {words}\n"
                "  solve the program without the symmetry, or write it with other atoms"
            )


def test_the_clock_is_asked_before_each_part(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[None] = []
    monkeypatch.setattr(component_forms, "require_time", lambda: asked.append(None))
    parts = (np.eye(2),) * 3
    for count, form in ((3, component_forms.vector), (6, component_forms.on_every_part)):
        form(PLAIN, "nuclear" if form is component_forms.vector else "inv", parts)
        assert len(asked) == count


def test_an_axis_has_no_form(rng: np.random.Generator) -> None:
    root = drawn(rng)
    with pytest.raises(ProgramError) as caught:
        apply(PLAIN, "sum", (level(rng, root.columns),), {"axis": 0})
    assert str(caught.value) == (
        "'sum' has no form by components for a vector that is constant on orbits, axis=0\n"
        "  solve the program without the symmetry, or write it with other atoms"
    )


def test_values_that_split_differently_are_refused() -> None:
    one = Space(np.array([1.0, 2.0]), (1, 1))
    other = Space(np.array([1.0]), (3,))
    a = Split(one, one, (np.eye(1), np.eye(1)))
    b = Split(other, other, (np.eye(3),))
    with pytest.raises(ProgramError) as caught:
        apply(PLAIN, "matmul", (a, b), {})
    assert str(caught.value) == (
        "'matmul' of values that split differently: Space(3, abstract, 2 components of size up to 1) and "
        "Space(3, abstract, 1 component of size up to 3)"
    )
    for atom, value, text in (
        ("diag", a, "the rows of a root are not told apart: they have no diagonal by orbits"),
        ("sum", Level(one, np.ones(1)), "the rows of a root are not told apart: they have no orbits"),
    ):
        with pytest.raises(ProgramError) as caught:
            apply(PLAIN, atom, (value,), {})
        assert str(caught.value) == text


# -- parts of one row and one column together: what each comes to by itself

SHAPES = [(1, 1)] * 12 + [(2, 2), (3, 3)]


def drawn_parts(rng: np.random.Generator, numbers: Numbers) -> tuple[Any, ...]:
    """Symmetric psd parts in any order, those of one entry positive, and one of them zero."""
    parts = []
    for at in rng.permutation(len(SHAPES)):
        rows = rng.normal(size=SHAPES[at])
        parts.append(numbers.exact(rows.T @ rows * (at > 0)))
    return tuple(parts)


def mid(value: Any) -> np.ndarray:
    return np.asarray(value.mid if isinstance(value, Ball) else value)


def alike(found: Any, expected: Any) -> bool:
    """Equal up to rounding; of balls both are no wider than rounding, and meet."""
    size = max(1.0, float(np.abs(mid(expected)).max(initial=0.0)))
    close = bool(np.allclose(mid(found), mid(expected), rtol=0, atol=tolerances.FINE * size, equal_nan=True))
    if not isinstance(found, Ball):
        return close and mid(found).shape == mid(expected).shape
    meet = np.abs(found.mid - expected.mid) <= found.rad + expected.rad
    return close and found.mid.shape == expected.mid.shape and bool(meet.all())


OF_PARTS = ["add", "sub", "mul", "matmul", "neg", "transpose", "root", "inv", "pinv", "factor"]


WITHOUT_BALLS = ("pinv", "factor")  # have no error bound


def test_each(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    for atom, numbers in [(atom, PLAIN) for atom in OF_PARTS] + [
        (atom, BALLS) for atom in OF_PARTS if atom not in WITHOUT_BALLS
    ]:
        with subtests.test(atom):
            a = drawn_parts(rng, numbers)
            other = tuple(numbers.exact(rng.normal(size=mid(own).shape)) for own in a)
            args = (a, other) if atom in ("add", "sub", "mul", "matmul") else (a,)
            found = component_forms.on_every_part(numbers, atom, *args)
            for at, own in enumerate(found):
                if atom == "inv" and not mid(a[at]).any():  # infinite, as the atom says
                    expected = numbers.call(atom, a[at])
                    assert np.array_equal(mid(own), mid(expected), equal_nan=True)
                    continue
                assert alike(own, numbers.call(atom, *(arg[at] for arg in args))), atom


def test_numbers_count_for_all(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    for numbers in (PLAIN, BALLS):
        with subtests.test(str(numbers)):
            a, two = drawn_parts(rng, numbers), numbers.exact(2.0)
            for atom, args in (("mul", (two, a)), ("mul", (a, two)), ("div", (a, two))):
                found = component_forms.on_every_part(numbers, atom, *args)
                for at, own in enumerate(found):
                    expected = numbers.call(
                        atom, *(arg[at] if isinstance(arg, tuple) else arg for arg in args)
                    )
                    assert alike(own, expected)


def test_vector(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    for atom in ("diag", "trace", "nuclear"):
        for numbers in (PLAIN, BALLS):
            with subtests.test(str((atom, numbers))):
                a = drawn_parts(rng, numbers)
                found, order = component_forms.vector(numbers, atom, a)
                assert sorted(order) == list(range(len(a)))
                expected = np.concatenate([np.atleast_1d(mid(numbers.call(atom, a[at]))) for at in order])
                np.testing.assert_allclose(mid(found), expected, atol=tolerances.FINE)


def test_solved(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    for numbers in (PLAIN, BALLS):
        for sides in ("", "left", "right", "both"):
            with subtests.test(str((sides, numbers))):
                matrix = tuple(
                    m if mid(m).size > 1 else numbers.exact(mid(m) + 1.0) for m in drawn_parts(rng, numbers)
                )
                left, right = (
                    tuple(numbers.exact(rng.normal(size=mid(m).shape)) for m in matrix)
                    if sides in (side, "both")
                    else None
                    for side in ("left", "right")
                )
                found = component_forms.solved(numbers, left, matrix, right)
                for at, own in enumerate(found):
                    expected = numbers.solved(left and left[at], matrix[at], right and right[at])
                    assert alike(own, expected)


def test_what_is_not_positive_goes_through_the_atom() -> None:
    """A root of a ball that reaches below zero is the atom's, which knows what to do with it."""
    parts = tuple(Ball(np.array([[m]]), np.array([[0.5]])) for m in (0.25, *range(1, 12)))
    found = component_forms.on_every_part(BALLS, "inv", *[parts])
    assert not np.isfinite(found[0].rad).all() and all(np.isfinite(own.rad).all() for own in found[1:])


def test_diagonals_of_what_is_solved(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    for numbers in (PLAIN, BALLS):
        with subtests.test(str(numbers)):
            matrix = tuple(
                m if mid(m).size > 1 else numbers.exact(mid(m) + 1.0) for m in drawn_parts(rng, numbers)
            )
            left, right = (
                tuple(numbers.exact(rng.normal(size=mid(m).shape)) for m in matrix) for _ in ("left", "right")
            )
            found, order = component_forms.solved_diagonals(numbers, left, matrix, right)
            assert sorted(order) == list(range(len(matrix)))
            expected = [np.diag(mid(numbers.solved(left[at], matrix[at], right[at]))) for at in order]
            np.testing.assert_allclose(mid(found), np.concatenate(expected), atol=tolerances.FINE)


def test_a_diagonal_where_nothing_can_be_solved_is_infinite() -> None:
    zero = np.zeros((2, 2))
    found, _ = component_forms.solved_diagonals(PLAIN, (np.eye(2),), (zero,), (np.eye(2),))
    assert np.isinf(found).all()
