"""Split arrays are the dense ones they stand for, without a workload behind them."""

import numpy as np
import pytest

from mmopt.errors import WorkloadError
from mmopt.numerics.component_arrays import Level, Space, Split, lift


def abstract() -> Space:
    return Space(np.array([2.0, 1.0]), (1, 3))


def test_sizes() -> None:
    space = abstract()
    assert (space.count, space.kept, space.size, space.largest) == (2, 5, 5, 3)
    assert Space(np.array([2.0]), (1,), total=10**50).size == 10**50
    assert repr(Space(np.array([2.0]), (1,), total=10**50)) == (
        "Space(about 1e50, abstract, 1 component of size up to 1)"
    )
    labelled = Space(np.ones(1), (2,), (np.array([0, 1]),), np.array([1.0, 3.0]), total=4)
    assert repr(labelled) == "Space(4, 2 orbits, 1 component of size up to 2)"


def test_an_abstract_space_is_lifted_copy_by_copy() -> None:
    """Column a μ + c for copy c of basis vector a, one component after the other."""
    space = abstract()
    split = Split(space, space, (np.array([[7.0]]), np.arange(9.0).reshape(3, 3)))
    wanted = np.zeros((5, 5))
    wanted[:2, :2] = 7.0 * np.eye(2)
    wanted[2:, 2:] = np.arange(9.0).reshape(3, 3)
    np.testing.assert_array_equal(lift(split), wanted)
    one = Space(np.array([2.0]), (2,))
    part = np.array([[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_array_equal(lift(Split(one, one, (part,))), np.kron(part, np.eye(2)))


def test_a_level_vector_is_lifted_by_its_orbits() -> None:
    orbits = np.array([0, 1, 0])
    space = Space(np.ones(1), (2,), (np.array([0, 1]),), np.array([2.0, 1.0]), 3, orbits=lambda: orbits)
    level = Level(space, np.array([5.0, 6.0]))
    assert level.shape == (3,)
    np.testing.assert_array_equal(lift(level), [5.0, 6.0, 5.0])


def test_which_spaces_match() -> None:
    space, labels = abstract(), (np.array([0]), np.array([0, 1, 2]))
    assert space.matches(abstract())
    assert not space.matches(Space(np.array([1.0, 1.0]), (1, 3)))
    assert not space.matches(space.abstract((1, 2)))
    labelled = Space(space.multiplicities, space.dims, labels, np.array([3.0, 1.0, 1.0]))
    assert not space.matches(labelled)
    assert not labelled.matches(Space(space.multiplicities, space.dims, labels, np.array([1.0, 3.0, 1.0])))
    assert labelled.abstract((2, 2)).sizes is None


def test_coordinates_of_an_abstract_space_are_refused() -> None:
    with pytest.raises(WorkloadError) as caught:
        abstract().orbit_of()
    assert str(caught.value) == "an abstract space has no orbits"
    with pytest.raises(WorkloadError) as caught:
        abstract().basis(0)
    assert str(caught.value) == "an abstract space has no basis"
