"""Proved lower bounds on the total error of every strategy, at products of measures.

**A lower bound of tr K^½** for queries of few attributes. K = D^½ WᵀW D^½ with D = ⊗ diag(μᵢ), Σμᵢ = 1, and
WᵀW = Σ over products of w ⊗ Gᵢ ⊗ 11ᵀ (the latter on all other attributes). At sensitivity 1 the total squared
error of every strategy is at least (tr K^½)².

**Sectors.** With v = √μ every attribute splits into v and its complement, in a basis [v, V]. K has a block
for each set of attributes, those on which it is in the complement, and couples two sets only where one
product looks at both. The set of a product, if it is in no larger one, is a *leaf*: it is coupled with its
own subsets alone. All proper subsets of these sets are the *hub*, with n dimensions and the block A. Let C be
a leaf's block and E its coupling with the hub. Then

    det(K + s) = Π over leaves det(C + s) · det M,    M = A + s - Σ over leaves E (C + s)⁻¹ Eᵀ.

**A root by logarithms.** √x = (1/2π) ∫ log(1 + x e^{-u}) e^{u/2} du. By Poisson's formula the trapezoid rule
with step h is off by at most ε √x, ε = Σ_{k≥1} (¼ + ω²)^{-½} / cosh πω with ω = 2πk/h, because the Mellin
transform of log(1 + y) at -½ + iω has the modulus π (¼ + ω²)^{-½} / cosh πω. Its term k is at most 2 (¼ +
(2π/h)²)^{-½} qᵏ with q = e^{-2π²/h}, which is a geometric series. With nodes sⱼ = e^{uⱼ}, and all terms
positive, on [0, high]

    (1 + ε) √x >= Σ cⱼ log(1 + x / sⱼ) + slope · x,

where nodes below the first are moved up to it (the logarithm falls with s) and nodes above the last are
replaced by chords (it is concave in x). So (1 + ε) tr K^½ >= Σ cⱼ log det(I + K / sⱼ) + slope · tr K if high
>= tr K.

**Rounding.** u = 2⁻⁵³ and γ_m = m u / (1 - m u). Counts of u are charged as counts of EPS = 2u, so that
second orders are covered. ‖·‖∗ is the nuclear norm, ‖·‖ the Frobenius norm; ‖Z‖∗ <= √(size) ‖Z‖, and ‖Y ⊗ Z‖∗
= ‖Y‖∗ ‖Z‖∗.

1. *One perturbation.* Let K̂ + s be symmetric and positive definite, K̂ - K ⪯ P + Q with P and Q positive
   semidefinite of traces at most τ and φ, Q on the hub alone. The eigenvalues of (K + s)^{-½} P (K + s)^{-½}
   have a sum of at most τ / s. By the inequality of the means, r the dimensions of K,

       log det(K̂ + s) <= log det(K + s) + r log(1 + τ / (r s)) + n log(1 + φ / (n s)).

   So some K̂ + s is decomposed exactly, and what is left to prove is how far it is from K. A symmetric Z is
   at most |Z|, of trace ‖Z‖∗. Orthogonal bases change no norm.

2. *A factor.* N = D^½ G D^½ is positive semidefinite, of trace t. Its entries are computed to some u of
   themselves (``lost``: for sums of several G, too), and G is off as the caller says. Let U be the computed
   basis [v, V] and η >= ‖UᵀU - I‖. The polar factor of U is within η of it. A rotation that takes its first
   column to the exact v moves it by no more than these two columns are apart, η + 4u. So an exact basis is
   within ``skew`` = 2η + 4u of U, in which the factor differs by at most 2 skew t from UᵀNU in ‖·‖∗. The
   products of matrices are off by 2 γ_d √d t in ‖·‖. Entries that are left out, to make the factor diagonal
   on V, are charged as they are.

3. *A product* of factors with traces t, off by e, is off by at most w (Π (t + e) - Π t) in ‖·‖∗. Added over
   products this is τ. The eigenvalues of a leaf with one product are w Π λ in the factors' own bases. Their
   rounding goes to τ; E is the exact product of the computed factors.

4. *A leaf of several products* is formed, and C Q ≈ Q c decomposed. With η >= ‖QᵀQ - I‖ an exact orthogonal
   matrix is within η of Q; in its basis C is off from c by the residual C Q - Q c and 2 η ‖C‖∗, E by the
   product E Q. To τ.

5. *The hub* is formed anew at each node, from products of factors, sums over a leaf's indices, and turns
   between the basis of a factor and that of its attribute. Each entry of E (C + s)⁻¹ Eᵀ is off by some u of
   that of |E| (C + s)⁻¹ |E|ᵀ, whose norm is at most its trace, which is that of E (C + s)⁻¹ Eᵀ. The Cholesky
   factor has RᵀR = M + F with |F| <= γ_{n+1} |Rᵀ| |R| (Higham, Accuracy and Stability of Numerical
   Algorithms, 2nd ed., Theorem 10.3), whose norm is at most γ_{n+1} tr RᵀR. All that times √n is φ. As C + s
   and RᵀR are positive definite, K̂ + s is (its inertia), as 1 needs.

6. *Sums.* Logarithms of C are positive, and their sum is off by a part of (r + 1000) EPS at most; those of R
   are charged by their magnitudes. Nodes and weights are off by less than 1000 EPS of themselves.

A node where Cholesky fails, or where the value comes out below that of the next larger node, takes the value
of the latter, which is smaller than its own; so do all nodes for which no time is left. Numbers are scaled by
powers of two. Values with next to no measure and products with next to no weight are left out, which makes K
smaller. Where a number is not finite nothing is proved: the bound is 0.

**The best measure.** The total error is bounded at the best product of measures that a few trials find.
"""

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import reduce

