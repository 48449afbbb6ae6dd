"""Strategies for unions of products over many attributes, by parts: nothing over all cells is ever formed.

``product`` searches one product of strategies (OPT⊗ of HDMM), ``union`` groups of products with one each
(OPT₊), ``marginals`` weights of marginals (OPT_M); ``best`` tries all. With ``norm=1`` they are for Laplace
noise, and in a product each attribute's strategy is a p-identity; with ``norm=2`` for Gaussian noise, and it is
any.
"""

from mmopt.highdim.best import Choice, Tried, best
from mmopt.highdim.marginals import marginals
from mmopt.highdim.product import product
from mmopt.highdim.terms import Terms
from mmopt.highdim.union import union

__all__ = ["Choice", "Terms", "Tried", "best", "marginals", "product", "union"]
