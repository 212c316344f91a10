"""What happens to a drawn page until it is a picture; the truth moves with it.

::

    framing.py   which part of the page the picture shows
    effects.py   scanned, faxed, photographed, saved small: which changes go together
    optics.py    blur, noise, JPEG, shadows: everything stays in its place
    warp.py      resampling, tilt, perspective, bent paper: the quads move too
"""
