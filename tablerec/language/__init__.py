"""Language models on the plugin's device: PaddleFormers' models, tuned on little memory, and decoding."""
