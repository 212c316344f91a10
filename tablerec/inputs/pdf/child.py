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
    no path, is answered by ``{"n_pages": n, "memory": bytes}``; ``{"size": index}`` by ``{"size_wh": points}``;
    ``{"draw": index, "scale": pixels per point}`` by the arrays of ``Drawn``. What fails is answered by
    ``{"error": kind, "reason": text}``, with kinds ``password``, ``broken``, ``memory``.
    """
    import pypdfium2

    document: Any = None
    while True:
        try:
            request, arrays = receive(requests)
        except EOFError:
            return
        try:
            if "open" in request:
                if document is not None:
                    document.close()
                document = _open(request, arrays)
                send(answers, {"n_pages": len(document)})
            elif "close" in request:
                if document is not None:
                    document.close()
                document = None
                send(answers, {})
            elif "size" in request:
                send(answers, {"size_wh": [*map(float, document.get_page_size(request["size"]))]})
            else:
                drawn = draw_page(document, request["draw"], request["scale"])
                send(answers, {}, [drawn.image, drawn.glyphs, drawn.areas, drawn.rest])
        except pypdfium2.PdfiumError as error:
            needs_password = getattr(error, "err_code", None) == pypdfium2.raw.FPDF_ERR_PASSWORD
            send(answers, {"error": "password" if needs_password else "broken", "reason": str(error)})
        except MemoryError:
            send(answers, {"error": "memory", "reason": "out of memory"})
        except (ValueError, OverflowError, OSError) as error:
            send(answers, {"error": "broken", "reason": str(error)})


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
