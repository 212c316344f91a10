"""Training of our networks: one loop, for any source of samples.

::

    owners.py        which cell lies at each position, drawn once for each sample
    cellnet_loss.py  what CellNet should answer, and how far it is off
"""
