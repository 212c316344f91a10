"""The pipeline behind PaddleX's own server: the requests and answers of ``table_recognition_v2``.

Inputs are read by tablerec, which counts their pages and looks at their size before it decodes them, one page at a
time. Errors become JSON with a status that says whose fault it is, no request can fill the memory, those that come too
slowly or under another name are cut, and none has the server fetch an address, unless the pipeline's file says
``allow_addresses: True`` under ``Serving: extra:``. Where the variable ``TABLEREC_TOKEN`` is set, clients need its
token. Connections that send no request at all are uvicorn's matter, which PaddleX starts.

Fields that a request may not have are refused, and errors name the field. Pictures are in an answer where the request
or the pipeline's file says ``visualize: true``: they are many times its size.
"""

# No postponed annotations: FastAPI reads those of the endpoint, whose types are imported late.

import asyncio
import base64
import os
import re
import tempfile
from difflib import get_close_matches
from typing import IO, Any

from tablerec.config import Settings
from tablerec.errors import InputError, PasswordError, SettingsError, TablerecError
from tablerec.inputs.images import display_name, load_pages, wanted_pages
from tablerec.plugins.paddlex.options import to_request
from tablerec.result import PageImage
from tablerec.serve.guards import Access, Message, Receive, Scope, Send, TimedBody, Tokens, to_headers
from tablerec.serve.limits import ServerLimits
from tablerec.serve.problems import RefusedError

MOST_MEGABYTES = 128
"""Size of a request, and of what an address holds.

``max_request_megabytes`` under ``Serving: extra:`` in the pipeline's file is another.
"""
MOST_SECONDS = 300.0
"""For answering a request; ``max_document_seconds`` there is another."""
_AT_ONCE = 4
"""Requests whose bodies are in memory at the same time; those of the others wait on the disk."""
_IN_MEMORY = 1_000_000
_PIECE = 1 << 20

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
    from fastapi.exceptions import RequestValidationError
    from paddlex.inference.serving.basic_serving._app import create_app, primary_operation
    from paddlex.inference.serving.basic_serving._pipeline_apps._common import ocr
    from paddlex.inference.serving.infra.models import AIStudioResultResponse
    from paddlex.inference.serving.infra.utils import call_async, generate_log_id
    from paddlex.inference.serving.schemas.table_recognition_v2 import INFER_ENDPOINT, InferRequest, InferResult
    from pydantic import ConfigDict

    app, context = create_app(pipeline=pipeline, app_config=app_config, app_aiohttp_session=True)
    ocr.update_app_context(context)
    extra = app_config.extra or {}
    most_megabytes = extra.get("max_request_megabytes", MOST_MEGABYTES)
    limits = ServerLimits(body_megabytes=most_megabytes)
    app.add_middleware(RequestGuard, access=_to_access(extra), limits=limits)
    app.add_exception_handler(TablerecError, _answer_error)
    app.add_exception_handler(RequestValidationError, _answer_no_request)

    one_page = asyncio.Semaphore(1)  # the pipeline reads one at a time: the pages of others need not be in memory

    class Request(InferRequest):
        model_config = ConfigDict(extra="forbid")

        logId: str | None = None  # noqa: N815 - as in PaddleX, which answers some errors with it
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
        options = {option: getattr(request, field) for field, option in _OPTIONS.items()}
        visualize = sends_pictures(app_config) if request.visualize is None else request.visualize
        most_seconds = float(extra.get("max_document_seconds", MOST_SECONDS))

        async def read_pages() -> tuple[list[Any], list[tuple[int, int]]]:
            answers, sizes = [], []
            n_pages = len(await call_async(_count_pages, content, settings, context.extra["max_num_input_imgs"]))
            pages = load_pages(content, settings)
            for number in range(n_pages):
                async with one_page:
                    page = await call_async(next, pages)
                    [result] = await context.pipeline.infer([page], **options)
                    log = log_id if visualize else None
                    answers.append(await call_async(_to_entry, number, page, result, log, context.extra))
                sizes.append(page.image.shape[1::-1])
            return answers, sizes

        try:
            answers, sizes = await asyncio.wait_for(read_pages(), most_seconds)
        except asyncio.TimeoutError:
            raise RefusedError(504, "timeout", f"not read within {most_seconds:g} s: send fewer pages") from None
        result = InferResult(tableRecResults=answers, dataInfo=_to_info(content, sizes))
        return AIStudioResultResponse[InferResult](logId=log_id, result=result)

    return app


