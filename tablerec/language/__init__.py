"""Language models on the plugin's device: PaddleFormers' models, tuned on little memory, and decoding.

- ``decoding``: prompts in, tokens out, with a static cache and a captured graph.
- ``loss``: cross-entropy over many classes, by parts of the tokens.
- ``method``: one call that prepares a decoder for tuning on little memory.
- ``reader``: a table reader that writes tokens, a small vision-language model.
"""
