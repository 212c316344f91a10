"""Devices: naming one, looking what it needs, and teaching Paddle one that it does not know, by a CustomDevice plugin.

- ``select``: a device's name in PaddleX's syntax, and the check that it can be used.
- ``cuda``: NVIDIA's cards through ONNX Runtime: what is installed, and what stands in the way.
- ``build``: compiles the plugin out of ``csrc``, for the simulated device (g++) or CUDA (nvcc).
- ``plugin``: loads the library before Paddle is imported; reads its counters and profile.
- ``attention``: makes Paddle's attention functions choose the device's flash attention.
- ``doctor``: lists devices and says what stands in the way of using one.
- ``trace``: the operators that a program asks for, and which of them a device lacks.
- ``parity``: each operator, and networks in training, compared with the CPU; ``cases`` holds the calls.
- ``graph``: a network captured as a graph of launches, which is then repeated.
- ``bench``: operators and whole networks, timed.
- ``exercise``: what the notebook on porting builds and runs.
- ``command``: the verbs of ``tablerec device``.

``build`` makes a library, ``plugin`` loads it, everything after that goes through Paddle. Only the plugin's
counters prove that a device computed something. ``PORTING.md`` is the guide to other cards, ``MEASURED.md``
the record of one.
"""

from tablerec.devices.select import AUTO, Device, parse_device, require_device, require_paddle, runtime_of

__all__ = ["AUTO", "Device", "parse_device", "require_device", "require_paddle", "runtime_of"]
