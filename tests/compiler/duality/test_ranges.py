"""Ranges hold every feasible point up to the level, the Lagrangian is not below what is read off it, and
intervals hold every exact result, of numbers next to nothing and next to all that floats hold too.

Guards ranges.py and lagrangian.py.
"""

from fractions import Fraction

import numpy as np
import pytest
from flint import arb_mat
from judge import balls

from mmopt import Program, Workload
from mmopt.compiler import bind
from mmopt.compiler.duality.lagrangian import AffineBound, _psd, affine_bound, into_cones
from mmopt.compiler.duality.ranges import (
    Cut,
    Range,
    others,
    plus,
    quotient,
    ranges_between,
    ranges_by_cuts,
    times,
    total,
)
from mmopt.driver.judge.derived_bound import line_bounds
from mmopt.numerics.balls import Ball
from tests.compiler.derived_cases import BASES
from tests.compiler.derived_points import (
    Case,
    N,
    Rng,
    case,
    derived,
    direction,
    judged,
    lagrangian,
    random_multipliers,
)

pytestmark = pytest.mark.filterwarnings("ignore:Solution may be inaccurate")


def test_ranges_hold_every_feasible_point(rng: Rng) -> None:
    """Up to the level, wherever a walk from an inner point comes."""
    # Two of whose ranges some are by minors and some by solving a system, and any other.
    for text in (BASES[5], BASES[36], str(rng.choice(np.array(BASES, dtype=object)))):
        found = case(text, rng)
        assert found is not None
        instance, point = found.instance, dict(found.point)
        level = float(found.objective) + 3.0 * max(1.0, abs(float(found.objective)))
        read = line_bounds(instance, point, level)
        for _ in range(30):
            step = 10.0 ** rng.uniform(-3, 1)
            moved = {name: value + step * direction(value, rng) for name, value in point.items()}
            objective = judged(instance, moved)
            if objective is not None and objective <= level:
                point = moved
                assert read.least <= objective, text
                for name, known in read.ranges.items():
                    assert (known.low <= point[name]).all(), (text, name)
                    assert (point[name] <= known.high).all(), (text, name)


@pytest.mark.quick
def test_cuts_hold_every_point_up_to_the_level(rng: Rng) -> None:
    text = next(text for text in BASES if "logsumexp(W @ y) + sum(y**2)" in text)
    found = case(text, rng)
    assert found is not None
    read = found.lines
    _, multipliers, _ = derived(read, 1e-7)
    proper = into_cones(read.nodes, multipliers)
    ranges = ranges_by_cuts(read.nodes, proper, ["y"], read.level, read.all_but)
    assert ranges is not None
    for _ in range(8):
        along = rng.normal(size=N)
        low, high = 0.0, 1e3  # the farthest point of the level set in this direction
        for _ in range(30):
            middle = (low + high) / 2
            objective = judged(found.instance, {"y": found.point["y"] + middle * along})
            low, high = (middle, high) if objective is not None and objective <= read.level else (low, middle)
        y = found.point["y"] + low * along
        assert (ranges["y"].low <= y).all() and (y <= ranges["y"].high).all()


def as_cut(mid: np.ndarray, rad: np.ndarray, end: float) -> Cut:
    """A cut of the variables x, of three entries, and y, a number."""
    parts = {"x": Ball(mid[:3], rad[:3]), "y": Ball(mid[3], rad[3])}
    return AffineBound(Ball(np.zeros(()), np.zeros(())), parts), end


