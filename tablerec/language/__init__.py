"""Language models on the plugin's device: PaddleFormers' models, tuned on little memory, and decoding.

- ``standins``: imports PaddleFormers' models without the packages that they ask for and PyPI does not have.
- ``models``: small decoders of seven families with random weights, and batches for them.
- ``training``: training, LoRA, DPO and greedy decoding by PaddleFormers' code, on any device as on the CPU.
- ``bench``: speed and launches of a small decoder, with fused operators and without.
- ``sample``: what ``tablerec device coverage NAME`` looks at.
"""
