"""The matrix that saved plain data stand for: dense, by component of symmetries, or in factors.

Written from the data's definition alone (README and docstrings of what is saved), in balls.
"""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from flint import arb, arb_mat
from judge import balls

Fields = Mapping[str, Any]


def value(fields: Any) -> arb_mat:
    """A number, vector or matrix as a matrix of balls; a vector becomes a column."""
    if isinstance(fields, Mapping):
        if fields["kind"] == "vector by orbit":
            return balls.matrix(_by_orbit(fields)[:, None])
        return _mixture(fields) if fields["kind"] == "measure of cells" else _split(fields)
    array = np.asarray(fields, dtype=float)
    return balls.matrix(array if array.ndim == 2 else array.reshape(-1, 1))


def vector(fields: Any) -> list[arb]:
    return list(value(fields).entries())


def _mixture(fields: Fields) -> arb_mat:
    """Σ weight ⊗ rows over the cells, each row divided by its sum."""
    own = [
        _objects(np.asarray(fields["factors"][str(i)], dtype=float)) for i in range(len(fields["factors"]))
    ]
    found = []
    for j, weight in enumerate(np.asarray(fields["weights"]).tolist()):
        product = np.array([arb(weight)], dtype=object)
        for rows in own:
            product = np.kron(product, rows[j] / rows[j].sum())
        found.append(product)
    return arb_mat(np.sum(found, axis=0)[:, None].tolist())


def _on_sectors(fields: Fields) -> arb_mat:
    """scale · core · B: of each set of attributes the products of their functions, in row-major order."""
    assert not fields["rests"]
    labels = [np.asarray(fields["labels"][str(i)]) for i in range(int(fields["attributes"]))]
    own = [np.asarray(fields["functions"][str(i)])[:, label] for i, label in enumerate(labels)]
    sets = [one.tolist() for one in np.asarray(fields["sets"])]
    rows = [_kron([a if i in one else np.ones((1, a.shape[1])) for i, a in enumerate(own)]) for one in sets]
    return balls.matrix(np.asarray(fields["core"]["matrix"])) * balls.stacked(rows) * arb(fields["scale"])


def factors(fields: Fields) -> arb_mat:
    """All rows of a strategy in factors: a product, a union with its shares, marginals, sets, or sectors."""
    if fields["form"] == "sectors":
        return _on_sectors(fields)
    if fields["form"] == "marginals":
        sizes = [int(s) for s in fields["sizes"]]
        parts = [
            _kron([np.eye(s) if mask >> i & 1 else np.ones((1, s)) for i, s in enumerate(sizes)]) * arb(w)
            for mask, w in enumerate(np.asarray(fields["weights"]).tolist())
            if w > 0
        ]
        return balls.stacked(parts)
    if fields["form"] == "sectorwise":
        own = [np.asarray(fields["matrices"][str(i)]) for i in range(len(fields["matrices"]))]
        rows = [
            _kron([a if i in one.tolist() else np.ones((1, a.shape[1])) for i, a in enumerate(own)]) * arb(w)
            for one, w in zip(np.asarray(fields["sets"]), np.asarray(fields["weights"]).tolist(), strict=True)
        ]
        return balls.stacked(rows)
    groups = fields["factors"]
    products = [_kron([own[str(i)] for i in range(len(own))]) for own in (groups[g] for g in groups)]
    shares = np.asarray(fields["shares"], dtype=float).tolist()
    return balls.stacked([part * arb(s) for part, s in zip(products, shares, strict=True)])


def _kron(matrices: Sequence[np.ndarray]) -> arb_mat:
    out = np.array([[arb(1)]], dtype=object)
    for m in matrices:
        out = np.kron(out, _objects(np.asarray(m, dtype=float)))
    return arb_mat(out.tolist())


def _objects(a: np.ndarray) -> np.ndarray:
    out = np.empty(a.shape, dtype=object)
    out.ravel()[:] = [arb(x) for x in a.ravel().tolist()]
    return out


def _split(fields: Fields) -> arb_mat:
    """Σ S (part ⊗ I) Tᵀ over the components, S and T the bases of rows and columns."""
    left, right = _bases(fields["rows"]), _bases(fields["columns"])
    flat, at = np.asarray(fields["parts"], dtype=float), 0
    middle: list[tuple[np.ndarray, int]] = []
    rows, columns = fields["rows"]["dims"], fields["columns"]["dims"]
    for r, c, copies in zip(rows, columns, _copies(fields["columns"]), strict=True):
        middle.append((flat[at : at + r * c].reshape(r, c), copies))
        at += int(r) * int(c)
    assert at == len(flat)
    height, width = (sum(part.shape[axis] * k for part, k in middle) for axis in (0, 1))
    inner = arb_mat(height, width)
    down = across = 0
    for part, copies in middle:
        for (i, j), x in np.ndenumerate(part):
            for k in range(copies):
                inner[down + i * copies + k, across + j * copies + k] = arb(float(x))
        down += part.shape[0] * copies
        across += part.shape[1] * copies
    out = inner if left is None else left * inner
    return out if right is None else out * right.transpose()


