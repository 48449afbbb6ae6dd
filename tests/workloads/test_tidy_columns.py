"""The columns of each query, against the cells that its factors count."""

import datetime
import math

import numpy as np
import pytest
import scipy.sparse
from random_workloads import random_factor, random_workload

from mmopt.errors import TooLargeError
from mmopt.workloads import Attribute, Bins, Categories, Domain, Product, Workload
from mmopt.workloads.blocks.combined_blocks import Padded, Stack
from mmopt.workloads.blocks.range_blocks import Prefix
from mmopt.workloads.domain import Values
from mmopt.workloads.factors_and_products import (
    all_range,
    haar,
    hierarchy,
    identity,
    predicates,
    prefix,
    reordered,
    sparse_predicates,
    total,
    union,
)
from mmopt.workloads.tidy_columns import query_columns, tidy_columns

AGE = Bins((0.0, 18.0, 25.0, 65.0))
MONTHS = Bins.between_dates(None, *(datetime.date(2020, month, 1) for month in (1, 2, 3)), None)


def of_one(factor, attribute: Attribute) -> dict[str, list[object]]:
    """The columns of one factor's queries, as lists; NaN as None."""
    found = tidy_columns(Workload.from_products(Domain((attribute,)), [Product((factor,))]))
    return {
        name: [None if value != value else value for value in column.tolist()]
        for name, column in found.items()
    }


@pytest.mark.quick
@pytest.mark.draws(3)
def test_ends_and_texts_are_those_of_the_cells_that_are_counted(rng):
    """A query over two attributes of bins, row by row: formed, and looked at."""
    sizes = rng.integers(1, 6, size=2).tolist()
    edges = [np.cumsum(rng.uniform(0.5, 3.0, size=size + 1)) for size in sizes]
    bins = [Bins(tuple(own.tolist())) for own in edges]
    attributes = [Attribute(f"a{i}", own.labels(), encoding=own) for i, own in enumerate(bins)]
    products = [Product(tuple(random_factor(rng, size) for size in sizes)) for _ in range(3)]
    asked = Workload.from_products(Domain(tuple(attributes)), products)
    found = tidy_columns(asked)
    queries = asked.queries.reshape(asked.m, *sizes)
    assert all(len(column) == asked.m for column in found.values())
    for i, attribute in enumerate(attributes):
        # What a query counts of this attribute, up to what it takes of the other one.
        rows = np.abs(np.moveaxis(queries, i + 1, -1)).max(axis=1)
        is_all = [_is_all(product.factors[i], product, i) for product in asked.products]
        expected = np.concatenate(is_all)
        if expected.all():
            assert attribute.name not in found
            continue
        texts = found[attribute.name]
        assert ([text is None for text in texts] == expected).all()
        low, high = found[f"{attribute.name}_low"], found[f"{attribute.name}_high"]
        for row, text, a, b in zip(rows, texts, low, high, strict=True):
            if not math.isnan(a):
                inside = (edges[i][:-1] >= a) & (edges[i][1:] <= b)
                assert ((row > 0) == inside).all() and inside.any() and text is not None


def _is_prefix(factor) -> np.ndarray:
    """Which rows of a factor are prefixes, whose column always has words."""
    if isinstance(factor.plain, Stack):
        return np.concatenate([_is_prefix(block) for block in factor.plain.blocks])
    return np.full(factor.rows, isinstance(factor.plain, Prefix))


def _is_all(factor, product: Product, axis: int) -> np.ndarray:
    """Which of the product's queries count every cell of this attribute once, and are no prefix."""
    own = (factor.matrix() == 1).all(axis=1) & ~_is_prefix(factor)
    before = math.prod(f.rows for f in product.factors[:axis])
    return np.tile(np.repeat(own, math.prod(f.rows for f in product.factors[axis + 1 :])), before)


def test_a_column_for_every_attribute_that_is_restricted_and_no_other(rng):
    for asked in (random_workload(rng) for _ in range(10)):
        restricted = [
            attribute.name
            for i, attribute in enumerate(asked.domain.attributes)
            if not all(_is_all(product.factors[i], product, i).all() for product in asked.products)
        ]
        assert list(tidy_columns(asked)) == restricted


def test_what_is_said_of_bins():
    age = Attribute("age", (*AGE.labels(), "unknown"), encoding=AGE, missing="unknown")
    assert of_one(all_range(4), age) == {
        "age": [
            "[0, 18)", "[0, 25)", "[0, 65)", None, "[18, 25)", "[18, 65)", "[18, 25) to unknown",
            "[25, 65)", "[25, 65) to unknown", "unknown",
        ],
        "age_low": [0.0, 0.0, 0.0, None, 18.0, 18.0, None, 25.0, None, None],
        "age_high": [18.0, 25.0, 65.0, None, 25.0, 65.0, None, 65.0, None, None],
    }  # fmt: skip
    assert of_one(Padded(union(prefix(3), total(3), predicates([[1, 1, 0]], ["young"])), 4), age) == {
        "age": ["< 18", "< 25", "< 65", "[0, 65)", "young"],
        "age_low": [0.0, 0.0, 0.0, 0.0, 0.0],
        "age_high": [18.0, 25.0, 65.0, 65.0, 25.0],
    }
    first, second = datetime.date(2020, 1, 1), datetime.date(2020, 2, 1)
    months = Attribute("day", MONTHS.labels(), encoding=MONTHS)
    assert of_one(predicates([[1, 1, 0, 0], [0, 1, 0, 0], [0, 1, 1, 1], [1, 0, 1, 0]]), months) == {
        "day": ["< 2020-02-01", "2020-01", ">= 2020-01-01", "< 2020-01-01 or 2020-02"],
        "day_low": [None, first, first, None],
        "day_high": [second, second, None, None],
    }
    open_and_unknown = Attribute("day", (*MONTHS.labels(), "?"), encoding=MONTHS, missing="?")
    assert of_one(predicates([[1, 1, 1, 1, 0]]), open_and_unknown) == {
        "day": ["any"],
        "day_low": [None],
        "day_high": [None],
    }


