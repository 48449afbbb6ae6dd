"""Strategies for unions of products over many attributes, by parts: nothing over all cells is ever formed.

``product`` searches one product of strategies (OPT⊗ of HDMM), ``union`` groups of products with one each
(OPT₊), ``marginals`` weights of marginals (OPT_M); ``best`` tries all. ``norm=1`` is for Laplace noise, where
an attribute's strategy in a product is a p-identity; ``norm=2`` for Gaussian noise, where it is any.
"""

from mmopt.highdim.best import Choice, Tried, best
from mmopt.highdim.marginals import marginals
from mmopt.highdim.product import product
from mmopt.highdim.terms import Terms
from mmopt.highdim.union import union

__all__ = ["Choice", "Terms", "Tried", "best", "marginals", "product", "union"]
