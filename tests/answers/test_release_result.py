"""``Release``: its answers, its picture, its covariances, its folder and the way back.

Guards report/displays_and_report_page.py, report/table_style.py, private_release.py.
"""

import importlib.util
import os

import numpy as np
import pandas
import polars
import pyarrow
import pytest

import mmopt
from mmopt.answers import Release, load_release
from mmopt.errors import OptionError, ResultError
from mmopt.mechanism import build_manifest, measure, plan
from mmopt.mechanism.release_writing import SIMULATED
from mmopt.privacy import Privacy
from mmopt.results import Frame
from mmopt.strategies import Strategy
from mmopt.workloads import Attribute, Bins, Domain, Product, Workload
from mmopt.workloads.factors_and_products import identity, prefix, total

BINS = Bins((0.0, 18.0, 65.0, 115.0))
DOMAIN = Domain((Attribute("sex", ("F", "M")), Attribute("age", BINS.labels(), encoding=BINS)))
ASKED = Workload.from_products(
    DOMAIN, [Product((identity(2), prefix(3))), Product((identity(2), total(3)), name="by sex")]
)
SOLUTION = mmopt.solve(ASKED, "l2_strategy")
PLAN = plan(ASKED, SOLUTION, Privacy(epsilon=1.0, delta=1e-6))


def released(seed: int | None = None) -> Release:
    answers = measure(PLAN, np.arange(6) * 100, seed)
    return Release.of(PLAN, answers, build_manifest(PLAN, answers, **SOLUTION.about_program()), SOLUTION)


def same(one: Release, two: Release) -> None:
    assert one.answers.metadata == two.answers.metadata
    assert list(one.answers.names) == list(two.answers.names)
    for name in one.answers.names:
        assert one.answers[name].dtype == two.answers[name].dtype, name
        assert np.array_equal(one.answers[name].astype(str), two.answers[name].astype(str)), name


def test_what_is_saved_is_loaded_again(tmp_path):
    found = released()
    folder = found.save(tmp_path / "out")
    names = ["answers.csv", "answers.parquet", "answers.svg", "manifest.json", "strategy.npz"]
    assert sorted(os.listdir(folder)) == names
    back = load_release(folder)
    same(found, back)
    assert back.solution == SOLUTION and back.plan is None and back.private is found.private
    assert {**found.manifest, "files": back.manifest["files"]} == back.manifest
    again = back.save(tmp_path / "again")
    for name in (*names[:3], "manifest.json"):
        assert (again / name).read_bytes() == (folder / name).read_bytes(), name
    whole = mmopt.Release.load(folder, ASKED)
    assert np.array_equal(whole.covariance(slice(None)), found.covariance(slice(None)))
    assert (whole.plan.standard_errors == PLAN.standard_errors).all()
    assert whole.plan.law is PLAN.law and repr(whole.plan) == repr(PLAN)


def test_simulated_answers_say_so_everywhere(tmp_path):
    found = released(3)
    assert not found.to_pandas()["private"].any() and found.to_pandas().attrs["warning"] == SIMULATED
    assert not found.to_polars()["private"].any() and not pyarrow.table(found)["private"].to_pylist()[0]
    assert "SIMULATED NOISE, not private" in repr(found) and SIMULATED in repr(found.answers)
    assert (
        f'<p class="loud">not private: {SIMULATED}</p>' in found._repr_html_()
        and dict(found.rows())["not private"] == SIMULATED
    )
    assert SIMULATED in found.plot().get_suptitle()
    folder = found.save(tmp_path / "out")
    assert all(line.endswith(",false") for line in (folder / "answers.csv").read_text().splitlines()[1:])
    assert pyarrow.parquet.read_schema(folder / "answers.parquet").metadata[b"warning"].decode() == SIMULATED
    real = released()
    assert "private" not in real.answers.names and SIMULATED not in real._repr_html_()
    assert SIMULATED not in real.plot().get_suptitle() and "not private" not in dict(real.rows())


def test_queries_are_asked_for_by_number_slice_and_label():
    found = released(3)
    whole = found.covariance(slice(None))
    assert whole.shape == (8, 8) and len(found) == 8
    assert np.sqrt(np.diag(whole)) == pytest.approx(found.answers["standard_error"], rel=1e-9)
    label = found.answers["label"][4]
    for asked, rows in (
        (2, [2]),
        (-1, [7]),
        (label, [4]),
        ([label, 0], [4, 0]),
        (np.array([1, 3]), [1, 3]),
        (range(3), [0, 1, 2]),
        (slice(6, None), [6, 7]),
    ):
        assert np.allclose(found.covariance(asked), whole[np.ix_(rows, rows)], rtol=1e-12), asked


