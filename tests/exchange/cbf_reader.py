"""A reader of the Conic Benchmark Format that shares nothing with the writer, and a solver for what it reads.

Written from the format's description: scalar variables F, constraints L=, L+, Q, EXP and @k:POW, PSDCON.
"""

from typing import Any

import clarabel
import numpy as np
import scipy.sparse as sp


class Cbf:
    """Contents of a file; ``rows`` and ``matrices`` are affine maps of the variables, the constant last."""

    def __init__(self, text: str) -> None:
        kept = [line.split("#")[0].strip() for line in text.splitlines()]
        self._words = iter([line for line in kept if line])
        self.alphas: list[float] = []
        self.cones: list[tuple[str, int]] = []
        self.matrices: list[np.ndarray] = []
        self.sense = ""
        for word in self._words:
            getattr(self, f"_{word.lower()}")()

    def _line(self) -> list[str]:
        return next(self._words).split()

    def _coordinates(self) -> list[tuple[list[int], float]]:
        lines = [self._line() for _ in range(int(self._line()[0]))]
        return [([int(i) for i in line[:-1]], float(line[-1])) for line in lines]

    def _ver(self) -> None:
        assert self._line() == ["3"]

    def _powcones(self) -> None:
        for _ in range(int(self._line()[0])):
            assert self._line() == ["2"]
            first, second = float(self._line()[0]), float(self._line()[0])
            self.alphas.append(first / (first + second))

    def _objsense(self) -> None:
        (self.sense,) = self._line()

    def _var(self) -> None:
        n, _ = self._line()
        self.n = int(n)
        assert self._line() == ["F", n]
        self.objective = np.zeros(self.n + 1)
        self.rows = np.zeros((0, self.n + 1))

    def _con(self) -> None:
        rows, count = (int(word) for word in self._line())
        self.cones = [(word, int(size)) for word, size in (self._line() for _ in range(count))]
        assert sum(size for _, size in self.cones) == rows
        self.rows = np.zeros((rows, self.n + 1))

    def _psdcon(self) -> None:
        for _ in range(int(self._line()[0])):
            side = int(self._line()[0])
            self.matrices.append(np.zeros((side, side, self.n + 1)))

    def _objacoord(self) -> None:
        for (j,), value in self._coordinates():
            self.objective[j] = value

    def _objbcoord(self) -> None:
        self.objective[-1] = float(self._line()[0])

    def _acoord(self) -> None:
        for (i, j), value in self._coordinates():
            self.rows[i, j] = value

    def _bcoord(self) -> None:
        for (i,), value in self._coordinates():
            self.rows[i, -1] = value

    def _hcoord(self) -> None:
        for (k, column, i, j), value in self._coordinates():
            self.matrices[k][i, j, column] = self.matrices[k][j, i, column] = value

    def _dcoord(self) -> None:
        for (k, i, j), value in self._coordinates():
            self.matrices[k][i, j, -1] = self.matrices[k][j, i, -1] = value

    def solve(self) -> tuple[float, np.ndarray]:
        """The optimum, in the file's own sense, and the point, by Clarabel."""
        parts, cones, at = [], [], 0
        for word, size in self.cones:
            rows = self.rows[at : at + size]
            at += size
            kind, _, power = word.partition(":")
            if word == "EXP":
                rows = rows[::-1]  # (x1, x2, x3) with x1 >= x2 exp(x3 / x2)
            parts.append(rows)
            made: Any = {
                "L=": lambda size: clarabel.ZeroConeT(size),
                "L+": lambda size: clarabel.NonnegativeConeT(size),
                "Q": lambda size: clarabel.SecondOrderConeT(size),
                "EXP": lambda size: clarabel.ExponentialConeT(),
            }.get(word)
            cones.append(made(size) if made else clarabel.PowerConeT(self.alphas[int(kind[1:])]))
            assert made or power == "POW"
        for matrix in self.matrices:
            side = len(matrix)
            upper = [(i, j) for j in range(side) for i in range(j + 1)]
            parts.append(np.array([matrix[i, j] * (1.0 if i == j else np.sqrt(2.0)) for i, j in upper]))
            cones.append(clarabel.PSDTriangleConeT(side))
        stacked = np.vstack(parts)
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
        sign = -1.0 if self.sense == "MAX" else 1.0
        solver = clarabel.DefaultSolver(
            sp.csc_array((self.n, self.n)),
            sign * self.objective[:-1],
            sp.csc_array(-stacked[:, :-1]),
            stacked[:, -1],
            cones,
            settings,
        )
        x = np.array(solver.solve().x)
        return float(self.objective @ [*x, 1.0]), x
