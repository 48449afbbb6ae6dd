"""The rows of ``public_programs.txt`` as programs, with the small data that they are solved for."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

Data = Mapping[str, Any]
Draw = np.random.Generator
TABLE = Path(__file__).with_name("public_programs.txt")


@dataclass
class Row:
    """A model and its answer; the fields are explained in the table."""

    name: str
    fields: dict[str, str] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)

    @property
    def sense(self) -> str:
        return "minimize" if "minimize" in self.fields else "maximize"

    @property
    def optimum(self) -> float:
        return float(self.fields["optimum"])

    @property
    def powers(self) -> dict[str, float]:
        """By which powers of a factor givens are multiplied, and the optimum; none where they are not."""
        pairs = (pair.split() for pair in self.fields.get("scaled", "").split(", ") if pair)
        return {name: float(power) for name, power in pairs}

    def text(self, *, has_unit: bool = False) -> str:
        """The program; with a unit its objective is multiplied by a given of that name."""
        given = [part for part in self.fields.get("given", "").split("; ") if part]
        goal = self.fields[self.sense]
        sections = {
            "given": [*given, "unit: scalar > 0"] if has_unit else given,
            "choose": self.fields["choose"].split("; "),
            self.sense: [f"unit * ({goal})" if has_unit else goal],
            "subject to": self.lines,
        }
        body = "".join(
            f"{section}\n" + "".join(f"    {line}\n" for line in lines)
            for section, lines in sections.items()
            if lines
        )
        return f"program public\n{body}"

    def givens(self, factor: float = 1.0) -> dict[str, Any]:
        """The data, drawn by the row's name, and multiplied by powers of a factor."""
        data = DATA.get(self.name, lambda draw: {})(np.random.default_rng(zlib.crc32(self.name.encode())))
        return {name: value * factor ** self.powers.get(name, 0.0) for name, value in data.items()}


FIELDS = ("asked", "optimum", "refused", "size", "scaled", "unproved", "given", "choose")


def read_rows() -> dict[str, Row]:
    """The rows of the table, by name."""
    rows: list[Row] = []
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        word, _, rest = line.strip().partition(" ")
        if not word or word == "#":
            continue
        if not line.startswith(" "):
            rows.append(Row(line))
        elif line.startswith("        "):  # the objective goes on
            rows[-1].fields[rows[-1].sense] += f" {line.strip()}"
        elif word in (*FIELDS, "minimize", "maximize"):
            rows[-1].fields[word] = rest
        else:
            rows[-1].lines.append(line.strip())
    return {row.name: row for row in rows}


def _points(draw: Draw) -> Data:
    """Points, each with a label."""
    x = draw.normal(size=(12, 3))
    return {"X": x, "y": np.sign(x @ [1.0, -2.0, 0.5] + 0.8 * draw.normal(size=12))}


def _fit(m: int, n: int) -> Callable[[Draw], Data]:
    """Measurements of a linear model."""

    def data(draw: Draw) -> Data:
        a = draw.normal(size=(m, n))
        return {"A": a, "b": a @ draw.normal(size=n) + draw.normal(size=m)}

    return data


def _assets(n: int) -> Callable[[Draw], Data]:
    """Mean returns, and factors of a covariance."""
    return lambda draw: {
        "mu": draw.normal(0.05, 0.1, size=n),
        "F": draw.normal(size=(n + 3, n)) / np.sqrt(n + 3),
    }


def _psd(n: int, draw: Draw) -> Any:
    f = draw.normal(size=(n, n))
    return f @ f.T + 0.1 * np.eye(n)


def _diet(draw: Draw) -> Data:
    food = {"h": [0.8, 0.4, 0.5], "c": [0.0, 0.3, 2.0], "r": [1.0, 2.1, 1.7], "p": [1.0, 0.25]}
    return {name: np.array(numbers) for name, numbers in food.items()}


def _collar(draw: Draw) -> Data:
    """Payoffs of six assets of known price and of a collar, in many scenarios."""
    stock = np.linspace(0.5, 2.0, 40)
    known = [np.full(40, 1.05), stock, *(np.maximum(0, stock - k) for k in (1.1, 1.2))]
    known += [np.maximum(0, k - stock) for k in (0.8, 0.7)]
    prices = np.array([1.0, 1.0, 0.06, 0.03, 0.02, 0.01])
    return {"V": np.array(known), "p": prices, "v": np.clip(stock - 1, -0.1, 0.15)}