def test_queries_that_are_not_there(subtests):
    for asked, said in [
        (8, "there is no query 8, expected 0 to 7"),
        ([0, -9], "there is no query -9, expected 0 to 7"),
        (1.5, "a query is asked for by float, expected its number or its label"),
        ("sex=G", "there is no query 'sex=G'\n  did you mean 'sex=M'?"),
    ]:
        with subtests.test(said):
            with pytest.raises(OptionError) as caught:
                released(3).covariance(asked)
            assert str(caught.value) == said


def test_a_label_of_two_queries_and_a_release_without_its_queries(tmp_path):
    twice = Workload.from_products(DOMAIN, [Product((identity(2), total(3)), name=name) for name in "ab"])
    found = plan(twice, Strategy(np.eye(6)), Privacy(rho=0.5))
    answers = measure(found, np.arange(6))
    release = Release.of(found, answers, build_manifest(found, answers))
    with pytest.raises(OptionError) as caught:
        release.covariance("sex=M")
    assert str(caught.value) == "2 queries have the label 'sex=M': 1, 3\n  ask for them by number"
    folder = release.save(tmp_path / "out")
    back = load_release(folder)
    assert back.solution is None and not (folder / "strategy.npz").exists()
    with pytest.raises(OptionError) as caught:
        back.covariance(0)
    assert str(caught.value) == (
        "a release loaded from its folder does not contain its queries, which covariances need\n"
        "  load it with them: mmopt.load_release(folder, workload=Workload.load(file))"
    )
    with pytest.raises(ResultError) as caught:
        load_release(folder, twice)
    assert str(caught.value) == f"'{folder}' does not hold the strategy that was used (strategy.npz)"
    with pytest.raises(ResultError) as caught:
        load_release(folder, ASKED)
    assert str(caught.value) == (
        f"'{folder}' answers another workload: its hash is {twice.hash[:16]}…, the hash of the given one is "
        f"{ASKED.hash[:16]}…\n  give the workload that was released"
    )


def test_givens_go_to_the_program():
    domain = Domain.of(sex=["F", "M"])
    arguments = {"sex": ["F", "M", "F"]}, domain.marginal("sex"), {"epsilon": 1.0, "delta": 1e-6}
    release = mmopt.release(*arguments, program="query_weighting", givens={"Q": [[2, 0], [1, 1]]}, simulate=1)
    assert np.array_equal(release.solution.givens["Q"], [[2, 0], [1, 1]])
    with pytest.raises(OptionError) as refused:
        mmopt.release(*arguments, givens={"Q": np.eye(2)}, simulate=1)
    assert str(refused.value) == (
        "givens belong to a program, and no program is solved here\n  name it: program=…"
    )


def test_frames_and_words():
    found = released()
    assert polars.DataFrame(found).equals(found.to_polars()) and found.to_arrow().num_rows == 8
    first, second = (one.label for one in list(found)[:2])
    assert repr(found).startswith(f"Release({first}: {found[0].answer:.6g}, {second}: ")
    assert ", … 8 answers, epsilon 1, rmse " in repr(found)
    rows = dict(found.rows())
    assert rows["workload"] == "8 queries over 6 cells"
    assert rows["strategy"] == f"l2_strategy: {PLAN.integer.rows} measured queries"
    assert rows["neighbours"] == "add-remove: tables that differ by one row added or removed"
    assert found._repr_html_().count("<tr>") == len(rows) + 9 + 3  # answers, and two groups' accuracy