import numpy as np
from scipy import linalg, optimize

from mmopt.errors import TooLargeError
from mmopt.limits import require_memory, time_left
from mmopt.numerics import EPS, Array, Ints, exact, grouped
from mmopt.numerics.ball_functions import nuclear
from mmopt.sectors.residual_strategies import FewProduct, attribute_design, contrast_gram
from mmopt.workloads.blocks.combined_blocks import kron

STEP = 2.0  # h, between the logarithms of nodes
REACH = 4.0  # of the last node above high, in logarithms
LOWEST = 1e-10  # the first node: this over r, times high
AT_ONCE = 2**23  # numbers, of matrices for several nodes
LARGEST = 4000  # of the hub, and of a leaf with several products
NONE = 1e-200  # of the largest measure, or weight: smaller ones are left out
MOST_LOST = 1e-3  # of a factor: with more nothing is proved

#: Attributes, ascending; or marks, 0 or 1, of those that a subset has.
Set = tuple[int, ...]
#: A mask of the values of an attribute that have a measure, and v (d,) on these.
Support = tuple[np.typing.NDArray[np.bool_], Array]
#: Products on one set of attributes: Gram matrices and weight.
Terms = list[tuple[tuple[Array, ...], float]]


class _Unproved(Exception):
    """A number is not finite: nothing is proved."""


@dataclass(frozen=True, eq=False)
class _Factor:
    """D^½ G D^½ / 2^exponent in a basis [v, V], (d, d), where it is diagonal on V.

    trace : t. off : ‖·‖∗ of what it differs by, over t. skew : how far the basis is from an exact one.
    mean, slopes (c,), values (c,) : at v, between v and V, on V.
    """

    exponent: int
    trace: float
    off: float
    basis: Array
    skew: float
    mean: float
    slopes: Array
    values: Array


@dataclass(frozen=True, eq=False)
class _Turned:
    """A factor and the basis of its attribute, where it is ``block`` (d, d).

    turn : (c, c) from V to that basis, None where they are the same. off : what turning loses, over t.
    """

    factor: _Factor
    turn: Array | None
    block: Array
    off: float


@dataclass(frozen=True, eq=False)
class _Leaf:
    """Equal leaves. places : of each the rows of the hub that it is coupled with, (m,).

    at : from s (b,) to E (C + s)⁻¹ Eᵀ (b, m, m), its traces in the leaf's own basis, and log det(I + C / s).
    terms : roundings of an entry of the first.
    """

    places: list[Ints]
    at: Callable[[Array], tuple[Array, Array, Array]]
    terms: int


#: Products on one set: their block of the hub, their leaf, their trace, and by how much they are off.
_BlockOfSet = tuple[Array, _Leaf | None, float, float]


