"""The speed of a device.

- ``networks``: CellNet and RT-DETR-L, whole and reduced, with a loss that needs no labels.
- ``workloads``: their operators, as calls with shapes; ``language``: those of language models.
- ``operators``: measures these against the floor that memory and products set.
- ``runs``: measures a network in training or inference, eager, static, by ``paddle.inference`` or captured.

``workloads`` yields calls, ``operators`` times them by type; ``networks`` makes a network, ``runs`` times its steps.
"""
