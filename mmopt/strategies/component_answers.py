"""What a strategy by component tells of queries, on the components."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mmopt.numerics.arrays import Array, Ints, columns_of, largest_singular_value
from mmopt.numerics.components import Split
from mmopt.numerics.pseudoinverse import pseudo_factors
from mmopt.symmetry.joint import Cells, Key
from mmopt.symmetry.projected import check_fit, mean_roots
from mmopt.workloads.workload import Workload

__all__ = ["ComponentAnswers"]


@dataclass(frozen=True, eq=False)
class ComponentAnswers:
    """The parts of A, with what follows from them for queries; sums once for each workload.

    ``told`` is ‖R A⁺‖² and ``missed`` ‖R - R A⁺A‖², for all of a workload's queries R or for each row.
    """

    split: Split
    cells: Cells

    @cached_property
    def directions(self) -> tuple[tuple[Array, Array], ...]:
        """Per component D with D Dᵀ = (AᵀA)⁺ and an orthonormal basis of the null space of A."""
        return tuple(pseudo_factors(part) for part in self.split.parts)

    @cached_property
    def _places(self) -> dict[Key, list[tuple[int, Ints]]]:
        """Where a choice of one part per attribute is found: the components, and the columns of each."""
        found: dict[Key, list[tuple[int, Ints]]] = {}
        for at, chosen in enumerate(self.cells.chosen):
            found.setdefault(chosen.key, []).append((at, chosen.kept))
        return found

    def _images(self, key: Key, rows: Array) -> Iterator[tuple[Array, Array, Array]]:
        """Of rows R (k, d) on a component R A⁺ on each block, the block's inverse, and what A leaves out."""
        for at, kept in self._places.get(key, []):
            inverse, null = self.directions[at]
            own = columns_of(rows, kept)
            yield own @ inverse, inverse, own @ null

    def of_rows(self, key: Key, rows: Array) -> tuple[Array, Array]:
        """``told`` and ``missed`` of rows R (k, d) on a component, (k,) each; the multiplicity counts."""
        told, missed = np.zeros(len(rows)), np.zeros(len(rows))
        for image, _, outside in self._images(key, rows):
            told += np.square(image).sum(axis=1)
            missed += np.square(outside).sum(axis=1)
        elsewhere = np.ones(rows.shape[1], dtype=bool)
        for _, kept in self._places.get(key, []):
            elsewhere[kept] = False
        missed += np.square(rows[:, elsewhere]).sum(axis=1)
        often = float(self.cells.joint.multiplicity(key))
        return often * told, often * missed

    def told(self, workload: Workload, scale: str) -> float:
        """Of all queries, at a scale of ``mean_roots``."""
        return self._sums(workload, scale)[0]

    def missed(self, workload: Workload) -> float:
        """‖R - R A⁺A‖ / ‖R‖ of all queries, scaled to at most unit length.

        Raises
        ------
        OptionError : a workload over other attributes.
        """
        if self._tells_all:
            check_fit(self.cells.joint, workload)
            return 0.0
        _, missed, length = self._sums(workload, "unit")
        return float(np.sqrt(missed / length))

    def condition(self, workload: Workload) -> float:
        """‖A‖ ‖R (AᵀA)⁺‖ / ‖R A⁺‖ of the weighted queries."""
        joint = self.cells.joint
        grown = 0.0
        for key, rows in mean_roots(joint, workload, "weighted").items():
            each = (np.square(image @ inverse.T).sum() for image, inverse, _ in self._images(key, rows))
            grown += float(joint.multiplicity(key)) * float(sum(each))
        largest = max(largest_singular_value(part) for part in self.split.parts)
        return largest * float(np.sqrt(grown / self.told(workload, "weighted")))

    @cached_property
    def largest_condition(self) -> float:
        """At least ``condition`` of every workload, and cheap."""
        inverse = max(float(np.linalg.norm(inverse)) for inverse, _ in self.directions)
        return inverse * max(float(np.linalg.norm(part)) for part in self.split.parts)

    @cached_property
    def _tells_all(self) -> bool:
        """Whether A determines every cell."""
        everywhere = self.cells.kept == self.cells.size
        return everywhere and all(null.shape[1] == 0 for _, null in self.directions)

    @cached_property
    def _known(self) -> dict[tuple[str, str], tuple[float, float, float]]:
        return {}

    def _sums(self, workload: Workload, scale: str) -> tuple[float, float, float]:
        """``told``, ``missed`` and the squared length of all queries."""
        if scale == "plain" and _is_plain(workload):
            scale = "weighted"
        key = (workload.hash, scale)
        if key not in self._known:
            self._known[key] = self._summed(workload, scale)
        return self._known[key]

    def _summed(self, workload: Workload, scale: str) -> tuple[float, float, float]:
        total = np.zeros(3)
        for key, rows in mean_roots(self.cells.joint, workload, scale).items():
            length = float(self.cells.joint.multiplicity(key)) * float(np.square(rows).sum())
            total += [*(float(part.sum()) for part in self.of_rows(key, rows)), length]
        told, missed, length = map(float, total)
        return told, missed, length


def _is_plain(workload: Workload) -> bool:
    """Whether all weights are 1."""
    return all(block.is_plain for block in workload.blocks)
