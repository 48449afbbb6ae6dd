"""How a program is specialised to a workload: bind, scale, shape, lower. It never solves."""

from mmopt.compiler.bind import Instance, bind
from mmopt.compiler.lower import Lowered, lower
from mmopt.compiler.scale import Scaling, scale
from mmopt.compiler.shape import Cone, cones, variables

__all__ = ["Cone", "Instance", "Lowered", "Scaling", "bind", "cones", "lower", "scale", "variables"]
