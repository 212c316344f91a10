"""Formats: weights and graphs as other programs hold them.

- ``pickles``: arrays out of Paddle's and PyTorch's files, without running them
- ``mapping``: weights moved between networks that name, join or turn them differently
- ``onnx_graph``: a Paddle layer as an ONNX model
- ``paddlex_graph``: CellNet with the inputs and outputs of PaddleX's detectors
"""
