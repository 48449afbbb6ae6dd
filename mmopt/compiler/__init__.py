"""A program with a workload filled in: bound, reduced, scaled, lowered, matched to others. Never solves."""

from mmopt.compiler.bind import Instance, bind
from mmopt.compiler.lower import Lowered, lower
from mmopt.compiler.scale import Scaling, scale
from mmopt.compiler.to_cones import Cone, cones, variables

__all__ = ["Cone", "Instance", "Lowered", "Scaling", "bind", "cones", "lower", "scale", "variables"]
