"""Writing tokens with PaddleFormers' decoders, at the speed of the device's memory rather than of Python.

- ``sampling``: how the next token is chosen from the logits.
- ``cache``: keys and values in tensors of fixed length, and the attention that PaddleFormers' layers get over them.
- ``rotary``: the angles of all positions, and the fused turning where the device has it.
- ``decoder``: prompts in, tokens out; a step for one token can be captured as a graph.

Prompts are prefilled in chunks, then every step writes one token for each row. All that changes from step to step (the
tokens, the rows' lengths, what is written, the random numbers' place) lies on the device, so that a step asks the host
for nothing and can be repeated as a graph; the host looks after every few tokens.
"""

from tablerec.language.decoding.decoder import Decoder
from tablerec.language.decoding.sampling import Sampling

__all__ = ["Decoder", "Sampling"]
