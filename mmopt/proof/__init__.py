"""What came from elsewhere, judged: strategies are certified, saved solutions verified. No searches."""

from mmopt.proof.certify import certify, program_for
from mmopt.proof.verify import verify

__all__ = [
    "certify",
    "program_for",
    "verify",
]
