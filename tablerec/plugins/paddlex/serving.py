"""The pipeline behind PaddleX's own server: the requests and answers of ``table_recognition_v2``.

Inputs are read by tablerec, which looks at their size before it decodes them. Errors become JSON with a status
that says whose fault it is, no request can fill the memory, and none has the server fetch an address, unless the
pipeline's file says ``allow_addresses: True`` under ``Serving: extra:``.
"""

# No postponed annotations: FastAPI reads those of the endpoint, whose types are imported late.

import base64
import itertools
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from tablerec.config import Settings
from tablerec.errors import InputError, SettingsError, TablerecError
from tablerec.inputs.images import load_pages
from tablerec.plugins.paddlex.options import to_request
from tablerec.result import PageImage

MOST_MEGABYTES = 128
"""Size of a request, and of what an address holds.

``max_request_megabytes`` under ``Serving: extra:`` in the pipeline's file is another.
"""

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

_OPTIONS = {
    "useDocOrientationClassify": "use_doc_orientation_classify",
    "useDocUnwarping": "use_doc_unwarping",
    "useLayoutDetection": "use_layout_detection",
    "useOcrModel": "use_ocr_model",
    "textDetLimitSideLen": "text_det_limit_side_len",
    "textDetLimitType": "text_det_limit_type",
    "textDetThresh": "text_det_thresh",
    "textDetBoxThresh": "text_det_box_thresh",
    "textDetUnclipRatio": "text_det_unclip_ratio",
    "textRecScoreThresh": "text_rec_score_thresh",
    "useE2eWiredTableRecModel": "use_e2e_wired_table_rec_model",
    "useE2eWirelessTableRecModel": "use_e2e_wireless_table_rec_model",
    "useWiredTableCellsTransToHtml": "use_wired_table_cells_trans_to_html",
    "useWirelessTableCellsTransToHtml": "use_wireless_table_cells_trans_to_html",
    "useTableOrientationClassify": "use_table_orientation_classify",
    "useOcrResultsWithTableCells": "use_ocr_results_with_table_cells",
}
"""Fields of a request, and the options of ``predict`` that they are."""
_DOCUMENT_OPTIONS = {"textLayer": "text_layer", "pages": "pages", "password": "password"}
"""The same of those fields that PaddleX's requests have not."""


def create_pipeline_app(pipeline: Any, app_config: Any) -> Any:
    """Make the server's application; PaddleX calls this for ``--serve``.

    Args:
        pipeline: A ``TableRecognitionCellsPipeline``.
        app_config: PaddleX's settings of the server.

    Returns:
        A FastAPI application with ``POST /table-recognition`` and ``GET /health``.
    """
    from paddlex.inference.serving.basic_serving._app import create_app, primary_operation
    from paddlex.inference.serving.basic_serving._pipeline_apps._common import ocr
    from paddlex.inference.serving.infra.models import AIStudioResultResponse
    from paddlex.inference.serving.infra.utils import call_async, generate_log_id
    from paddlex.inference.serving.schemas.table_recognition_v2 import INFER_ENDPOINT, InferRequest, InferResult

    app, context = create_app(pipeline=pipeline, app_config=app_config, app_aiohttp_session=True)
    ocr.update_app_context(context)
    extra = app_config.extra or {}
    most_megabytes = extra.get("max_request_megabytes", MOST_MEGABYTES)
    app.add_middleware(BodyLimit, most_megabytes=most_megabytes)
    app.add_exception_handler(TablerecError, _answer_error)

    class Request(InferRequest):
        textLayer: str | None = None  # noqa: N815
        pages: str | None = None
        password: str | None = None

    @primary_operation(app, INFER_ENDPOINT, "infer")
    async def infer(request: Request) -> AIStudioResultResponse[InferResult]:
        log_id = generate_log_id()
        session = context.aiohttp_session if extra.get("allow_addresses") is True else None
        content = await _file_to_bytes(request.file, session, most_megabytes)
        asked = {option: getattr(request, field) for field, option in _DOCUMENT_OPTIONS.items()}
        settings = to_request(asked).document_settings(pipeline.settings)
        pages = await call_async(_bytes_to_pages, content, settings, context.extra["max_num_input_imgs"])
        options = {option: getattr(request, field) for field, option in _OPTIONS.items()}
        results = await context.pipeline.infer(list(pages), **options)
        visualize = context.config.visualize if request.visualize is None else request.visualize
        answers = [
            await call_async(_to_entry, number, page, result, log_id if visualize else None, context.extra)
            for number, (page, result) in enumerate(zip(pages, results, strict=True))
        ]
        info = _to_info(content, pages)
        return AIStudioResultResponse[InferResult](
            logId=log_id, result=InferResult(tableRecResults=answers, dataInfo=info)
        )

    return app


