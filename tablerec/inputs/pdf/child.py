"""The child process: opens one document at a time and draws its pages, within limits that it sets itself."""

from __future__ import annotations

import os
import sys
from typing import Any, BinaryIO

from tablerec.inputs.pdf.channel import receive, send
from tablerec.inputs.pdf.drawing import draw_page

GIB = 1 << 30


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer requests until the other side is gone.

    ``{"open": path or null, "password": text or null, "memory": bytes}``, with the content as an array where there is
    no path, is answered by ``{"n_pages": n}``; ``{"size": index}`` by ``{"size_wh": points}``; ``{"draw": index,
    "scale": pixels per point}`` by the arrays of ``Drawn``; ``{"close": true}`` by nothing. What fails is answered by
    ``{"error": kind, "reason": text}``, with kinds ``password``, ``broken``, ``memory``.
    """
    document: Any = None
    while True:
        try:
            request, arrays = receive(requests)
        except EOFError:
            return
        if document is not None and ("open" in request or "close" in request):
            document.close()
            document = None
        try:
            if "open" in request:
                document = _open(request, arrays)
            send(answers, *_answer(document, request))
        except MemoryError:
            send(answers, {"error": "memory", "reason": "out of memory"})
        except (RuntimeError, ValueError, OverflowError, OSError) as error:
            send(answers, {"error": _kind_of(error), "reason": str(error)})


def _answer(document: Any, request: dict[str, Any]) -> tuple[dict[str, Any], list[Any]]:
    if "open" in request:
        return {"n_pages": len(document)}, []
    if "size" in request:
        return {"size_wh": [*map(float, document.get_page_size(request["size"]))]}, []
    if "draw" in request:
        drawn = draw_page(document, request["draw"], request["scale"])
        return {}, [drawn.image, drawn.glyphs, drawn.areas, drawn.rest]
    return {}, []


def _kind_of(error: Exception) -> str:
    import pypdfium2

    # PdfiumError is a RuntimeError.
    return "password" if getattr(error, "err_code", None) == pypdfium2.raw.FPDF_ERR_PASSWORD else "broken"


def _open(request: dict[str, Any], arrays: list[Any]) -> Any:
    import pypdfium2

    _limit_memory(int(request["memory"]))
    source = request["open"] if request["open"] is not None else arrays[0].tobytes()
    try:
        document = pypdfium2.PdfDocument(source)
    except pypdfium2.PdfiumError as error:
        if not request["password"] or error.err_code != pypdfium2.raw.FPDF_ERR_PASSWORD:
            raise
        # Second, as a document that opens without one takes no other.
        document = pypdfium2.PdfDocument(source, password=request["password"])
    document.init_forms()
    return document


def _limit_memory(n_bytes: int) -> None:
    try:
        import resource
    except ImportError:  # not on Windows
        return
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (n_bytes if hard == resource.RLIM_INFINITY else min(n_bytes, hard), hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def main() -> None:
    """Serve over standard input and output; whatever else is printed goes to standard error."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that asks, which then closes the pipe
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    serve(sys.stdin.buffer, answers)
