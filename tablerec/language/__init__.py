"""Language models on the plugin's device: PaddleFormers' models, tuning them on little memory, decoding, a table reader."""
