"""Merging of cells and of queries; independent blocks and factors of a Kronecker product, solved apart.

Cells that no query tells apart are merged, and those that no query touches are left out.

Theorem. Let M (c, n) be the membership of the cells in c classes of equal columns: W = W_c M. For a strategy
A of n cells let A_c (p, c) hold the average column of each class (in X = A.T @ A: average over the
permutations within classes, by convexity of the program). Then A_c M answers the queries no worse and its
columns are no longer, in L1 and in L2, and A_c M has the same cost and answers for W as A_c for W_c. Cells
of a class split its multiplier: sum(d) stays, and W_c M diag(d) M.T W_c.T = W_c diag(d_c) W_c.T. A cell that
no query touches gets a column of zeros and a multiplier of zero.

So optimum, bound and gap of the two problems are equal for every program that goes along, line by line,
when a cell is repeated (``equivariance.py``): one that chooses among all strategies. It is not so where cells
are counted (``/ n`` of the singular value bound, sum(diag(X)) <= n) or eigenvectors are taken first: prefix
sums over 4 cells with multiplicities 1, 5, 1, 2 cost 10 by the identity on merged cells, 23 on all.

Queries that are multiples of each other become one.

Theorem. Queries w_j = t_j w, of whatever sign, have variances t_j**2 v with v the variance of w.

- Where queries only add up (total error) they count as one query, w times the root of sum(t_j**2): W.T @ W
  stays as it is.
- Where every query has a line of its own, variance at most target, the one with the least c_j / t_j**2
  implies the others. They are left out, and get a multiplier of zero.

Both hold for a program that goes along when a query is split into multiples (``equivariance.py``). Leaving
out a query with a larger target needs a line that a larger target only relaxes; otherwise only queries
with the same c_j / t_j**2 are left out.

Independent blocks are groups of cells such that no query touches two of them.

Theorem. With W block diagonal, the blocks of a strategy that do not lie on the diagonal answer nothing and
may be zero (average over the signs of a block's cells and queries). The strategies of the blocks,
each solved alone, then make the best strategy of the whole, and (``equivariance.py`` says which)

- an objective that is a trace or sum adds up. The multipliers of a block, in the scale in which their sum
  is the block's bound, are those of the whole: for total error
  nuclear(W diag(sqrt(d))) is the sum of the blocks', and with sum(d_b) = bound_b its square over sum(d) is
  the sum of the bounds. Every block's strategy has sensitivity one.
- an objective that is a maximum, or one number that bounds a family of lines, is that of the largest block.
  Its multipliers, and zero for the others, prove it; blocks that are the same share them. The others keep
  their own, smaller costs, unless their noise is so large that no matrix can hold it together with that of
  another block: then they get less of it, at no more than the largest cost.

A Kronecker product is solved factor by factor.

Theorem. For W = W_1 ⊗ … ⊗ W_s let A_i and multipliers d_i solve the program for W_i. Then ⊗ A_i and ⊗ d_i
solve it for W, and the optimum is the product of theirs, for every program whose numbers are made of its
arrays by atoms that turn a Kronecker product into a product (``equivariance.py``): traces, sums,
nuclear norms, maxima of what is not negative. Li et al. (VLDB Journal 24, 2015, section 4.4) have it for
total error.

It holds for one product, with one weight and one target for all its queries; a union of products has no such
optimum. The weight and the target go to the first factor that is no number.

Over few cells the product of the solutions is formed and judged. Over many (``in_factors``) it is not: each
factor has a certified solution of its own, and by the theorem the whole is their product.
"""

import functools
import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
import scipy.linalg
import scipy.sparse.csgraph

from mmopt.compiler.actions_on_expressions import DROP_CELLS, PERMUTED
from mmopt.compiler.bind import Instance
from mmopt.compiler.equivariance import SUM
from mmopt.compiler.reductions.reduction_step import (
    CELLS_AND_QUERIES,
    MOST_QUERY_ENTRIES,
    WITH_TARGETS,
    ReductionStep,
    SolvedPart,
    Traits,
    expanded,
    reducible,
    restricted,
    smaller,
    traits_of,
)
from mmopt.errors import counted, whole as whole_number
from mmopt.language import (
    Apply,
    Checked,
    Constraint,
    Expr,
    Index,
    Name,
    infer,
    mentions,
)
from mmopt.numerics.arrays import Array, Ints
from mmopt.strategies import Strategy, as_dense, normalise
from mmopt.symmetry.components import mixed
from mmopt.workloads import (
    Attribute,
    Domain,
    Implicit,
    Implicit as Factor,
    Kron,
    Product,
    RowWeighted,
    Workload,
    factors_and_products as factors,
    kron,
    refine,
)


