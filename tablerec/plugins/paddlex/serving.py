"""The pipeline behind PaddleX's own server: the requests and answers of ``table_recognition_v2``.

Errors become JSON with a status that says whose fault it is, and no request can fill the memory.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from tablerec.errors import InputError, SettingsError, TablerecError

MOST_MEGABYTES = 128
"""Size of a request; ``max_request_megabytes`` under ``Serving: extra:`` in the pipeline's file is another."""
MOST_PIXELS = 100_000_000
"""Of a picture: more are not even decoded. The default of ``Settings.max_megapixels``."""

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


def create_pipeline_app(pipeline: Any, app_config: Any) -> Any:
    """Make the server's application; PaddleX calls this for ``paddlex --serve``.

    Args:
        pipeline: A ``TableRecognitionCellsPipeline``.
        app_config: PaddleX's settings of the server.

    Returns:
        A FastAPI application with ``POST /table-recognition`` and ``GET /health``.
    """
    # OpenCV reads it with the first picture.
    os.environ.setdefault("OPENCV_IO_MAX_IMAGE_PIXELS", str(MOST_PIXELS))
    from paddlex.inference.serving.basic_serving._pipeline_apps import table_recognition_v2

    app = table_recognition_v2.create_pipeline_app(pipeline, app_config)
    most = (app_config.extra or {}).get("max_request_megabytes", MOST_MEGABYTES)
    app.add_middleware(BodyLimit, most_megabytes=most)
    app.add_exception_handler(TablerecError, _answer_error)
    return app


class BodyLimit:
    """Refuses requests that are too large, before they are read.

    Args:
        app: The application.
        most_megabytes: Size of a request's body, in units of 1,000,000 bytes.
    """

    def __init__(self, app: Any, most_megabytes: float) -> None:
        self.app = app
        self.most = most_megabytes * 1e6

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Handle one request, as ASGI has it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        size = dict(scope["headers"]).get(b"content-length", b"")
        if size.isdigit() and int(size) > self.most:
            await _to_answer(413, self._reason())(scope, receive, send)
            return
        await self.app(scope, self._counting(receive), send)

    def _counting(self, receive: Receive) -> Receive:
        """The same for a request that does not say its size."""
        received = 0

        async def receive_some() -> MutableMapping[str, Any]:
            from starlette.exceptions import HTTPException

            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > self.most:
                raise HTTPException(413, self._reason())
            return message

        return receive_some

    def _reason(self) -> str:
        return f"the request is larger than {self.most / 1e6:g} MB: send a smaller picture, or fewer pages"


async def _answer_error(request: Any, error: Exception) -> Any:
    is_theirs = isinstance(error, (InputError, SettingsError))
    return _to_answer(422 if is_theirs else 500, str(error))


def _to_answer(status: int, reason: str) -> Any:
    """An error in the form of PaddleX's server."""
    from fastapi.responses import JSONResponse
    from paddlex.inference.serving.infra.models import AIStudioNoResultResponse
    from paddlex.inference.serving.infra.utils import generate_log_id

    content = AIStudioNoResultResponse(logId=generate_log_id(), errorCode=status, errorMsg=reason)
    return JSONResponse(content.model_dump(), status_code=status)
