"""How weights are trained.

::

    trainable.py  which parameters change, and the plain network that comes of it
    lora.py       changes of low rank
    frozen.py     frozen weights in fewer bits
    quantized.py  frozen linear layers of 8 and 4 bits, multiplied as they are
    optimizer.py  AdamW, and AdamW with a state of 8 bits
    paged.py      the optimizer's state on the host between steps
    precision.py  bfloat16 and float16
    ema.py        averaged weights, and statistics of their batch normalizations
"""