@dataclass(frozen=True, eq=False, kw_only=True)
class MergeCells(ReductionStep):
    """The step to merged cells. classes : (n,) the merged cell that a cell belongs to; -1: none."""

    classes: Ints

    def lift(self, parts: Sequence[SolvedPart]) -> SolvedPart:
        """Columns repeated, multipliers split evenly within a class."""
        (part,) = parts
        strategy = Strategy(expanded(as_dense(part.strategy).matrix, 1, self.classes), part.strategy.norm)
        return SolvedPart(strategy, self.spread(part, "cells", self.classes), part.bound)


def merge_cells(instance: Instance, traits: Traits) -> MergeCells | None:
    """Merge attribute by attribute where that is possible, so that products stay products; else cells."""
    workload = instance.workload
    classes = workload.cell_classes
    has_to_stay = bool((classes < 0).any()) and not traits.acts.allows(DROP_CELLS)
    if has_to_stay or int(classes.max()) + 1 == workload.n:
        return None
    if (reduced := _by_attribute(workload)) is None:
        if workload.m * workload.n > MOST_QUERY_ENTRIES:
            return None
        first = _first(classes)
        rows = np.vstack([block.rows(0, block.m)[:, first] for block in workload.blocks])
        reduced = Workload.from_matrix(rows, workload.targets, workload.weights), classes
    merged, classes = reduced
    text = f"merge cells: {workload.n:,} -> {counted(merged.n, 'cell')}"
    if left := int((classes < 0).sum()):
        text += f" ({left:,} that no query touches left out)"
    return MergeCells(
        text=text, parts=smaller(instance, merged), axes=traits.acts.multipliers, classes=classes
    )


def _first(classes: Ints) -> Ints:
    """The first cell of each class."""
    labels, first = np.unique(classes, return_index=True)
    return np.asarray(first[labels >= 0])


def _by_attribute(workload: Workload) -> tuple[Workload, Ints] | None:
    """The workload with values merged that no factor of an attribute tells apart, and the classes of cells.

    None where there are no such values, or the workload is no union of products.
    """
    products = workload.products
    if products is None:
        return None
    columns = zip(*(p.factors for p in products), strict=True)
    classes = [refine([factor.classes() for factor in column]) for column in columns]
    first = [_first(c) for c in classes]
    if math.prod(map(len, first)) == workload.n:
        return None
    attributes = tuple(
        Attribute(a.name, tuple(a.labels[int(v)] for v in chosen))
        for a, chosen in zip(workload.domain.attributes, first, strict=True)
    )
    merged = tuple(
        Product(
            tuple(_restricted(f, chosen) for f, chosen in zip(p.factors, first, strict=True)),
            p.name,
            p.weight,
            p.target,
        )
        for p in products
    )
    cells = mixed([(labels, len(chosen)) for labels, chosen in zip(classes, first, strict=True)])
    touched = functools.reduce(np.logical_and.outer, [labels >= 0 for labels in classes])
    return Workload(Domain(attributes), merged), np.where(touched.ravel(), cells, -1)


def _restricted(factor: Factor, chosen: Ints) -> Factor:
    """The factor on some of its cells; the weights of its rows stay."""
    if len(chosen) == factor.size:
        return factor
    if factor.row_weights is not None:
        return RowWeighted(_restricted(factor.plain, chosen), factor.row_weights)
    if factor.kind == "total":
        return factors.total(len(chosen))
    matrix = factor.matrix()[:, chosen]
    is_identity = np.array_equal(matrix, np.eye(len(chosen)))
    return factors.identity(len(chosen)) if is_identity else factors.predicates(matrix)


