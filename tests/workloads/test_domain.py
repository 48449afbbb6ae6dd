"""Cells are in row-major order, and an attribute is what it was declared.

Guards domain.py.
"""

import itertools

import numpy as np
import pytest
from random_workloads import domain_of

from mmopt.errors import WorkloadError
from mmopt.workloads import Attribute, Bins, Categories, Domain, Values

SEX = Attribute("sex", ("Female", "Male"))
AGE = Attribute("age", ("[0, 18)", "[18, 25)", "[25, 115)"), encoding=Bins((0, 18, 25, 115)))


def test_cells_are_row_major():
    domain = Domain((SEX, AGE))
    cells = list(itertools.product(SEX.labels, AGE.labels))
    assert [domain.cell(i) for i in range(domain.size)] == cells
    assert [domain.index(labels) for labels in cells] == list(range(6))
    assert (domain.names, domain.shape, domain.size) == (("sex", "age"), (2, 3), 6)


def test_order_agrees_with_numpy_and_strides(subtests):
    for shape in [(1,), (5,), (2, 3), (4, 1, 3), (2, 3, 4, 5)]:
        with subtests.test(str(shape)):
            domain = domain_of(*shape)
            cells = np.arange(domain.size)
            codes = np.unravel_index(cells, shape)
            np.testing.assert_array_equal(domain.ravel(codes), cells)
            np.testing.assert_array_equal(np.array(domain.strides) @ np.array(codes), cells)
            for i in (0, domain.size // 2, domain.size - 1):
                assert domain.index(domain.cell(i)) == i


def test_anonymous_domain():
    domain = Domain.anonymous(3)
    assert domain.names == ("cell",)
    assert domain.attribute("cell").labels == ("0", "1", "2")
    assert domain.attribute("cell").encoding == Values((0, 1, 2))


def test_defaults_of_an_attribute():
    assert SEX.column == "sex"
    assert SEX.encoding == Values(("Female", "Male"))
    assert (SEX.outside, SEX.missing, SEX.size) == ("", "", 2)  # refused when counted, and may be dropped
    assert Attribute("a", ("x", "y"), outside="y", missing="drop").outside == "y"
    assert AGE.encoding.labels() == AGE.labels


def test_domains_compare_and_hash():
    same = Attribute("sex", ("Female", "Male"), groups={"all": (0, 1)})
    assert Domain((SEX, AGE)) == Domain((SEX, AGE))
    assert same != SEX
    assert len({Domain((SEX,)), Domain((SEX,)), Domain((AGE,))}) == 2


def test_errors(subtests):
    for make, text in [
        (lambda: Domain(()), "a domain needs at least one attribute, found none"),
        (lambda: Domain((SEX, SEX)), "the domain has the attribute 'sex' twice"),
        (lambda: Domain.anonymous(0), "a domain needs at least one cell, found 0"),
        (lambda: Attribute("a", ()), "attribute 'a' has no cells"),
        (lambda: Attribute("", ("x",)), "an attribute has an empty name"),
        (lambda: Attribute("a", ("x", "x")), "attribute 'a' has the label 'x' twice"),
        (
            lambda: Attribute("a", ("x", "y"), encoding=Bins((0, 1))),
            "attribute 'a' has 2 labels, but its encoding has 1 cells",
        ),
        (lambda: Attribute("a", ("x",), groups={"g": ()}), "attribute 'a': group 'g' is empty"),
        (
            lambda: Attribute("a", ("x", "y"), groups={"g": (2,)}),
            "attribute 'a': group 'g' has cell 2, expected 0 to 1",
        ),
        (
            lambda: Attribute("a", ("x", "other"), outside="othr"),
            "attribute 'a': outside is 'othr', expected refuse, drop or one of its labels\n"
            "  did you mean 'other'?",
        ),
        (
            lambda: Attribute("a", ("x",), missing="dropp"),
            "attribute 'a': missing is 'dropp', expected refuse, drop or one of its labels\n"
            "  did you mean 'drop'?",
        ),
        (lambda: Values(("a", "a")), "the value 'a' appears twice, expected in one cell only"),
        (lambda: Categories(((1, 2), (2,))), "the value 2 appears twice, expected in one cell only"),
        (lambda: Categories(((1,), ())), "a category has no values, expected at least one"),
        (
            lambda: Domain((SEX, AGE)).attribute("aeg"),
            "the domain has no attribute 'aeg'\n  did you mean 'age'?",
        ),
        (lambda: Domain((SEX, AGE)).cell(6), "there is no cell 6, expected 0 to 5"),
        (lambda: Domain((SEX, AGE)).cell(-1), "there is no cell -1, expected 0 to 5"),
        (lambda: Domain((SEX, AGE)).index(("Male",)), "a cell has 2 labels, found 1"),
        (
            lambda: Domain((SEX,)).index(("Mal",)),
            "attribute 'sex' has no cell 'Mal'\n  did you mean 'Male'?",
        ),
        (lambda: Domain((SEX, AGE)).ravel([[0]]), "expected codes for 2 attributes, found 1"),
        (lambda: Domain((SEX,)).ravel([[0, 2]]), "attribute 'sex' has codes 0 to 1, found 0 to 2"),
    ]:
        with subtests.test(text):
            with pytest.raises(WorkloadError) as caught:
                make()
            assert str(caught.value) == text


@pytest.mark.quick
def test_a_row_may_be_dropped_by_either_rule_and_where_nothing_is_said(subtests):
    for other in ["refuse", "low"]:
        with subtests.test(other):

            def may_drop(outside, missing):
                return Domain((Attribute("a", ("low", "high"), outside=outside, missing=missing),)).may_drop

            assert not may_drop(other, other)
            assert all(may_drop(rule, other) and may_drop(other, rule) for rule in ("", "drop"))
