"""Inputs of the golden record's cases: workload files, programs, tables, each by its file name."""

from record.harness import ROOT

DOMAIN = "domain: {sex: {values: [F, M]}, age: {bins: [0, 18, 65, 115]}}\n"
TOTAL = """workload:
  - {name: by sex, marginal: [sex]}
  - {name: up to an age, product: {age: prefix}, weight: 2.0}
"""
SHIPPED = (ROOT / "programs" / "l2_strategy.program").read_text(encoding="utf-8")
TEN = "domain: {age: {range: [0, 10], width: 1}}\nworkload:\n  - {product: {age: all_range}}\n"
BOTH = "privacy: {epsilon: 1.0, delta: 1.0e-6}\n"


def edited(name: str, old: str, new: str) -> str:
    """The shipped program of least total error under another name, with a piece replaced."""
    assert old in SHIPPED
    return SHIPPED.replace("program l2_strategy", f"program {name}").replace(old, new)


INPUTS = {
    "total.yaml": DOMAIN + TOTAL + BOTH,
    "pure.yaml": DOMAIN + TOTAL + "privacy: {epsilon: 1.0}\n",
    "rho.yaml": DOMAIN + TOTAL + "privacy: {rho: 0.5}\n",
    "targets.yaml": DOMAIN
    + """workload:
  - {name: by sex, marginal: [sex], max_variance: 100.0}
  - {name: cells, marginal: [sex, age], max_variance: 200.0}
privacy: {epsilon: 2.0, delta: 1.0e-6}
""",
    "wishes.yaml": DOMAIN
    + """workload:
  - {name: by sex, marginal: [sex], within: 10}
  - {name: cells, marginal: [sex, age], within: 20.5, confidence: 0.9, max_variance: 100}
  - {name: up to an age, product: {age: prefix}, max_variance: 30}
"""
    + BOTH,
    "parts.yaml": DOMAIN
    + """workload:
  - {marginal: [sex], subworkload: sexes}
  - {product: {age: prefix}, subworkload: ages}
"""
    + BOTH,
    "ten.yaml": TEN + BOTH,
    "ten-pure.yaml": TEN + "privacy: {epsilon: 1.0}\n",
    "scalars.yaml": """domain:
  sex: {values: [F, M]}
  age: {range: [0, 100], width: 10}
  place: {range: [0, 300], width: 1}
workload:
  - marginals: {ways: [0, 1, 2]}
privacy: {rho: 0.5}
""",
    "split.yaml": """domain:
  age: {bins: [0, 18, 65, 115]}
  place: {range: [0, 2000], width: 1}
workload:
  - product: {age: prefix, place: identity}
  - product: {age: all_range}
privacy: {epsilon: 1.0, delta: 1.0e-6}
""",
    "people.csv": "sex,age\n" + "F,30\n" * 500 + "M,12\n" * 300 + "M,70\n" * 7,
    "places.csv": "sex,age,place\n" + "F,30,7\n" * 50 + "M,12,299\n" * 30,
    "odd.csv": "sex,age\nF,30\nX,12\n",
    "identity.csv": "1,0,0,0,0,0\n0,1,0,0,0,0\n0,0,1,0,0,0\n0,0,0,1,0,0\n0,0,0,0,1,0\n0,0,0,0,0,1\n",
    "bad-key.yaml": DOMAIN + "workload:\n  - {marginl: [sex]}\n",
    "bad-name.yaml": DOMAIN + "workload:\n  - {marginal: [sx]}\n",
    "bad-bins.yaml": "domain: {age: {bins: [0, 18, 5]}}\nworkload:\n  - {marginal: [age]}\n",
    "bad-privacy.yaml": DOMAIN + TOTAL + "privacy: {epsilon: -1.0}\n",
    "bad-delta.yaml": DOMAIN + TOTAL + "privacy: {epsilon: 1.0, delta: 2.0}\n",
    "bad-syntax.yaml": "domain: {sex: [F, M}\n",
    "huge.yaml": "domain: {a: {range: [0, 3000], width: 1}, b: {range: [0, 3000], width: 1}}\n"
    "workload:\n  - {product: {a: prefix, b: prefix}}\n",
    "concave.program": edited("concave", "diag(X) <= 1", "diag(X) >= inv(X)[0, 0]"),
    "curved.program": edited(
        "curved", "    trace(W @ inv(X) @ W.T)\n\nsub", "    -trace(W @ inv(X) @ W.T)\n\nsub"
    ),
    "shape.program": edited("shape", "trace(W @ inv(X) @ W.T)", "trace(W.T @ inv(X) @ W)"),
    "word.program": edited("word", "nuclear(W @", "nuklear(W @"),
    "empty.program": edited("empty", "diag(X) <= 1\n", "diag(X) <= 1\n    high: diag(X) >= 2\n"),
    "twice.program": edited(
        "twice",
        "diag(X) <= 1\n",
        "diag(X) <= 1\n    high: diag(X) >= 2\n    low: trace(X) <= 1\n    more: trace(X) >= 2\n",
    ),
    "dims.program": edited("dims", "vector[n] >= 0 from", "vector[k] >= 0 from"),
    "weak.program": edited("weak", "nuclear(W @ diag(sqrt(d)))**2", "2 * nuclear(W @ diag(sqrt(d)))**2"),
}