def test_ranges_between_cuts_hold_every_point_that_keeps_them(rng: Rng) -> None:
    """Slopes are known up to an error, which differs from point to point; units differ by entry."""
    for wide in (0.0, 1e-9, 1e-3, 0.3):
        units = 10.0 ** rng.uniform(-4, 4, 4)
        points = (rng.normal(size=(20, 4)) + rng.normal(size=4) * rng.choice((0.0, 9.0))) * units
        mid = rng.normal(size=(40, 4)) / units
        rad = wide * np.abs(mid)
        slopes = mid + rad * rng.uniform(-1, 1, (20, 40, 4))
        ends = np.einsum("pkj,pj->pk", slopes, points).max(axis=0)
        cuts = [as_cut(*parts) for parts in zip(mid, rad, ends + 1e-12 * np.abs(ends), strict=True)]
        spans = {"x": Range.unknown((3,)), "y": Range.unknown()}
        if rng.random() < 0.5:
            spans["y"] = Range(points[:, 3].min(), np.asarray(np.inf))
        ranges = ranges_between(cuts, spans)
        low, high = (
            np.append(*ends) for ends in zip(*((r.low, r.high) for r in ranges.values()), strict=True)
        )
        assert (low <= points).all() and (points <= high).all(), wide
        assert wide > 1e-3 or (np.isfinite(low).all() and np.isfinite(high).all()), wide


def test_cuts_are_added_until_every_end_is_known(rng: Rng) -> None:
    """The set is sum |x - c| <= 1."""
    center = rng.normal(size=4) * rng.choice((1.0, 30.0))

    def another(at: np.ndarray) -> Cut:
        slope = np.where(at >= center, 1.0, -1.0)
        return as_cut(slope, np.zeros(4), 1.0 + float(slope @ center) + 1e-12)

    ranges = ranges_between([], {"x": Range.unknown((3,)), "y": Range.unknown()}, another)
    low, high = (np.append(*ends) for ends in zip(*((r.low, r.high) for r in ranges.values()), strict=True))
    assert (low <= center - 1).all() and (center + 1 <= high).all()
    assert np.isfinite(low).all() and np.isfinite(high).all()


@pytest.mark.quick
def test_multipliers_next_to_psd_stay_as_they_are(rng: Rng) -> None:
    """Up to 1e-7 of each entry's size, which its diagonal tells, however different the diagonal entries."""
    found = case(BASES[7], rng)  # a matrix inequality for each query
    assert found is not None
    for name, shape in found.lines.nodes.shapes_of_multipliers().items():
        root = rng.normal(size=(*shape[:-1], 2)) * 10.0 ** rng.uniform(-6, 6, (*shape[:-1], 1))
        y = root @ np.swapaxes(root, -1, -2)
        moved = into_cones(found.lines.nodes, {name: y})[name]
        sizes = np.sqrt(np.diagonal(y, axis1=-2, axis2=-1))
        assert (np.abs(moved - y) <= 1e-7 * sizes[..., None] * sizes[..., None, :]).all()


@pytest.mark.quick
@np.errstate(all="ignore")
def test_multipliers_of_any_size_become_psd_or_zeros(rng: Rng) -> None:
    wild = np.array([1.7e308, -1.7e308, 1e160, 1e-300, 5e-324, 0.0, 1.0, -2.0])
    for n in (1, 2, 3, 5) * 20:
        y = np.where(rng.random((n, n)) < 0.6, rng.choice(wild, (n, n)), rng.normal(size=(n, n)))
        left = np.vectorize(Fraction, otypes=[object])(_psd(y))
        for i in range(n):  # Gauss's elimination: no pivot is negative, and a row of a zero one is zero
            assert left[i, i] > 0 or not left[i, i:].any()
            if left[i, i]:
                left[i + 1 :] -= np.outer(left[i + 1 :, i], left[i]) / left[i, i]


@pytest.mark.quick
def test_the_reading_is_tangent_to_the_lagrangian(subtests: pytest.Subtests, rng: Rng) -> None:
    """Below it where it has a value, and equal to it where the tangents are taken, whatever multipliers."""
    # Some with lines of matrices, and others.
    for place in dict.fromkeys((2, 7, 12, 19, *map(int, rng.choice(len(BASES), 4)))):
        with subtests.test(str(place)):
            found = case(BASES[place], rng)
            # Multipliers of two indices stand in another order.
            if found is not None and "for i in n, j in n" not in BASES[place]:
                is_tangent(found, rng)


