"""Programs by name and by path, and files that cannot be read."""

import textwrap
from pathlib import Path

import pytest

from mmopt.errors import Error, OptionError, ProgramError
from mmopt.language import Program, check, program_names


def error(name: str | Path, kind: type[Error] = ProgramError) -> str:
    with pytest.raises(kind) as caught:
        Program.load(name)
    return str(caught.value)


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_shipped_program(subtests: pytest.Subtests) -> None:
    for name in program_names():
        with subtests.test(name):
            program = Program.load(name)
            assert program.name == name
            assert program.title and program.cite and program.about and program.proof
            assert program.certificate or program.bound


def test_by_path(tmp_path: Path) -> None:
    text = Program.load("l2_strategy").text
    Path("own.program").write_text(text, encoding="utf-8")
    Path("other.txt").write_bytes(text.replace("\n", "\r\n").encode("utf-8-sig"))
    read = Program.load("own.program")
    assert (
        read
        == Program.load("l2_strategy")
        == Program.load("./own.program")
        == Program.load(Path("other.txt"))
    )
    assert read.source.file == "own.program"
    assert Program.load("own.program") == read


def test_an_edited_file_is_read_anew(tmp_path: Path) -> None:
    """A parsed program is kept by its text, so that the same text is read once."""
    file, text = tmp_path / "mine.program", Program.load("l2_strategy").text
    file.write_text(text, encoding="utf-8")
    first = Program.load(file)
    assert Program.load(file) is first
    file.write_text(text.replace("minimize", "maximize"), encoding="utf-8")
    assert (first.sense, Program.load(file).sense) == ("minimize", "maximize")


def test_unknown_name() -> None:
    own = "(your own program is named by its path, ending in .program)"
    assert error("l2_stratgy", OptionError) == (
        f"there is no program 'l2_stratgy'\n  did you mean 'l2_strategy'? {own}"
    )
    names = ", ".join(program_names())
    assert error("zzz", OptionError) == f"there is no program 'zzz'\n  known: {names} {own}"
    assert error("no/such", OptionError) == f"there is no program file 'no/such'\n  known by name: {names}"
    assert (
        error("x.program", OptionError) == f"there is no program file 'x.program'\n  known by name: {names}"
    )


def test_a_large_file() -> None:
    Path("large.program").write_bytes(b"#" * 10_000_000)
    assert error("large.program") == (
        "large.program:1:1: a program file of 10000000 bytes; at most 200000 are read\n"
        "  a program file holds formulas; data are given with --given NAME=FILE"
    )


def test_not_utf8() -> None:
    Path("latin.program").write_bytes('program p\ntitle "Größe '.encode() + "Maß".encode("latin-1") + b'"\n')
    assert (
        error("latin.program") == "latin.program:2:16: the byte 0xdf is not UTF-8\n  save the file as UTF-8"
    )
    Path("wide.program").write_bytes("program p".encode("utf-16"))
    assert error("wide.program") == "wide.program:1:1: the byte 0xff is not UTF-8\n  save the file as UTF-8"


def test_errors_speak_of_the_file() -> None:
    Path("bad.program").write_text("program bad\nminimize\n    1 +\n", encoding="utf-8")
    assert error("./bad.program") == (
        "bad.program:3:7: nothing stands after '+'\n"
        "        1 +\n"
        "          ^\n"
        "  the operators are + - * / ** @ [ ] ( ) and .T"
    )


def test_every_public_name_is_there() -> None:
    names: dict[str, object] = {}
    exec("from mmopt.language import *", names)
    assert "Program" in names


def test_a_program_is_shown_by_its_name() -> None:
    text = "program least\nchoose\n    x: scalar\nminimize\n    x**2\n"
    assert str(Program.parse(text)) == repr(Program.parse(text)) == "Program(least: minimize x**2)"
    assert (
        repr(Program.parse(text.replace("choose", 'title "Least square"\nchoose')))
        == "Program(least: Least square)"
    )


def test_a_text_in_place_of_a_name() -> None:
    for text in ("program own", "\nprogram own\nchoose\n"):
        with pytest.raises(OptionError) as caught:
            Program.load(text)
        assert str(caught.value) == (
            "a name or a path is expected, and this is the text of a program\n"
            "  read it first: Program.parse(text)"
        )


def test_a_text_may_be_indented_as_a_whole() -> None:
    text = "program own\nchoose\n    x: vector[2]\nminimize\n    sum(x**2)\n"
    assert Program.parse(textwrap.indent(text, "        ")) == Program.parse(text)


def test_the_sign_that_a_factor_lacks_is_declared() -> None:
    text = "program own\ngiven\n    lam: scalar\nchoose\n    x: vector[2]\nminimize\n    lam * norm(x, 1)\n"
    with pytest.raises(ProgramError) as caught:
        check(Program.parse(text))
    assert caught.value.hint == (
        "declare its sign: lam: scalar >= 0; if it is negative, declare its absolute value, and write a minus"
    )
    check(Program.parse(text.replace("scalar", "scalar >= 0")))