def test_no_chart_without_matplotlib(tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(OptionError) as caught:
        released(3).plot()
    assert str(caught.value) == (
        "a chart needs matplotlib, which is not installed\n  pip install mmopt[chart]"
    )
    folder = released(3).save(tmp_path / "out")
    assert "answers.svg" not in os.listdir(folder)
    assert "answers.svg" not in load_release(folder).manifest["files"]


def test_labels_in_any_script_are_saved(tmp_path):
    """The warnings of fonts are not the user's: here they would be errors."""
    asked = Workload.from_products(Domain((Attribute("性", ("女", "男")),)), [Product((identity(2),))])
    found = plan(asked, Strategy(np.eye(2)), Privacy(rho=0.5))
    answers = measure(found, np.arange(2))
    folder = Release.of(found, answers, build_manifest(found, answers)).save(tmp_path / "out")
    assert load_release(folder).answers["性"].tolist() == ["女", "男"]


def test_answers_by_label_number_group_and_in_turn():
    """A release, refined answers and a prediction give the same figures as their tables."""
    found = released(1)
    planned = mmopt.accuracy(ASKED, {"epsilon": 1.0, "delta": 1e-6}, strategy=SOLUTION)
    for result in (found, found.refine(whole=True), planned):
        table, each = result.frame(), list(result)
        assert len(each) == len(result) == 8 and result.rmse == pytest.approx(PLAN.rmse, rel=1e-9)
        for row, one in enumerate(each):
            assert result[one.label] == result[row] == result[np.int64(row)] == result[row - 8] == one
            assert one.label == table["label"][row]
            assert one.standard_error == table["standard_error"][row]
            if "estimate" in table.names:
                assert one.answer == table["estimate"][row]
                assert one.interval == (table["low"][row], table["high"][row])
                assert one.half_width == (one.interval[1] - one.interval[0]) / 2
            else:
                assert one.answer is one.interval is None and one.half_width == table["half_width"][row]
            assert one.refined == (table["refined"][row] if "refined" in table.names else None)
        assert list(dict.fromkeys(table["query"])) == ["sex, age prefix", "by sex"]
        group = result["by sex"]
        assert isinstance(group, Frame) and group.metadata == table.metadata
        assert group["label"].tolist() == result[6:]["label"].tolist() == ["sex=F", "sex=M"]
        assert result[["sex=M", "sex=F"]]["label"].tolist() == ["sex=M", "sex=F"]


def test_what_is_not_there_is_a_key_error_with_the_nearest_name():
    found = released(1)
    for query, words in (
        ("sex=f", "there is no query 'sex=f'\n  did you mean 'sex=F'?"),
        ("by sexes", "there is no query 'by sexes'\n  did you mean 'by sex'?"),
        (8, "there is no query 8, expected 0 to 7"),
    ):
        with pytest.raises(KeyError) as missing:
            found[query]
        assert isinstance(missing.value, mmopt.NotFoundError) and isinstance(missing.value, OptionError)
        assert str(missing.value) == words
    with pytest.raises(mmopt.NotFoundError, match=r"^there is no column 'estimates'\n  did you mean 'est"):
        found.answers["estimates"]
    with pytest.raises(OptionError, match=r"^a query is asked for by float"):
        found[0.5]


def test_a_label_that_is_also_a_group_is_one_query_and_a_label_of_several_is_refused():
    twice = mmopt.Workload.from_products(
        DOMAIN, [Product((total(2), total(3)), name="all"), Product((identity(2), total(3)), name="sex=F")]
    )
    result = mmopt.accuracy(twice, {"rho": 1.0})
    assert "sex=F" in result.frame()["query"] and isinstance(result["sex=F"], mmopt.QueryAnswer)
    same_twice = [Product((identity(2), total(3)))] * 2
    doubled = mmopt.accuracy(mmopt.Workload.from_products(DOMAIN, same_twice), {"rho": 1.0})
    with pytest.raises(
        OptionError, match=r"^2 queries have the label 'sex=F': 0, 2\n  ask for them by number"
    ):
        doubled["sex=F"]


def test_a_query_and_a_group_are_in_what_answers_them() -> None:
    """``in`` says what brackets find; a group stands for its queries, but not where one total is given."""
    found = released(1)
    group = str(found.answers["query"][0])
    rows = np.flatnonzero(found.answers["query"] == group)
    for result in (found, mmopt.accuracy(ASKED, {"rho": 0.5}, strategy=SOLUTION)):
        for name in (result[3].label, 0, np.int64(-8), group, result[2]):
            assert name in result
        for name in ("no such query", 8, -9, None, found.answers):
            assert name not in result
        assert result.numbers([group, 7]).tolist() == [*rows, 7]
    assert np.array_equal(found.covariance(group), found.covariance(rows))
    with pytest.raises(OptionError) as caught:
        found.refine(totals={group: 9})
    assert str(caught.value) == (
        f"'{group}' is a group of {len(rows)} queries, and a total is of one query\n"
        "  name it by its label or its number"
    )
    frame = found[group]
    assert pandas.DataFrame(frame).equals(frame.to_pandas()) and len(list(frame)) == len(frame) == len(rows)
    assert [row["label"] for row in frame] == frame["label"].tolist()
    assert "estimate" in frame and "x" not in frame
    with pytest.raises(mmopt.NotFoundError, match=r"^there is no column 0\n"):
        frame[0]


def test_words_of_answers_are_told_apart() -> None:
    names = [
        f"a bill of a very long name in [0, 100), paid on a {day} by one of" for day in ("Monday", "Friday")
    ]
    asked = Domain.of(day=names).marginal("day")
    long = mmopt.release({"day": names}, asked, {"rho": 0.5}, strategy=mmopt.solve(asked), simulate=1)
    shown = [text.partition(": ")[0] for text in repr(long).removeprefix("Release(").split(", day=")]
    assert len(set(shown)) > 1 and "…" in shown[0]
    refined = released(1).refine()
    assert ", … 8 answers, refined, SIMULATED" in repr(refined)
    assert repr(refined).startswith(f"Release({refined[0].label}: {refined[0].refined:.6g}, ")


def test_a_coverage_as_asked_for_is_not_rounded_below_it() -> None:
    for confidence in (0.95, 0.99, 0.999, 0.9):
        found = mmopt.release(
            {"a": [1]}, Domain.of(a=[1, 2]).marginal("a"), {"rho": 0.1}, confidence=confidence, simulate=1
        )
        assert found.answers["coverage"].min() >= confidence
        assert "at least 0.94" not in dict(found.rows())["intervals"]
