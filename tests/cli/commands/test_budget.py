"""``mmopt budget``: the least cost in each kind of budget; tables, files, and what is refused.

Guards accuracy_release_simulate.py.
"""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

import mmopt

WISHES = """\
domain:
  sex: {values: [F, M]}
  age: {bins: [0, 18, 65, 115]}
workload:
  - {name: by sex, marginal: [sex], within: 30, confidence: 0.9}
  - {name: up to an age, product: {age: prefix}, max_variance: 400}
  - {name: cells, marginal: [sex, age]}
"""


@pytest.fixture
def wishes(files: Path) -> str:
    (files / "w.yaml").write_text(WISHES, encoding="utf-8")
    return "w.yaml"


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("line", "options", "unit", "delta"),
    [
        ("", (), "rho", None),
        ("privacy: {rho: 0.0001}\n", (), "rho", None),
        ("privacy: {epsilon: 0.1, delta: 1.0e-6}\n", (), "epsilon", 1e-6),
        ("privacy: {epsilon: 0.1}\n", (), "epsilon", 0.0),
        ("privacy: {epsilon: 0.1}\n", ("--delta", "1e-9"), "epsilon", 1e-9),
        ("privacy: {rho: 0.0001}\n", ("--pure",), "epsilon", 0.0),
    ],
)
def test_the_kind_is_that_of_the_file_or_of_an_option(
    run: Any, wishes: str, files: Path, line: str, options: tuple[str, ...], unit: str, delta: float | None
) -> None:
    """The size of the file's privacy does not matter: it would not suffice here."""
    (files / wishes).write_text(WISHES + line, encoding="utf-8")
    found = json.loads(run("budget", wishes, *options, "--json").out)
    assert found["unit"] == unit and found["cost"] == found[unit] > 0
    assert found["delta"] in (delta, 0.0), "Laplace noise uses no delta"
    assert found["queries"]["meets"] == [True] * 5, "cells without a wish are left out"
    assert sum(found["queries"]["share_of_cost"]) == pytest.approx(1.0)
    assert found["bound"] is None or found["bound"] <= found["cost"]


def test_the_budget_found_is_enough_and_less_is_not(run: Any, wishes: str, files: Path) -> None:
    """The least budget, as the privacy of the file, lets a release through; a millionth less refuses it."""
    text = WISHES.replace("  - {name: cells, marginal: [sex, age]}\n", "")
    (files / wishes).write_text(text, encoding="utf-8")
    cost = json.loads(run("budget", wishes, "--json").out)["cost"]
    for rho, status in ((cost, 0), (cost * (1 - 1e-6), 2)):
        (files / "own.yaml").write_text(f"{text}privacy: {{rho: {rho!r}}}\n", encoding="utf-8")
        done = run("release", "own.yaml", "people.csv", "--out", f"r{status}", "--simulate", "1")
        assert done.status == status, done
    assert "error: the targets cost rho " in done.err and not (files / "r2").exists()


def test_tables_and_files(run: Any, wishes: str, files: Path) -> None:
    done = run("budget", wishes, "--out", "q.csv", "--chart", "q.png")
    assert done.status == 0, done
    assert max(map(len, done.out.splitlines())) <= 80
    assert done.err.endswith("written: q.csv (5 rows)\nchart: q.png\n")
    shown = " ".join(done.out.split())
    for words in (
        "least found rho = 0.00",
        "(proved: for every strategy with Gaussian noise)",
        "chosen fitness_for_use with Gaussian noise: rho 0.00",
        "target held",
        "by sex 2 ",
        "± 30 at 90% yes",
        "variance 400 yes",
        "group queries target share of cost 10 % wider saves",
        "query that binds share of cost 10 % wider saves",
        "shares and savings: for the best Gaussian strategy, from its multipliers",
    ):
        assert words in shown, words
    assert "allowed" not in shown and "privacy cost" not in shown
    with (files / "q.csv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    least = mmopt.budget(mmopt.load_request(wishes).workload)
    assert [float(row["share_of_cost"]) for row in rows] == pytest.approx(least.shares.tolist(), abs=1e-6)
    assert [row["meets"] for row in rows] == ["1"] * 5
    assert (files / "q.png").read_bytes().startswith(b"\x89PNG")


def test_other_noise_and_other_neighbours_have_no_bounds_on_savings(
    run: Any, wishes: str, files: Path
) -> None:
    replaced = f"neighbours: replace-one\n{WISHES}"
    guide = ", a rough guide to the chosen Laplace noise"
    for text, options, words in ((WISHES, ["--pure"], guide), (replaced, [], "")):
        (files / wishes).write_text(text, encoding="utf-8")
        done = run("budget", wishes, *options)
        assert "share of cost" in done.out and "wider saves" not in done.out, done
        assert done.out.endswith(f"from its multipliers{words}\nsavings: not known for this noise\n")


def test_replaced_rows_have_no_bound(run: Any, wishes: str, files: Path) -> None:
    (files / wishes).write_text("neighbours: replace-one\n" + WISHES, encoding="utf-8")
    done = run("budget", wishes)
    assert done.status == 0 and "bound        none (only known for variances," in done.out
    assert "neighbours" not in done.err and "one row replaced" in done.out
