"""Language models on the plugin's device: PaddleFormers' models, tuned on little memory, and decoding.

::

    method.py   how a decoder is tuned on little memory, in one call
    memory.py   what that takes, predicted from config.json
    choose.py   the method that fits into the memory there is
    measure.py  what steps take, by Paddle's count
"""
