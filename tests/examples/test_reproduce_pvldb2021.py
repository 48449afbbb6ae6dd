"""PVLDB 2021 reproduced: every numbered thing is there, and what rows rest on.

That each figure is accounted for: tests/examples/test_reproduce.py.
"""

import numpy as np
from examples.scripts import scripts

reproduce = scripts("reproduce")
ITEMS = {item.name: item for item in reproduce.pvldb2021.SOURCE.items}

NUMBERED = {
    "Table": 11,
    "Figure": 3,
    "Definition": 5,
    "Theorem": 13,
    "Corollary": 1,
    "Problem": 4,
    "Algorithm": 3,
}
"""How many of each the paper has."""


def test_every_numbered_thing_is_there() -> None:
    numbered = {f"{kind} {number + 1}" for kind, count in NUMBERED.items() for number in range(count)}
    assert numbered <= set(ITEMS)
    assert {name.split(",")[0] for name in set(ITEMS) - numbered} == {
        "Section 3.2.1",
        "Section 6.3",
        "Equations 9 to 13",
        "Equation 14",
        "Table 10",
        "Tables 5 to 8 and 11",
    }


def test_gradients_and_hessian_are_told_from_the_printed_ones(rng: np.random.Generator) -> None:
    """Equation 14 is compared with differences; the printed Hessian is far off, not just not exact."""
    right, printed = ITEMS["Equation 14"].rows(rng)
    assert right.verdict in ("agrees", "agrees within 0.1 %")
    assert abs(printed.ours - printed.paper) > 0.05 * abs(printed.paper)


def test_a_reason_is_given_only_where_a_figure_differs() -> None:
    tables, Row = reproduce.pvldb2021_tables, reproduce.item.Row
    same, other = Row("IP", "36.56", 36.561), Row("IP", "36.56", 41.8)
    assert tables.why_of(4, 0, same, "IP").why == ""
    assert "14 % above the optimum" in tables.why_of(4, 0, other, "IP").why
    assert tables.why_of(5, 64, other, "IP").why == "" and not other.is_accounted_for


def test_every_reason_is_of_a_printed_figure() -> None:
    tables, printed = reproduce.pvldb2021_tables, scripts("fitness-tables").printed
    for table, size, name in tables.WHY:
        assert size in printed.PRINTED[table] and name in (*printed.MECHANISMS, "total")