class _Attribute:
    """Classes of values that are swapped at will, and the class that a reversal makes of each."""

    def __init__(self, classes: np.ndarray, mirror: np.ndarray) -> None:
        self.classes, self.mirror = classes, mirror
        first = np.minimum(mirror, np.arange(len(mirror)))
        leads = sorted(set(first.tolist()))
        self.orbits = [[c for c in range(len(mirror)) if first[c] == lead] for lead in leads]
        orbit_of_class = {c: o for o, members in enumerate(self.orbits) for c in members}
        self.orbit_of = np.array([orbit_of_class[c] for c in classes])

    def members(self, c: int) -> list[int]:
        return np.flatnonzero(self.classes == c).tolist()

    def parts(self) -> list[tuple[int, int, np.ndarray]]:
        """(dimension, copies, orthonormal columns) of each component: even, odd, then a rest an orbit."""
        n = len(self.classes)
        even = _zeros(n, len(self.orbits))
        for o, classes in enumerate(self.orbits):
            cells = [v for c in classes for v in self.members(c)]
            for v in cells:
                even[v, o] = 1 / arb(len(cells)).sqrt()
        out = [(len(self.orbits), 1, even)]
        pairs = [classes for classes in self.orbits if len(classes) == 2]
        if pairs:
            odd = _zeros(n, len(pairs))
            for at, (c, d) in enumerate(pairs):
                for side, sign in ((c, 1), (d, -1)):
                    for v in self.members(side):
                        odd[v, at] = sign / arb(2 * len(self.members(side))).sqrt()
            out.append((len(pairs), 1, odd))
        for classes in self.orbits:
            columns = [column for c in classes for column in _helmert(self.members(c), n)]
            if columns:
                out.append((1, len(columns), np.array(columns, dtype=object).T))
        return out


def _zeros(*shape: int) -> np.ndarray:
    out = np.empty(shape, dtype=object)
    out.ravel()[:] = [arb(0)] * out.size
    return out


def _helmert(cells: list[int], n: int) -> list[np.ndarray]:
    """Orthonormal vectors on some cells that sum to zero."""
    out = []
    for k in range(1, len(cells)):
        column = _zeros(n)
        for v in cells[:k]:
            column[v] = 1 / arb(k * (k + 1)).sqrt()
        column[cells[k]] = -arb(k) / arb(k * (k + 1)).sqrt()
        out.append(column)
    return out


def _attributes(space: Fields) -> list[_Attribute]:
    classes = np.split(np.asarray(space["classes"]), np.cumsum(space["attributes"])[:-1])
    mirrors = np.split(np.asarray(space["mirrors"]), np.cumsum(space["counts"])[:-1])
    return [_Attribute(c, m) for c, m in zip(classes, mirrors, strict=True)]


def _copies(space: Fields) -> list[int]:
    if "attributes" not in space:
        return [int(m) for m in np.asarray(space["multiplicities"])]
    parts = [a.parts() for a in _attributes(space)]
    keys = np.asarray(space["keys"]).tolist()
    return [int(np.prod([own[k][1] for own, k in zip(parts, key, strict=True)])) for key in keys]


def _bases(space: Fields) -> arb_mat | None:
    """The orthonormal bases of all components side by side; None for coordinates without a meaning."""
    if "attributes" not in space:
        return None
    parts = [a.parts() for a in _attributes(space)]
    dims = [int(d) for d in space["dims"]]
    kept = np.split(np.asarray(space["kept"]), np.cumsum(dims)[:-1])
    columns = []
    for key, wanted in zip(np.asarray(space["keys"]).tolist(), kept, strict=True):
        own = [part[k] for part, k in zip(parts, key, strict=True)]
        whole = np.array([[arb(1)]], dtype=object)
        for _, _, basis in own:
            whole = np.kron(whole, basis)
        # From (dim, copies, dim, copies, …) of the attributes to all dims, then all copies.
        shape = [whole.shape[0], *itertools.chain.from_iterable((d, c) for d, c, _ in own)]
        order = [0, *range(1, len(shape), 2), *range(2, len(shape), 2)]
        turned = whole.reshape(shape).transpose(order)
        dim = int(np.prod([d for d, _, _ in own]))
        turned = turned.reshape(whole.shape[0], dim, -1)[:, np.asarray(wanted, dtype=int)]
        columns.append(turned.reshape(whole.shape[0], -1))
    return arb_mat(np.hstack(columns).tolist())


def orbits(space: Fields) -> np.ndarray:
    """The orbit of each cell."""
    orbit = np.zeros(1, dtype=int)
    for a in _attributes(space):
        orbit = np.add.outer(orbit * len(a.orbits), a.orbit_of).ravel()
    return orbit


def _by_orbit(fields: Fields) -> np.ndarray:
    """The value at each cell of a vector that is known by orbit."""
    return np.asarray(fields["values"], dtype=float)[orbits(fields["space"])]
