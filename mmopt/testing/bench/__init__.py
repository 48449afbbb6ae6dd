"""What solving costs: problems of growing size, each solve in a fresh process, beside a baseline.

``python -m mmopt.testing.bench``; the parts are :func:`~mmopt.testing.bench.measure.measure`,
:func:`~mmopt.testing.bench.fit.exponents` and :func:`~mmopt.testing.bench.files.write`.
"""

from mmopt.testing.bench.cases import Case, cases
from mmopt.testing.bench.files import write
from mmopt.testing.bench.fit import Exponent, exponents
from mmopt.testing.bench.measure import Row, measure

__all__ = ["Case", "Exponent", "Row", "cases", "exponents", "measure", "write"]