TARGETS = "workload.targets"
# A share of the queries; with more of them left the solve is no faster, and the lifted point is scored again.
MOST_LEFT = 0.95
QUERIES_AT_A_TIME = 256
CELLS_ALONE = frozenset({"cells", ""})  # groups of axes along which multipliers are lifted without queries


@dataclass(frozen=True, eq=False, kw_only=True)
class ParallelQueries(ReductionStep):
    """The step to fewer queries.

    places : of each query that has a multiplier, its number in the smaller workload; -1 for one left out.
    None where queries were added up: they get no multipliers in the lift, as these would add up to that of
    the merged query.
    """

    places: Ints | None

    def lift(self, parts: Sequence[SolvedPart]) -> SolvedPart:
        """The strategy as it is; a multiplier of zero for each query that was left out."""
        (part,) = parts
        multipliers = (
            {name: array for name, (array, _) in self.along(part, CELLS_ALONE).items()}
            if self.places is None
            else self.spread(part, "queries", self.places)
        )
        return SolvedPart(part.strategy, multipliers, part.bound)


def merge_parallel_queries(instance: Instance, traits: Traits) -> ParallelQueries | None:
    """Merge parallel rows, among those with a target if the program takes targets."""
    workload = instance.workload
    if workload.m * workload.n > MOST_QUERY_ENTRIES:
        return None
    sources = {d.source for d in instance.program.givens}
    places: Ints | None = None
    if sources & WITH_TARGETS:
        if not traits.acts.per_query or (places := _places(instance)) is None:
            return None
        stays = np.isinf(workload.targets)  # those without a target too
        stays[~stays] = places >= 0
        fewer: Workload | None = restricted(workload, np.flatnonzero(stays))
    elif "workload.matrix" not in sources and workload.products is not None:
        return None  # the root of a product comes from its factors and has no more rows for it
    else:
        fewer = _added_up(workload)
    if fewer is None:
        return None
    return ParallelQueries(
        text=f"parallel queries: {workload.m:,} -> {counted(fewer.m, 'query')}",
        parts=smaller(instance, fewer),
        axes=traits.acts.multipliers,
        places=places,
    )


def _parallel(rows: Array) -> tuple[Ints, Array]:
    """(m,) a number for each row, the same for multiples to rounding, and (m,) factors of their direction."""
    lead = rows[np.arange(len(rows)), np.argmax(rows != 0, axis=1)]
    numbers: dict[bytes, int] = {}
    same = []
    for start in range(0, len(rows), QUERIES_AT_A_TIME):
        part = slice(start, start + QUERIES_AT_A_TIME)
        for row in rows[part] / lead[part, None] + 0.0:  # minus zero equals zero
            # A digest: of the rows themselves there may be gigabytes.
            same.append(numbers.setdefault(hashlib.sha256(row.tobytes()).digest(), len(numbers)))
    return np.array(same), lead


def _added_up(workload: Workload) -> Workload | None:
    """The workload with multiples of a query added up to one; None where too few are."""
    same, lead = _parallel(workload.queries)
    _, first = np.unique(same, return_index=True)
    if len(first) > MOST_LEFT * workload.m:
        return None
    size = np.sqrt(np.bincount(same, weights=workload.weights * lead**2))
    order = np.argsort(first)
    chosen = first[order]
    return Workload.from_matrix(workload.queries[chosen] * (size[order] / lead[chosen])[:, None])


def _places(instance: Instance) -> Ints | None:
    """For each query with a target its number among those that no other implies, -1 for the others.

    None where too few are implied.
    """
    workload = instance.workload
    finite = np.flatnonzero(np.isfinite(workload.targets))
    same, lead = _parallel(workload.queries[finite])
    limit = workload.targets[finite] / lead**2
    least = np.full(int(same.max()) + 1, np.inf)
    np.minimum.at(least, same, limit)
    stays = limit <= least[same] if _only_relax(instance.checked) else np.ones(len(same), dtype=bool)
    tight = np.flatnonzero(limit == least[same])
    stays[tight] = False
    stays[tight[np.unique(same[tight], return_index=True)[1]]] = True  # one of equal ones
    return None if stays.sum() > MOST_LEFT * len(stays) else np.where(stays, np.cumsum(stays) - 1, -1)


