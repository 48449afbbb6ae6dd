"""What the rows of a table add up to in the functions of sectors, as whole numbers, from tables of counts."""

from __future__ import annotations

import math

import numpy as np

from mmopt.numerics.arrays import Ints
from mmopt.privacy.rounding.counted_tables import CountedTables
from mmopt.sectors.measured.sector_layout import SectorLayout
from mmopt.sectors.plain.functions_of_few import Rests

__all__ = ["sums_of"]


def sums_of(layout: SectorLayout, rests: Rests, tables: CountedTables) -> Ints:
    """(r, Π s) sums over the rows of the indicators of a layout's sectors times s [x = v] - [x in the class].

    The latter for every value v of the class, of s values, of each of ``rests``, in row-major order.
    """
    members = {i: np.flatnonzero(layout.labels[i] == o) for i, o in rests}
    copies = math.prod(map(len, members.values()))
    found = np.empty((layout.size, copies), dtype=np.int64)
    for one in layout.sets:
        attributes = tuple(sorted({*one, *members}))
        table = np.asarray(tables.of(attributes), dtype=np.int64)
        for axis, i in enumerate(attributes):
            if i in members:
                own = table.take(members[i], axis)
                table = len(members[i]) * own - own.sum(axis=axis, keepdims=True)
            else:
                table = _by_class(table, layout.labels[i], axis)
        order = [attributes.index(i) for i in (*one, *members)]
        start, own = layout.starts[one], np.transpose(table, order).reshape(-1, copies)
        found[start : start + len(own)] = own
    return found


def _by_class(table: Ints, label: Ints, axis: int) -> Ints:
    """Counts by the classes of an axis, but the first."""
    count = int(label.max()) + 1
    if count < len(label):
        merged = np.zeros((count, *np.delete(table.shape, axis)), dtype=np.int64)
        np.add.at(merged, label, np.moveaxis(table, axis, 0))
    else:
        merged = np.moveaxis(table, axis, 0)[np.argsort(label)]
    return np.moveaxis(merged[1:], 0, axis)
