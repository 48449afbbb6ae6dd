"""The sf1-like example under pure differential privacy: the script runs, and its figures add up."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

FILE = Path(__file__).parents[2] / "examples" / "sf1-like" / "pure.py"


def test_the_script() -> None:
    done = subprocess.run([sys.executable, FILE], capture_output=True, text=True, check=True)
    table, _, products = done.stdout.partition("\nproduct  queries  rmse\n")
    best = next(line for line in table.splitlines() if line.startswith("* "))
    rmse = float(best.split()[3])
    assert best.startswith("* union ") and rmse < 4.56
    rows = [line.split() for line in products.splitlines()]
    assert len(rows) == 33 and sum(int(row[1]) for row in rows) == 4151
    total = sum(int(row[1]) * float(row[2]) ** 2 for row in rows)
    assert math.isclose(math.sqrt(total / 4151), rmse, rel_tol=1e-3)
