"""The law of minorants: affine, below the atom at every argument, as good as a tangent where one is known.

Guards atom.py, minorants.py.
"""

from dataclasses import replace
from typing import Any

import flint
import numpy as np
import pytest

from mmopt.language import ATOMS
from mmopt.language.atoms.atom import Atom
from mmopt.language.atoms.expression_types import Curvature, Type
from mmopt.language.atoms.minorants import Near
from mmopt.numerics import balls
from mmopt.numerics.balls import Ball
from tests.language.atom_cases import MEANINGS, Call, arbs, taken

Rng = np.random.Generator
CLOSE = 1e-9
AWAY = 30.0  # arguments are tried so many times larger, and smaller, than the point of the tangent


def drawn(out: Type, value: Any, rng: Rng) -> Any:
    """A derivative by the value, of the sign or definiteness that goes with the value's curvature."""
    shape = np.shape(value)
    if out.curvature is Curvature.AFFINE:
        return rng.normal(size=shape)
    sign = 1.0 if out.curvature is Curvature.CONVEX else -1.0
    if out.loewner:
        root = rng.normal(size=(int(rng.integers(1, shape[0] + 1)), shape[0]))
        return sign * root.T @ root
    return np.asarray(sign * rng.uniform(0.0, 2.0, shape) * (rng.random(shape) < 0.8))


def law(atom: Atom, rng: Rng, most: int | None = None) -> None:
    """Where the rule claims a curvature, a minorant holds, whatever point and slopes it is told.

    most : of the kinds of argument, drawn, are tried; all by default.
    """
    tried: set[tuple[Any, ...]] = set()
    for call in taken(atom.name, most):
        for kinds, out in call.curved(atom):
            if len(tried) == most:
                return
            chosen = tuple(not k.known.is_constant for k in kinds)
            shapes = tuple((k.shape, k.known.symmetric, k.known.is_row, k.known.sign) for k in kinds)
            bent = tuple(k.known.curvature.is_affine for k in kinds)
            case = (chosen, shapes, bent, out.curvature, out.loewner, call.exponent, *call.options.items())
            if case not in tried:
                tried.add(case)
                holds(atom, replace(call, kinds=kinds), out, chosen, rng)


def holds(atom: Atom, call: Call, out: Type, chosen: tuple[bool, ...], rng: Rng) -> None:
    point = call.draw(rng)
    value = np.asarray(atom.numpy(*point, **call.options))
    bar = np.asarray(drawn(out, value, rng))
    signs = tuple(k.known.sign for k in call.kinds)
    nothing = tuple(None for _ in point)
    at_point = Near(point, nothing, signs)
    tangent = minorant(atom, call, bar, at_point, point, chosen)
    below(atom, call, bar, tangent, point, out, 1e-7)
    told = tuple(None if p is None else p.mid for p in tangent[1])
    wild = tuple(None if p is None else p * rng.normal(size=np.shape(p)) * 10 for p in told)
    loose = tuple(None if p is None else rng.normal(size=np.shape(p)) * 3 for p in told)
    wide = tuple(np.asarray(a) * 10.0 ** rng.uniform(-2, 2) for a in point)
    nan = tuple(np.full(np.shape(a), np.nan) for a in point)
    for near in (
        Near(wide, told, signs),
        Near(wide, wild, signs),
        Near(wide, loose, signs),
        Near(nan, nothing, signs),
        Near(nan, nan, signs),
    ):
        found = minorant(atom, call, bar, near, point, chosen)
        for _ in range(4):
            other = call.draw(rng)
            factor = AWAY ** rng.uniform(-1, 1)
            other = tuple(
                factor * np.asarray(o) if c else p for o, p, c in zip(other, point, chosen, strict=True)
            )
            below(atom, call, bar, found, other, out)
        for p, kind in zip(found[1], call.kinds, strict=True):
            if p is not None and not kind.known.curvature.is_affine:
                sign = 1.0 if kind.known.curvature is Curvature.CONVEX else -1.0
                ends = np.linalg.eigvalsh(sign * p.mid) if kind.known.loewner else sign * p.mid
                assert np.min(ends) >= -CLOSE * max(1.0, float(np.abs(p.mid).max())), "the sign of p"
    # The slope of a tangent leads back to it.
    again = minorant(atom, call, bar, Near(nan, told, signs), point, chosen)
    is_spread = len({np.shape(a) for a in point}) > 1 and atom.name in SPREAD
    is_kinked = atom.name in ("max", "min", "abs", *SPREAD[:2])
    if not (is_kinked or is_spread) and np.all(bar != 0) and not out.loewner:
        below(atom, call, bar, again, point, out, 1e-6)