@dataclass(frozen=True, eq=False)
class _Gram:
    """K / 2^exponent.

    hub : A (n, n). size : r. trace : of what is computed. off : τ. turned : part of the trace that turns may
    lose. products : their number.
    """

    hub: Array
    leaves: list[_Leaf]
    size: int
    exponent: int
    trace: float
    off: float
    turned: float
    products: int

    def log_dets(self, s: Array) -> list[float]:
        """At most log det(I + K / s), for each of s (b,); -inf where Cholesky fails."""
        n = len(self.hub)
        schur = np.repeat(self.hub[None], len(s), axis=0)
        schur[:, np.arange(n), np.arange(n)] += s[:, None]
        total, size, terms = np.zeros(len(s)), s * n + 2 * self.trace, 0
        for leaf in self.leaves:
            blocks, traces, log_dets = leaf.at(s)
            total += len(leaf.places) * log_dets
            size += len(leaf.places) * traces
            terms = max(terms, leaf.terms)
            for place in leaf.places:
                schur[:, place[:, None], place] -= blocks
        part = (self.products + terms + 2 * n + 40) * EPS + self.turned
        charged = self.size * np.log1p(self.off / (self.size * s))
        charged += n * np.log1p(part * size / (math.sqrt(n) * s))
        total *= 1 - (self.size + 1000) * EPS
        for j, matrix in enumerate(schur):
            upper, failed = linalg.lapack.dpotrf(matrix.T, overwrite_a=1)
            logs = 2 * np.log(upper.diagonal() / math.sqrt(s[j])) if not failed else np.full(1, -math.inf)
            charged[j] += 2 * n * EPS * (4 + float(np.abs(logs).sum()))
            total[j] += logs.sum()
        return [float(x) for x in total - charged * (1 + 1000 * EPS)]


