"""Language models on the plugin's device: PaddleFormers' models, tuned on little memory, and decoding.

- ``decoding``: prompts in, tokens out, with a static cache and a captured graph.
"""