def test_what_is_said_of_sets():
    sex = Attribute("sex", ("F", "M", "X"), encoding=Categories((("f",), ("m",), ("x",))))
    named = predicates([[1, 0, 1], [0, 1, 0], [1, 1, 1]], ["not men", "M", "all of them"])
    assert of_one(named, sex) == {"sex": ["not men", "M", None]}
    assert of_one(identity(3), sex) == {"sex": ["F", "M", "X"]}
    assert of_one(hierarchy(3), sex) == {"sex": [None, "F to M", "X", "F", "M"]}
    assert of_one(reordered(prefix(3), [2, 0, 1]), sex) == {"sex": ["X", "F or X", None]}
    assert of_one(union(total(3), prefix(3)), sex) == {"sex": [None, "up to F", "up to M", "up to X"]}
    assert of_one(predicates([[2, 0, 0], [0, 1, 0]]), sex) == {"sex": ["sex in predicate 0", "M"]}
    assert of_one(haar(2), Attribute("s", ("F", "M"))) == {"s": [None, "s=F minus s=M"]}
    assert of_one(total(3), sex) == {}
    many = Attribute("a", tuple("abcdefg"))
    sets = np.zeros((4, 7))
    for row, cells in zip(sets, ([0, 2, 4], [0, 2, 4, 6], [0, 1, 2, 4, 6], [2, 3]), strict=True):
        row[cells] = 1.0
    for factor in (predicates(sets), sparse_predicates(scipy.sparse.csr_array(sets))):
        assert of_one(factor, many) == {
            "a": ["a or c or e", "a or c or e or g", "a or b or c or 2 more", "c to d"]
        }


@pytest.mark.parametrize("name", ["any", "known", "up", "a b"])
@pytest.mark.parametrize("labels", [("a b", "b any", "c"), (1, 2, 3), Bins((0.0, 1.0, 2.0, 3.0))])
def test_a_prefix_says_its_range_as_its_label_does_and_as_no_cell_does(name: str, labels: object) -> None:
    encoding = labels if isinstance(labels, Bins) else Values(labels)
    texts = labels.labels() if isinstance(labels, Bins) else tuple(map(str, labels))
    for more in ((), ("unknown",)):
        attribute = Attribute(name, (*texts, *more), encoding=encoding, missing="unknown" if more else "")
        block = Padded(prefix(3), 4) if more else prefix(3)
        said, cells = of_one(block, attribute)[name], of_one(identity(3 + len(more)), attribute)[name]
        assert len({*said, *cells}) == 6 + len(more) and None not in said
        for text, label in zip(said, block.labels(attribute), strict=True):
            assert label in (f"{name} {text}", f"{text} {name}")


def test_names_of_columns_never_collide():
    bins = Bins((0.0, 1.0, 2.0))
    attributes = (
        Attribute("Label", ("x", "y")),
        Attribute("t", bins.labels(), encoding=bins),
        Attribute("t_low", ("x", "y")),
        Attribute("T_HIGH", ("x", "y")),
    )
    asked = Workload.from_products(Domain(attributes), [Product((identity(2),) * 4)])
    found = tidy_columns(asked, ["query", "label"])
    assert list(found) == ["Label_", "t", "t_low_", "t_high_", "t_low", "T_HIGH"]
    assert found["t_low_"].dtype == float and found["t_low"].dtype == object


def test_matrices_say_nothing_of_attributes():
    assert tidy_columns(Workload.from_matrix(np.eye(3))) == {}


def test_a_table_beyond_the_memory_is_refused_before_it_is_made() -> None:
    domain = Domain(tuple(Attribute(name, tuple(map(str, range(600)))) for name in "abc"))
    asked = Workload.from_products(domain, [Product((prefix(600),) * 3)])
    with pytest.raises(TooLargeError) as refused:
        query_columns(asked, ())
    assert str(refused.value) == (
        "the table with a row for each query has 216,000,000 × 41 entries, 66.0 GiB; the limit is 4 GiB\n"
        "  ask for fewer queries at a time; tables on a screen show the first of each product"
    )
    first = asked.blocks[0].labels(domain, 2)
    assert first == ["a up to 0, b up to 0, c up to 0", "a up to 0, b up to 0, c up to 1"]
