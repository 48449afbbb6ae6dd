"""What came from elsewhere, judged: strategies and points are certified, saved solutions verified.

- ``certify.py``: ``mmopt.certify``: a strategy or point that came from anywhere, repaired and bounded
- ``given_point.py``: a point read, led back and refused
- ``given_multipliers.py``: a bound read off a program's lines at multipliers from anywhere
- ``verify.py``: ``mmopt.verify``: a saved solution against its program and workload
- ``recheck.py``: its figures recomputed, one by one
- ``recheck_factored.py``: those of a strategy in factors
- ``products.py``: a product verified and certified factor by factor
- ``repaired_strategy.py``: what a repair made of a strategy from elsewhere
- ``verified_components.py``: the values of a saved solution on the components of the workload
"""

from mmopt.proof.certify import certify, program_for
from mmopt.proof.verify import verify

__all__ = [
    "certify",
    "program_for",
    "verify",
]
