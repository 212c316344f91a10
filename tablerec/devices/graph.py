"""A network captured as a graph of launches, which a card then repeats without the host's work for each."""

from __future__ import annotations

import ctypes
import gc
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from tablerec.devices.plugin import Plugin
from tablerec.errors import SettingsError, TablerecError


class CaptureError(TablerecError):
    """A network does what a captured graph cannot repeat."""


class CapturedNetwork:
    """A network for inputs of one shape, whose launches are recorded once and then repeated all at once.

    What the network decides in Python is decided in the capture, and never again. It must not copy
    between host and device, nor wait for the device. Its parameters are read where they lie:
    values may be set, tensors not replaced. What the network itself keeps of a call (a cache) must
    live as long as this object. Nothing else may use the device during the capture.

    The graph's memory is its own: while the network is captured, Paddle's pool takes back the blocks
    of what is no longer needed, and would give them to others. So all that is free in the pool
    afterwards is held: whole chunks by the plugin, blocks of chunks in use by tensors of this object.

    Args:
        plugin: The device's plugin; the device must be Paddle's current one.
        call: The network: tensors -> a tensor, or tensors in tuples, lists and dictionaries.
        example_inputs: Tensors or arrays of the shapes and types to come.
        warmup: Calls before the capture, in which libraries choose their algorithms.

    Raises:
        CaptureError: The network cannot be captured; the message says what it asked for.
        SettingsError: Paddle's current device is another.

    Examples:
        >>> captured = CapturedNetwork(plugin, network, [images])  # doctest: +SKIP
        >>> scores = captured(images)  # doctest: +SKIP
    """

    def __init__(
        self, plugin: Plugin, call: Callable[..., Any], example_inputs: Sequence[Any], warmup: int = 3
    ) -> None:
        import paddle

        if paddle.get_device().partition(":")[0] != plugin.device:
            raise SettingsError(
                f"the device is {paddle.get_device()}, not {plugin.device}: "
                f"call paddle.set_device({plugin.device!r}) first"
            )
        self._device, self._call = plugin.device, call
        self._library = _open(plugin)
        self._problem = lambda: plugin._text("graph_problem")
        with paddle.no_grad():
            self._inputs = [_own(paddle, given) for given in example_inputs]
            gc.collect()
            paddle.device.empty_cache()  # so that little has to be held
            for _ in range(max(warmup, 1)):
                call(*self._inputs)
            paddle.device.synchronize(paddle.get_device())
            self._outputs = self._capture()
            # Cycles made in the capture would give their blocks back later.
            gc.collect()
            try:
                self._held = _hold_free_blocks(paddle, plugin.counters()["bytes_in_use"])
            finally:
                self._handle = self._library.tablerec_device_graph_close()
        self._destroy = weakref.finalize(self, self._library.tablerec_device_graph_destroy, self._handle)

    def _capture(self) -> Any:
        failure: Exception | None = None
        outputs = None
        if not self._library.tablerec_device_graph_begin():
            raise CaptureError(f"the network cannot be captured on {self._device}: {self._problem()}")
        try:
            outputs = self._call(*self._inputs)
        except Exception as error:  # whatever stopped it, the capture has to be ended
            failure = error
        self.nodes = int(self._library.tablerec_device_graph_end(failure is not None))
        if self.nodes < 0:
            why = self._problem() or f"{type(failure).__name__}: {failure}"
            raise CaptureError(
                f"the network cannot be captured on {self._device}: {why}; take copies between host and device, waits "
                "and what depends on values (item, numpy, to_tensor, nonzero) out of it, or run it without a graph"
            ) from failure
        return outputs

    def __call__(self, *inputs: Any) -> Any:
        """Run the network.

        Args:
            inputs: Tensors on any device, or arrays, of the shapes and types of the examples.

        Returns:
            What the network gave in the capture, with new values: valid until the next call;
            ``clone`` keeps a tensor.

        Raises:
            SettingsError: An input is of another shape or type, or the object was closed.
        """
        import paddle

        if not self._destroy.alive:
            raise SettingsError("the captured network was closed: capture it again")
        if len(inputs) != len(self._inputs):
            raise SettingsError(f"{len(inputs)} inputs: the network was captured with {len(self._inputs)}")
        with paddle.no_grad():
            for own, given in zip(self._inputs, inputs, strict=True):
                tensor = given if isinstance(given, paddle.Tensor) else paddle.to_tensor(given, place=paddle.CPUPlace())
                if tensor.shape != own.shape or tensor.dtype != own.dtype:
                    raise SettingsError(
                        f"an input is {tensor.dtype} {list(tensor.shape)}: the network was captured for "
                        f"{own.dtype} {list(own.shape)}; capture it for this one too"
                    )
                own.copy_(tensor, False)
            done = self._library.tablerec_device_graph_replay(self._handle)
            if done < 0:
                raise CaptureError(f"the graph did not run on {self._device}: {self._problem()}")
            if done == 0:  # the simulated device: the network is called again
                found = paddle.utils.flatten(self._call(*self._inputs))
                for own, result in zip(paddle.utils.flatten(self._outputs), found, strict=True):
                    if isinstance(own, paddle.Tensor):
                        own.copy_(result, False)
        return self._outputs

    def close(self) -> None:
        """Give the graph and its memory back; the last outputs become invalid."""
        self._destroy()
        self._inputs, self._outputs, self._held = [], None, []


def _open(plugin: Plugin) -> ctypes.CDLL:
    library = ctypes.CDLL(str(plugin.path))
    library.tablerec_device_graph_begin.restype = ctypes.c_bool
    library.tablerec_device_graph_end.restype = ctypes.c_int64
    library.tablerec_device_graph_end.argtypes = (ctypes.c_bool,)
    library.tablerec_device_graph_close.restype = ctypes.c_void_p
    library.tablerec_device_graph_replay.argtypes = (ctypes.c_void_p,)
    library.tablerec_device_graph_destroy.argtypes = (ctypes.c_void_p,)
    library.tablerec_device_graph_destroy.restype = None
    return library


def _own(paddle: Any, given: Any) -> Any:
    """Copy an input to a tensor of the device's own."""
    tensor = given if isinstance(given, paddle.Tensor) else paddle.to_tensor(given, place=paddle.CPUPlace())
    own = paddle.zeros(tensor.shape, tensor.dtype)
    own.copy_(tensor, True)
    return own


def _hold_free_blocks(paddle: Any, most: int) -> list[Any]:
    """Take every free block of the pool, which gets no new chunk meanwhile: a refusal means that none is large enough.

    The first refusal makes Paddle give whole chunks back, and the plugin keeps them. The rest is
    taken by falling sizes: after one was refused, every free block is smaller; after one byte was,
    there is none. The steps are large, as Paddle takes a tenth of a second to refuse.
    """
    held = []
    size = 1 << max(most, 1).bit_length()
    while size:
        try:
            held.append(paddle.empty([size], "uint8"))
        except MemoryError:
            size = max(size // 16, 1) if size > 1 else 0
    return held
