"""Matrices and vectors that a symmetry splits into components with multiplicities.

A group of (signed) permutations of the coordinates of R^N splits it into components κ: the component has a
dimension d_κ and stands there μ_κ times. A matrix that commutes with the group is then known by one small
matrix X_κ (d_κ, d_κ) per component (Schur's lemma), and a vector that the group leaves alone by one number
per orbit of coordinates. N may be 10^50; nothing of size N is held.

``Space(multiplicities, dims, labels=None, sizes=None, total=None, orbits=None, bases=None)``
    ``multiplicities`` (K,) floats μ_κ, whole numbers; ``dims`` tuple of K ints d_κ; ``labels`` tuple of K
    int arrays (d_κ,): the orbit of each basis vector; ``sizes`` (o,) floats: coordinates in each orbit.
    ``labels`` and ``sizes`` are None for an abstract space, such as the rows of a root. ``space.size``: N, a
    Python int. ``space.orbit_of()`` (N,) ints and ``space.basis(κ)`` scipy sparse (N, d_κ μ_κ), orthonormal
    columns, column a μ_κ + c for copy c of basis vector a, are computed when called, by the functions
    ``orbits`` and ``bases``.
``Array``, ``Ints``
    the types of numpy arrays of floats and of integers.
``Split(rows: Space, columns: Space, parts)``
    ``parts`` tuple of K matrices (rows.dims[κ], columns.dims[κ]): the matrix Σ_κ S_κ (part_κ ⊗ I_μ) T_κᵀ with
    S_κ, T_κ the bases of both spaces.
``Level(space, values)``
    ``values`` (o,): the vector with this value at every coordinate of the orbit.
``lift(value)``
    the dense numpy array (small N).

Parts and values are numpy arrays, or anything else that a caller computes with (balls with error bounds).

Components that are left out are zero in every matrix. ``diag(level)`` therefore means its projection on the
kept components; it commutes with invariant matrices, so diag(X) <= 1 survives where a repair adds one. Such a
projection is a contraction, and on the kept components nothing changes.

For a square matrix X on a space with labels, the diagonal is the same at all coordinates of orbit o:
Σ_κ μ_κ / size_o Σ_{a: label of a in κ is o} X_κ[a, a]. Traces and nuclear norms are Σ_κ μ_κ (that of the
part), the sum of a level vector is Σ_o size_o value_o, and diag(level) has the parts diag(values[labels_κ]).
"""

from mmopt.numerics.component_lift import lift
from mmopt.numerics.component_space import Array, Ints, Space
from mmopt.numerics.component_values import Level, Split

__all__ = ["Array", "Ints", "Level", "Space", "Split", "lift"]
