"""The shipped programs, by hand from their papers: what a stored point attains, what multipliers prove.

Each program has two formulas. ``attained`` makes the stored point feasible by the scaling that its paper
gives and evaluates the objective there; ``proved`` evaluates the certificate at the stored multipliers. For a
program that maximises both change sides. Nothing of a program file is read, and nothing of mmopt is used.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from flint import arb, arb_mat
from judge import balls, lifting
from judge.measured import Asked, Measured

Formula = Callable[["Point"], arb]


def total(values: Any) -> arb:
    return sum(values, arb(0))


def dot(a: Any, b: Any) -> arb:
    return total(x * y for x, y in zip(a, b, strict=True))


def entries_squared(a: arb_mat) -> arb:
    return total(x * x for x in a.entries())


def roots(values: Any) -> list[arb]:
    return [balls.root(v) for v in values]


@dataclass(frozen=True)
class Point:
    """A saved solution beside what was asked; fields by name, as balls.

    root : of the workload, for the programs whose variables are in its coordinates (its rotation is free).
    given : bases of the workload, where the solution does not hold them because they are unique.
    strict : False for an objective that is called an estimate.
    """

    fields: Mapping[str, Any]
    asked: Asked
    root: np.ndarray
    given: Mapping[str, np.ndarray]
    strict: bool = True

    @property
    def n(self) -> int:
        return self.asked.n

    def variable(self, name: str) -> arb_mat:
        return lifting.value(self.fields["variables"][name])

    def vector(self, name: str) -> list[arb]:
        return list(self.variable(name).entries())

    def multiplier(self, name: str) -> arb_mat:
        return lifting.value(self.fields["multipliers"][name])

    def multipliers(self, name: str) -> list[arb]:
        """Those of an inequality; negative ones count as zero."""
        found = self.fields["multipliers"][name]
        if self.is_of_few and found["kind"] == "vector by orbit":
            assert np.asarray(found["space"]["sizes"]).tolist() == [1.0] * len(found["values"])  # in order
            found = np.asarray(found["values"], dtype=float)
        elif (
            not self.is_of_few and isinstance(found, Mapping) and "attributes" not in found["space"]
        ):  # by orbit of queries
            found = self._by_query(found)
        return [x.max(arb(0)) for x in lifting.value(found).entries()]

    def _by_query(self, found: Mapping[str, Any]) -> np.ndarray:
        """Values by orbit of queries: an orbit is what looks the same from the orbits of cells.

        Which query is in which orbit is not saved. Any choice is a valid multiplier; a wrong one proves less.
        """
        cells, seen = lifting.orbits(self.fields["basis"]["columns"]), {}
        has = np.isfinite(self.asked.targets)
        looks = [
            (target, tuple(tuple(np.sort(row[cells == o]).tolist()) for o in range(cells.max() + 1)))
            for row, target in zip(self.asked.queries[has], self.asked.targets[has].tolist(), strict=True)
        ]
        where = [seen.setdefault(look, len(seen)) for look in looks]
        assert np.bincount(where).tolist() == np.asarray(found["space"]["sizes"]).tolist()
        return np.asarray(found["values"], dtype=float)[where]

    @property
    def is_of_few(self) -> bool:
        """Whether it is over cells that were not listed: then its point is judged by the strategy."""
        return self.fields["strategy"].get("form") in ("sectors", "sectorwise")

    def strategy(self) -> Measured:
        return strategy_of(self.fields["strategy"])

    def design(self, name: str) -> np.ndarray:
        """A given: the caller's, or the eigen-queries as they were used."""
        for found in (self.fields["givens"].get(name), self.given.get(name), self.fields["bases"].get(name)):
            if found is not None:
                return np.asarray(found, dtype=float)
        bases = self.fields["bases"]
        return np.asarray(bases["eigenqueries"] if "eigenqueries" in bases else self.given["eigenqueries"])

    def parameter(self, name: str, default: float) -> arb:
        return arb(float(np.asarray(self.fields["givens"].get(name, default))))

    def leaning(self, design: arb_mat) -> list[arb]:
        """c: how much the workload leans on each of the independent design queries."""
        w = self.asked.weighted()
        parts = (design * design.transpose()).solve(design * w.transpose()).transpose()
        return balls.columns_squared(parts)

    def used(self, count: int) -> arb_mat:
        """The design queries that the workload leans on: ``count`` of them."""
        design = balls.matrix(self.design("Q"))
        c = [float(x.mid()) for x in self.leaning(design)]
        kept = sorted(np.argsort(c)[len(c) - count :])
        return arb_mat([design.tolist()[i] for i in kept])

    @cached_property
    def basis(self) -> arb_mat:
        return lifting.value(self.fields["basis"])

    def costs(self, sigma: arb_mat) -> list[arb]:
        """bᵢᵀ Σ⁻¹ bᵢ of each cell."""
        solved = sigma.solve(self.basis)
        columns = zip(self.basis.transpose().tolist(), solved.transpose().tolist(), strict=True)
        return [dot(x, y) for x, y in columns]

    def ratios(self, sigma: arb_mat) -> list[arb]:
        """Variance over target of each query that has one."""
        queries, targets = self.asked.targeted()
        b = self.basis
        seen = (b * b.transpose()).solve(b * queries.transpose()).transpose()
        rows = zip(seen.tolist(), (seen * sigma).tolist(), targets, strict=True)
        return [dot(x, y) / c for x, y, c in rows]

    def fidelity(self, p: list[arb], q: list[arb]) -> arb:
        """‖diag(√q) W diag(√p)‖∗ over the queries with a target."""
        queries, _ = self.asked.targeted()
        return balls.nuclear(balls.scaled(queries, roots(q), roots(p)))