def sends_pictures(app_config: Any) -> bool:
    """Whether answers have pictures where the request does not say; PaddleX's own default is that they have."""
    return "visualize" in app_config.model_fields_set and bool(app_config.visualize)


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


def _count_pages(content: bytes, settings: Settings, most: int | None) -> list[int]:
    numbers = wanted_pages(content, settings)
    if most is not None and len(numbers) > most:
        raise InputError(
            f"file: more than {most} pages; send them in parts, or have the server's max_num_input_imgs raised"
        )
    return numbers


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


def _to_info(content: bytes, sizes: list[tuple[int, int]]) -> Any:
    from paddlex.inference.serving.infra.models import ImageInfo, PDFInfo, PDFPageInfo, TIFFInfo
    from paddlex.inference.serving.infra.utils import is_tiff_bytes

    if not (is_tiff_bytes(content) or b"%PDF-" in content[:1024]):
        return ImageInfo(width=sizes[0][0], height=sizes[0][1])
    infos = [PDFPageInfo(width=width, height=height) for width, height in sizes]
    return (TIFFInfo if is_tiff_bytes(content) else PDFInfo)(numPages=len(sizes), pages=infos)


def _to_access(extra: dict[str, Any]) -> Access:
    """Who may ask, as the pipeline's file and the environment say."""
    hosts = extra.get("allow_hosts") or ()
    if not isinstance(hosts, (list, tuple)) or not all(isinstance(host, str) for host in hosts):
        raise SettingsError(f"allow_hosts is {hosts!r}: give a list of names, under Serving: extra:")
    return Access(Tokens(os.environ.get("TABLEREC_TOKEN", "").split()), [host.lower() for host in hosts])