def _plants(draw: Draw) -> Data:
    a = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1], [1, 0, 0], [0, 1, 1]]
    b = [3.145728e08, 4.1943040e08, 5.2428800e08, *[1.07374182e09] * 3]
    return {"A": np.array(a, dtype=float), "b": np.array(b)}


def _returns(draw: Draw) -> Data:
    """Monthly returns of three assets, from a page on the web."""
    first = [93.043, 84.585, 111.453, 99.525, 95.819, 114.708, 111.515, 113.211, 104.942, 99.827, 91.607]
    second = [51.826, 52.823, 56.477, 49.805, 50.287, 51.521, 51.531, 48.664, 55.744, 47.916, 49.438]
    third = [1.063, 0.938, 1.0, 0.938, 1.438, 1.7, 2.54, 2.39, 3.12, 2.98, 1.9]
    prices = np.array([[*first, 107.937, 115.59], [*second, 51.336, 55.081], [*third, 1.75, 1.8]]).T
    return {"R": np.diff(prices, axis=0) / prices[:-1]}


def _short(draw: Draw) -> Data:
    first = [0.00791268, 0.01458194, -0.00633014, 0.04532835]
    second = [-0.02926666, -0.02489674, -0.01093661, 0.02437707]
    return {
        "s": np.array([9.91610173e-07, 2.61384914e-06, 9.31156500e-07, 8.46514100e-07]),
        "a": np.full(4, 0.05),
        "B": np.vstack([first, second, np.negative(first), np.negative(second)]),
        "most": np.array([0.01, 0.001, 0.01, 0.001]),
    }


def _dollars(draw: Draw) -> Data:
    s, mean = _psd(6, draw), np.abs(draw.normal(size=6))
    return {"S": 1e6 * s, "mu": 1e3 * mean / np.sqrt(mean @ np.linalg.solve(s, mean))}


def _scaled_columns(draw: Draw) -> Data:
    data = _fit(12, 5)(draw)
    return {**data, "A": data["A"] * 10.0 ** np.array([-3, -1, 0, 1, 3])}


def _quadratic(draw: Draw) -> Data:
    p, a = _psd(8, draw), draw.normal(size=8)
    return {"P": p, "a": a, "G": draw.uniform(-10, 10, size=(5, 8)), "h": draw.uniform(1, 10, size=5)}


def _dynamics(draw: Draw) -> Data:
    a = np.eye(4) + 0.2 * draw.normal(size=(4, 4))
    return {"A": a, "B": draw.normal(size=(4, 2)), "x0": 5 * draw.normal(size=4)}


def _tracking(draw: Draw) -> Data:
    alpha, factors = draw.normal(size=15), 0.01 * draw.normal(size=(20, 15))
    return {"alpha": alpha, "F": factors, "bench": np.full(15, 1 / 15)}


def _large_ball(draw: Draw) -> Data:
    m = [[0.132, 0, 0.01728326], [0.116, 0, 0.10471186], [-0.144, -0.144, -0.12942096]]
    return {"M": np.array(m), "q": np.array([0.0, -1.0, 0.0]), "most": 2947.0}


def _thin(draw: Draw) -> Data:
    box = np.vstack([np.eye(2), -np.eye(2)])
    return {
        "A": box,
        "b": np.array([10.0, 0.02, 10.0, 0.0]),
        "C": box,
        "d": np.array([9.0, 0.14, 12.0, -0.12]),
    }


def _queues(draw: Draw) -> Data:
    rate, cost = np.array([8.0, 15.0, 8.0, 3.0, 10.0]) / 60, np.arange(1.0, 6.0) / 100
    return {"rate": rate, "e": cost, "budget": 1e4 * float(cost @ rate)}


def _stable(draw: Draw) -> Data:
    a = draw.normal(size=(4, 4))
    return {"A": a - (np.linalg.eigvals(a).real.max() + 0.5) * np.eye(4)}


def _low_rank(draw: Draw) -> Data:
    product = draw.normal(size=(5, 2)) @ draw.normal(size=(2, 6))
    return {"M": product, "known": (draw.uniform(size=(5, 6)) < 0.7) * 1.0}


def _between(draw: Draw) -> Data:
    d = np.eye(4)
    d[3, :3] = d[:3, 3] = [0.25, 0.75, 0.75]
    return {"D": d}


