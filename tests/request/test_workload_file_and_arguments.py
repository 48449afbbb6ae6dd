"""The keys of a whole workload file: what they make, their defaults, and the limits of a domain."""

import hashlib
import re
from pathlib import Path

import pytest

import mmopt.request
from mmopt import TooLargeError, solve
from mmopt.privacy import Privacy
from mmopt.request import load_request, parse_request
from mmopt.strategies import ADD_REMOVE
from mmopt.workloads import Workload

ISSUE = """domain:
  sex:   {values: [Female, Male]}
  age:   {bins: [0, 18, 25, 35, 45, 55, 65, 115]}      # half-open [0, 18), [18, 25), …
  exper: {range: [0, 60], width: 5}
workload:
  - marginal: [sex, age]
  - name: experience by age
    product: {age: prefix, exper: all_range}           # attributes not named: total
    weight: 2.0
    max_variance: 50.0                                  # fitness target of each query here
privacy: {epsilon: 1.0, delta: 1.0e-6}
neighbours: add-remove
"""


def test_the_first_example(tmp_path: Path) -> None:
    path = tmp_path / "workload.yaml"
    path.write_text(ISSUE, encoding="utf-8")
    request = load_request(path)
    assert request.privacy == Privacy(epsilon=1.0, delta=1e-6)
    assert request.neighbours == ADD_REMOVE
    assert request.path == str(path)
    assert request.text_hash == hashlib.sha256(path.read_bytes()).hexdigest()
    assert request.text_hash == parse_request(ISSUE, str(path)).text_hash
    w = request.workload
    assert w.domain.names == ("sex", "age", "exper")
    assert w.shape == (14 + 7 * 78, 2 * 7 * 12)
    assert w.groups() == [("sex, age", slice(0, 14)), ("experience by age", slice(14, 560))]
    assert Workload.load(path) == w


def test_what_is_protected_and_how_much() -> None:
    text = "domain: {a: {values: [x]}}\nworkload: [{marginal: [a]}]\n"
    request = parse_request(text)
    assert (request.privacy, request.neighbours, request.path) == (None, None, "<text>")
    request = parse_request(f"{text}privacy: {{rho: 1}}\nneighbours: replace-one")
    assert request.privacy == Privacy(rho=1.0)
    assert str(request.neighbours) == "replace-one"


def test_normalised_rows() -> None:
    text = "domain: {a: {values: [x, y]}}\nworkload: [{marginal: [a]}, {product: {}, weight: 3}]\n"
    plain, request = parse_request(text), parse_request(f"{text}normalise: rows")
    assert request.workload.is_normalised and request.workload == plain.workload.normalised()
    assert request.workload.weights.tolist() == [1.0, 1.0, 1.5]


def test_reference_in_the_docstring_holds() -> None:
    """Every form that the reference lists is read, in one file made of its own lines."""
    doc = mmopt.request.__doc__
    assert doc is not None
    sections = re.findall(r"::\n\n((?:    .*\n)+)", doc)
    top, forms, options, entries, names, blocks = (
        [re.sub(r"\s+#.*", "", line.strip()) for line in section.splitlines()] for section in sections
    )
    keys = [line.split(":")[0] for line in top]
    first = ["domain", "workload", "predicates", "normalise", "privacy", "unit", "neighbours", "data"]
    assert keys == [*first, "known"]
    options = [line.replace("South", "drop") for line in options]
    domain = [form for form in forms if not form.startswith("age")]
    domain.append(forms[1].removesuffix("}") + ", " + ", ".join(options[:3]) + "}")
    domain.append("race: {values: [White, Black, Asian, 0]}")
    domain.append(
        "area: {categories: {North: [ME], South: [GA]}, " + options[3].replace("drop", "South") + "}"
    )
    lines = ["domain:", *(f"  {line}" for line in domain)]
    lines.append("predicates: {age: {five_years: [0-17]}}")
    lines += ["workload:"]
    lines += [f"  {entry.replace('block', 'identity')}" for entry in entries]
    lines += [f"  - product: {{{block}}}".replace("0-20, 30", "0-64") for block in blocks]
    lines += ["  - marginal: [sex]", *(f"    {line}" for line in names)]
    for others in (("neighbours", "known"), ("unit",)):  # either says what is protected; of persons no total
        said = [line for line in top[3:] if not line.startswith(others)]
        request = parse_request("\n".join([*lines, *said]))
        assert len(request.workload.groups()) >= len(entries) + len(blocks) + 1


def test_more_cells_than_64_bits_count() -> None:
    domain = ", ".join(f"a{i}: {{range: [0, 10], width: 1}}" for i in range(50))
    found = parse_request(f"domain: {{{domain}}}\nworkload: [{{marginals: {{ways: [0, 1]}}}}]\n").workload
    assert (found.n, found.m) == (10**50, 501)
    assert found.domain.cell(10**50 - 2) == ("9",) * 49 + ("8",)
    assert found.labels()[1] == "a0 in 0" and len(found.hash) == 64
    assert solve(found, "l2_strategy").status.stop == "gap reached"
    domain = ", ".join(f"a{i}: {{range: [0, 10], width: 1}}" for i in range(301))
    with pytest.raises(TooLargeError, match=r"w.yaml:1:9: the domain has more than 10\^300 cells"):
        parse_request(f"domain: {{{domain}}}\nworkload: [{{marginals: {{ways: 0}}}}]\n", "w.yaml")