def minorant(
    atom: Atom, call: Call, bar: Any, near: Near, point: Any, chosen: tuple[bool, ...]
) -> tuple[Ball, tuple[Ball | None, ...]]:
    assert atom.minorant is not None, f"'{atom.name}' has a curvature and no minorant"
    args = [None if c else balls.exact(a) for a, c in zip(point, chosen, strict=True)]
    constant, found = atom.minorant(balls.exact(bar), near, *args, **call.options)
    assert constant.mid.shape in ((), np.shape(bar))
    for p, a, c in zip(found, point, chosen, strict=True):
        assert p is not None or not c
        assert p is None or p.mid.shape == np.shape(a)
    return constant, found


def below(atom: Atom, call: Call, bar: Any, found: Any, args: Any, out: Type, tight: float = np.inf) -> None:
    constant, pulled = found
    if constant.mid.ndim:  # entry by entry
        each = bar * atom.numpy(*args, **call.options)
        parts = [(p.mid * a, p.rad * np.abs(a)) for p, a in zip(pulled, args, strict=True) if p is not None]
        if all(np.shape(part) == each.shape for part, _ in parts):
            ends = constant.mid + sum(part for part, _ in parts), constant.rad + sum(rad for _, rad in parts)
            sizes = np.abs(each) + np.abs(constant.mid) + sum(np.abs(part) for part, _ in parts)
            assert (ends[0] <= each + ends[1] + 1e-12 * sizes).all(), f"{atom.name} on {call}"
        constant = balls.total(constant)
    value = float(np.sum(bar * atom.numpy(*args, **call.options)))
    terms = [(p.mid * a, p.rad * np.abs(a)) for p, a in zip(pulled, args, strict=True) if p is not None]
    size = sum(float(np.abs(t).sum()) for t, _ in terms) + abs(value) + abs(float(constant.mid)) + 1e-300
    line = float(constant.mid) + sum(float(np.sum(t)) for t, _ in terms)
    slack = float(constant.rad) + sum(float(np.sum(r)) for _, r in terms) + 1e-12 * size
    said = f"{atom.name} on {call}"
    assert line <= value + slack, said
    if out.curvature is Curvature.AFFINE:
        assert line >= value - slack, said
    assert line >= value - tight * size - (slack if slack < 1e-6 * size else 0.0), said


# A slope summed up for a number that is spread over an array does not tell those of the entries.
SPREAD = ("entrywise max", "entrywise min", "rel_entropy")
FEW = 10


@pytest.mark.quick
def test_law(rng: Rng, subtests: pytest.Subtests) -> None:
    for name, atom in ATOMS.items():
        with subtests.test(name):
            law(atom, rng, FEW)


LONG = {"pow", "mul", "entrywise max"}  # of many kinds of argument: the default run takes few of them


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow if name in LONG else pytest.mark.nightly) for name in ATOMS],
)
def test_law_of_every_kind(name: str, rng: Rng) -> None:
    law(ATOMS[name], rng)


def test_far_points_and_slopes_warn_of_nothing(subtests: pytest.Subtests) -> None:
    """numpy's warnings, which the tests take for errors: the rules clip what overflows."""
    for name in ("entrywise max", "entrywise min", "lambda_max", "lambda_min"):
        with subtests.test(name):
            atom = ATOMS[name]
            assert atom.minorant is not None
            far = np.array([[1e308, -1e308], [-1e308, 1e308]])
            points = (far, -far)[: atom.arity]
            bar = balls.exact(np.ones(far.shape) if atom.arity == 2 else np.asarray(1.0))
            with np.errstate(all="raise"):
                atom.minorant(bar, Near(points, (None, None), (0, 0)), *(None,) * atom.arity)
                atom.minorant(bar, Near(points, points, (0, 0)), *(None,) * atom.arity)


WILD = np.array([np.nan, np.inf, -np.inf, 1.7e308, -1.7e308, 1e160, 5e-324, 0.0, 1.0, -2.0])


def made_wild(values: Any, rng: Rng) -> Any:
    values = np.asarray(values, dtype=float)
    if rng.random() < 0.3:
        return rng.choice([np.inf, 1.7e308]) * np.sign(values)
    return np.where(rng.random(values.shape) < 0.3, rng.choice(WILD, values.shape), values)


def test_points_slopes_and_derivatives_may_be_anything(rng: Rng, subtests: pytest.Subtests) -> None:
    """A rule then has an answer, which holds, or knows nothing: no number is certain that is none."""
    for name, atom in ATOMS.items():
        for call in taken(name, 3) if atom.minorant else ():
            for kinds, _ in [*call.curved(atom)][:3]:
                with subtests.test(name):
                    is_wild(atom, replace(call, kinds=kinds), rng)


