"""Cases of the operators that language models ask for.

A module for each file of kernels: ``decoding``, ``transformer``.
"""
