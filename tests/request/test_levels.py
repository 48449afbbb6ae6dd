"""Levels of an attribute: sums of leaves, files of codes, columns of the table and of the answers.

Guards attribute_cells_and_block_words.py.

Guards domain_data_and_query_keys.py, tidy_columns.py.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from mmopt.answers import accuracy
from mmopt.data import data_vector
from mmopt.errors import DataError, WorkloadError
from mmopt.privacy import Privacy
from mmopt.request import Request, load_request, parse_request
from mmopt.workloads import Domain
from mmopt.workloads.tidy_columns import tidy_columns

TREE = {
    "Vermont": {"North": ["Addison"], "South": ["Windham", "Orange"]},
    "Texas": {"Travis": None},
    "DC": None,
}
COUNTY = {"nested": TREE, "levels": ["state", "region"], "missing": {"cell": "unknown"}}
STATES = {"Vermont": 3, "Texas": 1, "DC": 1, "unknown": 1}  # cells


def domain() -> Domain:
    return Domain.of(county=COUNTY, sex=["F", "M"])


branches = st.recursive(
    st.none(), lambda inside: st.lists(inside, min_size=1, max_size=3), max_leaves=12
).filter(lambda tree: tree is not None and any(tree))


def depth(tree: Any) -> int:
    return 0 if tree is None else 1 + max(map(depth, tree))


def named(tree: Any, name: str) -> Any:
    """The tree with a name of its own for each branch."""
    return tree and {f"{name}{i}": named(inside, f"{name}{i}.") for i, inside in enumerate(tree)}


@settings(max_examples=25, deadline=None)
@given(branches)
def test_a_set_is_the_sum_of_its_leaves_at_every_level(tree: Any) -> None:
    levels = [f"level{i}" for i in range(depth(tree) - 1)]
    keys = {"domain": {"a": {"nested": named(tree, "n"), "levels": levels}, "b": {"values": [1, 2]}}}
    asked = [{"marginal": [name, "b"]} for name in (*levels, "a")]
    request = Request.of(keys | {"workload": asked})
    assert parse_request(json.dumps(keys | {"workload": asked})).workload == request.workload
    cells = request.workload.domain.attribute("a")
    for name, (_, rows) in zip(levels, request.workload.groups(), strict=False):
        texts = np.array(cells.levels[name])
        sets = list(dict.fromkeys(cells.levels[name]))
        expected = np.array([texts == one for one in sets], dtype=float)
        assert np.array_equal(request.workload.queries[rows], np.kron(expected, np.eye(2)))
        # A leaf is below its set, or is it.
        assert all(f"{label}.".startswith(f"{one}.") for label, one in zip(cells.labels, texts, strict=True))


def test_no_cell_is_a_pair_of_a_state_and_a_county_of_another() -> None:
    d = domain()
    assert d.shape == (6, 2)
    assert d.attributes[0].labels == ("Addison", "Windham", "Orange", "Travis", "DC", "unknown")
    assert d.attributes[0].levels["region"] == ("North", "South", "South", "Travis", "DC", "unknown")


def test_a_level_may_be_named_with_those_above_it() -> None:
    def rows(*names: str) -> np.ndarray:
        keys = {"domain": {"county": COUNTY, "sex": ["F", "M"]}, "workload": [{"marginal": [*names]}]}
        return Request.of(keys).workload.queries

    for long, short in (("state.county", "county"), ("state.region", "region"), ("region.county", "county")):
        assert np.array_equal(rows(long, "sex"), rows(short, "sex"))
    for wrong in ("county.state", "state.sex", "state.state", "state."):
        with pytest.raises(WorkloadError, match=f"no attribute '{wrong}'"):
            rows(wrong)
    with pytest.raises(WorkloadError, match="twice"):
        rows("state.county", "state")


def test_blocks_over_a_level_are_those_over_its_sets() -> None:
    sizes = list(STATES.values())
    for block, rows in (
        ("identity", np.eye(4)),
        ("prefix", np.tri(3, 4)),
        (["Texas", ["Vermont", "DC"], "unknown"], np.array([[0, 1, 0, 0], [1, 0, 1, 0], [0, 0, 0, 1]])),
        ({"union": ["total", {"width_range": 2}]}, np.array([[1, 1, 1, 1], [1, 1, 0, 0], [0, 1, 1, 0]])),
    ):
        w = domain().product(state=block)
        assert np.array_equal(w.queries, np.repeat(np.repeat(rows, sizes, axis=1), 2, axis=1))
    assert domain().product(state="total") == domain().product({})


def test_labels_titles_and_columns_name_the_level() -> None:
    d = domain()
    w = d.marginal("state", "sex") + d.product(region="prefix") + d.marginal("county")
    assert [name for name, _ in w.groups()] == ["state, sex", "region prefix", "county"]
    assert w.labels()[:2] == ["state=Vermont, sex=F", "state=Vermont, sex=M"]
    columns = tidy_columns(w)
    assert list(columns) == ["state", "region", "county", "sex"]
    assert columns["state"].tolist()[::2][:4] == list(STATES)
    assert columns["region"][8:10].tolist() == ["up to North", "up to South"]
    assert columns["county"].tolist()[-6:] == list(d.attributes[0].labels)
    # And the sets around it, where all that a query counts is in one; a region is none of a state's.
    (county,) = (a for a in d.attributes if a.levels)
    assert columns["state"].tolist()[-6:] == list(county.levels["state"])
    assert columns["region"].tolist()[-6:] == list(county.levels["region"])
    assert columns["state"][8:10].tolist() == ["Vermont", "Vermont"]
    for name, part in (("state", slice(10, 12)), ("region", slice(0, 8)), ("county", slice(0, -6))):
        assert set(columns[name][part]) == {None}
    runs = d.product(county=[["Windham", "Orange"], ["Orange", "Travis"], ["Addison", "Orange"]], sex="total")
    assert tidy_columns(runs)["state"].tolist() == ["Vermont", None, None]
    assert tidy_columns(runs)["region"].tolist() == ["South", None, None]
    assert tidy_columns(d.product(county="total") + d.marginal("sex")).keys() == {"sex"}


def test_errors_are_those_of_groups_written_out() -> None:
    d = Domain.of(county=COUNTY, sex=["F", "M"])
    flat = Domain.of(county=list(d.attributes[0].labels), sex=["F", "M"])
    states = [["Addison", "Windham", "Orange"], ["Travis"], ["DC"], ["unknown"]]
    for privacy in (Privacy(rho=0.5), Privacy(epsilon=1.0)):
        by_level = accuracy(d.marginal("state", "sex") + d.marginal("county"), privacy=privacy)
        written = flat.product(county=states, sex="identity") + flat.marginal("county")
        assert by_level.rmse == pytest.approx(accuracy(written, privacy=privacy).rmse, rel=1e-5)


FILE = """domain:
  county: {nested: codes.csv, levels: [state, region], missing: {cell: unknown}}
  sex: {values: [F, M]}
