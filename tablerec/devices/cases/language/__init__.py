"""Cases of the operators that language models ask for, a module for each file of kernels: ``transformer``,
``quantized``."""
