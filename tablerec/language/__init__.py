"""Language models on the plugin's device: PaddleFormers' models, tuned on little memory, and decoding.

::

    reader/     a table reader that writes tokens: a small vision-language model
"""
