"""A program whose problem needs one kind of cone: the smallest of a sum of f(x) over x >= c."""

from mmopt import Program

TEXT = """program separate
class convex
given
    W: matrix[m, n] = workload.matrix
let
    c = sum(W, axis=0)
choose
    x: vector[n] >= 0
{objective}
subject to
    least: x >= c{more}
repair
    x = {repair}
strategy
    eye(n) norm 2
certificate d: vector[n] >= 0 from dual(least)
    {certificate}
"""
# By f: inf f(x) - d x + d c, and the kind of cone that f needs.
CERTIFICATES = {
    "x": "(c @ d) / max(d)",
    "x**2": "c @ d - sum(d**2) / 4",
    "exp(x / 3)": "sum(3 * d - 3 * d * log(3 * d)) + c @ d",
    "x**2.7": "c @ d - 1.7 * sum((d / 2.7)**(2.7 / 1.7))",
}
NEEDS = dict(zip(("nonnegative", "second-order", "exponential", "power"), CERTIFICATES, strict=True))


def separate(
    f: str, plus: float = 0.0, maximize: bool = False, more: str = "", repair: str = "x / min(x / c)"
) -> Program:
    """``more`` is a line beside; a constant is added, and to maximize is to minimize the opposite."""
    sense, sign = ("maximize", "0 - ") if maximize else ("minimize", "")
    return Program.parse(
        TEXT.format(
            objective=f"{sense}\n    {sign}sum({f}) + {plus}",
            certificate=f"{sign}({CERTIFICATES[f]}) + {plus}",
            more=f"\n    {more}" * bool(more),
            repair=repair,
        )
    )
