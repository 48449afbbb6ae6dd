"""The law of the table of atoms: what a row says holds, for every row and every kind of argument it takes.

Each law takes a row and fails where it does not hold.

Guards atom_gradients.py, table_of_atoms.py, rules.py, function_atoms.py, numerics/ball_functions.py and
ball_inverse.py (row_basis).
"""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from flint import arb, ctx

from mmopt import Program, Workload
from mmopt.compiler import bind, lower
from mmopt.language import ATOMS
from mmopt.language.atoms.atom import Atom
from mmopt.language.atoms.expression_types import UNKNOWN_ROWS, Curvature, Type
from mmopt.language.atoms.table_of_atoms import FUNCTIONS
from mmopt.language.syntax.parse_and_write_expressions import parse_expr
from mmopt.language.syntax.source_text import Source, Text
from mmopt.language.syntax.syntax_tree import Apply, Name
from mmopt.numerics import balls
from mmopt.numerics.balls import Ball
from tests.language.atom_cases import MEANINGS, Call, arbs, curve, taken

Rng = np.random.Generator
Calls = Sequence[Call]  # that the atom takes
CLOSE = 1e-9  # rounding, of values of order one
STEP = 1e-5
CONES = {"zero": "zero", "nonnegative": "nonneg"}
CONES |= {"second-order": "soc", "exponential": "exp", "power": "p3d", "psd": "psd"}


@pytest.fixture(autouse=True)
def sixty_digits() -> Iterator[None]:
    with ctx.workprec(200):
        yield


def meant(atom: Atom, args: tuple[Any, ...], options: Any) -> Any:
    assert atom.name in MEANINGS, f"tests/language/atom_cases.py does not say what '{atom.name}' means"
    return MEANINGS[atom.name](*args, **options)


def floats(value: Any) -> Any:
    return np.vectorize(float, otypes=[float])(value)


def close(one: Any, other: Any, within: float = CLOSE) -> None:
    size = max(1.0, float(np.abs(other).max(initial=0.0)))
    np.testing.assert_allclose(one, other, rtol=0, atol=within * size)


def values(atom: Atom, call: Call, args: tuple[Any, ...]) -> Any:
    return atom.numpy(*args, **call.options)


# -- the laws


def law_of_value(atom: Atom, taken: Calls, rng: Rng) -> None:
    """The numpy form is what is meant; shape, sign and definiteness are those of the rule."""
    for call in taken:
        for _ in range(3):
            args, out = call.draw(rng), call.out(atom)
            value = np.asarray(values(atom, call, args))
            gram = value.T @ value if atom.name in ("factor", "row_basis") else value
            is_identity = atom.name == "row_basis" and np.array_equal(value, np.eye(args[0].shape[1]))
            if not (is_identity and np.linalg.matrix_rank(args[0]) == args[0].shape[1]):
                close(gram, floats(meant(atom, _points(args), call.options)))
            dims = [None if d == UNKNOWN_ROWS else d.value({"r": 2, "n": 3}) for d in out.dims]
            assert all(d in (None, side) for d, side in zip(dims, value.shape, strict=True))
            assert (out.sign * value >= -CLOSE).all()
            if out.symmetric or out.psd:
                close(value, value.T)
            if out.psd:
                assert np.linalg.eigvalsh(value)[0] >= -CLOSE