def _only_relax(checked: Checked) -> bool:
    """Whether larger targets only relax lines: they stand alone on the larger side, or divide the smaller."""
    program = checked.program
    names = [d.name for d in program.givens if d.source == TARGETS]
    elsewhere = [*(let.expr for let in program.lets), program.objective]
    is_elsewhere = any(mentions(e, name) for e in elsewhere for name in names)
    return not is_elsewhere and all(_relaxed(checked, c, name) for c in program.constraints for name in names)


def _relaxed(checked: Checked, c: Constraint, name: str) -> bool:
    """Whether a larger target, ``name``, only relaxes a line."""
    small, large = c.relation.left, c.relation.right
    if not (mentions(small, name) or mentions(large, name)):
        return True
    if c.relation.op != "<=":
        return False
    if _is(large, name):
        return not mentions(small, name)
    if mentions(large, name) or not (isinstance(small, Apply) and small.atom == "div"):
        return False
    above, below = small.args
    positive = infer(above, checked.scope.inside(c.family)).sign > 0
    return _is(below, name) and not mentions(above, name) and positive


def _is(expr: Expr, name: str) -> bool:
    """Whether an expression is ``c`` or ``c[j]``, c the name."""
    inner = expr.base if isinstance(expr, Index) else expr
    return isinstance(inner, Name) and inner.id == name


# The largest ratio of standard deviations of noise: its square leaves half of the digits.
MOST_RATIO = 3e4
# Entries of a factor whose queries are looked at: at first, as few often connect all cells, and at a time.
FIRST_ENTRIES, MOST_AT_A_TIME = 2**16, 2**21
NOT_ZERO = 1e-12  # singular values above this part of the largest are not zero


@dataclass(frozen=True, eq=False, kw_only=True)
class IndependentBlocks(ReductionStep):
    """The step to independent blocks.

    cells, rows : of each block the cells, and the queries that have multipliers, of which ``counts`` are the
    numbers in all. kind : how the objective is made of the blocks' (``Composition.kind``). certified : the
    multipliers of the certificate, which are scaled together.
    """

    cells: tuple[Ints, ...]
    rows: tuple[Ints, ...]
    counts: tuple[int, int]
    kind: str
    certified: frozenset[str]

    def lift(self, parts: Sequence[SolvedPart]) -> SolvedPart:
        """The strategies on the diagonal; the multipliers side by side, scaled as the theorem says."""
        bounds = np.array([0.0 if p.bound is None else p.bound for p in parts])
        strategies = [as_dense(p.strategy) for p in parts]
        if self.kind == SUM:
            strategies = [normalise(s) for s in strategies]
            scales, total = bounds, float(bounds.sum())
        else:
            strategies = _with_near_noise(strategies)
            largest = self.parts[int(np.argmax(bounds))].workload
            scales = np.array([float(p.workload == largest) for p in self.parts])
            total = float(bounds.max())
        matrix = np.asarray(scipy.linalg.block_diag(*(s.matrix for s in strategies)))
        order = np.argsort(np.concatenate(self.cells))
        of_parts = [self.along(p, CELLS_AND_QUERIES) for p in parts]
        whole: dict[str, Array] = {}
        for scale, places, multipliers in zip(
            scales, zip(self.cells, self.rows, strict=True), of_parts, strict=True
        ):
            size = sum(float(np.abs(a).sum()) for n, (a, _) in multipliers.items() if n in self.certified)
            factor = scale / size if self.kind == SUM and size > 0 else scale
            for name, (array, axes) in multipliers.items():
                at = [places[axis.group == "queries"] for axis in axes]
                shape = [self.counts[axis.group == "queries"] for axis in axes]
                whole.setdefault(name, np.zeros(shape))[np.ix_(*at)] = factor * array
        return SolvedPart(
            Strategy(matrix[:, order], strategies[0].norm),
            whole,
            None if any(p.bound is None for p in parts) else total,
        )


