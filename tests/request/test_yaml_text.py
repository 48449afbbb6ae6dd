from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mmopt.errors import WorkloadError
from mmopt.request import load_request, parse_request
from mmopt.request.yaml_text import MAX_BYTES, YamlText

GOOD = "domain: {sex: {values: [F, M]}}\nworkload: [{marginal: [sex]}]\n"


def refusal(path: Path) -> str:
    with pytest.raises(WorkloadError) as caught:
        load_request(path)
    return str(caught.value).replace(str(path.parent), "DIR")


def test_missing_file(tmp_path: Path) -> None:
    (tmp_path / "workload.yaml").write_text(GOOD)
    assert refusal(tmp_path / "worklaod.yaml") == (
        "there is no workload file 'DIR/worklaod.yaml'\n  did you mean 'workload.yaml'?"
    )


def test_missing_folder(tmp_path: Path) -> None:
    assert refusal(tmp_path / "no" / "w.yaml") == "there is no workload file 'DIR/w.yaml'"


def test_folder(tmp_path: Path) -> None:
    path = tmp_path / "w.yaml"
    path.mkdir()
    assert refusal(path) == "'DIR/w.yaml' is a folder, expected a workload file (YAML)"


def test_path_with_a_null_character(tmp_path: Path) -> None:
    assert refusal(tmp_path / "a\0b").startswith("the workload file 'DIR/a\0b' cannot be read: ")


def test_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "w.yaml"
    path.write_bytes(GOOD.encode() + "# Zürich ".encode() + b"Gen\xe8ve\n")
    assert refusal(path) == (
        "DIR/w.yaml:3:13: byte 0xE8 is not valid UTF-8\n"
        "    # Zürich Gen�ve\n"
        "                ^\n"
        "  save the file as UTF-8 (it may be in Latin-1 or UTF-16 now)"
    )


def test_a_saved_result(tmp_path: Path) -> None:
    path = tmp_path / "w.npz"
    np.savez(path, a=1)
    assert refusal(path) == (
        "'DIR/w.npz' is an archive, such as a saved result, expected a workload file (YAML)\n"
        "  'mmopt verify RESULT WORKLOAD' takes the result first"
    )


def test_utf16(tmp_path: Path) -> None:
    path = tmp_path / "w.yaml"
    path.write_bytes(GOOD.encode("utf-16"))
    assert "DIR/w.yaml:1:1: byte 0xFF is not valid UTF-8" in refusal(path)


def test_too_long(tmp_path: Path) -> None:
    path = tmp_path / "w.yaml"
    path.write_bytes(GOOD.encode() + b"#" * MAX_BYTES)
    assert refusal(path) == (
        "the workload file 'DIR/w.yaml' is longer than 2 MiB\n"
        "  a workload file declares the domain and the queries; the data go into a table"
    )
    with pytest.raises(WorkloadError, match=r"'<text>' is longer than 2 MiB"):
        parse_request("#" * (MAX_BYTES + 1))


@pytest.mark.parametrize("character", ["\x00", "\x01", "\x1b", "\x7f", "\ufffe", "\ud800"])
def test_character_outside_yaml(character: str) -> None:
    with pytest.raises(WorkloadError) as caught:
        parse_request(f"domain:\n  a{character}b: 1", "w.yaml")
    assert str(caught.value) == (
        f"w.yaml:2:4: the character U+{ord(character):04X} is not allowed in a workload file\n"
        "      a\ufffdb: 1\n"
        "       ^\n"
        "  remove it, or write it as an escape inside double quotes"
    )


@pytest.mark.parametrize("text", ["domain:\n\tsex: {values: [F]}", "domain:\n  sex:\n\t- F"])
def test_tab(text: str) -> None:
    with pytest.raises(WorkloadError) as caught:
        parse_request(text, "w.yaml")
    line = 1 + text[: text.index("\t")].count("\n")
    assert str(caught.value).startswith(f"w.yaml:{line}:1: not valid YAML: a tab character\n")
    assert str(caught.value).endswith("\n    ^\n  indent with spaces")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_breaks_and_byte_order_mark(end: str, tmp_path: Path) -> None:
    path = tmp_path / "w.yaml"
    path.write_bytes(("\ufeff" + GOOD.replace("\n", end)).encode())
    assert load_request(path).workload.shape == (2, 2)
    path.write_bytes(("\ufeff# comment" + end + GOOD.replace("sex]", "sxe]").replace("\n", end)).encode())
    assert refusal(path).startswith("DIR/w.yaml:3:24: the domain has no attribute 'sxe'\n")


def test_place_after_the_last_line() -> None:
    text = YamlText.of("a: 1\nb: 2  \n\n", "w.yaml")
    where = text.at(3, 0)
    assert (where.line, where.column, where.text) == (2, 5, "b: 2  ")