def is_tangent(found: Case, rng: Rng) -> None:
    read = found.lines
    proper = into_cones(read.nodes, random_multipliers(read, rng))
    for name, y in proper.items():
        lines = found.instance.program.constraints
        is_matrix = any(c.name == name and c.relation.op in (">>", "<<") for c in lines)
        for part in y.reshape(-1, *y.shape[-2:]) if is_matrix else ():
            assert balls.is_positive_definite(arb_mat((part + 1e-12 * np.eye(len(part))).tolist()))
        assert is_matrix or (y >= 0).all()
    line = affine_bound(read.nodes, proper, {})
    for size in (0.0, 1e-3, 0.1):
        point = {name: value + size * abs(direction(value, rng)) for name, value in found.point.items()}
        for name, moved in point.items():  # a psd matrix stays one
            point[name] = moved + 9 * size * np.eye(N) if moved.shape == (N, N) else moved
        value = lagrangian(found, point, proper)
        if value is None:
            continue
        terms = [(r.mid * point[name], r.rad * np.abs(point[name])) for name, r in line.residuals.items()]
        below = float(line.constant.mid) + sum(float(t.sum()) for t, _ in terms)
        slack = float(line.constant.rad) + sum(float(r.sum()) for _, r in terms)
        slack += 1e-9 * (abs(below) + sum(float(np.abs(t).sum()) for t, _ in terms) + 1.0)
        assert below <= float(value) + slack
        assert size or below >= float(value) - slack - 1e-6 * (1.0 + abs(below))


SIZES = (1e-320, 1e-300, 1e-162, 1e-5, 1.0, 1e5, 1e154, 1e300, 3e307)


def interval(rng: np.random.Generator) -> tuple[Range, list[Fraction]]:
    """Draw exact intervals with both ends and a number between them; of any size, some around or at zero."""
    ends = np.sort(rng.choice(SIZES) * rng.uniform(1, 2, 2) * rng.choice([-1.0, 1.0, 0.0], 2))
    low, high = (float(end) for end in ends)
    inner = [Fraction(low), Fraction(high), (Fraction(low) + Fraction(high)) / 2]
    return Range(np.asarray(low), np.asarray(high)), inner


def holds(found: Range, value: Fraction) -> bool:
    low, high = float(found.low), float(found.high)
    return (low == -np.inf or Fraction(low) <= value) and (high == np.inf or value <= Fraction(high))


def test_what_is_exact_lies_inside(rng: np.random.Generator) -> None:
    for _ in range(200):
        (a, first), (b, last) = interval(rng), interval(rng)
        with np.errstate(all="ignore"):
            results = [(times(a, b), lambda x, y: x * y), (plus(a, b), lambda x, y: x + y)]
            if b.low > 0 or b.high < 0:
                results.append((quotient(a, b), lambda x, y: x / y))
        for found, truth in results:
            assert found.low < np.inf and found.high > -np.inf
            assert all(holds(found, truth(x, y)) for x in first for y in last), (a, b)


@pytest.mark.quick
def test_what_is_no_number_says_nothing() -> None:
    """An overflow less an overflow; exactly 0 times what is not known stays 0."""
    nan, one, none = (np.asarray(x) for x in (np.nan, 1.0, 0.0))
    for odd in (Range(nan, nan), Range(nan, one), Range(one, nan)):
        for other in (Range(-one, one), Range(one, one), Range(none, one)):
            for found in (times(odd, other), times(other, odd)):
                assert found.low == -np.inf or odd.low == 1.0
                assert found.high == np.inf or odd.high == 1.0
                assert np.isinf([found.low, found.high]).any()
            both = other.intersection(odd.low, odd.high)
            assert other.low <= both.low <= one and other.high == both.high
        for found in (plus(odd, odd), quotient(odd, Range(one, one)), total(Range(nan[None], one[None]))):
            assert np.isinf([found.low, found.high]).any()
        zero = times(odd, Range(none, none))
        assert zero.low == zero.high == 0.0
    zero = times(Range(-one * np.inf, one * np.inf), Range(none, none))
    assert zero.low == zero.high == 0.0


