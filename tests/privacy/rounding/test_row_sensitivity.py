"""The claim of a release for one row against the effect of one row, from table to answers.

Guards integer_factors.py, table_of_forms.py.
"""

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, reject, settings, strategies as st

from mmopt.data import data_vector
from mmopt.errors import WorkloadError
from mmopt.privacy.rounding.norms_and_measured_integers import Measured
from mmopt.privacy.rounding.table_of_forms import round_any
from mmopt.strategies import Strategy
from mmopt.workloads import Attribute, Bins, Domain
from tests.numerics.test_participation import patterns
from tests.strategies.test_form_laws import CASES, MADE, SIZES, nothing_is_dense, workload
from tests.strategies.test_neighbours import stream

__all__ = ["nothing_is_dense"]  # the fixture that rounds by component over few cells

INSIDE, OUTSIDE, MISSING = ("0", "1.5", "2e0", "3"), ("-1", "1e400", "old", "inf", "true", "7"), ("", "nan")


@st.composite
def domains(draw: st.DrawFn) -> Domain:
    """Bins with every combination of rules: one that drops, refuses, counts elsewhere, or says nothing."""
    attributes = []
    for name, size in zip("ab", SIZES, strict=True):
        encoding = Bins(tuple(float(v) for v in range(size + 1)))
        labels = encoding.labels()
        rules = st.sampled_from(("drop", "refuse", "", labels[-1]))
        rule = {"outside": draw(rules), "missing": draw(rules)}
        attributes.append(Attribute(name, labels, encoding=encoding, **rule))
    return Domain(tuple(attributes))


def columns_of_rows(domain: Domain, draw: st.DrawFn) -> list[np.ndarray]:
    """Columns (n,) that single rows of a table add to the data vector, as ``data_vector`` counts them.

    Row i of the table stands 2^i times, so that the binary digits of a count tell which rows it holds.
    """
    fields = []
    for a in domain.attributes:
        inside = [text for text in INSIDE if float(text) < a.size]
        allowed = [*inside, *(OUTSIDE if a.outside not in ("", "refuse") else ())]
        fields.append(st.sampled_from([*allowed, *(MISSING if a.missing not in ("", "refuse") else ())]))
    rows = draw(st.lists(st.tuples(*fields), min_size=2, max_size=7))
    lines = [",".join([*row, "end"]) for i, row in enumerate(rows) for _ in range(2**i)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "t.csv")
        path.write_text("\n".join([",".join([*domain.names, "last"]), *lines, ""]))
        counts = data_vector(path, domain).counts
    # Who counts rows without a rule for those that have no cell may leave them out.
    unsaid = any("" in (a.outside, a.missing) for a in domain.attributes)
    return [(counts >> i) & 1 for i in range(len(rows))] + [np.zeros_like(counts)] * unsaid


def exact(norm: int, difference: np.ndarray) -> int:
    entries = [abs(int(v)) for v in difference]
    return sum(entries) ** 2 if norm == 1 else sum(v * v for v in entries)


@pytest.mark.some(3)
@pytest.mark.parametrize(("form", "norm"), CASES)
@settings(max_examples=3, deadline=None)
@given(data=st.data(), seed=st.integers(0, 2**32))
def test_no_row_costs_more_than_is_claimed(form: str, norm: int, data: st.DataObject, seed: int) -> None:
    """Every pair of neighbouring tables differs by one of these rows, or two, however few there are."""
    domain = data.draw(domains())
    rows = columns_of_rows(domain, data.draw)
    w = replace(workload(), domain=domain)
    strategy = MADE[form](np.random.default_rng(seed), norm)
    for neighbours in ("add-remove", "replace-one"):
        try:
            integer = round_any(strategy, w, neighbours)
        except WorkloadError:  # rounding would lose too much: nothing is released
            reject()
        ends = np.cumsum([part.rows for part in integer.parts])[:-1]
        by_row = [np.split(integer.answers(x), ends) for x in rows]
        for i, part in enumerate(integer.parts):
            own = [answers[i] for answers in by_row]
            changes = own if neighbours == "add-remove" else [a - b for a in own for b in own]
            assert max(exact(norm, change) for change in changes) <= part.squared_sensitivity


@pytest.mark.some(1)
@pytest.mark.parametrize("norm", [1, 2])
def test_a_person_taken_out_of_a_table_is_hidden(norm: int, rng: np.random.Generator) -> None:
    """Rows without a step are dropped; a person has at most one in a step, or any."""
    w = stream(6)
    b, k = int(rng.integers(1, 4)), int(rng.integers(1, 4))
    strategy = Strategy(np.vstack([np.tri(6), rng.uniform(-1, 1, (2, 6))]), norm)
    allowed = list(patterns(6, b, k))
    persons = [list(allowed[i]) for i in rng.integers(0, len(allowed), 3)]
    rows = [[*rng.integers(0, 8, int(rng.integers(1, k + 1)))] for _ in range(3)]  # steps 6 and 7 are none
    for said, table in (
        ({"participation": {"separation": b, "at_most": k}}, persons),
        ({"rows": k}, rows),
    ):
        integer = round_any(strategy, w, said)
        (limit,) = integer.squared_sensitivities()

        def answers(people: list[list[int]], integer: Measured = integer) -> np.ndarray:
            steps = {"step": [str(step) for person in people for step in person]}
            return integer.answers(data_vector(steps, w.domain).counts).astype(object)

        whole = answers(table)
        for at in range(3):
            moved = whole - answers(table[:at] + table[at + 1 :])
            assert (int((moved**2).sum()) if norm == 2 else int(np.abs(moved).sum()) ** 2) <= limit
