"""From a PyTorch definition to Paddle, with every step checked.

::

    conversion.py  convert, find_unknown, apply_edits   PaConvert, what it marked, what it missed, mending by hand
    weights.py     draw_weights, load_weights           names and layouts of parameters
    layers.py      record_layers, compare_layers        the first layer where two networks differ
    operators.py   record_calls, check_calls            every kind of call, in both frameworks
    reference.py   read_reference, write_reference      what PyTorch gave, for machines without it

Only ``operators.record_calls`` and the networks given to it need PyTorch.
"""
