"""LineNet as the training loop sees it.

::

    sources.py     synthetic lines, recognition lists, cells of labelled tables: from an index to a picture and its text
    lists.py       PaddleOCR's recognition lists, as files of users hold them; cells.py lines out of labelled tables
    frames.py      lines in frames of one height, prepared by worker processes
    batches.py     the buffer, and augmentation on the device
    scores.py      how well lines are read
    linenet.py     the task: the network, its characters, its loss

Texts are in the order in which they are seen, from left to right.
"""