def strategy_of(fields: Mapping[str, Any]) -> Measured:
    """A saved strategy of any form."""
    if "split" in fields:
        return Measured.balls(lifting.value(fields["split"]), int(fields["norm"]))
    if "form" in fields:
        return Measured.balls(lifting.factors(fields), int(fields.get("norm", 2)))
    return Measured.dense(np.asarray(fields["matrix"]), int(fields["norm"]))


def by_trace(x: arb_mat, gram: arb_mat) -> arb:
    """tr(G X⁻¹) of a strategy Gram matrix made feasible: divided by its largest diagonal entry if above 1.

    A matrix that is not shown to be positive definite is moved by the least multiple of the identity that
    makes it so; what that costs is in the value.
    """
    x = (x + x.transpose()) * arb(0.5)
    n = x.nrows()
    for power in (None, -90, -80, -70, -60, -50, -45, -40):
        shift = arb(0) if power is None else arb(2) ** power
        moved = x + arb_mat(n, n, [shift if i == j else 0 for i in range(n) for j in range(n)])
        if balls.is_positive_definite(moved):
            size = balls.greatest([arb(1), *balls.diagonal(moved)])
            return size * moved.solve(gram).trace()
    return arb("inf")


def _l2(p: Point) -> arb:
    if p.is_of_few:
        return _error(p)
    return by_trace(p.variable("X"), p.asked.gram())


def l2_certificate(w: arb_mat, d: list[arb]) -> arb:
    d = [x.max(arb(0)) for x in d]
    if not total(d) > 0:
        return arb(0)
    return balls.nuclear(balls.scaled(w, right=roots(d))) ** 2 / total(d)


def _l2_bound(p: Point) -> arb:
    return l2_certificate(p.asked.weighted(), p.multipliers("sensitivity"))


def _any_strategy(p: Point) -> arb:
    return l2_certificate(p.asked.weighted(), lifting.vector(p.fields["error_multipliers"]))


def _best_step(program: str) -> Formula:
    """The best bound that a step of the procedure proves by the multipliers saved with it."""

    def proved(p: Point) -> arb:
        steps = [s for s in p.fields["steps"].values() if s["program"] == program]
        return balls.greatest([RULES[program].proved(replace(p, fields=s)) for s in steps])

    return proved


def _error(p: Point) -> arb:
    return p.strategy().total_error(p.asked, p.strict)


def _dual_l2(p: Point) -> arb:
    d = [x.max(arb(0)) for x in p.vector("d")]
    return 2 * balls.nuclear(balls.scaled(p.asked.weighted(), right=roots(d))) - total(d)