def split_blocks(instance: Instance, traits: Traits) -> IndependentBlocks | None:
    """Connect cells through queries; two components or more are blocks. Only then are queries listed."""
    if not traits.blocks.kind:
        return None
    workload = instance.workload
    if (workload.cell_classes < 0).any():
        return None
    of_cells = _connected(workload)
    if not of_cells.any() or workload.m * workload.n > MOST_QUERY_ENTRIES:
        return None
    of_rows = of_cells[(workload.queries != 0).argmax(axis=1)]  # by the first cell that a query touches
    # In the order of their first cells.
    blocks = [of_cells[i] for i in np.sort(np.unique(of_cells, return_index=True)[1])]
    cells = tuple(np.flatnonzero(of_cells == b) for b in blocks)
    rows = tuple(np.flatnonzero(of_rows == b) for b in blocks)
    parts = smaller(instance, *(restricted(workload, r, c) for r, c in zip(rows, cells, strict=True)))
    counts, of_multipliers = (workload.n, workload.m), rows
    if {d.source for d in instance.program.givens} & WITH_TARGETS:  # the queries are those that have a target
        finite = np.flatnonzero(np.isfinite(workload.targets))
        of_multipliers = tuple(np.flatnonzero(of_rows[finite] == b) for b in blocks)
        counts = (workload.n, len(finite))
    return IndependentBlocks(
        text=f"independent blocks: {workload.n:,} cells -> {_sizes([len(c) for c in cells])}",
        parts=parts,
        names=tuple(f"block {i + 1}" for i in range(len(parts))),
        axes=traits.acts.multipliers,
        cells=cells,
        rows=of_multipliers,
        counts=counts,
        kind=traits.blocks.kind,
        certified=frozenset(m.key for m in instance.program.multipliers),
    )


def _connected(workload: Workload) -> Ints:
    """(n,) a number for each cell, the same for those that queries connect."""
    labels, seen = np.arange(workload.n), dict[int, Ints]()
    for block in workload.blocks:
        classes = _touched_together(block.queries, seen)
        cells = np.flatnonzero(classes >= 0)
        labels = _connect(labels, classes[cells], cells)
        if not labels.any():
            break
    return labels