def _cut(draw: Draw) -> Data:
    weights = np.array([[0.0, 1, 5, 0], [1, 0, 0, 9], [5, 0, 0, 2], [0, 9, 2, 0]])
    return {"L": np.diag(weights.sum(axis=1)) - weights}


def _graph(draw: Draw) -> Data:
    e = np.zeros((5, 6))
    for edge, (first, second) in enumerate([(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (0, 2)]):
        e[first, edge], e[second, edge] = 1.0, -1.0
    return {"E": e, "J": np.full((5, 5), 0.2)}


def _polygon(draw: Draw) -> Data:
    sides = np.array([[1.0, 0], [-1, 0], [0, 1], [0, -1], [1, 1]])
    return {"A": sides, "b": np.array([2.0, 1, 1.5, 1, 2])}


def _hermitian(draw: Draw) -> Data:
    s, k = draw.normal(size=(3, 3)), draw.normal(size=(3, 3))
    return {"S": s + s.T, "K": k - k.T}


DATA: dict[str, Callable[[Draw], Data]] = {
    "diet": _diet,
    "price of a collar": _collar,
    "plants": _plants,
    "quantile": _fit(15, 3),
    "shortfall": _returns,
    "power control": lambda draw: {
        "G": draw.uniform(0.1, 0.5, size=(5, 5)) * (1 - np.eye(5)),
        "noise": np.full(5, 0.5),
    },
    "short positions with limits": _short,
    "dollars": _dollars,
    "tiny least squares": lambda draw: {name: 1e-5 * value for name, value in _fit(8, 8)(draw).items()},
    "lasso of unequal columns": _scaled_columns,
    "dual of a support vector machine": _points,
    "control": _dynamics,
    "quadratic program": _quadratic,
    "tracking": _tracking,
    "largest ratio": _assets(8),
    "norm on a cone": lambda draw: {"A": draw.normal(size=(8, 4))},
    "a large ball": _large_ball,
    "two thin polytopes": _thin,
    "catenary": lambda draw: {"h": 0.25},
    "total variation": lambda draw: {
        "Y": np.kron(np.eye(2), np.ones((3, 3))) + 0.2 * draw.normal(size=(6, 6))
    },
    "queues": _queues,
    "two chargers": lambda draw: {"rate": np.array([0.5, 1.2])},
    "channels": lambda draw: {"g": np.full((2, 3), 2.0)},
    "softmax": lambda draw: {"v": np.array([0.6, 0.62])},
    "least divergence": lambda draw: {"y": np.linspace(-1, 1, 10)},
    "logistic": _points,
    "entropic value at risk": lambda draw: {"R": _returns(draw)["R"][:6]},
    "Lyapunov": _stable,
    "below two matrices": lambda draw: {"P": _psd(3, draw), "S": _psd(3, draw)},
    "sparse inverse covariance": lambda draw: {"Y": _psd(4, draw)},
    "between multiples": _between,
    "circle": lambda draw: {"z": np.ones(2)},
    "trace norm": lambda draw: {"K": draw.uniform(size=(3, 3))},
    "matrix completion": _low_rank,
    "largest cut": _cut,
    "smallest ellipse": lambda draw: {"V": draw.normal(size=(8, 2))},
    "largest ellipse": _polygon,
    "connectivity": _graph,
    "Hermitian": _hermitian,
    "top two weights": _assets(6),
    "worst days": lambda draw: {"R": draw.normal(0.1, 1, size=(20, 3))},
    "geometric mean": lambda draw: {"c": np.array([0.5, 2, 4])},
    "convex maximum": lambda draw: {"Q": _psd(3, draw)},
    "indefinite form": lambda draw: {"Q": np.array([[2.0, 1, 3], [1, 2, 1], [3, 1, 2]])},
    "one of three": lambda draw: {"b": np.array([1.0, 2, 3])},
    "largest at least ten": lambda draw: {"A": draw.uniform(1, 10, size=(3, 4)), "a": np.ones(4)},
    "product with a map": lambda draw: {"Q": _psd(4, draw)},
    "quadratic equation": lambda draw: {"A": _psd(3, draw), "a": np.ones(3)},
    "equal to a positive part": lambda draw: {"E": draw.normal(size=(3, 3))},
}
ROWS = read_rows()