def _dual_l2_bound(p: Point) -> arb:
    """tr K · max diag(Vᵀ K⁻¹ V), V the psd root of B G Bᵀ times B."""
    b, k = balls.matrix(p.design("basis")), p.multiplier("K")
    v = balls.psd_root(b * p.asked.gram() * b.transpose()) * b
    return k.trace() * balls.greatest(balls.diagonal(v.transpose() * k.solve(v)))


def _targets_l2(p: Point) -> tuple[arb_mat, arb_mat]:
    """Queries divided by their targets (power 1), and their Gram matrix."""
    queries, targets = p.asked.targeted()
    v = balls.scaled(queries, left=[1 / c for c in targets])
    return v, balls.gram(v)


def _absolute(a: arb_mat, power: int) -> arb_mat:
    return arb_mat(a.nrows(), a.ncols(), [abs(x) ** power for x in a.entries()])


def _seen(design: arb_mat, weights: list[arb], power: int) -> arb:
    """The largest Σ weight · |entry|^power of a column."""
    return balls.greatest(
        list((_absolute(design, power).transpose() * arb_mat([[w] for w in weights])).entries())
    )


def design_weights(p: Point) -> arb_mat:
    """u or w: the squared weights, or weights, of the design queries; a multiplier of the dual programs."""
    found = {**p.fields["multipliers"], **p.fields["variables"]}
    return lifting.value(next(found[name] for name in ("u", "w") if name in found))


def weighted_value(p: Point, weights: list[arb], power: int) -> arb:
    """Σ c / u at the squared weights u (power 2), Σ c / w² at the weights w (power 1), scaled to feasible."""
    design, exponent = p.used(len(weights)), 1 if power == 2 else 2
    over = total(x / y**exponent for x, y in zip(p.leaning(design), weights, strict=True))
    return over * _seen(design, weights, power) ** exponent


def _weighting(power: int) -> Formula:

    def attained(p: Point) -> arb:
        return weighted_value(p, list(design_weights(p).entries()), power)

    return attained


def _priced(p: Point, mu: list[arb], power: int, count: int) -> tuple[list[arb], list[arb]]:
    """c, and the price b of a unit of each design query."""
    design = p.used(count)
    b = (_absolute(design, power) * arb_mat([[x] for x in mu])).entries()
    return p.leaning(design), list(b)


def _count(p: Point) -> int:
    return design_weights(p).nrows()


def _weighting_bound(p: Point) -> arb:
    mu = p.multipliers("sensitivity")
    c, b = _priced(p, mu, 2, _count(p))
    return total(roots(x * y for x, y in zip(c, b, strict=True))) ** 2 / total(mu)


def _laplace_bound(p: Point) -> arb:
    mu = p.multipliers("sensitivity")
    c, b = _priced(p, mu, 1, _count(p))
    return total((x * y * y).root(3) for x, y in zip(c, b, strict=True)) ** 3 / total(mu) ** 2


def _weighting_dual(p: Point) -> arb:
    mu = [x.max(arb(0)) for x in p.vector("mu")]
    c, b = _priced(p, mu, 2, _count(p))
    return 2 * total(roots(x * y for x, y in zip(c, b, strict=True))) - total(mu)


def _laplace_dual(p: Point) -> arb:
    mu = [x.max(arb(0)) for x in p.vector("mu")]
    c, b = _priced(p, mu, 1, _count(p))
    return 3 * total((x * y * y).root(3) for x, y in zip(c, b, strict=True)) - 2 * total(mu)