def _touched_together(queries: Implicit, seen: dict[int, Ints]) -> Ints:
    """Number the cells of one block, the same for cells that its queries connect; -1 for an untouched cell.

    In a Kronecker product cells are connected where they are in every factor: a query touches all choices of
    cells that its factors touch. ``seen``: the numbers for factors that several products share, by identity.
    """
    if id(queries) in seen:
        return seen[id(queries)]
    if isinstance(queries, Kron):
        each = [_touched_together(part, seen) for part in queries.parts]
        labels = mixed([(classes, int(classes.max()) + 1) for classes in each])
        touched = functools.reduce(np.logical_and.outer, [classes >= 0 for classes in each]).ravel()
    else:
        labels, touched = np.arange(queries.size), np.zeros(queries.size, dtype=bool)
        start, step = 0, max(1, FIRST_ENTRIES // queries.size)
        while start < queries.rows and (labels.any() or not touched.all()):
            rows, cells = np.nonzero(queries.take(np.arange(start, min(start + step, queries.rows))))
            labels = _connect(labels, rows, cells)
            touched[cells] = True
            start, step = start + step, min(2 * step, max(1, MOST_AT_A_TIME // queries.size))
    return seen.setdefault(id(queries), np.where(touched, labels, -1))


def _connect(labels: Ints, groups: Ints, cells: Ints) -> Ints:
    """The labels, numbered from 0 on, where the cells of a group are connected: each with the first."""
    _, first, place = np.unique(groups, return_index=True, return_inverse=True)
    edges = labels[cells[first]][place], labels[cells]
    graph = scipy.sparse.coo_array((np.ones(len(cells)), edges), (len(labels), len(labels)))
    return np.asarray(scipy.sparse.csgraph.connected_components(graph, directed=False)[1][labels])


def _with_near_noise(strategies: Sequence[Strategy]) -> list[Strategy]:
    """The strategies, those whose noise is too large scaled up, to the largest sensitivity at most."""
    singular = [np.linalg.svd(s.matrix, compute_uv=False) for s in strategies]
    weakest = np.array([values[values > NOT_ZERO * values[0]].min() for values in singular])
    largest = np.array([s.sensitivity for s in strategies])
    factors = np.clip(max(v[0] for v in singular) / MOST_RATIO / weakest, 1.0, largest.max() / largest)
    return [Strategy(f * s.matrix, s.norm) for f, s in zip(factors, strategies, strict=True)]


def _sizes(sizes: list[int]) -> str:
    """The sizes of blocks in words: ``4 of 5 cells``, or ``3, 4 and 13 cells``."""
    if len(set(sizes)) == 1:
        return f"{len(sizes):,} of {counted(sizes[0], 'cell')}"
    if len(sizes) <= 4:
        return f"{', '.join(f'{s:,}' for s in sizes[:-1])} and {sizes[-1]:,} cells"
    return f"{len(sizes):,} of {min(sizes):,} to {max(sizes):,} cells"


@dataclass(frozen=True, eq=False, kw_only=True)
class KroneckerProduct(ReductionStep):
    """Parts in the order of the attributes; attributes of one cell and one query are left out."""

    def lift(self, parts: Sequence[SolvedPart]) -> SolvedPart:
        """The Kronecker products of the strategies and of the multipliers."""
        matrix = kron([as_dense(p.strategy).matrix for p in parts])
        of_parts = [self.along(p, CELLS_AND_QUERIES) for p in parts]
        names = [name for name in of_parts[0] if all(name in k for k in of_parts)]
        multipliers = {name: kron([k[name][0] for k in of_parts]) for name in names}
        bounds = [p.bound for p in parts if p.bound is not None]
        return SolvedPart(
            Strategy(matrix, parts[0].strategy.norm),
            multipliers,
            math.prod(bounds) if len(bounds) == len(parts) else None,
        )


def split_kronecker_factors(instance: Instance, traits: Traits) -> KroneckerProduct | None:
    """The step of one product with at least two factors that are not the number 1."""
    if not traits.factors.kind:
        return None
    factors = zip(instance.workload.domain.attributes, workloads_of_factors(instance.workload), strict=False)
    queried = {a.name: part for a, part in factors if part.shape != (1, 1) or part.matrix[0, 0] != 1.0}
    if len(queried) < 2:
        return None
    return _kronecker_step(instance, traits, queried, smaller(instance, *queried.values()))


def workloads_of_factors(workload: Workload) -> tuple[Workload, ...]:
    """The factor of each attribute of a workload that is one product; () for any other.

    They are over cells without a name, so that equal factors are equal workloads, and solved once.
    """
    if len(products := workload.products or ()) != 1:
        return ()
    (product,) = products
    finite = math.isfinite(product.target)
    first = next((place for place, factor in enumerate(product.factors) if factor.shape != (1, 1)), 0)
    return tuple(
        Workload(
            Domain.anonymous(factor.size),
            (
                Product(
                    (factor,),
                    weight=product.weight if place == first else 1.0,
                    target=(product.target if place == first else 1.0) if finite else math.inf,
                ),
            ),
        )
        for place, factor in enumerate(product.factors)
    )


def in_factors(workload: Workload, parts: Sequence[Instance]) -> tuple[Instance, KroneckerProduct] | None:
    """The program for a product, with sizes and numbers alone, and the step to its factors, ``parts``.

    Nothing of the product is formed. None where the whole is not their product.
    """
    first = parts[0]
    numbers = {p.name: first.env[p.name] for p in first.program.parameters if np.ndim(first.env[p.name]) == 0}
    sizes = {name: math.prod(part.sizes()[name] for part in parts) for name in first.sizes()}
    whole = replace(first, workload=workload, env=MappingProxyType({**sizes, **numbers}))
    traits = traits_of(first)
    if not (traits.factors.kind and traits.acts.allows(*PERMUTED) and reducible(whole)):
        return None
    names = [attribute.name for attribute in workload.domain.attributes]
    return whole, _kronecker_step(whole, traits, names, tuple(parts))


def _kronecker_step(
    instance: Instance, traits: Traits, attributes: Iterable[str], parts: tuple[Instance, ...]
) -> KroneckerProduct:
    """The step from a product to its factors, ``parts``, each named by its attribute."""
    sizes = " x ".join(f"{part.workload.n:,}" for part in parts)
    return KroneckerProduct(
        text=f"Kronecker product: {whole_number(instance.workload.n)} -> {sizes} cells",
        parts=parts,
        names=tuple(f"factor '{name}'" for name in attributes),
        multiplies=True,
        axes=traits.acts.multipliers,
    )
