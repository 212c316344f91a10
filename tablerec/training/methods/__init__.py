"""How weights are trained.

::

    trainable.py  which parameters change, and the plain network that comes of it
    lora.py       changes of low rank
    frozen.py     frozen weights in fewer bits
    optimizer.py  AdamW, and AdamW with a state of 8 bits
    precision.py  bfloat16 and float16
    ema.py        averaged weights, and statistics of their batch normalizations
"""