def grouped(p: Point) -> tuple[arb_mat, list[arb], arb_mat]:
    """M, c and S of group_weighting: groups of eight unless given, with weights u0 inside."""
    design = balls.matrix(p.design("Q"))
    h, given = design.nrows(), p.fields["givens"]
    default = np.array([[float(i // 8 == g) for i in range(h)] for g in range(-(-h // 8))])
    m = balls.matrix(np.asarray(given.get("M", default)))
    u0 = balls.reals(given.get("u0", np.ones(h)))
    leaning = [x / u for x, u in zip(p.leaning(design), u0, strict=True)]
    c = list((m * arb_mat([[x] for x in leaning])).entries())
    return m, c, balls.scaled(m, right=u0) * _absolute(design, 2)


def group_value(p: Point, t: list[arb]) -> arb:
    _, c, s = grouped(p)
    size = balls.greatest(list((s.transpose() * arb_mat([[x] for x in t])).entries()))
    return total(x / y for x, y in zip(c, t, strict=True)) * size


def _group_bound(p: Point) -> arb:
    _, c, s = grouped(p)
    mu = p.multipliers("sensitivity")
    b = (s * arb_mat([[x] for x in mu])).entries()
    return total(roots(x * y for x, y in zip(c, b, strict=True))) ** 2 / total(mu)


def separate(p: Point) -> tuple[list[list[int]], arb_mat, list[arb]]:
    design = balls.matrix(p.design("Q"))
    h = design.nrows()
    size = int(np.asarray(p.fields["givens"].get("size", 8)))
    return [list(range(i, min(i + size, h))) for i in range(0, h, size)], design, p.leaning(design)


def separate_value(p: Point, u: list[arb]) -> arb:
    groups, design, c = separate(p)
    out = arb(0)
    for own in groups:
        size = _seen(arb_mat([design.tolist()[i] for i in own]), [u[i] for i in own], 2)
        out += total(c[i] / u[i] for i in own) * size
    return out


def _separate_bound(p: Point) -> arb:
    groups, design, c = separate(p)
    squares, out = _absolute(design, 2).tolist(), arb(0)
    prices = np.array(p.multiplier("sensitivity").tolist(), dtype=object)
    for own, mu in zip(groups, prices, strict=True):
        mu = [x.max(arb(0)) for x in mu]
        out += total(balls.root(c[i] * dot(squares[i], mu)) for i in own) ** 2 / total(mu)
    return out


def design_value(p: Point, u: list[arb]) -> arb:
    design = p.design("D")
    rows = balls.scaled(balls.matrix(design), left=roots(u))
    kept = [i for i, x in enumerate(u) if x > 0]
    found = Measured(
        arb_mat([rows.tolist()[i] for i in kept]), tuple(balls.independent_rows(design[kept])), 2
    )
    variances, _ = found.told(p.asked.weighted())
    return total(variances) * found.sensitivity() ** 2


def _design_bound(p: Point) -> arb:
    design, y = balls.matrix(p.design("D")), p.multiplier("Y")
    mu, root = p.multipliers("sensitivity"), balls.matrix(p.root)
    prices = (_absolute(design, 2) * arb_mat([[x] for x in mu])).entries()
    lengths = balls.columns_squared(y * design.transpose())
    worst = balls.greatest([x / b for x, b in zip(lengths, prices, strict=True)])
    return dot(y.entries(), root.entries()) ** 2 / (worst * total(mu))


def _cost_at_targets(p: Point, sigma: arb_mat, scale: bool = False) -> arb:
    """The largest cost once the noise is scaled: into the targets, or (scale) just to them."""
    if p.is_of_few:
        queries, targets = p.asked.targeted()
        ratios = [v / c for v, c in zip(p.strategy().told(queries)[0], targets, strict=True)]
        return p.strategy().sensitivity() ** 2 * balls.greatest([arb(1), *ratios])
    ratio = balls.greatest(p.ratios(sigma))
    return balls.greatest(p.costs(sigma)) * (ratio if scale else ratio.max(arb(1)))


def _fitness_bound(p: Point) -> arb:
    privacy = next(k for k in p.fields["multipliers"] if k.startswith("privacy"))
    cost, accuracy = p.multipliers(privacy), p.multipliers("accuracy")
    _, targets = p.asked.targeted()
    return p.fidelity(cost, accuracy) ** 2 / (total(cost) * dot(targets, accuracy))


def _over_targets(p: Point, q: list[arb]) -> list[arb]:
    return [x / c for x, c in zip(q, p.asked.targeted()[1], strict=True)]


def _budget_bound(p: Point) -> arb:
    cost, q = p.multipliers("privacy"), p.multipliers("accuracy")
    return p.fidelity(cost, _over_targets(p, q)) ** 2 / (total(cost) * total(q))


def _penalty(p: Point) -> arb:
    sigma = p.variable("Sigma")
    return balls.greatest(p.costs(sigma)) + balls.greatest(p.ratios(sigma))


def _penalty_bound(p: Point) -> arb:
    cost, q = p.multipliers("privacy"), p.multipliers("accuracy")
    return 2 * p.fidelity(cost, _over_targets(p, q)) / (total(cost) * total(q)).sqrt()


def _fitness_dual(p: Point) -> arb:
    cost, q = p.vector("p"), p.vector("q")
    return 2 * p.fidelity(cost, _over_targets(p, q)) / (total(cost) * total(q)).sqrt()


def _fitness_dual_bound(p: Point) -> arb:
    a = p.multiplier("fidelity[0, 0]")
    n = a.nrows()
    inverse = a.solve(arb_mat(n, n, [int(i == j) for i in range(n) for j in range(n)]))
    return 2 * (balls.greatest(p.costs(inverse)) * balls.greatest(p.ratios(inverse))).sqrt()


def _softmax(p: Point) -> arb:
    """2 √(cost · ratio): the least of both together over all scalings (hybrid = 0)."""
    sigma = lifting.value(p.fields["covariance"])
    return 2 * (balls.greatest(p.costs(sigma)) * balls.greatest(p.ratios(sigma))).sqrt()


def _shares(p: Point) -> tuple[list[arb], list[arb]]:
    cost, q = p.multipliers("p"), p.multipliers("q")
    whole = dot(p.asked.targeted()[1], q)
    return [x / total(cost) for x in cost], [x / whole for x in q]


def _softmax_bound(p: Point) -> arb:
    return 2 * p.fidelity(*_shares(p))


def soft(values: list[arb], t: arb) -> arb:
    """logsumexp(t · values) / t."""
    top = balls.greatest(values).mid()
    return top + total((t * (x - top)).exp() for x in values).log() / t


def _softmax_step(p: Point) -> arb:
    sigma = p.variable("Sigma")
    return soft(p.costs(sigma), p.parameter("t1", 1)) + soft(p.ratios(sigma), p.parameter("t2", 1))


def _entropy(shares: list[arb]) -> arb:
    return -total(x * x.log() for x in shares if x > 0)


def _softmax_step_bound(p: Point) -> arb:
    cost, q = _shares(p)
    own = [x * c for x, c in zip(q, p.asked.targeted()[1], strict=True)]
    entropies = _entropy(cost) / p.parameter("t1", 1) + _entropy(own) / p.parameter("t2", 1)
    return 2 * p.fidelity(cost, q) + entropies


def barred(p: Point, alpha: arb, costs: list[arb], ratios: list[arb]) -> arb:
    """The objective of barrier_step from the costs of cells and the ratios of variance to target."""
    slacks = [(1 - r) * c for r, c in zip(ratios, p.asked.targeted()[1], strict=True)]
    slacks += [alpha - cost for cost in costs]
    return p.parameter("t", 1) * alpha - total(x.log() for x in slacks)


def _barrier_step(p: Point) -> arb:
    sigma, (alpha,) = p.variable("Sigma"), p.vector("alpha")
    return barred(p, alpha, p.costs(sigma), p.ratios(sigma))


def _barrier_step_bound(p: Point) -> arb:
    cost, q = p.multipliers("p"), p.multipliers("q")
    cost = [p.parameter("t", 1) * x / total(cost) for x in cost]
    both = [*cost, *q]
    return 2 * p.fidelity(cost, q) + len(both) + total(x.log() for x in both) - dot(p.asked.targeted()[1], q)


def _min_error(p: Point) -> arb:
    return Measured.dense(np.asarray(p.fields["variables"]["A"]), 1).total_error(p.asked, p.strict)


def _min_sensitivity(p: Point) -> arb:
    """The largest column of A, whose Gram matrix is the profile up to the tolerance of feasibility."""
    a = p.variable("A")
    profile = p.asked.gram()
    top = balls.greatest(balls.diagonal(profile))
    off = balls.greatest([abs(x) for x in (balls.gram(a) - profile).entries()])
    return balls.largest_column(a, 1) if off <= top * arb(10) ** -10 else arb("inf")


def _rotation(p: Point) -> arb:
    """Q √G for the orthogonal factor Q of M, by Newton's iteration; Q is orthogonal to the radius added."""
    m = p.variable("M")
    eye = arb_mat(m.nrows(), m.nrows(), [int(i == j) for i in range(m.nrows()) for j in range(m.nrows())])
    for _ in range(60):
        m = ((m + m.transpose().solve(eye)) * arb(0.5)).mid()
    off = balls.row_sum_norm(balls.gram(m) - eye)
    around = arb(0, off.upper())
    q = arb_mat(m.nrows(), m.nrows(), [x + around for x in m.entries()])
    return balls.largest_column(q * balls.psd_root(p.asked.gram()), 1)


def _longest(p: Point) -> arb:
    return balls.greatest(roots(balls.diagonal(p.asked.gram())))


def _p_identity(p: Point) -> arb:
    theta = p.variable("Theta")
    n = theta.ncols()
    eye = arb_mat(n, n, [int(i == j) for i in range(n) for j in range(n)])
    sums = [1 + total(row[i] for row in theta.tolist()) for i in range(n)]
    a = balls.scaled(balls.stacked([eye, theta]), right=[1 / s for s in sums])
    return Measured(a, tuple(range(n)), 1).total_error(p.asked)


def _l1_strategy(p: Point) -> arb:
    d, up, down = p.vector("d"), p.variable("P"), p.variable("N")
    n = up.ncols()
    eye = arb_mat(n, n, [d[i] if i == j else 0 for i in range(n) for j in range(n)])
    sums = [d[i] + total(row[i] for row in (*up.tolist(), *down.tolist())) for i in range(n)]
    a = balls.scaled(balls.stacked([eye, up - down]), right=[1 / s for s in sums])
    return Measured(a, tuple(range(n)), 1).total_error(p.asked)


def _singular_values(p: Point) -> arb:
    return balls.nuclear(p.asked.weighted()) ** 2 / p.n


def _low_rank(p: Point, old: str) -> tuple[arb_mat, arb_mat, arb]:
    """V, the strategy before, and the price of a unit of distance, in the coordinates of the root."""
    v = p.fields["givens"].get("V", p.root)
    return balls.matrix(np.asarray(v)), balls.matrix(p.design(old)), p.parameter("beta", 10)


def reconstruction_before(p: Point) -> arb_mat:
    """R: W S⁺ unless given."""
    if "R" in p.fields["givens"]:
        return balls.matrix(np.asarray(p.fields["givens"]["R"]))
    w, s = balls.matrix(p.root), balls.matrix(p.design("S"))
    return (s * s.transpose()).solve(s * w.transpose()).transpose()


def reconstruction_value(p: Point, r: arb_mat) -> arb:
    v, a, beta = _low_rank(p, "A")
    return entries_squared(r) + beta * entries_squared(v - r * a)


def _reconstruction_bound(p: Point) -> arb:
    v, a, beta = _low_rank(p, "A")
    y = p.multiplier("Y")
    gain = dot(y.entries(), v.entries())
    return gain - entries_squared(y * a.transpose()) / 4 - entries_squared(y) / (4 * beta)


def forth_value(p: Point, a: arb_mat) -> arb:
    """Columns above length 1 are shortened to it; the norm is that of the strategy."""
    (v, s, beta), r = _low_rank(p, "S"), reconstruction_before(p)
    columns = a.transpose().tolist()
    norm = int(p.fields["strategy"]["norm"])
    lengths = [balls.root(dot(c, c)) if norm == 2 else total(abs(x) for x in c) for c in columns]
    a = balls.scaled(a, right=[1 / s.max(arb(1)) for s in lengths])
    return (
        entries_squared(r)
        + beta * entries_squared(v - r * a)
        + p.parameter("near", 0) * entries_squared(a - s)
    )


def _forth_bound(p: Point) -> arb:
    (v, s, beta), r = _low_rank(p, "S"), reconstruction_before(p)
    near, y, t = p.parameter("near", 0), p.multiplier("Y"), p.multiplier("T")
    columns = (r.transpose() * y - 2 * near * t).transpose().tolist()
    norm = int(p.fields["strategy"]["norm"])
    reach = total(
        balls.greatest([abs(x) for x in c]) if norm == 1 else balls.root(dot(c, c)) for c in columns
    )
    gain = entries_squared(r) + dot(y.entries(), v.entries()) - entries_squared(y) / (4 * beta)
    return gain - near * dot(t.entries(), (t + 2 * s).entries()) - reach


@dataclass(frozen=True)
class Rule:
    """``attained`` by the stored point and ``proved`` by the stored multipliers; ``maximises``: sides change.

    promises : the strategy meets the targets of the queries.
    follows : the objective is that of a matrix of which only the strategy, scaled, is stored. Both agree up
        to the rounding of that scaling.
    """

    attained: Formula
    proved: Formula
    maximises: bool = False
    follows: bool = False
    promises: bool = False


_L2 = Rule(_l2, _l2_bound)
_OF_STRATEGY = Rule(_error, _any_strategy, follows=True)
_FITNESS = Rule(lambda p: _cost_at_targets(p, p.variable("Sigma")), _fitness_bound, promises=True)
_FORTH = Rule(lambda p: forth_value(p, p.variable("A")), _forth_bound)
_PENALTY = Rule(_penalty, _penalty_bound, promises=True)

RULES: Mapping[str, Rule] = {
    "augment": _OF_STRATEGY,
    "barrier_step": Rule(_barrier_step, _barrier_step_bound),
    "design_weighting": Rule(lambda p: design_value(p, p.vector("u")), _design_bound),
    "eigen_design": _OF_STRATEGY,
    "eigen_separation": _OF_STRATEGY,
    "fitness_barrier": Rule(
        lambda p: (_softmax(p) / 2) ** 2, lambda p: p.fidelity(*_shares(p)) ** 2, promises=True
    ),
    "fitness_budget": Rule(lambda p: _cost_at_targets(p, p.variable("Sigma"), scale=True), _budget_bound),
    "fitness_dual": Rule(_fitness_dual, _fitness_dual_bound, maximises=True, promises=True),
    "fitness_for_use": _FITNESS,
    "fitness_hybrid": _PENALTY,
    "fitness_level": Rule(lambda p: _cost_at_targets(p, p.variable("P")), _fitness_bound, promises=True),
    "fitness_lmi": _FITNESS,
    "fitness_penalty": _PENALTY,
    "fitness_refined": Rule(
        lambda p: _cost_at_targets(p, lifting.value(p.fields["covariance"])),
        _best_step("fitness_for_use"),
        promises=True,
    ),
    "fitness_softmax": Rule(_softmax, _softmax_bound, promises=True),
    "group_weighting": Rule(lambda p: group_value(p, p.vector("t")), _group_bound),
    "l2_strategy": _L2,
    "l2_strategy_block": _L2,
    "l2_strategy_dual": Rule(_dual_l2, _dual_l2_bound, maximises=True),
    "l2_strategy_lmi": _L2,
    "l1_strategy": Rule(_l1_strategy, _any_strategy),
    "laplace_weighting": Rule(_weighting(1), _laplace_bound),
    "laplace_weighting_dual": Rule(_laplace_dual, _weighting(1), maximises=True),
    "laplace_weighting_power": Rule(_weighting(1), _laplace_bound),
    "low_rank": _OF_STRATEGY,
    "low_rank_gaussian": _OF_STRATEGY,
    "low_rank_gaussian_strategy": _FORTH,
    "low_rank_reconstruction": Rule(
        lambda p: reconstruction_value(p, p.variable("R")), _reconstruction_bound
    ),
    "low_rank_strategy": _FORTH,
    "min_error": Rule(_min_error, _any_strategy),
    "min_sensitivity": Rule(_min_sensitivity, _longest),
    "min_sensitivity_rotation": Rule(_rotation, _longest),
    "p_identity": Rule(_p_identity, _any_strategy),
    "principal_vectors": _OF_STRATEGY,
    "query_weighting": Rule(_weighting(2), _weighting_bound),
    "query_weighting_dual": Rule(_weighting_dual, _weighting(2), maximises=True),
    "query_weighting_inverse": Rule(_weighting(2), _weighting_bound),
    "separate_weighting": Rule(lambda p: separate_value(p, p.vector("u")), _separate_bound),
    "singular_value_bound": Rule(_error, _singular_values, follows=True),
    "softmax_step": Rule(_softmax_step, _softmax_step_bound),
    "weighted_l2": Rule(
        lambda p: by_trace(p.variable("X"), _targets_l2(p)[1]),
        lambda p: l2_certificate(_targets_l2(p)[0], p.multipliers("sensitivity")),
        promises=True,
    ),
}
