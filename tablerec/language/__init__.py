"""Language models on the plugin's device: PaddleFormers' models, tuned on little memory, and decoding.

- ``standins``: imports PaddleFormers' models without the packages that they ask for and PyPI does not have.
- ``models``: small decoders with random weights, and batches for them.
- ``training``: training, LoRA, DPO and greedy decoding by PaddleFormers' code, on any device as on the CPU.
- ``bench``, ``sample``: what ``tablerec device bench`` and ``tablerec device coverage`` run.
- ``loss``: cross entropy over very many classes, by parts of the tokens.
- ``method``: how a decoder is tuned on little memory, prepared in one call.
- ``memory``: what that takes, predicted from ``config.json``; ``measure``: what it takes, by Paddle's count.
- ``choose``: the method that fits into the memory there is.
- ``experts``: mixtures of experts that wait for the host once a layer.
- ``expert_operators``: what ERNIE's mixtures of experts need on the CPU.
- ``decoding``: prompts in, tokens out, with a static cache and a captured graph.
- ``reader``: a table reader that writes tokens, a small vision-language model.
"""
