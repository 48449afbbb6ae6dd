"""Which workloads Figure 3 and Table 2 of PVLDB 2012 have, and the rivals on each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

from mmopt.testing.studies import adaptive_workloads as own
from mmopt.workloads import Workload

__all__ = ["ALWAYS", "RIVALS", "Case", "cases"]

RIVALS: Mapping[str, str] = MappingProxyType(
    {
        "Hier.": "hierarchical(branching=2)",
        "Wav.": "wavelet",
        "Four.": "fourier",
        "Cube": "datacube",
        "cells": "identity",
        "answers": "workload",
    }
)
"""The paper's rivals and, last, noise on every cell and on every answer; with the names of the baselines."""

ALWAYS = ("cells", "answers")
_RANGES, _MARGINALS = ("Hier.", "Wav."), ("Four.", "Cube")


@dataclass(frozen=True)
class Case:
    """A workload of the study.

    part : figure or table. kind : its row in ``adaptive_tables``. make : the workload; of a seed where it is
    random. rivals : those that the paper compares with on it.
    """

    part: str
    kind: str
    label: str
    make: Callable[..., Workload]
    rivals: tuple[str, ...]
    is_random: bool = False

    def workload(self, seed: int) -> Workload:
        """One draw."""
        return self.make(seed) if self.is_random else self.make()


def cases(cells: int) -> list[Case]:
    """Figure 3, then Table 2. OptionError for a number of cells that is not a power of two, or too small.

    Two-way marginals of two attributes are the cells, and left out.
    """
    shapes = [own.shape(cells, count) for count in (1, 2, 3, 4, None)]
    ranges, marginals = ("3", "ranges"), ("3", "marginals")
    return [
        *(Case(*ranges, _label("all", s), partial(own.all_ranges, s), _RANGES) for s in shapes),
        *(Case(*ranges, _label("random", s), partial(own.random_ranges, s), _RANGES, True) for s in shapes),
        *(Case(*marginals, _label("2-way", s), partial(own.k_way, s, 2), _MARGINALS) for s in shapes[2:]),
        *(
            Case(*marginals, _label("random", s), partial(own.random_marginals, s), _MARGINALS, True)
            for s in shapes[1:]
        ),
        *_of_table_2(cells, shapes[2]),
    ]


def _of_table_2(cells: int, sizes: own.Shape) -> list[Case]:
    """``sizes`` : of the attributes of the range marginals."""
    margins = [(f"{k}-way", partial(own.k_way, sizes, k, ranges=True)) for k in (1, 2)]
    return [
        Case("2", "permuted", f"permuted, {cells}", partial(own.permuted_ranges, cells), _RANGES, True),
        *(Case("2", name, _label(name, sizes), make, _RANGES + _MARGINALS) for name, make in margins),
        Case("2", "CDF", f"CDF, {cells}", partial(own.cumulative, cells), _RANGES),
        Case(
            "2",
            "predicates",
            f"predicates, {cells}",
            partial(own.random_predicates, cells),
            (*_RANGES, "Four."),
            True,
        ),
    ]


def _label(kind: str, sizes: own.Shape) -> str:
    same = len(sizes) > 4 and len(set(sizes)) == 1
    return f"{kind}, {f'{sizes[0]}^{len(sizes)}' if same else 'x'.join(map(str, sizes))}"
