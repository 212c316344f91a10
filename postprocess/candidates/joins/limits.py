"""What counts as ruled, as near, as level and as in the middle, wherever borders are asked about."""

RULED, FREE = 0.6, 0.3
"""Share of a border from which it is ruled, and below which it is not."""
MOST = 0.75
"""Share of the columns along which a ruling goes through the table."""
HALF = 0.5
"""Share of the columns along which a ruling goes on where others have no border."""
CLOSER = 0.3
"""How much closer the lines of one text are than those of two rows, in text heights."""
LEVEL = 0.25
"""Texts whose middles are off by less than this, in text heights, stand beside each other."""
LEAST_ROWS = 3
"""Rows whose texts do not lie beside those of other cells by chance."""
CENTRED = 0.5
"""A text stands in the middle when it is off by less than this, in text heights."""
BESIDE = 0.1
"""How far from a word a border is put that was drawn a little beside its place, in text heights."""