def _points(args: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(arbs(a) if i == 0 or isinstance(a, np.ndarray) else a for i, a in enumerate(args))


def law_of_curvature(atom: Atom, taken: Calls, rng: Rng) -> None:
    """On arguments curved in every way, the value's curvature is that of the rule, so monotonicity too."""
    for call in taken:
        for kinds, out in call.curved(atom):
            curves = [curve(kind, rng, call.positive) for kind in kinds]
            for _ in range(3):
                ends = rng.uniform(-1, 1, 2)
                at = [
                    np.asarray(values(atom, call, tuple(_at(curves, t, call))), dtype=float)
                    for t in (*ends, ends.mean())
                ]
                bend = (at[0] + at[1]) / 2 - at[2]
                slack = 1e-10 * max(1.0, float(np.abs(at).max()))
                said = f"{out.curvature} of {[kind.known for kind in kinds]}, {call}"
                if out.curvature is Curvature.AFFINE:
                    assert np.abs(bend).max() <= slack, said
                    continue
                bend = bend if out.curvature is Curvature.CONVEX else -bend
                least = np.linalg.eigvalsh((bend + bend.T) / 2) if out.loewner else bend
                assert np.min(least) >= -slack, said


def _at(curves: list[Callable[[float], Any]], t: float, call: Call) -> list[Any]:
    found = [c(t) for c in curves]
    return [found[0], call.exponent] if call.exponent is not None else found


def law_of_balls(atom: Atom, taken: Calls, rng: Rng) -> None:
    """The ball has the exact value for every point of the arguments' balls, and is small for exact ones."""
    if atom.ball is None:
        assert not any(call.claims(atom) for call in taken), "what is optimised needs a bound"
        return
    small = False
    for call in taken:
        args = call.draw(rng)
        size = np.asarray(values(atom, call, args))
        exact = bounded(atom, call, args, [balls.exact(a) for a in args])
        is_choice = len(atom.chooses) == atom.arity  # law_of_choices has those of a ball
        truth = arbs(size) if is_choice else meant(atom, _points(args), call.options)
        assert_inside(truth, exact)
        small |= bool((exact.rad <= 1e-12 * np.abs(size).max(initial=0.0)).all())
        if is_choice:
            continue
        fixed = [
            kind.count or i in atom.chooses or (call.exponent is not None and i > 0)
            for i, kind in enumerate(call.kinds)
        ]
        wide = [Ball(np.asarray(a), np.zeros(np.shape(a))) if is_fixed else _widened(a, rng)
                for a, is_fixed in zip(args, fixed, strict=True)]  # fmt: skip
        found = bounded(atom, call, args, wide)
        for sign in (1.0, -1.0, None, None, None):
            moved = []
            for ball in wide:
                share = rng.choice([-1.0, 1.0], ball.mid.shape) if sign is None else np.asarray(sign)
                if ball.mid.ndim == 2 and np.array_equal(ball.mid, ball.mid.T):
                    share = np.tril(share * np.ones(ball.mid.shape))
                    share = share + np.tril(share, -1).T
                moved.append(arbs(ball.mid) + arbs(share) * arbs(ball.rad))
            moved = moved if call.exponent is None else [moved[0], call.exponent]
            assert_inside(meant(atom, tuple(moved), call.options), found)
    assert small, "no ball is small"


def bounded(atom: Atom, call: Call, args: tuple[Any, ...], wide: list[Ball]) -> Ball:
    assert atom.ball is not None
    return atom.ball(*wide, **call.options)


def law_of_choices(atom: Atom, taken: Calls, rng: Rng) -> None:
    """Nothing is known where numbers of a ball choose in different ways, and all where they choose alike."""
    differs, decides = not atom.chooses, not atom.chooses
    for call in taken if atom.chooses else ():
        assert atom.ball is not None
        args = tuple(a + 0.25 * kind.count for kind, a in zip(call.kinds, call.draw(rng), strict=True))
        sizes = [1.5 if kind.count else np.abs(a).max() for kind, a in zip(call.kinds, args, strict=True)]
        value = np.asarray(values(atom, call, args))
        for share in (1e-14, 1.0):
            rads = [share * size * (at in atom.chooses) for at, size in enumerate(sizes)]
            found = atom.ball(*(Ball(np.asarray(a, dtype=float), np.full(np.shape(a), rad))
                                for a, rad in zip(args, rads, strict=True)))  # fmt: skip
            assert np.shape(found.mid) == value.shape
            for way in ("up", "to zero", "anywhere"):
                moved = tuple(_moved(a, rad, way, rng, kind.count)
                              for a, rad, kind in zip(args, rads, call.kinds, strict=True))  # fmt: skip
                other = np.asarray(values(atom, call, moved))
                if other.shape != value.shape or not np.allclose(other, value, rtol=0, atol=1e-9):
                    assert np.isinf(found.rad).all(), f"{atom.name} drops the radius of what chooses"
                    differs = True
            decides |= bool(share < 1 and np.isfinite(found.rad).all())
    assert differs, "no ball has numbers that choose in different ways"
    assert decides, "no ball has numbers that all choose alike"


def _moved(a: Any, rad: float, way: str, rng: Rng, is_count: bool) -> Any:
    """A point of a ball around an argument; a count stays at least 1."""
    shares = {"up": 1.0, "to zero": -np.sign(a), "anywhere": rng.uniform(-1, 1, np.shape(a))}
    out = a + rad * shares[way]
    return max(float(out), 1.0) if is_count else out


def _widened(a: Any, rng: Rng) -> Ball:
    mid = np.asarray(a, dtype=float)
    return Ball(mid, np.full(mid.shape, float(rng.choice([1e-3, 1e-6, 1e-10]))))


def assert_inside(truth: Any, ball: Ball) -> None:
    for t, mid, rad in zip(np.ravel(truth), np.ravel(ball.mid), np.ravel(ball.rad), strict=True):
        assert rad == np.inf or abs(t - arb(float(mid))) <= arb(float(rad)), (float(t), mid, rad)


def law_of_lowering(atom: Atom, taken: Calls, rng: Rng) -> None:
    """The atom in cvxpy has its value at every point, and the cones and unknowns counted."""
    lowered: set[tuple[Any, ...]] = set()
    for call in taken:
        args = call.draw(rng)
        value = values(atom, call, args)
        if atom.cvxpy is not None:
            plain = atom.cvxpy(cp, *([args[0]] if atom.takes_dim else map(cp.Constant, args)), **call.options)
            close(getattr(plain, "value", plain), value)
        for kinds, out in call.curved(atom):
            chosen = tuple(not kind.known.is_constant for kind in kinds)
            shapes = tuple((kind.shape, kind.known.symmetric, kind.known.is_row) for kind in kinds)
            case = (chosen, shapes, out.curvature, call.exponent, *call.options.items())
            if case in lowered or not all(kind.known.curvature.is_affine for kind in kinds):
                continue
            lowered.add(case)
            if atom.cvxpy is not None:
                _lowered(atom, call, args, chosen, out)
            else:
                _lowered_by_the_compiler(atom, args, out)


def _lowered(atom: Atom, call: Call, args: tuple[Any, ...], chosen: tuple[bool, ...], out: Type) -> None:
    assert atom.cvxpy is not None
    free = [
        cp.Variable(np.shape(a), symmetric=kind.known.symmetric) if is_chosen else cp.Constant(a)
        for a, kind, is_chosen in zip(args, call.kinds, chosen, strict=True)
    ]
    expression = atom.cvxpy(cp, *free, **call.options)
    value = np.asarray(values(atom, call, args))
    weights = 1.0 + np.arange(value.size).reshape(value.shape)
    sense = cp.Maximize if out.curvature is Curvature.CONCAVE else cp.Minimize
    objective = sense(cp.sum(cp.multiply(weights, expression)))
    data = cp.Problem(objective).get_problem_data("CLARABEL", solver_opts={"use_quad_obj": False})[0]
    own = [i for i, is_chosen in enumerate(chosen) if is_chosen]
    bends = -1 if atom.name == "div" else 0
    formed = () if atom.cones is None or (atom.name == "div" and own == [0]) else atom.cones(
        np.shape(args[bends]), value.size, 1.0 if call.exponent is None else call.exponent
    )  # fmt: skip
    counted = dict.fromkeys(CONES, 0)
    for kind, _, count, _ in formed:
        counted[kind] += count
    handed = {kind: getattr(data["dims"], name) for kind, name in CONES.items()}
    handed = {kind: len(c) if isinstance(c, list) else c for kind, c in handed.items()}
    assert counted == handed, f"the row of '{atom.name}' counts {counted}, cvxpy {handed}"
    unknowns = sum(free[i].size if not call.kinds[i].known.symmetric else 6 for i in own)
    added = data["c"].size - unknowns
    assert added == sum(more for *_, more in formed), f"cvxpy adds {added} unknowns for '{atom.name}'"
    problem = cp.Problem(objective, [free[i] == args[i] for i in own])
    problem.solve("CLARABEL")
    close(problem.value, (weights * value).sum(), 1e-5)


OWN = """program trial
class convex
given
    P: psd[n, n]
    C: psd[n, n]
choose
    X: psd[n, n]
{sense}
    trace(C @ {text})
subject to
    same: X == P
strategy
    factor(X) norm 2
"""


def _lowered_by_the_compiler(atom: Atom, args: tuple[Any, ...], out: Type) -> None:
    assert out.loewner, "only a matrix curved as a whole is lowered without a form"
    sense = "minimize" if out.curvature is Curvature.CONVEX else "maximize"
    text = OWN.format(sense=sense, text=atom.text.format("X"))
    given = {"P": args[0], "C": np.diag([1.0, 2.0, 3.0]) + 0.5}
    problem = lower(bind(Program.parse(text), Workload.from_matrix(np.eye(3)), given)).problem
    problem.solve("CLARABEL")
    close(problem.value, np.trace(given["C"] @ atom.numpy(*args)), 1e-5)


def law_of_gradients(atom: Atom, taken: Calls, rng: Rng) -> None:
    """The derivative along a direction, of the rounded form too; what is optimised has one."""
    for call in taken:
        if atom.gradient is None:
            assert not call.claims(atom), "what is optimised needs a gradient"
            continue
        for rounding in (0.0, 0.1) if atom.rounded is not None else (0.0,):
            args = call.draw(rng)
            more = {**call.options, **({"rounding": rounding} if rounding else {})}
            form = atom.rounded if rounding else atom.numpy
            value = form(*args, **more)
            bar = rng.normal(size=np.shape(value))
            found = atom.gradient(*args, value, bar, **more)
            if rounding:  # off by the rounding times the logarithm of the number of entries, at most
                assert np.abs(value - values(atom, call, args)).max() <= rounding * math.log(9) + CLOSE
            for at, arg in enumerate(args if call.exponent is None else args[:1]):
                along = rng.normal(size=np.shape(arg))
                along = (along + along.T) / 2 if call.kinds[at].known.symmetric else along
                assert np.shape(found[at]) == np.shape(arg)
                slopes, bends = [], []
                for step in (STEP, STEP / 2):
                    ends = [
                        form(*(a + s * along if i == at else a for i, a in enumerate(args)), **more)
                        for s in (step, -step)
                    ]
                    slopes.append(np.sum(bar * (np.asarray(ends[0]) - ends[1])) / (2 * step))
                    bends.append(abs(np.sum(bar * (np.asarray(ends[0]) - 2 * value + ends[1]))) / step)
                # Near where two pieces meet: a smooth bend is halved with the step, and slopes hardly change.
                if bends[1] > 0.8 * bends[0] > 1e-6 or abs(slopes[0] - slopes[1]) > 1e-2:
                    continue
                slope = (4 * slopes[1] - slopes[0]) / 3  # to order four: divisors may be small
                close(np.sum(found[at] * along), slope, 1e-5)


def law_of_scaling(atom: Atom, taken: Calls, rng: Rng) -> None:
    """The powers by which the value scales; the value of arguments that scale alike scales as they do."""
    says = [atom.degrees is not None, atom.alike, atom.unitless]
    assert sum(says) == (atom.name != "pow")  # whose degree is its exponent
    for call in taken:
        if atom.unitless or atom.takes_dim:
            continue
        args = call.draw(rng)
        scales = rng.uniform(0.5, 2.0, len(args)) ** 2
        if atom.alike:
            scales[:], by = scales[0], scales[0]
        elif call.exponent is not None:
            by = scales[0] ** call.exponent
        else:
            assert atom.degrees is not None and len(atom.degrees) == atom.arity
            by = math.prod(s**d for s, d in zip(scales, atom.degrees, strict=True))
        counts = [kind.count for kind in call.kinds]
        if any(c and d for c, d in zip(counts, atom.degrees or (), strict=False)):
            raise AssertionError("a count has no units")
        scaled = tuple(a if c else s * a for s, a, c in zip(scales, args, counts, strict=True))
        close(values(atom, call, scaled), by * np.asarray(values(atom, call, args)))


def law_of_equivariance(atom: Atom, taken: Calls, rng: Rng) -> None:
    """The row's word holds for permuted, repeated, rotated cells."""
    assert not atom.equivariance or atom.equivariance in ACTIONS, f"no action for '{atom.equivariance}'"
    for call in taken if atom.equivariance else ():
        args = call.draw(rng)

        def f(*moved: Any, call: Call = call) -> Any:
            return np.asarray(atom.numpy(*moved, **call.options))

        ACTIONS[atom.equivariance](f, args, call, rng)
        if atom.even:
            close(f(*(-a for a in args)), f(*args))


def _turn(rng: Rng, size: int) -> np.ndarray:
    return np.asarray(np.linalg.qr(rng.normal(size=(size, size)))[0])


def _permuted(f: Any, args: tuple[Any, ...], call: Call, rng: Rng) -> None:
    shape = max((np.shape(a) for a in args), key=len)
    order = [rng.permutation(side) for side in shape]

    def moved(a: Any) -> Any:
        return a[np.ix_(*order)] if np.shape(a) == shape and shape else a

    close(f(*map(moved, args)), moved(f(*args)))


def _rotated(f: Any, args: tuple[Any, ...], call: Call, rng: Rng) -> None:
    _permuted(f, args, call, rng)
    if all(np.ndim(a) == 2 for a in args):
        q, t = (_turn(rng, side) for side in args[0].shape)
        close(f(*(q @ a @ t for a in args)), q @ f(*args) @ t)


def _reduced(copies_share: bool) -> Any:
    """A total of what is shared among the copies of a cell, an extreme of what is repeated."""

    def act(f: Any, args: tuple[Any, ...], call: Call, rng: Rng) -> None:
        (a,) = args
        axis, value = call.options.get("axis"), f(a)
        orders = [rng.permutation(side) for side in np.shape(a)]
        kept = [o for i, o in enumerate(orders) if axis is not None and i != axis]
        close(f(a[np.ix_(*orders)] if orders else a), value[kept[0]] if kept else value)
        if copies_share is not None and np.ndim(a):
            twice = np.repeat(a, 2, axis=axis or 0) / (2.0 if copies_share else 1.0)
            close(f(twice), value)

    return act


def _product(f: Any, args: tuple[Any, ...], call: Call, rng: Rng) -> None:
    a, b = args
    q, order = _turn(rng, a.shape[-1]), rng.permutation(a.shape[-1])
    close(f(a @ q, q.T @ b), f(a, b))
    close(f(a[..., order], b[order]), f(a, b))
    split = np.repeat(np.eye(len(q)), 2, axis=1) / np.sqrt(2.0)
    close(f(a @ split, split.T @ b), f(a, b))
    if a.ndim == 2:
        left = _turn(rng, len(a))
        close(f(left @ a, b), left @ f(a, b))


def _diagonal(f: Any, args: tuple[Any, ...], call: Call, rng: Rng) -> None:
    (a,) = args
    order = rng.permutation(len(a))
    both = np.ix_(order, order)
    close(f(a[order] if a.ndim == 1 else a[both]), f(a)[both] if a.ndim == 1 else f(a)[order])


def _inverse(f: Any, args: tuple[Any, ...], call: Call, rng: Rng) -> None:
    (a,) = args
    m = _turn(rng, len(a)) + 0.1 * rng.normal(size=a.shape)
    back = np.linalg.inv(m)
    close(f(m @ a @ m.T), back.T @ f(a) @ back, 1e-6)


def _spectral(f: Any, args: tuple[Any, ...], call: Call, rng: Rng) -> None:
    (a,) = args
    q, t = (_turn(rng, side) for side in a.shape)
    t = q.T if call.kinds[0].known.psd else t
    turned, value = f(q @ a @ t), f(a)
    wanted = (
        q @ value @ t
        if value.shape == a.shape and not np.allclose(turned, t.T @ value @ q.T)
        else t.T @ value @ q.T
    )
    close(turned, wanted, 1e-7)


def _norm(f: Any, args: tuple[Any, ...], call: Call, rng: Rng) -> None:
    (a,) = args
    split = np.repeat(_turn(rng, len(a)), 2, axis=0) / np.sqrt(2.0)
    close(f(split @ a @ _turn(rng, a.shape[1])), f(a))


def _factor(f: Any, args: tuple[Any, ...], call: Call, rng: Rng) -> None:
    q = _turn(rng, len(args[0]))
    rows = f(q @ args[0] @ q.T)
    close(rows.T @ rows, q @ f(args[0]).T @ f(args[0]) @ q.T)


def _same(f: Any, args: tuple[Any, ...], call: Call, rng: Rng) -> None:
    value, order = f(*args), rng.permutation(args[0])
    close(value[np.ix_(*[order] * value.ndim)], value)
    if value.ndim == 2:
        q = _turn(rng, len(value))
        close(q @ value @ q.T, value)


def _trace(f: Any, args: tuple[Any, ...], call: Call, rng: Rng) -> None:
    q = _turn(rng, len(args[0]))
    close(f(q @ args[0] @ q.T), f(args[0]))


def _spectrum(f: Any, args: tuple[Any, ...], call: Call, rng: Rng) -> None:
    (a,) = args
    q, t = (_turn(rng, side) for side in (a.shape * 2)[:2])
    close(f(q @ a @ (q.T if np.array_equal(a, a.T) else t) if a.ndim == 2 else q @ a), f(a))


def law_of_words(atom: Atom, taken: Calls, rng: Rng) -> None:
    """The text form is read back as the atom, and each form shows every argument once."""
    names = "XYZ"[: atom.arity]
    text = atom.text.format(*names)
    expr = parse_expr(Text(Source("t", (text,)), text, 1, 1), (*FUNCTIONS, atom.name))
    assert isinstance(expr, Apply)
    assert (expr.atom, [str(a.id) for a in expr.args if isinstance(a, Name)]) == (atom.name, list(names))
    for form in (atom.latex.text, atom.plain.text, atom.text):
        assert all(form.count(f"{{{at}}}") == 1 for at in range(atom.arity))
        assert form.format(*names)
    assert atom.about.endswith(".")


ACTIONS: dict[str, Callable[[Any, tuple[Any, ...], Call, Rng], None]] = {
    "linear": _rotated,
    "entrywise": _permuted,
    "sum": _reduced(True),
    "extreme": _reduced(False),
    "soft": _reduced(None),
    "product": _product,
    "trace": _trace,
    "spectrum": _spectrum,
    "diagonal": _diagonal,
    "inverse": _inverse,
    "spectral": _spectral,
    "norm": _norm,
    "factor": _factor,
    "transpose": lambda f, args, call, rng: close(f(*args), np.asarray(args[0]).T),
    "identity": _same,
    "ones": _same,
}

LAWS = {
    law.__name__.removeprefix("law_of_"): law
    for law in (
        law_of_value,
        law_of_curvature,
        law_of_balls,
        law_of_choices,
        law_of_lowering,
        law_of_gradients,
        law_of_scaling,
        law_of_equivariance,
        law_of_words,
    )
}


# Kinds of argument of each atom: cvxpy takes long to lower one.
FEW = {law: 2 if law == "lowering" else 8 for law in LAWS}
QUICK = ("value", "curvature", "balls", "choices", "gradients")


@pytest.mark.filterwarnings(
    "ignore:Power atom with exponent:UserWarning", "ignore:geo_mean is being:UserWarning"
)
@pytest.mark.parametrize("law", [pytest.param(w, marks=pytest.mark.quick) if w in QUICK else w for w in LAWS])
def test_law(law: str, rng: Rng, subtests: pytest.Subtests) -> None:
    for name, atom in ATOMS.items():
        with subtests.test(name):
            LAWS[law](atom, taken(name, FEW[law]), rng)


@pytest.mark.filterwarnings(
    "ignore:Power atom with exponent:UserWarning", "ignore:geo_mean is being:UserWarning"
)
@pytest.mark.parametrize(
    "law",
    [
        pytest.param(law, marks=pytest.mark.slow if law == "curvature" else pytest.mark.nightly)
        for law in LAWS
        if law != "words"
    ],
)
def test_law_of_every_kind(law: str, rng: Rng, subtests: pytest.Subtests) -> None:
    for name, atom in ATOMS.items():
        with subtests.test(name):
            LAWS[law](atom, taken(name), rng)
