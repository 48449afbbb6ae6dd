"""What a point is worth: repair, feasibility, objective, bound, and the solution put together from them."""
