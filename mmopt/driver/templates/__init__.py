"""Strategies for unions of products over many attributes, kept in factors: nothing dense over the cells.

``norm=1`` is for Laplace noise, where an attribute's strategy in a product is a p-identity; ``norm=2`` for
Gaussian noise, where it is any.

- ``every_template.py``: ``templates``: all of them tried, the best first, and a bound
- ``product_search.py``: one product of strategies (OPT⊗ of HDMM)
- ``union_search.py``: several side by side (OPT₊)
- ``marginals_search.py``: weights of marginals (OPT_M)
- ``sectorwise_search.py``: sets of attributes one by one
- ``attribute_strategy.py``: one attribute's strategy in a product
- ``product_bound.py``: a lower bound on total error of all strategies
- ``union_terms.py``: a union of products as numbers
- ``template_tuning.py``: a sub-workload whose weight grows, by products of strategies
"""

from mmopt.driver.templates.every_template import (
    TEMPLATES,
    Candidate,
    Templates,
    form_of,
    template_bound,
    templates,
)
from mmopt.driver.templates.marginals_search import MOST_ATTRIBUTES, marginal_strategy
from mmopt.driver.templates.product_bound import multipliers_of, product_bound
from mmopt.driver.templates.product_search import product
from mmopt.driver.templates.sectorwise_search import sectorwise
from mmopt.driver.templates.template_tuning import tune_templates
from mmopt.driver.templates.union_search import union
from mmopt.driver.templates.union_terms import Terms

__all__ = [
    "MOST_ATTRIBUTES",
    "TEMPLATES",
    "Candidate",
    "Templates",
    "Terms",
    "form_of",
    "marginal_strategy",
    "multipliers_of",
    "product",
    "product_bound",
    "sectorwise",
    "template_bound",
    "templates",
    "tune_templates",
    "union",
]