class RequestGuard:
    """Refuses requests under another name, without a token, too large or too slow, without keeping them in memory.

    Large ones are read to their end: a client that is still sending would not see the answer. Bodies wait on the
    disk until they are whole, and then for their turn.

    Args:
        app: The application.
        access: Who may ask.
        limits: Of bodies; an answer that is not taken for ``write_seconds`` is given up.
    """

    def __init__(self, app: Any, access: Access, limits: ServerLimits) -> None:
        self.app = app
        self.access = access
        self.limits = limits
        self._places = asyncio.Semaphore(_AT_ONCE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request, as ASGI has it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        with tempfile.SpooledTemporaryFile(_IN_MEMORY) as kept:
            try:
                self.access.check(to_headers(scope), is_open=scope["path"] == "/health")
                await self._keep(receive, kept)
            except RefusedError as error:
                headers = error.headers | {"Connection": "close"}
                await _to_answer(error.problem.status, str(error), headers)(scope, receive, send)
                return
            except ConnectionError:
                return
            kept.seek(0)
            ended = False

            async def receive_again() -> Message:
                nonlocal ended
                if ended:
                    return await asyncio.shield(gone)
                piece = kept.read(_PIECE)
                ended = len(piece) < _PIECE
                return {"type": "http.request", "body": piece, "more_body": not ended}

            async def send_in_time(message: Message) -> None:
                await asyncio.wait_for(send(message), self.limits.write_seconds)

            gone = asyncio.ensure_future(receive())  # the body is whole: what comes now is the end
            try:
                if scope["method"] == "GET" or await self._take_place(gone):
                    try:
                        await self.app(scope, receive_again, send_in_time)
                    finally:
                        if scope["method"] != "GET":
                            self._places.release()
            finally:
                gone.cancel()

    async def _take_place(self, gone: asyncio.Future[Message]) -> bool:
        """Wait for a place; False where the client hangs up before."""
        place = asyncio.ensure_future(self._places.acquire())
        both: set[asyncio.Future[Any]] = {place, gone}
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        if not gone.done():
            return True
        if not place.cancel():
            self._places.release()
        return False

    async def _keep(self, receive: Receive, kept: IO[bytes]) -> None:
        body, more, is_too_large = TimedBody(receive, self.limits), True, False
        while more:
            try:
                message = await body.receive()
            except RefusedError as error:
                if error.problem.status != 413:
                    raise
                is_too_large, more = True, not body.is_whole
                kept.truncate(0)
                continue
            if message["type"] == "http.disconnect":
                raise ConnectionError
            more = message.get("more_body", False)
            kept.write(message.get("body", b""))
        if is_too_large:
            most = self.limits.body_megabytes
            reason = f"the request is larger than {most:g} MB: send a smaller picture, or fewer pages"
            raise RefusedError(413, "too-large", reason)


async def _answer_error(request: Any, error: Exception) -> Any:
    if isinstance(error, RefusedError):
        return _to_answer(error.problem.status, str(error))
    return _to_answer(422 if isinstance(error, (InputError, SettingsError)) else 500, _with_fields(error))


def _with_fields(error: Exception) -> str:
    """What an error says, by the names that the request has.

    >>> _with_fields(SettingsError("use_ocr_model is 3: set use_ocr_model=True"))
    'useOcrModel is 3: set useOcrModel=True'
    >>> _with_fields(InputError("it is empty")), _with_fields(InputError("file: it is empty"))
    ('file: it is empty', 'file: it is empty')
    >>> _with_fields(SettingsError("use_ocr_model: set `use_ocr_model: True` in the file"))
    'useOcrModel: set `use_ocr_model: True` in the file'
    """
    known = {option: field for field, option in (_OPTIONS | _DOCUMENT_OPTIONS).items()}
    reason = re.sub(r"(?<!`)\b\w+", lambda found: known.get(found[0], found[0]), str(error))
    field = "password" if isinstance(error, PasswordError) else "file" if isinstance(error, InputError) else ""
    return f"{field}: {reason}" if field and not reason.startswith((f"{field}:", "pages", "file:")) else reason


async def _answer_no_request(request: Any, error: Any) -> Any:
    """What is wrong with a body, field by field; its values are secrets, or large."""
    return _to_answer(422, "; ".join(dict.fromkeys(map(_to_reason, error.errors()))))


def _to_reason(fault: dict[str, Any]) -> str:
    """Name a field and what is wrong with it.

    >>> _to_reason({"type": "extra_forbidden", "loc": ("body", "useOcrModell"), "msg": ""})
    'useOcrModell: no such field; did you mean useOcrModel?'
    >>> _to_reason({"type": "string_type", "loc": ("body", "pages"), "msg": "Input should be a valid string"})
    'pages: input should be a valid string'
    """
    fields = ["file", "fileType", "visualize", *_OPTIONS, *_DOCUMENT_OPTIONS]
    place = ".".join(str(part) for part in fault["loc"] if part != "body") or "the request"
    if fault["type"] == "extra_forbidden":
        name = display_name(place[:100])
        meant = get_close_matches(place, fields, n=1)
        return f"{name}: no such field; " + (f"did you mean {meant[0]}?" if meant else f"there are {', '.join(fields)}")
    if fault["type"] == "json_invalid":
        return "the request: no JSON; send an object with file"
    return f"{place}: {fault['msg'][:1].lower()}{fault['msg'][1:]}"


def _to_answer(status: int, reason: str, headers: dict[str, str] | None = None) -> Any:
    """An error in the form of PaddleX's server."""
    from fastapi.responses import JSONResponse
    from paddlex.inference.serving.infra.models import AIStudioNoResultResponse
    from paddlex.inference.serving.infra.utils import generate_log_id

    content = AIStudioNoResultResponse(logId=generate_log_id(), errorCode=status, errorMsg=reason)
    return JSONResponse(content.model_dump(), status_code=status, headers=headers)
