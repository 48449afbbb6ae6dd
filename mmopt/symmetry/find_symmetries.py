"""A search for the symmetries of a workload, which split its matrices by components."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
from scipy.linalg import polar

from mmopt.errors import WorkloadError
from mmopt.numerics.component_arrays import Level, Space, Split
from mmopt.symmetry.attribute_queries import Piece, Term, interchangeable, reverses, terms_of
from mmopt.symmetry.components import (
    AttributeSymmetry,
    Chosen,
    Joint,
)
from mmopt.symmetry.workload_by_component import (
    asked_of,
    asked_rows,
    blocks_of,
    component_roots,
    independent_columns,
    is_connected,
    root_of,
)
from mmopt.workloads import (
    Workload,
    no_targets,
    refine,
    undetermined,
)

MOST_CELLS_OF_BLOCKS = 4096  # with more a workload without symmetry is not searched for blocks
BASIS_TOLERANCE = 1e-8  # the allowed error of an orthonormal basis


@dataclass(frozen=True, eq=False)
class SymmetricWorkload:
    """A workload by components.

    kinds : the symmetries found: "symmetry between attribute values", "reflection", "independent blocks".
    cells : the space of the cells; components on which the workload is zero are left out.
    sources : the sources of a program's givens (``workload.root``, …), as Split and Level; ``sources_named``
        adds the Gram matrix, which follows from the root.
    """

    kinds: tuple[str, ...]
    cells: Space
    sources: Mapping[str, Split | Level]

    def sources_named(self, names: Collection[str]) -> dict[str, Split | Level]:
        """The sources with these names, ``workload.gram`` among them."""
        sources = {name: source for name, source in self.sources.items() if name in names}
        root = self.sources.get("workload.root")
        if isinstance(root, Split) and "workload.gram" in names:
            sources["workload.gram"] = Split(
                root.columns, root.columns, tuple(part.T @ part for part in root.parts)
            )
        return sources

    def in_basis(self, basis: Split) -> "SymmetricWorkload":
        """The workload with another orthonormal basis of the queries with a target.

        Raises
        ------
        WorkloadError : it is not a basis of them, or splits otherwise.
        """
        present, queries = self.sources["workload.basis"], self.sources["workload.representation"]
        assert isinstance(present, Split) and isinstance(queries, Split)
        if [part.shape for part in basis.parts] != [part.shape for part in present.parts]:
            raise WorkloadError("the basis by component has other sizes than the workload's")
        pairs = list(zip(present.parts, basis.parts, strict=True))
        unit = [matrix for old, new in pairs for matrix in (old @ new.T, new)]
        off = max((float(np.abs(m @ m.T - np.eye(len(m))).max()) for m in unit), default=0.0)
        if not off <= BASIS_TOLERANCE:
            raise WorkloadError(f"the basis by component is not one of the workload: it is off by {off:.1e}")
        # The workload's present rows rotated, so that L B is W whatever the error of the given ones.
        turns = [polar(new @ old.T)[0] for old, new in pairs]
        left = tuple(q @ turn.T for q, turn in zip(queries.parts, turns, strict=True))
        right = tuple(turn @ old for turn, old in zip(turns, present.parts, strict=True))
        sources = {
            **self.sources,
            "workload.representation": Split(queries.rows, queries.columns, left),
            "workload.basis": Split(present.rows, present.columns, right),
        }
        return replace(self, sources=MappingProxyType(sources))

    def __str__(self) -> str:
        kinds = " and ".join(filter(None, [", ".join(self.kinds[:-1]), self.kinds[-1]]))
        n = self.cells.size
        count = f"{n}" if n < 10**15 else f"about 1e{int(math.log10(n))}"
        return f"{kinds}: {count} cells -> {self.cells.words}"


def symmetry(workload: Workload, with_targets: bool, largest: float = math.inf) -> SymmetricWorkload | None:
    """The symmetries of a workload that swap values of an attribute, or reverse their order; None if none.

    In a convex program whose solution set they leave unchanged, some optimal point splits in the same way
    (the average of its images). No array is as large as the number of cells.

    Parameters
    ----------
    with_targets : False: those that leave the Gram matrix unchanged, for total error; ``sources`` has
        ``workload.root``, weighted. True: those that leave the queries and their targets
        unchanged; ``workload.representation`` (queries with a finite target), ``workload.basis`` and
        ``workload.targets``, unweighted.
    largest : a larger component is no better than no symmetry, and is not computed: None.

    Raises
    ------
    WorkloadError : with targets, when no query has one, or some query cannot be derived from those that have.
    TooLargeError : a component, or their list, that does not fit in memory.
    """
    sizes, terms = terms_of(workload, with_targets)
    has_targets = [with_targets and term.has_target for term in terms]
    joint = Joint(
        tuple(
            _attribute(size, dict.fromkeys(zip(pieces, has_targets, strict=True)))
            for size, pieces in zip(sizes, zip(*(term.pieces for term in terms), strict=True), strict=True)
        )
    )
    if joint.is_trivial and math.prod(sizes) > MOST_CELLS_OF_BLOCKS:
        return None
    if joint.dim((0,) * len(sizes)) > largest and is_connected(joint, terms):
        return None
    if with_targets:
        return _with_targets(workload, joint, terms, largest)
    blocks = blocks_of(joint, terms)
    if not (kinds := _kinds(joint, [chosen for chosen, _ in blocks], largest)):
        return None
    root = root_of(joint, blocks)
    return SymmetricWorkload(kinds, root.columns, MappingProxyType({"workload.root": root}))


def _with_targets(
    workload: Workload, joint: Joint, terms: Sequence[Term], largest: float
) -> SymmetricWorkload | None:
    """``symmetry`` with targets, from the symmetries of the attributes."""
    if joint.is_trivial and any(_is_one_block(term) for term in terms):
        return None
    products, blocks = asked_rows(joint, terms)
    if not products:
        raise no_targets()
    if not (kinds := _kinds(joint, [block.chosen for block in blocks], largest)):
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


def _is_one_block(term: Term) -> bool:
    """Whether all cells are in one block already by these queries, with targets, on one attribute."""
    if not term.has_target or len(term.pieces) > 1:
        return False
    (piece,) = term.pieces
    splits = (independent_columns(rows.matrix) for rows in piece.rows())
    return any(len(blocks) == 1 and len(blocks[0]) == piece.size for blocks in splits)


def _attribute(size: int, pieces: Collection[tuple[Piece, bool]]) -> AttributeSymmetry:
    """The classes and the reversal that all pieces allow; each with whether its queries have targets."""
    classes = refine([np.zeros(size, dtype=np.int64), *(interchangeable(*each) for each in pieces)])
    return AttributeSymmetry.of(classes, all(reverses(piece, has_target) for piece, has_target in pieces))


def _kinds(joint: Joint, chosen: Sequence[Chosen], largest: float) -> tuple[str, ...]:
    """The kinds of symmetries; none where a component is larger than ``largest``."""
    if any(len(one.kept) > largest for one in chosen):
        return ()
    kinds = {
        "symmetry between attribute values": any(len(a.mirror) < len(a.classes) for a in joint.attributes),
        "reflection": any(a.is_mirrored for a in joint.attributes),
        "independent blocks": len({one.key for one in chosen}) < len(chosen),
    }
    return tuple(kind for kind, is_present in kinds.items() if is_present)
