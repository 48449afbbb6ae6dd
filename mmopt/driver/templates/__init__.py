"""Strategies for unions of products over many attributes, kept in factors: nothing dense over the cells.

``product`` searches one product of strategies (OPT⊗ of HDMM), ``union`` several side by side (OPT₊),
``marginal_strategy`` weights of marginals (OPT_M); ``templates`` tries all and bounds them. ``norm=1`` is for
Laplace noise, where an attribute's strategy in a product is a p-identity; ``norm=2`` for Gaussian noise,
where it is any.
"""

from mmopt.driver.templates.every_template import TEMPLATES, Candidate, Templates, template_bound, templates
from mmopt.driver.templates.marginals_search import marginal_strategy
from mmopt.driver.templates.product_bound import multipliers_of, product_bound
from mmopt.driver.templates.product_search import product
from mmopt.driver.templates.terms import Terms
from mmopt.driver.templates.tuning import tune_templates
from mmopt.driver.templates.union_search import union

__all__ = [
    "TEMPLATES",
    "Candidate",
    "Templates",
    "Terms",
    "marginal_strategy",
    "multipliers_of",
    "product",
    "product_bound",
    "template_bound",
    "templates",
    "tune_templates",
    "union",
]
