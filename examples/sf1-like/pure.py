"""The census workload under pure differential privacy: Laplace noise on strategies by attribute.

    python examples/sf1-like/pure.py

Prints what each kind of strategy comes to (rmse: error per query at noise of unit variance), and for the best
one the error of each of the 33 products. Nothing over the 500,480 cells is formed.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mmopt import Workload
from mmopt.highdim import best


def main() -> None:
    workload = Workload.load(Path(__file__).with_name("workload.yaml"))
    found = best(workload)
    print(found)
    print(f"\n{found.strategy}, sensitivity {found.strategy.sensitivity:.6g}\n\nproduct  queries  rmse")
    errors = found.strategy.errors(workload)
    for number, (product, error) in enumerate(zip(workload.products or (), errors, strict=True), 1):
        print(f"{number:7}  {product.m:7}  {np.sqrt(error / product.m):.4f}")


if __name__ == "__main__":
    main()