@np.errstate(all="ignore")
def is_wild(atom: Atom, call: Call, rng: Rng) -> None:
    chosen, signs = zip(*((not k.known.is_constant, k.known.sign) for k in call.kinds), strict=True)
    assert atom.minorant is not None
    for _ in range(4):
        point = call.draw(rng)
        value = np.asarray(atom.numpy(*point, **call.options))
        mid = np.asarray(drawn(call.out(atom), value, rng))
        mid = made_wild(mid, rng) if rng.random() < 0.5 else mid
        bar = Ball(mid, np.where(np.isfinite(mid), 0.0, np.inf))
        points = [made_wild(p, rng) if c else p for p, c in zip(point, chosen, strict=True)]
        slopes = [
            made_wild(p, rng) if c and rng.random() < 0.7 else None
            for p, c in zip(points, chosen, strict=True)
        ]
        args = [None if c else balls.exact(a) for a, c in zip(point, chosen, strict=True)]
        constant, pulled = atom.minorant(bar, Near(points, slopes, signs), *args, **call.options)
        for part in (constant, *pulled):
            assert part is None or (np.isfinite(part.mid) | np.isinf(part.rad)).all(), (call, bar, points)


@pytest.mark.quick
def test_slopes_of_sums_of_the_largest_are_between_0_and_1_and_add_up_to_k(rng: Rng) -> None:
    for name, shape in (("sum_largest", (4,)), ("lambda_sum_largest", (4, 4))):
        for k in (0.5, 1.0, 2.0, 2.5, 4.0, 9.0):
            slope = 3.0 * rng.normal(size=shape)
            rule, one, whole = ATOMS[name].minorant, balls.exact(1.0), balls.exact(k)
            assert rule is not None
            _, (found, _) = rule(one, Near((slope, k), (slope, None), (0, 1)), None, whole)
            assert found is not None and (found.rad <= 1e-9).all()
            each = np.linalg.eigvalsh(found.mid) if len(shape) == 2 else found.mid
            assert each.min() >= -CLOSE and each.max() <= 1.0 + CLOSE and abs(each.sum() - min(k, 4)) <= CLOSE


DIGITS = 700  # sums of 1e300 and 1e-300 are exact


def scaled(value: Any, power: float) -> Any:
    """A float times a power of ten; what is not 0 stays so, and finite."""
    sizes = np.clip(np.log10(np.abs(value) + (np.asarray(value) == 0)) + power, -307, 307)
    return np.sign(value) * 10.0**sizes


def is_finite(ball: Ball | None) -> bool:
    return ball is None or bool(np.isfinite(ball.mid).all() and np.isfinite(ball.rad).all())


def not_above(atom: Atom, call: Call, rng: Rng) -> None:
    """A minorant by derivatives and points of any size, at arguments of any size, those points among them."""
    chosen = tuple(not k.known.is_constant for k in call.kinds)
    scaling = [not (k.count or (place and call.exponent is not None)) for place, k in enumerate(call.kinds)]
    drawn_once = call.draw(rng)
    bar = np.asarray(drawn(call.out(atom), np.asarray(atom.numpy(*drawn_once, **call.options)), rng))
    bar = scaled(bar, rng.uniform(-300, 300))
    powers = rng.uniform(-300, 300, len(scaling))

    def at(values: Any, away: float) -> tuple[Any, ...]:
        return tuple(scaled(a, p + away) if s else a for a, p, s in zip(values, powers, scaling, strict=True))

    args = at(drawn_once, 0.0)
    for near in (args, at(call.draw(rng), rng.choice((0.0, 3.0, -3.0, 100.0, -100.0)))):
        points = tuple(b if c else a for a, b, c in zip(args, near, chosen, strict=True))
        told = Near(points, (None,) * len(args), tuple(k.known.sign for k in call.kinds))
        with np.errstate(all="ignore"):
            constant, pulled = minorant(atom, call, bar, told, args, chosen)
        if not all(map(is_finite, (constant, *pulled))):
            continue  # no claim
        line = np.sum(arbs(constant.mid) - arbs(constant.rad))
        for p, a in zip(pulled, args, strict=True):
            if p is not None:
                line += np.sum(arbs(p.mid) * arbs(a) - arbs(p.rad) * abs(arbs(a)))
        meant = MEANINGS[atom.name](
            *(arbs(a) if s else a for a, s in zip(args, scaling, strict=True)), **call.options
        )
        assert not line > np.sum(arbs(bar) * meant), (call, bar, told, args)


def test_no_minorant_is_above_its_atom_at_any_scale(rng: Rng, subtests: pytest.Subtests) -> None:
    before, flint.ctx.dps = flint.ctx.dps, DIGITS
    try:
        for name, atom in ATOMS.items():
            with subtests.test(name):
                for call in taken(name, 4):
                    for kinds, _ in call.curved(atom):
                        if atom.minorant is not None:
                            not_above(atom, replace(call, kinds=kinds), rng)
    finally:
        flint.ctx.dps = before
