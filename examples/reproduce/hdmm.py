"""Slides on the matrix mechanism and HDMM: strategies, a census workload, templates, looking at the data."""

from __future__ import annotations

import hdmm_adaptive
import hdmm_mechanism
import hdmm_results
import hdmm_templates
import hdmm_workloads
from item import Source

__all__ = ["SOURCE"]

SOURCE = Source(
    "hdmm",
    "Slides on the matrix mechanism and HDMM",
    (
        *hdmm_mechanism.ITEMS,
        *hdmm_workloads.ITEMS,
        *hdmm_templates.ITEMS,
        *hdmm_results.ITEMS,
        *hdmm_adaptive.ITEMS,
    ),
)