workload: [{marginal: [state, sex]}]
"""
CODES = """county,region,state
Addison,North,Vermont
Windham,South,Vermont
Orange,South,Vermont

,Travis,Texas
,,DC
"""


def test_a_file_of_codes_is_its_tree(tmp_path: Path) -> None:
    (tmp_path / "w.yaml").write_text(FILE)
    for text in (CODES, CODES.replace(",", ";"), "\ufeff" + CODES.replace("\n", "\r\n")):
        (tmp_path / "codes.csv").write_text(text, encoding="utf-8")
        assert load_request(tmp_path / "w.yaml").workload == domain().marginal("state", "sex")


def test_mistakes_in_a_file_of_codes(tmp_path: Path, subtests: pytest.Subtests) -> None:
    path = tmp_path / "w.yaml"
    codes = tmp_path / "codes.csv"
    path.write_text(FILE)
    for text, message, where in (
        (None, "cannot be read: No such file", f"{path}:2:20"),
        ("", "has no row below its header", f"{path}:2:20"),
        ("state,region,county\n", "has no row below its header", f"{path}:2:20"),
        (CODES.replace("region", "area"), "has no column 'region'", f"{path}:2:47"),
        (CODES.replace("county", "code"), "has no column 'county'", f"{path}:2:20"),
        (CODES + "Harris,,Texas\n", "a level is blank above one that is not", f"{codes}:8:1"),
        (
            CODES + "Harris,South,Texas\n",
            "level 'region' has 'South' in two branches, first in line 3",
            f"{codes}:8:8",
        ),
        (CODES + "South,South,Texas\n", "level 'region' has 'South' in two branches", f"{codes}:8:7"),
        (CODES.replace("county,", "county,state,"), "has two columns 'state'", f"{path}:2:40"),
        (CODES + "Addison,North,Vermont\n", "'Addison' appears twice, first in line 2", f"{codes}:8:1"),
        (CODES.replace("North", "\udcff"), "cannot be read", f"{path}:2:20"),
    ):
        with subtests.test(message):
            if text is not None:
                codes.write_text(text, encoding="utf-8", errors="surrogateescape")
            with pytest.raises(WorkloadError) as caught:
                load_request(path)
            assert message in caught.value.message
            assert str(caught.value.where) == where
    with pytest.raises(WorkloadError, match="is none"):
        parse_request(FILE, "w.yaml")


def test_rows_are_counted_by_leaves() -> None:
    d = domain()
    counties = ["Addison", "DC", None, "Travis", "", "Orange", "Travis"]
    counts = data_vector({"county": counties, "sex": list("FMFMFMF")}, d)
    answers = d.marginal("state").queries @ counts.counts
    assert dict(zip(STATES, answers.tolist(), strict=True)) == {
        "Vermont": 2,
        "Texas": 2,
        "DC": 1,
        "unknown": 2,
    }
    with pytest.raises(DataError, match="1 outside the declared domain"):
        data_vector({"county": ["Vermont"], "sex": ["F"]}, d)


def test_codes_that_repeat_between_branches_are_read_with_those_above() -> None:
    nested = {"50": ["001", "003"], "48": ["001"], "11": None}
    rules = {"missing": {"cell": "unknown"}, "outside": "drop"}
    d = Domain.of(county={"nested": nested, "levels": ["state"], "column": ["st", "co"]} | rules)
    (county,) = d.attributes
    assert county.labels == ("50/001", "50/003", "48/001", "11", "unknown")
    assert county.levels == {"state": ("50", "50", "48", "11", "unknown")}
    states = ["50", "50", "48", None, "11", "11", "48", " "]
    table = {"st": states, "co": ["001", "003", "001", "001", None, "", "", "001"]}
    counts = data_vector(table, d)
    assert counts.counts.tolist() == [1, 1, 1, 2, 2]
    assert counts.dropped == {"county": 1}  # of the state 48, whose county is not there
    with pytest.raises(WorkloadError, match="'001' appears twice"):
        Domain.of(county={"nested": nested, "levels": ["state"], "column": "co"})
    with pytest.raises(DataError, match="'st' is of type float64, and codes are texts or whole numbers"):
        data_vector({"st": [50.0], "co": ["001"]}, d)
    with pytest.raises(DataError, match="no column 'st'"):
        data_vector({"co": ["001"]}, d)


def test_a_word_for_missing_that_is_a_name_in_the_tree_stays_a_value() -> None:
    nested = {"Africa": ["NA", "ZA"], "Moon": None}
    d = Domain.of(land={"nested": nested, "levels": ["part"], "column": ["part", "land"]})
    table = {"part": ["Africa", "Africa", "Africa", "Moon"], "land": ["NA", "NA", "ZA", "?"]}
    assert data_vector(table, d, null=["NA", "?"]).counts.tolist() == [2, 1, 1]
