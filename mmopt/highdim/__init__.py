"""Strategies in factors for workloads of products: no matrix over the cells is ever formed."""

from mmopt.highdim.search import TEMPLATES, Candidate, Templates, templates
from mmopt.highdim.tuning import tune_templates

__all__ = ["TEMPLATES", "Candidate", "Templates", "templates", "tune_templates"]