async def _file_to_bytes(file: str, session: Any, most_megabytes: float) -> bytes:
    """Decode a file in base64, or fetch it from the address that it is; without a session, addresses are refused."""
    if not file.lower().startswith(("http://", "https://")):
        try:
            return base64.b64decode(file)
        except ValueError as error:
            raise InputError(f"file: this is no base64 ({error}); encode the picture") from error
    if session is None:
        # Whoever may ask the server could have it look into the network that it is in.
        raise InputError(
            "file: this server fetches no addresses; send the file in base64, or have allow_addresses: True set under "
            "Serving: extra: in the pipeline's file"
        )
    try:
        content = await _fetch(file, session, int(most_megabytes * 1e6))
    except Exception as error:  # of the address, or of the network
        raise InputError(f"file: the address cannot be read ({error!r}); correct it, or send base64") from error
    if len(content) > most_megabytes * 1e6:
        raise InputError(f"file: the address holds more than {most_megabytes:g} MB: name a smaller picture")
    return content


async def _fetch(address: str, session: Any, most: int) -> bytes:
    """Read so many bytes, and a few more where there are more."""
    import yarl

    content = bytearray()
    async with session.get(yarl.URL(address, encoded=True)) as answer:
        answer.raise_for_status()
        while len(content) <= most and (piece := await answer.content.readany()):
            content += piece
    return bytes(content)


def _bytes_to_pages(content: bytes, settings: Settings, most: int | None) -> list[PageImage]:
    pages = list(itertools.islice(load_pages(content, settings), None if most is None else most + 1))
    if most is not None and len(pages) > most:
        raise InputError(
            f"file: more than {most} pages; send them in parts, or have the server's max_num_input_imgs raised"
        )
    return pages


def _to_entry(number: int, page: PageImage, result: Any, log_id: str | None, extra: dict[str, Any]) -> dict[str, Any]:
    """What an answer says of one page; its pictures are named for the request, without one there are none."""
    from paddlex.inference.serving.basic_serving._pipeline_apps._common import common

    entry: dict[str, Any] = {"prunedResult": common.prune_result(result.json["res"])}
    if log_id is not None:
        pictures = common.postprocess_images(
            {"input_img": page.image, **result.img},
            log_id,
            filename_template=f"{{key}}_{number}.jpg",
            file_storage=extra["file_storage"],
            return_urls=extra["return_urls"],
            url_expires_in=extra["url_expires_in"],
            max_img_size=extra["max_output_img_size"],
        )
        entry |= {"inputImage": pictures.pop("input_img"), "outputImages": pictures}
    return entry


def _to_info(content: bytes, pages: list[PageImage]) -> Any:
    from paddlex.inference.serving.infra.models import ImageInfo, PDFInfo, PDFPageInfo, TIFFInfo
    from paddlex.inference.serving.infra.utils import is_tiff_bytes

    sizes = [page.image.shape[1::-1] for page in pages]
    if not (is_tiff_bytes(content) or b"%PDF-" in content[:1024]):
        return ImageInfo(width=sizes[0][0], height=sizes[0][1])
    infos = [PDFPageInfo(width=width, height=height) for width, height in sizes]
    return (TIFFInfo if is_tiff_bytes(content) else PDFInfo)(numPages=len(pages), pages=infos)


class BodyLimit:
    """Refuses requests that are too large without keeping them.

    They are read to their end: a client that is still sending would not see the answer.

    Args:
        app: The application.
        most_megabytes: Size of a request's body, in units of 1,000,000 bytes.
    """

    def __init__(self, app: Any, most_megabytes: float) -> None:
        self.app = app
        self.most_megabytes = most_megabytes

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Handle one request, as ASGI has it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        messages, size, more = [], 0, True
        while more:
            message = await receive()
            size, more = size + len(message.get("body", b"")), message.get("more_body", False)
            if size <= self.most_megabytes * 1e6:
                messages.append(message)
            else:
                messages.clear()
        if not messages:
            reason = f"the request is larger than {self.most_megabytes:g} MB: send a smaller picture, or fewer pages"
            await _to_answer(413, reason)(scope, receive, send)
            return
        again = iter(messages)

        async def receive_again() -> MutableMapping[str, Any]:
            return next(again, None) or await receive()

        await self.app(scope, receive_again, send)


async def _answer_error(request: Any, error: Exception) -> Any:
    return _to_answer(422 if isinstance(error, (InputError, SettingsError)) else 500, str(error))


def _to_answer(status: int, reason: str) -> Any:
    """An error in the form of PaddleX's server."""
    from fastapi.responses import JSONResponse
    from paddlex.inference.serving.infra.models import AIStudioNoResultResponse
    from paddlex.inference.serving.infra.utils import generate_log_id

    content = AIStudioNoResultResponse(logId=generate_log_id(), errorCode=status, errorMsg=reason)
    return JSONResponse(content.model_dump(), status_code=status)
