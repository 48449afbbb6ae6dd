"""Find the symmetries of a workload, and put its matrices together by components."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
from scipy.linalg import polar

from mmopt.errors import WorkloadError
from mmopt.numerics.split_arrays import Level, Space, Split
from mmopt.symmetry.attribute_components import AttributeSymmetry
from mmopt.symmetry.attribute_queries import Piece, Term, terms_of
from mmopt.symmetry.joint_components import Chosen, Joint
from mmopt.symmetry.split_targets import asked_of, asked_rows
from mmopt.symmetry.split_totals import (
    blocks_of,
    component_roots,
    independent_columns,
    is_connected,
    root_of,
)
from mmopt.symmetry.value_swaps import interchangeable, reverses
from mmopt.workloads.blocks.implicit_matrix import refine
from mmopt.workloads.query_group import no_targets, undetermined
from mmopt.workloads.workload import Workload

__all__ = ["SymmetricWorkload", "symmetry"]

# Above this many cells the blocks of a workload without symmetry are not looked for.
MOST_CELLS_OF_BLOCKS = 4096
# What an orthonormal basis may be off by.
BASIS_TOLERANCE = 1e-8


@dataclass(frozen=True, eq=False)
class SymmetricWorkload:
    """A workload by components.

    kinds : what was found: "value symmetry", "reflection", "independent blocks".
    cells : the space of the cells; components on which the workload is zero are left out.
    sources : what a program's givens take (``workload.root``, …), as Split and Level; the Gram matrix, which
        follows from the root, is left to ``taken``.
    """

    kinds: tuple[str, ...]
    cells: Space
    sources: Mapping[str, Split | Level]

    def taken(self, names: Collection[str]) -> dict[str, Split | Level]:
        """Those of the sources, with ``workload.gram`` among them, that have these names."""
        found = {name: source for name, source in self.sources.items() if name in names}
        root = self.sources.get("workload.root")
        if isinstance(root, Split) and "workload.gram" in names:
            parts = tuple(part.T @ part for part in root.parts)
            found["workload.gram"] = Split(root.columns, root.columns, parts)
        return found

    def in_basis(self, basis: Split) -> SymmetricWorkload:
        """The same with another orthonormal basis of the queries with a target.

        Raises
        ------
        WorkloadError : it is none, or splits otherwise.
        """
        known, queries = self.sources["workload.basis"], self.sources["workload.representation"]
        assert isinstance(known, Split) and isinstance(queries, Split)
        if [part.shape for part in basis.parts] != [part.shape for part in known.parts]:
            raise WorkloadError("the basis by component has other sizes than the workload's")
        pairs = list(zip(known.parts, basis.parts, strict=True))
        unit = [matrix for old, new in pairs for matrix in (old @ new.T, new)]
        off = max((float(np.abs(m @ m.T - np.eye(len(m))).max()) for m in unit), default=0.0)
        if not off <= BASIS_TOLERANCE:
            raise WorkloadError(f"the basis by component is not one of the workload: it is off by {off:.1e}")
        # The workload's own rows turned, so that L B is W whatever the given ones are off by.
        turns = [polar(new @ old.T)[0] for old, new in pairs]
        left = tuple(q @ turn.T for q, turn in zip(queries.parts, turns, strict=True))
        right = tuple(turn @ old for turn, old in zip(turns, known.parts, strict=True))
        sources = {
            **self.sources,
            "workload.representation": Split(queries.rows, queries.columns, left),
            "workload.basis": Split(known.rows, known.columns, right),
        }
        return replace(self, sources=MappingProxyType(sources))

    def __str__(self) -> str:
        kinds = " and ".join(filter(None, [", ".join(self.kinds[:-1]), self.kinds[-1]]))
        n = self.cells.size
        count = f"{n}" if n < 10**15 else f"about 1e{int(math.log10(n))}"
        return f"{kinds}: {count} cells -> {self.cells.words}"


def symmetry(workload: Workload, with_targets: bool, largest: float = math.inf) -> SymmetricWorkload | None:
    """The symmetries of a workload that swap values of an attribute, or reverse their order; None if none.

    With a convex program whose solution set they leave alone, some optimal point splits in the same way
    (the average of its images). Nothing of the number of cells is held.

    Parameters
    ----------
    with_targets : False: what leaves the Gram matrix alone, for total error; ``sources`` has
        ``workload.root``, weighted. True: what leaves the queries and their targets
        alone; ``workload.representation`` (queries with a finite target), ``workload.basis`` and
        ``workload.targets``, unweighted.
    largest : a larger component is as good as no symmetry, and is not put together: None.

    Raises
    ------
    WorkloadError : with targets, when no query has one, or some query cannot be derived from those that have.
    TooLargeError : a component, or their list, that does not fit in memory.
    """
    sizes, terms = terms_of(workload, with_targets)
    asked = [with_targets and term.has_target for term in terms]
    columns = zip(*(term.pieces for term in terms), strict=True)
    joint = Joint(
        tuple(
            _attribute(size, dict.fromkeys(zip(own, asked, strict=True)))
            for size, own in zip(sizes, columns, strict=True)
        )
    )
    if joint.is_trivial and math.prod(sizes) > MOST_CELLS_OF_BLOCKS:
        return None
    if joint.dim((0,) * len(sizes)) > largest and is_connected(joint, terms):
        return None
    if with_targets:
        return _with_targets(workload, joint, terms, largest)
    blocks = blocks_of(joint, terms)
    kinds = _kinds(joint, [chosen for chosen, _ in blocks], largest)
    if not kinds:
        return None
    root = root_of(joint, blocks)
    return SymmetricWorkload(kinds, root.columns, MappingProxyType({"workload.root": root}))


def _with_targets(
    workload: Workload, joint: Joint, terms: Sequence[Term], largest: float
) -> SymmetricWorkload | None:
    if joint.is_trivial and any(_is_connected(term) for term in terms):
        return None
    products, blocks = asked_rows(joint, terms)
    if not products:
        raise no_targets()
    kinds = _kinds(joint, [own.chosen for own in blocks], largest)
    if not kinds:
        return None
    others = component_roots(joint, [term for term in terms if not term.has_target])
    # The queries with a target, of which there may be more than fit in memory, as a matrix if it is needed.
    sources = asked_of(
        joint, products, blocks, others, lambda: workload.queries[np.isfinite(workload.targets)]
    )
    if sources is None:
        raise undetermined(workload.m - sum(p.queries for p in products), workload.m)
    basis = sources["workload.basis"]
    assert isinstance(basis, Split)
    return SymmetricWorkload(kinds, basis.columns, MappingProxyType(sources))


def _is_connected(term: Term) -> bool:
    """Whether its queries, where they have targets and are of one attribute, leave all cells in one block."""
    if not term.has_target or len(term.pieces) > 1:
        return False
    (piece,) = term.pieces
    found = (independent_columns(rows.matrix) for rows in piece.rows())
    return any(len(blocks) == 1 and len(blocks[0]) == piece.size for blocks in found)


def _attribute(size: int, pieces: Collection[tuple[Piece, bool]]) -> AttributeSymmetry:
    """The classes and the reversal that all pieces allow; each with whether its queries have targets."""
    classes = np.zeros(size, dtype=np.int64)
    for piece, has_target in pieces:
        classes = refine([classes, interchangeable(piece, has_target)])
    return AttributeSymmetry.of(classes, all(reverses(piece, has_target) for piece, has_target in pieces))


def _kinds(joint: Joint, chosen: Sequence[Chosen], largest: float) -> tuple[str, ...]:
    """What was found; nothing where a component is larger than ``largest``."""
    if any(len(own.kept) > largest for own in chosen):
        return ()
    kinds = {
        "value symmetry": any(len(a.mirror) < len(a.classes) for a in joint.attributes),
        "reflection": any(a.is_mirrored for a in joint.attributes),
        "independent blocks": len({own.key for own in chosen}) < len(chosen),
    }
    return tuple(kind for kind, is_found in kinds.items() if is_found)
