"""Quads of cells -> rows, columns and spans.

- ``build``: quads -> grid: the stages below, one after the other
- ``neighbours``: which boxes meet and follow one another, and how far apart they usually are
- ``line_fit``: edges of one axis -> lines, by the shortest description
- ``edges``: lines of both axes -> spans without overlap
- ``layout``: a grid as lines and the cell of each slot, to be changed
- ``snapping``: edges of cells put on the lines that are drawn beside them
"""
