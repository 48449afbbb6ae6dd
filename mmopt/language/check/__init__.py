"""What is known of a program before any number is: names, dimensions, shapes, curvature, classes."""
