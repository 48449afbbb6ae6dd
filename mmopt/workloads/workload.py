"""``Workload``: queries, weights, targets; sums and variants of workloads. Never privacy.

``+`` adds workloads over one domain, and explains why two have no sum. All derived arrays are computed once,
when first needed, and are read-only. A workload can be made from another one: its parts by name, other
weights for them, other rows for a basis. ``attribute_uses`` tells which attributes its queries need: columns
of others need not be read.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from scipy import linalg, sparse

from mmopt.display_base_classes import Tabular
from mmopt.errors import OptionError, WorkloadError, suggest, whole
from mmopt.limits import require_memory
from mmopt.numerics.arrays import EPS, Array, Ints, frozen, owned, rounding_of_root
from mmopt.workloads.arrays_and_frames import check_labels, labelled
from mmopt.workloads.blocks.combined_blocks import Stack
from mmopt.workloads.blocks.query_matrices import AnyMatrix, Implicit, positive
from mmopt.workloads.domain import Attribute, Domain
from mmopt.workloads.factors_and_products import (
    TOO_LARGE_HINT,
    Block,
    Explicit,
    Merged,
    Product,
    check_products,
    eigen,
    spelled_out,
    wishes,
    with_shared_factors,
)


def _joined(first: Workload, second: Workload) -> tuple[Block, ...]:
    """The blocks of both, in order; one matrix where there is one among them.

    Raises
    ------
    WorkloadError : other domains, a name in both, or only one of them normalised.
    """
    _check_domains(first.domain, second.domain)
    if first.is_normalised != second.is_normalised:
        which = "first" if first.is_normalised else "second"
        raise WorkloadError(
            f"the {which} workload is normalised, the other is not: their weights have different meanings",
            hint="add first, then normalise: (a + b).normalised()",
        )
    names = {block.name for block in first.blocks if isinstance(block, Product)} - {None}
    for block in second.blocks:
        if isinstance(block, Product) and block.name in names:
            raise WorkloadError(
                f"both workloads have queries of the name '{block.name}'",
                hint="rename one of them, or leave the name out: unnamed queries may repeat",
            )
    blocks = (*first.blocks, *second.blocks)
    products = [block for block in blocks if isinstance(block, Product)]
    if len(products) == len(blocks):
        return with_shared_factors(products)
    return (_stacked(blocks, first.domain),)


def _stacked(blocks: Sequence[Block], domain: Domain) -> Explicit:
    """The queries of blocks as one matrix: nothing splits or reduces a mixture of matrices and products."""
    values = [b.rows(0, b.m) if isinstance(b, Product) else b.queries.values for b in blocks]
    is_sparse = any(sparse.issparse(each) for each in values)
    matrix = sparse.vstack(values, format="csr") if is_sparse else np.vstack(values)
    is_named = any(isinstance(b, Product) or b.queries.names for b in blocks)
    names = [label for b in blocks for label in b.labels(domain)] if is_named else []
    targets, weights = (np.concatenate([getattr(b, each) for b in blocks]) for each in ("targets", "weights"))
    return Explicit.read(matrix, targets, weights, names)


def _check_domains(first: Domain, second: Domain) -> None:
    """WorkloadError with the attribute in which two domains differ."""
    for name in (*first.names, *second.names):
        if (name in first.names) != (name in second.names):
            which = "first" if name in first.names else "second"
            raise _other_domains(f"only the {which} has the attribute '{name}'")
    if first.names != second.names:
        orders = f"{', '.join(first.names)} and as {', '.join(second.names)}"
        raise _other_domains(f"their attributes stand as {orders}")
    for one, other in zip(first.attributes, second.attributes, strict=True):
        if difference := _difference(one, other):
            raise _other_domains(f"attribute '{one.name}' has {difference}")


def _difference(one: Attribute, other: Attribute) -> str:
    """The first difference of two attributes of the same name, in words; "" for none."""
    if one.size != other.size:
        return f"{whole(one.size)} cells in the first and {whole(other.size)} in the second"
    for cell, (mine, theirs) in enumerate(zip(one.labels, other.labels, strict=True)):
        if mine != theirs:
            return f"'{mine}' as cell {cell} of the first and '{theirs}' of the second"
    for rule in ("column", "outside", "missing"):
        # Without a rule rows are refused when they are counted.
        mine, theirs = (getattr(attribute, rule) or "refuse" for attribute in (one, other))
        if mine != theirs:
            return f"{rule} '{mine}' in the first and '{theirs}' in the second"
    return "" if one.encoding.describe() == other.encoding.describe() else "other table values in its cells"


def _other_domains(difference: str) -> WorkloadError:
    """The error for workloads over domains with this difference."""
    return WorkloadError(
        f"workloads over different domains cannot be added: {difference}", hint="make both from one Domain"
    )


@dataclass(frozen=True, eq=False, repr=False)
class Workload(Tabular):
    """m linear counting queries over n cells. Build it with ``load``, ``of``, a method of a ``Domain``,
    ``from_matrix`` or ``from_products``; ``+`` adds up workloads over one domain.

    W below is the *weighted* matrix: row j is √weightⱼ times query j. ``is_normalised``: they come from
    ``normalised()``; this is shown, and does not matter for equality.
    """

    domain: Domain
    blocks: tuple[Block, ...]
    is_normalised: bool = False
    __array_ufunc__ = None  # else numpy would add a workload to each entry of an array

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Workload:
        """The workload of a workload file; errors name the place in the file."""
        from mmopt.request import load_request

        return load_request(path).workload

    @staticmethod
    def of(described: Mapping[str, object] | None = None, /, **keys: object) -> Workload:
        """The workload of a dictionary with the keys of a workload file; its privacy is ignored.

        Parameters
        ----------
        described, keys : domain and workload, and predicates, normalise, data if wanted, as in the file.
            ``domain`` may be a ``Domain`` too. Values as for ``Domain.of``.

        Raises
        ------
        WorkloadError : as for a file, with the place, as ``workload[2].product.age``.
        PrivacyError : invalid privacy parameters. TooLargeError : more than a limit allows.

        >>> import mmopt
        >>> mmopt.Workload.of(
        ...     domain={"age": {"range": [0, 60], "width": 5}},
        ...     workload=[{"product": {"age": "prefix"}, "max_variance": 50.0}],
        ... )
        Workload(12 queries over 12 cells, 1 product, 12 with a target)
        """
        from mmopt.request import Request

        return Request.of(described, **keys).workload

    def __add__(self, other: object) -> Workload:
        """The queries of both, the first workload first; ``sum`` adds up a list.

        The sum of products keeps them. With a matrix on either side it is one matrix, of at most the memory
        limit; labels of queries stay, names of groups do not.

        Raises
        ------
        TooLargeError : products that do not fit in memory as a matrix.
        WorkloadError : no Workload, one over another domain (the attribute that differs is named), a name
            in both, or a normalised one and a plain one.

        >>> import mmopt
        >>> d = mmopt.Domain.of(sex=["Female", "Male"], age={"bins": [0, 18, 65, 115]})
        >>> sum(d.marginal(name) for name in d.names)
        Workload(5 queries over 6 cells, 2 products)
        """
        if not isinstance(other, Workload):
            raise WorkloadError(
                f"a {type(other).__name__} cannot be added to a Workload, expected another Workload",
                hint="write Workload.from_matrix(matrix) for a matrix, request.workload for a request",
            )
        return replace(self, blocks=_joined(self, other))

    def __radd__(self, other: object) -> Workload:
        return self if isinstance(other, int) and other == 0 else self + other  # sum() starts at 0

    @staticmethod
    def from_matrix(
        matrix: AnyMatrix,
        targets: np.typing.ArrayLike | None = None,
        weights: np.typing.ArrayLike | None = None,
    ) -> Workload:
        """A workload from a matrix (m, n), an array, scipy sparse or a data frame: one query a row.

        Parameters
        ----------
        matrix : the queries, unweighted. The index of a frame names the queries, its columns the cells.
        targets : largest variance allowed per query, in squared counts; (m,), one number, or None for no
            target; infinity for a query without one.
        weights : factor of each query's squared error; (m,), one number, or None for 1.

        Raises
        ------
        WorkloadError : not 2-D, empty, NaN or infinite entries, a query of zeros, a target or weight that is
            not positive, or of the wrong length, or a series of them labelled otherwise than the queries; a
            column of a frame that is there twice. Columns of zeros are fine.
        """
        entries, names, domain = labelled(matrix)
        check_labels(names, targets=targets, weights=weights)
        block = Explicit.read(entries, targets, weights, names)
        return Workload(domain or Domain.anonymous(block.n), (block,))

    @staticmethod
    def from_products(domain: Domain, products: Sequence[Product]) -> Workload:
        """A workload from Kronecker products, each with one factor per attribute of the domain.

        Raises
        ------
        WorkloadError : no product, a product that does not fit the domain, or a name used twice.
        """
        check_products(domain, products)
        return Workload(domain, with_shared_factors(products))

    @property
    def products(self) -> tuple[Product, ...] | None:
        """The products, or None for a workload from a matrix."""
        products = tuple(block for block in self.blocks if isinstance(block, Product))
        return products if len(products) == len(self.blocks) else None

    @property
    def m(self) -> int:
        """Number of queries."""
        return sum(block.m for block in self.blocks)

    @property
    def n(self) -> int:
        """Number of cells."""
        return self.domain.size

    @property
    def shape(self) -> tuple[int, int]:
        """(m, n)."""
        return self.m, self.n

    @cached_property
    def queries(self) -> Array:
        """The unweighted queries, dense (m, n); TooLargeError beyond the memory limit."""
        require_memory(self.shape, "query matrix", TOO_LARGE_HINT)
        if self.given_queries is not None:
            return self.given_queries
        return frozen(np.vstack([block.rows(0, block.m) for block in self.blocks]))

    @property
    def given_queries(self) -> Array | None:
        """``queries`` where a dense matrix has them already; else None."""
        block = self.blocks[0]
        return block.dense if len(self.blocks) == 1 and isinstance(block, Explicit) else None

    @cached_property
    def matrix(self) -> Array:
        """W (m, n): queries scaled by the square roots of their weights; TooLargeError beyond the limit."""
        return frozen(np.sqrt(self.weights)[:, None] * self.queries)

    @cached_property
    def weights(self) -> Array:
        """Weight of each query, (m,)."""
        return frozen(np.concatenate([block.weights for block in self.blocks]))

    @cached_property
    def targets(self) -> Array:
        """Largest variance allowed for each query, (m,), in squared counts; infinity where there is none."""
        return frozen(np.concatenate([block.targets for block in self.blocks]))

    @property
    def has_targets(self) -> bool:
        """Whether a query has a target."""
        return any(np.isfinite(b.target if isinstance(b, Product) else b.targets).any() for b in self.blocks)

    @property
    def has_all_targets(self) -> bool:
        """Whether every query has a finite target."""
        return all(np.isfinite(b.target if isinstance(b, Product) else b.targets).all() for b in self.blocks)

    def answers(self, x: np.typing.ArrayLike) -> Array:
        """The true answers (m,) for a data vector x (n,), or (m, c) for columns (n, c), without W."""
        array = np.asarray(x, dtype=np.float64)
        if array.ndim not in (1, 2) or array.shape[0] != self.n:
            raise WorkloadError(f"the workload has {self.n} cells, found data of shape {array.shape}")
        return np.array(self.implicit(weighted=False).apply(array.T).T)  # identities return x itself

    def implicit(self, weighted: bool = True) -> Implicit:
        """W (m, n), or the unweighted queries, without forming it: products both ways, norms, operator."""
        parts = [block.implicit(weighted) for block in self.blocks]
        return parts[0] if len(parts) == 1 else Stack(parts)

    def squared_norms(self) -> Array:
        """Squared L2 norm of each unweighted query, (m,)."""
        return np.concatenate([block.squared_norms() for block in self.blocks])

    def labels(self) -> list[str]:
        """One readable text per query, m of them, in the order of the rows."""
        return [label for block in self.blocks for label in block.labels(self.domain)]

    def groups(self) -> list[tuple[str, slice]]:
        """Name and rows of each product; a product without a name is named by its attributes."""
        blocks = zip(self.blocks, itertools.accumulate(block.m for block in self.blocks), strict=True)
        return [(block.title(self.domain), slice(end - block.m, end)) for block, end in blocks]

    def wishes_by_group(self) -> list[dict[str, float]]:
        """By group the accuracy that is asked for: ``within`` and ``confidence``, the least and the largest
        variance where they are not those of this half width, and the number of queries without any.
        """
        wish_of = {rows.start: wish for rows, wish in wishes(self.blocks)}
        wanted: list[dict[str, float]] = []
        for _, rows in self.groups():
            wish, targets = wish_of.get(rows.start), np.asarray(self.targets[rows])
            limits = targets[np.isfinite(targets)]
            wanted.append({} if wish is None else {"within": wish.half_width, "confidence": wish.confidence})
            if limits.size and (wish is None or limits.min() < wish.variance):
                ends = {"least_variance": float(limits.min()), "largest_variance": float(limits.max())}
                wanted[-1] |= {**ends, "without": targets.size - limits.size}
        return wanted

    @cached_property
    def gram(self) -> Array:
        """G = WᵀW (n, n), weighted, from the factors; TooLargeError beyond the memory limit."""
        require_memory((self.n, self.n), "Gram matrix", TOO_LARGE_HINT)
        total = np.zeros((self.n, self.n))
        for block in self.blocks:
            total += block.weighted_gram()
        return frozen(total)

    @cached_property
    def _merged(self) -> Merged:
        """The blocks on merged cells."""
        return Merged.of(self.blocks)

    @property
    def cell_classes(self) -> Ints:
        """(n,) class of each cell, numbered by first cell; no query distinguishes the cells of a class.

        -1 for a cell that no query touches. Two classes may still have equal columns when a predicate has
        weights other than 0 and 1 (see ``Product.classes``).
        """
        return frozen(self._merged.classes)

    @cached_property
    def root(self) -> Array:
        """R (r, n) with RᵀR = ``gram`` and r <= min(m, n), by QR of the queries or of factor roots.

        The Gram matrix is never formed, so singular values are right to machine precision times the largest
        one, where those of the Gram matrix would be right to its square root.
        """
        return owned(self._merged.expand(self._merged.root(weighted=True)))

    @property
    def root_rounding(self) -> float:
        """γ such that R, as rounded, is Qᵀ (W + E) with Q orthonormal and ‖E‖ <= γ ‖W‖ (Frobenius).

        0 where R is the unchanged rows of W.
        """
        rows = sum(min(block.m, block.n) if isinstance(block, Product) else block.m for block in self.blocks)
        return max(block.root_rounding for block in self.blocks) + rounding_of_root(rows, self._merged.count)

    @cached_property
    def unweighted(self) -> Workload:
        """These queries with all weights 1; the workload itself where they are 1."""
        if all(block.is_plain for block in self.blocks):
            return self
        return Workload(self.domain, tuple(block.unweighted() for block in self.blocks))

    @cached_property
    def weighed(self) -> Workload:
        """A workload with the same W from scaled queries: no row has a weight. For total error only."""
        products = self.products
        if products is None or not any(p.has_row_weights for p in products):
            return self
        return Workload(self.domain, with_shared_factors([p.weighed() for p in products]))

    def normalised(self) -> Workload:
        """These queries, weighted as if each were divided by its L2 norm.

        The weight of a query becomes weight / ‖w‖²; answers, targets, variances and the (unweighted) rmse
        do not change. A heuristic for low relative error: long queries count many rows (Li and Miklau, PVLDB
        2012, section 3.4). Exact for products, whose norms are products. Queries of zeros are refused anyway.
        """
        if self.is_normalised:
            return self
        scaled = Workload(self.domain, tuple(block.normalised() for block in self.blocks))
        blocks = scaled.blocks if scaled.products is None else with_shared_factors(scaled.products)
        return Workload(self.domain, blocks, is_normalised=True)

    @cached_property
    def unit_root(self) -> Array:
        """(r, n) with the row space of the workload, of queries scaled to at most unit norm, unweighted."""
        return owned(self._merged.expand(self._merged.root(weighted=False)))

    @cached_property
    def basis(self) -> Array:
        """B (k, n): the identity when k = n, else orthonormal rows that span the queries.

        When all classes of ``cell_classes`` are independent these are the scaled indicators 1_C/√|C|, else
        right singular vectors of the queries scaled to at most unit norm, with the sign of ``fix_signs``.
        """
        if any(block.queries.full_rank for block in self.blocks):
            require_memory((self.n, self.n), "basis", TOO_LARGE_HINT)
            return frozen(np.eye(self.n))
        return self._merged.basis()

    @property
    def rank(self) -> int:
        """k, the rank of the queries (weights do not matter)."""
        return self.n if any(block.queries.full_rank for block in self.blocks) else self.basis.shape[0]

    @cached_property
    def representation(self) -> Array:
        """L (m, k): queries = representation @ basis, unweighted."""
        if self.rank == self.n:
            return self.queries
        require_memory((self.m, self.rank), "representation", TOO_LARGE_HINT)
        return frozen(self.answers(self.basis.T))

    @cached_property
    def representation_rounding(self) -> float:
        """φ: a row of L B - W is at most φ times as long as its query; 0 where B is the identity."""
        if self.rank == self.n:
            return 0.0
        largest = max(
            block.furthest(self.representation[at], self.basis)
            for block, (_, at) in zip(self.blocks, self.groups(), strict=True)
        )
        return float(largest + 2 * EPS * self.rank**1.5)  # of L B itself

    @cached_property
    def integer_basis(self) -> Ints | None:
        """(k, n) integer rows that span the queries, or None.

        The indicators of ``cell_classes`` when there are k classes. Otherwise, if the queries are integers,
        k independent ones (for the structured factors: of the identity, which spans the same), chosen by QR
        with pivoting and only if that finds the same rank. A query that is a number times -1, 0, 1 counts.
        """
        return self._merged.integer_basis(self.rank)

    @cached_property
    def _spectrum(self) -> tuple[Array, Array]:
        """``eigenvalues`` and ``eigenqueries``."""
        return eigen(self.root, None if self.rank == self.n else self.basis)

    @property
    def dropped(self) -> Array:
        """(n,) ones where rules may drop a row of data, else zeros."""
        return np.full(self.n, float(self.domain.may_drop))

    @property
    def eigenvalues(self) -> Array:
        """(r,) eigenvalues of the weighted Gram matrix, descending, those of its null space left out."""
        return self._spectrum[0]

    @property
    def eigenqueries(self) -> Array:
        """(r, n) orthonormal eigenvectors, a row each; the entry largest in magnitude is positive."""
        return self._spectrum[1]

    @cached_property
    def hash(self) -> str:
        """SHA-256, hexadecimal, of the domain, queries, weights and targets as described.

        Names of queries and of groups do not matter. Equal matrices described differently (a prefix product
        and the same rows as a matrix) differ.
        """
        texts: dict[int, str] = {}
        blocks = (f"{',' if at else ''}{block.spelled_out(texts)}" for at, block in enumerate(self.blocks))
        sha = hashlib.sha256()
        for text in itertools.chain([f"[{spelled_out(self.domain.describe())},["], blocks, ["]]"]):
            sha.update(text.encode())
        return sha.hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Workload) and self.hash == other.hash

    def __hash__(self) -> int:
        return int(self.hash[:15], 16)

    def __repr__(self) -> str:
        targets = sum(
            b.m * math.isfinite(b.target) if isinstance(b, Product) else int(np.isfinite(b.targets).sum())
            for b in self.blocks
        )
        with_targets = f", {targets:,} with a target" if targets else ""
        kind = f"{len(self.blocks)} product{'s' * (len(self.blocks) > 1)}" if self.products else "matrix"
        return f"Workload({self.m:,} queries over {whole(self.n)} cells, {kind}{with_targets})"


# Relative errors allowed: of a basis, of which only the rotation from the workload's basis is used, and of
# orthonormality and the spectrum of eigenqueries, which are used unchanged.
MOST_OFF = {"basis": 1e-8, "eigenqueries": 1e-12}
_KIND = {"basis": "an orthonormal basis", "eigenqueries": "an orthonormal set of eigenvectors"}


def with_bases(workload: Workload, bases: Mapping[str, Array]) -> Workload:
    """The workload with its ``basis`` or ``eigenqueries`` replaced.

    Rows that a workload does not determine uniquely, an orthonormal basis of the queries' row space, and
    eigenvectors of a repeated eigenvalue, come out differently on another machine. A result that was computed
    in one basis is rechecked in that basis, after a check that it is one.

    Parameters
    ----------
    bases : "basis" (k, n), orthonormal rows that span the queries; "eigenqueries" (r, n), orthonormal
        eigenvectors of the weighted Gram matrix in the order of ``eigenvalues``.

    Raises
    ------
    WorkloadError : another name, or rows that are not of this kind.
    """
    changed = Workload(workload.domain, workload.blocks)  # of which no cached property is computed yet
    for name, rows in bases.items():
        if name not in MOST_OFF:
            raise WorkloadError(f"a workload has no rows '{name}' to replace", hint=suggest(name, MOST_OFF))
        current = getattr(workload, name)
        fits = rows.shape == current.shape and bool(np.isfinite(rows).all())
        off = _off(workload, name, rows) if fits else float("inf")
        if not off <= MOST_OFF[name]:
            raise WorkloadError(
                f"'{name}' of shape {rows.shape} is not {_KIND[name]} of the workload "
                f"(shape {current.shape}): it is off by {off:.1e}"
            )
        if name == "basis":  # L B is W for the workload's rows rotated, whatever the error of the given ones
            rows = current if workload.rank == workload.n else linalg.polar(rows @ current.T)[0] @ current
        replacement = frozen(np.array(rows, dtype=np.float64))
        # Cached properties keep their values there.
        changed.__dict__["basis" if name == "basis" else "_spectrum"] = (
            replacement if name == "basis" else (workload.eigenvalues, replacement)
        )
    return changed


def _off(workload: Workload, name: str, rows: Array) -> float:
    """The relative error of rows as a basis or eigenvectors."""
    skewed = float(np.abs(rows @ rows.T - np.eye(len(rows))).max())
    if name == "basis":
        root = workload.unit_root
        return max(skewed, float(np.linalg.norm(root - root @ rows.T @ rows) / np.linalg.norm(root)))
    image = workload.root @ rows.T
    values = workload.eigenvalues
    return max(skewed, float(np.abs(image.T @ image - np.diag(values)).max() / values[0]))


def subworkloads(workload: Workload) -> tuple[str, ...]:
    """The names, in the order in which they first appear."""
    return tuple(dict.fromkeys(p.subworkload for p in workload.products or () if p.subworkload is not None))


def only(workload: Workload, name: str) -> Workload:
    """The products of one sub-workload.

    Raises
    ------
    OptionError : no product is in a sub-workload of that name.
    """
    return replace(workload, blocks=tuple(p for p in _products(workload, name) if p.subworkload == name))


def rest_of(workload: Workload, name: str) -> Workload | None:
    """The products that are not in the sub-workload; None when all are. Errors as ``only``."""
    rest = tuple(p for p in _products(workload, name) if p.subworkload != name)
    return replace(workload, blocks=rest) if rest else None


def weighted(workload: Workload, factors: Mapping[str, float]) -> Workload:
    """The workload with the weights of sub-workloads multiplied by factors.

    Raises
    ------
    OptionError : as ``only``. WorkloadError : a factor that is not positive and finite.
    """
    products = workload.products or ()
    for name, factor in factors.items():
        products = _products(Workload(workload.domain, products), name)
        by = positive(factor, f"the factor of the sub-workload '{name}'")
        products = tuple(replace(p, weight=by * p.weight) if p.subworkload == name else p for p in products)
    return replace(workload, blocks=products) if factors else workload


def _products(workload: Workload, name: str) -> tuple[Product, ...]:
    """All products of a workload that has a sub-workload of this name; errors as ``only``."""
    names = subworkloads(workload)
    if name in names:
        assert workload.products is not None
        return workload.products
    if not names:
        raise OptionError(
            f"there is no sub-workload '{name}': the workload has none",
            hint="add 'subworkload: NAME' to the workload entries that belong to it",
        )
    raise OptionError(
        f"there is no sub-workload '{name}', the workload has {', '.join(names)}", hint=suggest(name, names)
    )


Use = Literal["queries", "filter", "none"]


def attribute_uses(workload: Workload) -> dict[str, Use]:
    """The use of the column of each attribute.

    "queries": some query distinguishes its cells. "filter": none does, and a rule drops rows, so that the
    column decides whether a row counts. "none": none does, and every row counts, whatever the column holds:
    each query sums over all cells of the attribute, so all rows may be counted in its first cell. In a
    workload that is given as a matrix every column is for queries.
    """
    products = workload.products
    looked_at = None if products is None else {axis for product in products for axis in product.looked_at}
    uses: dict[str, Use] = {}
    for axis, attribute in enumerate(workload.domain.attributes):
        unused: Use = "filter" if "drop" in (attribute.outside, attribute.missing) else "none"
        uses[attribute.name] = "queries" if looked_at is None or axis in looked_at else unused
    return uses
