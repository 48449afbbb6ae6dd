"""The roots of all ranges on even and on odd vectors are those of their Gram matrix there."""

from __future__ import annotations

import numpy as np
import pytest
import tolerances

from mmopt.symmetry.attribute_components import AttributeSymmetry
from mmopt.workloads.blocks import factor_blocks as f
from mmopt.workloads.blocks.all_ranges import reflected_ranges


@pytest.mark.parametrize("n", [2, 3, 4, 5, 8, 33, 64])
def test_they_are_roots(n: int) -> None:
    gram = f.all_range(n).gram()
    attribute = AttributeSymmetry.of(np.arange(n), True)
    assert attribute.is_reversal
    for part, root in zip(attribute.parts, reflected_ranges(n), strict=True):
        basis = attribute.basis(part).toarray()
        assert root.shape == (part.dim, part.dim) and not np.tril(root, -1).any()
        np.testing.assert_allclose(root.T @ root, basis.T @ gram @ basis, rtol=tolerances.ROUNDING)


@pytest.mark.parametrize("n", [4, 10])
def test_the_even_ones_are_prefix_sums(n: int) -> None:
    even, _ = reflected_ranges(n)
    np.testing.assert_allclose(
        even.T @ even, (n + 1) * np.minimum.outer(*[np.arange(1, n // 2 + 1)] * 2), rtol=tolerances.ROUNDING
    )


def test_other_symmetries_are_no_reversal() -> None:
    assert not AttributeSymmetry.of(np.arange(4), False).is_reversal
    assert not AttributeSymmetry.of(np.array([0, 1, 1, 0]), True).is_reversal
    assert not AttributeSymmetry.of(np.zeros(1, dtype=np.int64), True).is_reversal
