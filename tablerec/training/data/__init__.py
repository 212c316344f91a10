"""Samples, from their source to batches on the device.

::

    sources.py     synthetic tables, folders of labelled pictures, functions: from an index to a picture and its quads
    line_pictures.py
                   pictures with lines of text as labels
    crops.py       labelled pictures cropped, scaled and degraded anew each time
    copy_paste.py  contents of cells that change places
    feed.py        samples of any kind, prepared by worker processes
    samples.py     pictures on a canvas of fixed size
    owners.py      the owner map, which CellNet's targets are made of
    batches.py     the buffer, and augmentation on the device

All but ``batches`` work on numpy arrays in the workers and import no Paddle.
"""
