"""Language models on the plugin's device: PaddleFormers' models, tuned on little memory, and decoding.

- ``standins``: PaddleFormers' models without the packages that it imports and PyPI does not have.
- ``models``: small decoders with random weights, and batches for them.
- ``training``: training and greedy decoding of them, by PaddleFormers' own code.
- ``sample``, ``bench``: what ``tablerec device coverage`` and ``tablerec device bench`` run.
- ``loss``: cross entropy over very many classes, by parts of the tokens.
- ``experts``: mixtures of experts that wait for the host once a layer.
- ``method``: one call that prepares a decoder for tuning on little memory.
- ``decoding``: prompts in, tokens out, with a static cache and a captured graph.
- ``reader``: a table reader that writes tokens, a small vision-language model.
"""
