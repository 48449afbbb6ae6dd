"""A drafted workload file: open places are refused by name, filled ones are read as they are meant.

Guards draft_workload.py.
"""

import pytest

from mmopt.data.cell_codes import USUAL_WORDS
from mmopt.data.draft_workload import FORMS_BY_KIND, Draft, check_form, mapping_text, spelled
from mmopt.errors import OptionError, WorkloadError
from mmopt.request import parse_request

NAMES = ["age", "a: b", "true", "null", "0", " x ", 'q"uote', "é", "\xa0\ufeff", "\u202ex\u200b", "#", "🙂"]


def draft(*attributes: tuple[str, str], **more: object) -> Draft:
    return Draft("people.csv", tuple((name, form, "a comment") for name, form in attributes), **more)  # type: ignore[arg-type]


def test_names_and_values_are_read_back() -> None:
    text = draft(*((name, "{values: [a, b]}") for name in NAMES)).text()
    assert parse_request(text).workload.domain.names == tuple(NAMES)
    values = [name for name in NAMES if name != "0"] + [3, 2.5, False]
    form = mapping_text({"values": values})
    check_form("x", form)
    known = parse_request(draft(("x", form)).text()).workload.domain.attributes[0]
    assert known.encoding.members == tuple((value,) for value in values)


def test_an_open_place_is_refused_where_it_stands(subtests: pytest.Subtests) -> None:
    for kind in ("values", "numbers", "dates", "instants", "unknown"):
        with subtests.test(kind):
            text = draft(("sex", "{values: [F, M]}"), ("age", FORMS_BY_KIND[kind][0])).text()
            with pytest.raises(WorkloadError) as caught:
                parse_request(text, "w.yaml")
            error = caught.value
            line = text.splitlines()[error.where.line - 1]
            assert line.startswith("  age: ") and line.endswith("  # a comment")
            assert line[error.where.column - 1 :].startswith("FILL-IN")
            assert error.message == "'FILL-IN' is still to be filled in, in 1 line"
            assert error.hint == (
                "'mmopt init' left it open: write what the comment next to it describes, in\n"
                f"    line {error.where.line}: {line.partition(' #')[0].strip()}"
            )


def test_every_open_line_is_named_and_a_quoted_word_is_a_value() -> None:
    forms = [FORMS_BY_KIND[kind][0] for kind in ("values", "truth", "numbers")]
    text = draft(*zip("abc", forms, strict=True)).text()
    with pytest.raises(WorkloadError) as caught:
        parse_request(text)
    first = caught.value.where.line
    assert caught.value.message == "'FILL-IN' is still to be filled in, in 2 lines"
    assert caught.value.hint.splitlines()[1:] == [
        f"    line {first}: a: {{values: FILL-IN}}",
        f"    line {first + 2}: c: {{range: FILL-IN, width: FILL-IN}}",
    ]
    assert parse_request(draft(("a", '{values: ["FILL-IN"]}')).text()).workload.n == 1


def test_a_width_that_is_left_open_is_named() -> None:
    text = draft(("age", FORMS_BY_KIND["numbers"][0])).text().replace("range: FILL-IN", "range: [0, 100]")
    with pytest.raises(WorkloadError, match="'FILL-IN' is still to be filled in, in 1 line"):
        parse_request(text)


def test_what_is_open() -> None:
    both = draft(("sex", FORMS_BY_KIND["truth"][0]), ("age", FORMS_BY_KIND["numbers"][0]))
    assert both.open_names == ["age"] and draft(("sex", FORMS_BY_KIND["truth"][0])).open_names == []


def test_options_of_the_table_are_kept() -> None:
    table = parse_request(draft(("a", "{values: [1]}"), table="a b").text()).table
    assert table.table == "a b"


def test_usual_words_are_listed_where_a_column_may_hold_texts() -> None:
    attribute = ("a", "{values: [x]}")
    for more, null in (
        ({}, ()),
        ({"has_texts": True}, USUAL_WORDS),
        ({"has_texts": True, "table": "t"}, USUAL_WORDS),
    ):
        options = parse_request(draft(attribute, **more).text()).table
        assert (options.null, options.table) == (null, more.get("table"))


def test_a_whole_draft_is_checked() -> None:
    with pytest.raises(WorkloadError, match="has a value labelled 'total'"):
        draft(("sex", "{values: [total]}")).text()
    with pytest.raises(OptionError) as caught:
        check_form("sex", "{values: [F,\n M]}")
    assert str(caught.value) == "the form of 'sex' has several lines, expected one"


def test_spelled() -> None:
    assert spelled("\u202eb\u200b") == '"\\u202eb\\u200b"'
    assert [spelled(value) for value in ("ab_1", "01", True, 3, 0.5, "null")] == [
        *("ab_1", '"01"', "true", "3", "0.5", '"null"')
    ]
