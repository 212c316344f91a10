"""Cases of the operators that language models ask for, a module for each file of kernels.

``attention``, ``decoding``, ``einsum``, ``entropy``, ``experts``, ``linear``, ``quantized``, ``sampling``,
``transformer``; ``float8`` tries what is cast to numbers of one byte, and moved.
"""