@pytest.mark.quick
def test_sums_of_half_known_terms_lose_no_digits(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    """Large terms that cancel and are known from one side only, as of x <= u."""
    for side in (1.0, -1.0) * 20:
        with subtests.test(side=side):
            ends = np.concatenate([s * np.array([1.0, -1.0]) for s in rng.choice((1e9, 1e13, 1e17), 2)])
            ends = side * rng.permutation(np.concatenate([ends, rng.uniform(0.0, 10.0, 4)]))
            unknown = np.full(8, -side * np.inf)
            some = rng.random(8) < rng.choice((0.0, 0.5))
            unknown[some] = (ends - side * rng.uniform(0.0, 1e3, 8))[some]
            exact = [Fraction(end) for end in ends.tolist()]
            pair = (unknown, ends) if side > 0 else (ends, unknown)
            whole, least = Range(*pair), Fraction(3)
            known = Range(*sorted((np.asarray(3.0), np.asarray(side * np.inf)), key=float))
            found, each = total(whole, None), others(known, whole, None)
            sums = sum(exact)
            assert sums <= Fraction(float(found.high)) if side > 0 else Fraction(float(found.low)) <= sums
            for k, own in enumerate(exact):
                rest = least - (sums - own)
                assert (
                    Fraction(float(each.low[k])) <= rest
                    if side > 0
                    else rest <= Fraction(float(each.high[k]))
                )
            both = plus(Range(pair[0][0], pair[1][0]), Range(pair[0][1], pair[1][1]))
            assert side * Fraction(float(both.high if side > 0 else both.low)) >= side * (exact[0] + exact[1])


def test_beside_one_unknown_term_nothing_is_known_of_the_others() -> None:
    """In x + y + z = 3 with x unknown, x follows from the others, which do not follow from it."""
    terms = Range(np.array([-np.inf, 0.0, 1.0]), np.array([np.inf, 2.0, 1.0]))
    found = others(Range(np.asarray(3.0), np.asarray(3.0)), terms, None)
    assert found.low[0] == pytest.approx(0.0, abs=1e-7) and found.high[0] == pytest.approx(2.0)
    assert (found.low[1:] == -np.inf).all() and (found.high[1:] == np.inf).all()


LARGEST = """program largest
given
    c: vector[n]
parameter
    k = 2.0
    most = 1.0
choose
    x: vector[n]
minimize
    sum(x)
subject to
    low: x >= c
    high: sum_largest(x, k) <= most
"""


def test_an_entry_has_room_below_the_sum_of_the_largest(rng: np.random.Generator) -> None:
    """The room left where all other entries are at their least is within reach."""
    for k in (0.5, 1.0, 2.0, 2.5, 4.0, 7.0):
        c = rng.uniform(-1.0, 3.0, 4)
        shares = np.clip(k - np.arange(4), 0.0, 1.0)
        most = float(shares @ np.sort(c)[::-1]) + 0.5
        program = Program.parse(LARGEST)
        instance = bind(program, Workload.from_matrix(np.eye(1)), {"c": c, "k": k, "most": most})
        ranges = line_bounds(instance, {"x": c}, 100.0).ranges["x"]
        for i in range(4):
            for step in (0.0, 0.1, 0.5, 1.0, 5.0):
                x = c + step * np.eye(4)[i]
                if shares @ np.sort(x)[::-1] <= most:
                    assert (ranges.low <= x).all() and (x <= ranges.high).all(), (k, x)
        assert k < 1.0 or np.isfinite(ranges.high).all()
