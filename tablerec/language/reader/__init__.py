"""A table reader that writes tokens: a small vision-language model, trained on drawn tables.

::

    vocabulary.py   tables as rows of tokens, and back
    grammar.py      which tokens may follow, so that each table is whole
    patches.py      pictures as patches
    data.py         drawn tables as examples, small ones first
    packing.py      examples of unlike sizes in batches of one size
    batches.py      batches for the training, packed by a thread
    config.py       sizes of the network, and what a training is told
    layers.py       norms, rotary positions, attention, gated layers
    encoder.py      patches to vectors
    decoder.py      vectors and tokens to the next token
    network.py      both, and the files of weights
    train.py        the training
    generate.py     pictures to tables, with a key-value cache
"""