def root_trace_below(products: Sequence[FewProduct], measures: Sequence[Array], off: float = 0.0) -> float:
    """At most tr K^½ for K = D^½ WᵀW D^½ at D = ⊗ diag(μᵢ / Σμᵢ); 0 where nothing is proved.

    So its square bounds the total squared error of every strategy of sensitivity 1 from below.

    Parameters
    ----------
    products : WᵀW, their sum. measures : (dᵢ,) of every attribute, nonnegative.
    off : each Gram matrix G may differ from the exact one by E with ‖D^½ E D^½‖_F <= off · tr D^½ G D^½: for
        FᵀF of F (m, d), computed, (m + 2) EPS.

    Raises
    ------
    TooLargeError : more than ``LARGEST`` rows of the hub, or of a set with several products; beyond the
        memory limit.
    """
    try:
        gram = _gram(products, measures, off)
    except _Unproved:
        return 0.0
    if gram is None:
        return 0.0
    high = (gram.trace + gram.off) * (1 + 1e-9)
    shifts, weights, slope = _logarithm_nodes(LOWEST / gram.size * high, high)
    value, best = slope * (gram.trace - gram.off), 0.0
    step = max(1, AT_ONCE // max(gram.hub.size, gram.size))
    for end in range(len(shifts), 0, -step):  # from the largest
        at = slice(max(0, end - step), end)
        if end < len(shifts) and time_left() <= 0:
            value += best * float(weights[:end].sum())
            break
        for log_det, weight in zip(gram.log_dets(shifts[at])[::-1], weights[at][::-1], strict=True):
            best = max(best, log_det)
            value += best * float(weight)
    value *= 1 - 2000 * EPS
    if not 0 < value < math.inf:
        return 0.0
    with np.errstate(over="ignore", under="ignore"):
        root = float(np.nextafter(np.ldexp(value, gram.exponent // 2), 0.0))
    return min(root, float(np.finfo(np.float64).max))


def check_size(products: Sequence[FewProduct], sizes: Sequence[int]) -> None:
    """Raise TooLargeError as ``root_trace_below`` at positive measures on so many values."""
    with suppress(_Unproved):  # at any measures
        sets = _merged(_sets(products, [_support(np.ones(size)) for size in sizes]))
        _dimensions(sets, [size - 1 for size in sizes])


def _logarithm_nodes(low: float, high: float) -> tuple[Array, Array, float]:
    """Nodes s from ``low`` on, ascending, weights c and a slope with √x >= Σ c log(1 + x / s) + slope · x.

    On [0, high]: see **A root by logarithms** above; weights and slope are divided by 1 + ε.
    """
    width = 2 * math.pi / STEP
    q = math.exp(-math.pi * width)
    over = 1 + 2 * q / (1 - q) / math.sqrt(0.25 + width**2)
    u = np.arange(math.log(low), math.log(high) + REACH, STEP)
    c = STEP / (2 * math.pi) * np.exp(u / 2)
    c[0] /= 1 - math.exp(-STEP / 2)
    above = u[-1] + STEP * np.arange(1, 40)  # nodes beyond the last, replaced by chords
    slope = float((STEP / (2 * math.pi) * np.exp(above / 2) * np.log1p(high * np.exp(-above)) / high).sum())
    return np.exp(u), c / over, slope / over


def _gram(products: Sequence[FewProduct], measures: Sequence[Array], off: float) -> _Gram | None:
    """K by its hub and leaves; None where it is 0. Arguments as for ``root_trace_below``."""
    supports = [_support(measure) for measure in measures]
    sets = _sets(products, supports)
    factors = max((len(product.attributes) for product in products), default=0)
    lost = off + (factors * max(map(len, sets.values()), default=0) + 32) * EPS  # by sums over products, too
    merged = _merged(sets)
    rows, leaves, size = _dimensions(merged, [len(v) - 1 for _, v in supports])
    turned, exponent = _turned_products(merged, supports, lost)
    hub = np.zeros((sum(map(len, rows.values())),) * 2, order="F")
    distinct: dict[tuple[object, ...], _BlockOfSet] = {}
    count, trace, tau, by_turns = 0, 0.0, 0.0, 0.0
    for attributes, terms in turned.items():
        is_leaf = attributes in leaves
        subs = [
            sub for sub in itertools.product((0, 1), repeat=len(attributes)) if not (is_leaf and all(sub))
        ]
        key = is_leaf, *((weight, *map(id, each)) for weight, each in terms)
        if key not in distinct:
            distinct[key] = _block_of_set(terms, subs, is_leaf)
        block, leaf, of_set, off_by = distinct[key]
        place = np.concatenate([rows[tuple(itertools.compress(attributes, sub))] for sub in subs])
        hub[place[:, None], place] += block
        if leaf:
            leaf.places.append(place)
        count, trace, tau = count + len(terms), trace + of_set, tau + off_by
        by_turns = max(by_turns, *(sum(one.off for one in each) for _, each in terms))
    tau = 1.02 * tau + factors * (off + 8 * EPS) * trace  # the latter of attributes of one value
    leaf_list = [leaf for _, leaf, *_ in distinct.values() if leaf]
    return _Gram(hub, leaf_list, size, exponent, trace, tau, by_turns, count) if trace > 0 else None


def _support(measure: Array) -> Support:
    """The values of an attribute that have a measure, and the roots v of its shares."""
    top = float(measure.max())
    if not (0 < top < math.inf and measure.min() >= 0):
        raise _Unproved
    shares = measure / top
    keep = shares > NONE
    return keep, np.sqrt(shares[keep] / math.fsum(shares.tolist()))


def _sets(products: Sequence[FewProduct], supports: Sequence[Support]) -> dict[Set, Terms]:
    """Products by the set of their attributes, ascending; one of one value only changes the weight."""
    sets: dict[Set, Terms] = defaultdict(list)
    for product in products:
        weight = product.weight
        pairs = sorted(zip(product.attributes, product.grams, strict=True), key=lambda pair: pair[0])
        for i, gram in pairs:
            keep, v = supports[i]
            weight *= float(gram[keep][0, keep][0]) if len(v) == 1 else 1.0
        if not math.isfinite(weight):
            raise _Unproved
        pairs = [(i, gram) for i, gram in pairs if len(supports[i][1]) > 1]
        sets[tuple(i for i, _ in pairs)].append((tuple(gram for _, gram in pairs), weight))
    return sets


def _merged(sets: dict[Set, Terms]) -> dict[Set, Terms]:
    """Products on one set that differ in one factor as one, whose factor is their sum."""
    sums: dict[tuple[tuple[int, float], ...], Array] = {}
    merged = {}
    for attributes, terms in sets.items():
        for j in range(len(attributes)):
            alike = grouped((tuple(map(id, term[0][:j] + term[0][j + 1 :])), term) for term in terms)
            terms = []
            for same in alike.values():
                grams, top = same[0][0], max(weight for _, weight in same)
                if len(same) > 1 and top > 0:
                    shares = [weight / top if weight > NONE * top else 0.0 for _, weight in same]
                    key = tuple((id(other[j]), share) for (other, _), share in zip(same, shares, strict=True))
                    if key not in sums:
                        with np.errstate(over="ignore", invalid="ignore"):
                            parts = [share * other[j] for (other, _), share in zip(same, shares, strict=True)]
                            sums[key] = np.sum(parts, axis=0)
                    grams = (*grams[:j], sums[key], *grams[j + 1 :])
                terms.append((grams, top))
        merged[attributes] = terms
    return merged


def _dimensions(sets: dict[Set, Terms], widths: Sequence[int]) -> tuple[dict[Set, Ints], set[Set], int]:
    """Rows of each set in the hub; the leaves; the size of K. Raises TooLargeError as ``root_trace_below``.

    ``widths``: by attribute the number of values but one.
    """
    inside = {
        sub
        for attributes in sets
        for size in range(len(attributes))
        for sub in itertools.combinations(attributes, size)
    }
    leaves = {attributes for attributes in sets if attributes} - inside
    hub = sorted(inside | {()}, key=lambda sub: (len(sub), sub))
    dims = [math.prod(widths[i] for i in sub) for sub in hub]
    largest = [
        math.prod(widths[i] + 1 for i in attributes) for attributes in leaves if len(sets[attributes]) > 1
    ]
    for size, what in (
        (sum(dims), "sets within those asked"),
        (max(largest, default=0), "different products"),
    ):
        if size > LARGEST:
            raise TooLargeError(
                f"the bound at a product of measures takes a matrix of {size} rows for {what}, "
                f"expected {LARGEST} at most",
                hint="ask for queries of fewer attributes at a time, or of fewer values",
            )
        require_memory((size, size), f"matrix for {what}", share=4)
    inner = [math.prod(widths[i] for i in attributes) for attributes in leaves]
    require_memory((max(inner, default=0),), "list of a product's eigenvalues", share=100)
    ends = list(itertools.accumulate(dims))
    rows = {sub: np.arange(end - dim, end) for sub, dim, end in zip(hub, dims, ends, strict=True)}
    return rows, leaves, sum(dims) + sum(inner)


def _turned_products(
    sets: dict[Set, Terms], supports: Sequence[Support], lost: float
) -> tuple[dict[Set, list[tuple[float, list[_Turned]]]], int]:
    """Each set's products with all factors in the bases of their attributes, those of the first factors seen.

    Weights are divided by 2^exponent, the even number returned. ``supports``: by attribute, as ``_support``;
    ``lost``: the relative rounding of a factor's entries.
    """
    factors: dict[tuple[int, bytes], _Factor | None] = {}
    bases: dict[int, _Factor] = {}
    turns: dict[tuple[int, int], _Turned] = {}

    def turned(i: int, gram: Array) -> _Turned | None:
        """The factor of a Gram matrix of attribute i, once for equal ones; None where it is 0."""
        keep, v = supports[i]
        key = id(gram), keep.tobytes() + v.tobytes()
        if key not in factors:
            factors[key] = _factor(gram[np.ix_(keep, keep)], v, lost)
        if (factor := factors[key]) is None:
            return None
        base = bases.setdefault(i, factor)
        if (id(factor), id(base)) not in turns:
            turns[id(factor), id(base)] = _turned(factor, base)
        return turns[id(factor), id(base)]

    weighed: dict[Set, list[tuple[float, int, list[_Turned]]]] = defaultdict(list)
    for attributes, terms in sets.items():
        for grams, weight in terms:
            each = [one for one in map(turned, attributes, grams) if one]
            if weight > 0 and len(each) == len(attributes):
                mantissa, exponent = math.frexp(weight)
                weighed[attributes].append(
                    (mantissa, exponent + sum(one.factor.exponent for one in each), each)
                )
    top = max((exponent for terms in weighed.values() for _, exponent, _ in terms), default=0)
    top += top % 2
    scaled = {
        attributes: [(math.ldexp(part, exponent - top), each) for part, exponent, each in terms]
        for attributes, terms in weighed.items()
    }
    kept = {attributes: [term for term in terms if term[0] > NONE] for attributes, terms in scaled.items()}
    return {attributes: terms for attributes, terms in kept.items() if terms}, top


def _factor(gram: Array, v: Array, off: float) -> _Factor | None:
    """D^½ G D^½, ``v`` the roots of D; None where it is 0.

    ``off``: what its entries lose, in the Frobenius norm, over t.
    """
    d = len(v)
    top = float(np.abs(gram).max())
    if not math.isfinite(top):
        raise _Unproved
    scale = math.frexp(top)[1]
    matrix = v[:, None] * np.ldexp(gram, -scale) * v
    more = math.frexp(float(matrix.trace()))[1]
    matrix = np.ldexp((matrix + matrix.T) / 2, -more)
    trace = float(matrix.trace())
    if not trace > 0:
        return None
    along = v.copy()
    along[0] += 1.0
    rest = (np.eye(d) - np.outer(along, along / along[0]))[:, 1:]  # of a Householder reflection
    basis = np.column_stack([v, rest @ linalg.eigh(rest.T @ matrix @ rest)[1]])
    inside = basis.T @ matrix @ basis
    inside = (inside + inside.T) / 2
    values = np.maximum(inside.diagonal()[1:], 0.0)
    dropped = inside[1:, 1:] - np.diag(values)
    skew = 2 * (float(np.linalg.norm(basis.T @ basis - np.eye(d))) + (d + 1) ** 2 * EPS) + 4 * EPS
    lost = 2 * skew + math.sqrt(d) * (off + float(np.linalg.norm(dropped)) / trace) + 2 * (d + 1) ** 2 * EPS
    if not lost < MOST_LOST:
        raise _Unproved
    return _Factor(scale + more, trace, 1.01 * lost, basis, skew, float(inside[0, 0]), inside[0, 1:], values)


def _turned(factor: _Factor, base: _Factor) -> _Turned:
    """A factor turned into the basis of ``base``, which is that of its attribute."""
    block = np.diag(np.append(factor.mean, factor.values))
    block[0, 1:] = block[1:, 0] = factor.slopes
    if factor.basis is base.basis:
        return _Turned(factor, None, block, 0.0)
    d = len(block)
    turn = np.zeros((d, d))
    turn[0, 0], turn[1:, 1:] = 1.0, (base.basis.T @ factor.basis)[1:, 1:]
    off = 2.02 * (factor.skew + base.skew) + 4 * (d + 1) ** 2 * EPS
    return _Turned(factor, turn[1:, 1:], turn @ block @ turn.T, off)


def _block_of_set(terms: list[tuple[float, list[_Turned]]], subs: list[Set], is_leaf: bool) -> _BlockOfSet:
    """The part of K that the products on one set make; ``terms``: the weight and the factors of each.

    ``subs``: its subsets in the hub, as marks of the attributes that each has.
    """
    dims = [len(one.block) for one in terms[0][1]]
    trace = tau = 0.0
    for weight, each in terms:
        size = weight * math.prod(one.factor.trace for one in each)
        off = math.expm1(math.fsum(math.log1p(one.factor.off) for one in each)) + (len(dims) + 4) * EPS
        if is_leaf and len(terms) > 1:
            turned = sum(one.off for one in each) + (len(dims) + len(terms) + 4) * EPS
            off += math.sqrt(math.prod(dims)) * turned
        trace, tau = trace + size, tau + size * off
    if is_leaf and len(terms) > 1:
        whole = np.zeros((math.prod(dims),) * 2)
        for weight, each in terms:
            whole += weight * kron([one.block for one in each])
        inside = np.stack(np.unravel_index(np.arange(len(whole)), dims), axis=1) > 0
        at = np.concatenate([np.flatnonzero((inside == sub).all(axis=1)) for sub in subs])
        rest = np.flatnonzero(inside.all(axis=1))
        leaf, off = _dense_leaf(whole[np.ix_(rest, rest)], whole[np.ix_(at, rest)])
        return whole[np.ix_(at, at)], leaf, trace, tau + off
    sizes = [math.prod(d - 1 for d, has in zip(dims, sub, strict=True) if has) for sub in subs]
    starts = [0, *itertools.accumulate(sizes)]
    block = np.zeros((starts[-1],) * 2)
    parts = slice(1), slice(1, None)
    for (x, rows), (y, columns) in itertools.product(
        zip(subs, itertools.pairwise(starts), strict=True), repeat=2
    ):
        for weight, each in terms:
            factors = [one.block[parts[a], parts[b]] for one, a, b in zip(each, x, y, strict=True)]
            block[slice(*rows), slice(*columns)] += kron([np.full((1, 1), weight), *factors])
    return block, _product_leaf(*terms[0], subs, starts) if is_leaf else None, trace, tau


def _product_leaf(weight: float, each: list[_Turned], subs: list[Set], starts: list[int]) -> _Leaf:
    """The leaf of one product: C is diagonal, so that E (C + s)⁻¹ Eᵀ (``_Leaf.at``) is sums over its entries.

    An index is coupled in each attribute with v, by the slope c, and with itself, by the value λ. So two sets
    have sums of weight² / (C + s) times c² over attributes in neither of them, times c λ in those of one,
    times λ² in those of both, where it is diagonal.

    subs : the sets of the hub, by marks of the product's attributes. starts : their first rows in its block.
    """
    k, m = len(each), starts[-1]
    widths = [len(one.factor.values) for one in each]
    lambdas = [one.factor.values for one in each]
    values = weight * kron(lambdas).reshape(widths)
    scale = np.concatenate([kron([np.ones(1), *itertools.compress(lambdas, sub)]) for sub in subs])
    index = np.meshgrid(*map(np.arange, widths), indexing="ij", sparse=True)
    # A kind has for each attribute in how many of two sets it is: 0 (c², summed), 1 (c) or 2 (none).
    spots, kinds = [], []
    for (x, row), (y, column) in itertools.product(zip(subs, starts[:-1], strict=True), repeat=2):
        spots.append(
            np.ravel((row + _place_in_set(x, widths, index)) * m + column + _place_in_set(y, widths, index))
        )
        kinds.append(tuple(a + b for a, b in zip(x, y, strict=True)))
    spot = np.concatenate(spots)

    def at(s: Array) -> tuple[Array, Array, Array]:
        """``_Leaf.at``."""
        shift = s.reshape([-1] + [1] * k)
        sums: dict[Set, Array] = {(): weight / (values + shift) * weight}
        for i in reversed(range(k)):
            c, new = each[i].factor.slopes, {}
            for kind, part in sums.items():
                new[0, *kind] = np.tensordot(part, c * c, (i + 1, 0))
                new[1, *kind] = part * c.reshape([-1] + [1] * (part.ndim - i - 2))
                new[2, *kind] = part
            sums = new
        blocks = np.zeros((len(s), m, m))
        flat = np.concatenate([sums[kind].reshape(len(s), -1) for kind in kinds], axis=1)
        blocks.reshape(len(s), -1)[:, spot] = flat
        blocks *= scale[:, None]
        blocks *= scale
        traces = blocks.trace(axis1=1, axis2=2)
        if any(one.turn is not None for one in each):
            blocks = np.array([_both_sides(matrix, each, subs, starts) for matrix in blocks])
        return blocks, traces, np.log1p(values / shift).reshape(len(s), -1).sum(axis=1)

    return _Leaf([], at, sum(widths) + 4 * k + 16)


def _place_in_set(sub: Set, widths: list[int], index: Sequence[Ints]) -> Ints:
    """The place of an index within a set, as an array with an axis for each attribute that is in it."""
    number: Ints = np.zeros((1,) * len(widths), dtype=np.int64)
    for inside, width, position in zip(sub, widths, index, strict=True):
        if inside:
            number = number * width + position
    return number


def _both_sides(matrix: Array, each: list[_Turned], subs: list[Set], starts: list[int]) -> Array:
    """A leaf's matrix on sets of the hub, turned on both sides from the factors' bases to the attributes'."""
    for _ in range(2):
        new = np.empty_like(matrix)
        for inside, (start, end) in zip(subs, itertools.pairwise(starts), strict=True):
            turned = [one for one, is_in in zip(each, inside, strict=True) if is_in]
            part = matrix[start:end].reshape([len(one.factor.values) for one in turned] + [-1])
            for i, one in enumerate(turned):
                if one.turn is not None:
                    part = np.moveaxis(np.tensordot(one.turn, part, (1, i)), 0, i)
            new[start:end] = part.reshape(end - start, -1)
        matrix = new.T
    return matrix


def _dense_leaf(block: Array, coupling: Array) -> tuple[_Leaf, float]:
    """A leaf of several products, C (m, m) decomposed; and by how much it and E (·, m) are off then."""
    m, rows = len(block), len(coupling)
    values, vectors = linalg.eigh(block)
    skew = float(np.linalg.norm(vectors.T @ vectors - np.eye(m))) + (m + 1) ** 2 * EPS
    residual = float(np.linalg.norm(block @ vectors - vectors * values))
    residual += (m + 4) * EPS * math.sqrt(m) * float(np.linalg.norm(block))
    off = math.sqrt(m) * residual + 2 * skew * float(np.abs(values).sum())
    off += float(np.maximum(-values, 0.0).sum())
    values = np.maximum(values, 0.0)
    coupled = coupling @ vectors
    of_product = (skew + (m + 2) * EPS * math.sqrt(m)) * float(np.linalg.norm(coupling))
    off += 2 * math.sqrt(min(m, rows)) * of_product

    def at(s: Array) -> tuple[Array, Array, Array]:
        """``_Leaf.at``."""
        blocks = np.array([(coupled / (values + shift)) @ coupled.T for shift in s])
        return blocks, blocks.trace(axis1=1, axis2=2), np.log1p(values / s[:, None]).sum(axis=1)

    return _Leaf([], at, m + 8), 1.01 * off


TRIALS = 6  # of a mixing number
ALIKE = 1e-4  # of measures, in one value
RANK = 1e-9  # of a contrast next to the largest, squared


def best_measure_bound(
    products: Sequence[FewProduct], measures: Sequence[Array], off: float = 0.0
) -> tuple[float, tuple[Array, ...]]:
    """A lower bound of the total squared error of every strategy of sensitivity 1, and its measures.

    measures : (dᵢ,) positive, those of the designs of a strategy by sets of attributes. Where queries of an
    attribute differ in one direction only (two values; one predicate) each measure is a design's. There the
    uniform one is mixed with that of the design of Σ w G, by one number for all such attributes.
    off : as for ``root_trace_below``.

    Raises TooLargeError as ``root_trace_below``.
    """
    grams = grouped(
        (i, product.weight * gram)
        for product in products
        for i, gram in zip(product.attributes, product.grams, strict=True)
    )
    sums = {i: reduce(np.add, each) for i, each in grams.items()}
    mixed = {i: attribute_design(gram).measure for i, gram in sums.items() if _is_one_contrast(gram)}
    bounds: list[tuple[float, tuple[Array, ...]]] = []

    start: list[Array] = []
    for measure in measures:  # next to one another they are made equal: equal attributes share work
        alike = (
            earlier
            for earlier in start
            if earlier.shape == measure.shape and np.abs(earlier - measure).max() <= ALIKE
        )
        start.append(next(alike, measure))

    def loss(share: float) -> float:
        """Minus the bound with this share of the measures in ``mixed``, which ``bounds`` notes."""
        at = list(start)
        for i, measure in mixed.items():
            at[i] = (1 - share) / len(measure) + share * measure / measure.sum()
        bound = float(np.nextafter(root_trace_below(products, at, off) ** 2, 0.0))
        bounds.append((bound, tuple(at)))
        return -bound

    if mixed and time_left() > 0:
        optimize.minimize_scalar(loss, bounds=(0, 1), method="bounded", options={"maxiter": TRIALS})
    else:
        loss(0.0)
    return max(bounds, key=lambda one: one[0])


def _is_one_contrast(gram: Array) -> bool:
    """Whether the queries of an attribute, less their means, are multiples of one."""
    d = len(gram)
    values = np.linalg.eigvalsh(contrast_gram(gram, np.full(d, 1 / d)))
    return d > 1 and bool(values[-1] > 0) and (d == 2 or bool(values[-2] <= RANK * values[-1]))


def root_trace_in_parts(
    products: Sequence[FewProduct], sizes: Sequence[int], measures: Sequence[Array], off: float
) -> float:
    """A lower bound on tr K^½ as ``root_trace_below``; products that do not fit in memory together go alone.

    (tr (K + L)^½)² is at least (tr K^½)² + (tr L^½)² of psd matrices (the Schatten quasi-norm of exponent ½
    is superadditive on them), and of one product tr K^½ is a product over the attributes.
    """
    kept = products_that_fit(products, sizes)
    squares = [root_trace_below(kept, measures, off) ** 2 if kept else 0.0]
    alone = [product for product in products if product not in kept]
    squares += [_root_trace_of_one(product, measures, off) ** 2 for product in alone]
    return math.sqrt(math.fsum(squares)) * (1.0 - 16 * EPS)


def _root_trace_of_one(product: FewProduct, measures: Sequence[Array], off: float) -> float:
    """A lower bound on tr K^½ of one product: the product of those of its attributes."""
    trace = math.sqrt(product.weight)
    for i, gram in zip(product.attributes, product.grams, strict=True):
        d, root = len(gram), np.sqrt(measures[i] / measures[i].sum())
        scaled = root[:, None] * gram * root
        values, vectors = linalg.eigh(scaled)
        rows = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
        # |√a - √b| <= √|a - b| of eigenvalues, which are as far apart as the matrices at most
        wrong = float(np.linalg.norm(rows.T @ rows - scaled)) + (off + 16 * d * EPS) * float(scaled.trace())
        trace *= max(float(nuclear(exact(rows)).lower) - d * math.sqrt(wrong), 0.0) * (1.0 - 8 * EPS)
    return trace


def products_that_fit(products: Sequence[FewProduct], sizes: Sequence[int]) -> Sequence[FewProduct]:
    """The products, without those of most attributes where a bound of all would not fit in memory."""
    while products:
        try:
            check_size(products, sizes)
        except TooLargeError:
            most = max(len(product.attributes) for product in products)
            products = [product for product in products if len(product.attributes) < most]
        else:
            break
    return products
