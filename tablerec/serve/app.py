"""The addresses of the server: tables, jobs, health, metrics, the page, and OpenAPI of all of it."""

# No postponed annotations: FastAPI reads those of the endpoints.

import asyncio
import io
import logging
import shutil
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack, aclosing, asynccontextmanager, suppress
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, TypeVar

import numpy as np
from fastapi import Depends, FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, Response
from fastapi.security import HTTPBearer
from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware

from tablerec import __version__
from tablerec.config import Settings
from tablerec.errors import SettingsError, TablerecError
from tablerec.serve import schema
from tablerec.serve.formats import MEDIA_TYPES, choose_format, end_line, failure_line, page_line, write
from tablerec.serve.guards import Access, Application, Guard, Receive, Scope, Send, Tokens, refuse, to_refused
from tablerec.serve.intake import Body, Storage
from tablerec.serve.jobs import Jobs
from tablerec.serve.limits import ServerLimits
from tablerec.serve.metrics import MEDIA_TYPE as METRICS_TYPE
from tablerec.serve.metrics import Metrics, tree_memory
from tablerec.serve.problems import ClientGoneError, RefusedError, to_problem
from tablerec.serve.work import PageEngine, Plan, Reader

_STATIC = {
    "serve.js": "text/javascript; charset=utf-8",
    "docs.js": "text/javascript; charset=utf-8",
    "texts.js": "text/javascript; charset=utf-8",
    "serve.css": "text/css; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
_HTML = "text/html; charset=utf-8"
_POLICY = {"html": {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox"}}
"""Tables as a page have their own style, and no script."""
_SWEEP_SECONDS = 30.0
_BLANK = 32
"""Pixels of the side of the picture with which an engine warms up."""

_Done = TypeVar("_Done")

_logger = logging.getLogger(__name__)

_PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": schema.ProblemDetails, "content": {"application/problem+json": {}}, "description": text}
    for status, text in (
        (401, "A token is needed."),
        (413, "The body, or the number of files or pages, is too large."),
        (422, "A file or an option cannot be used."),
        (429, "Too many pages wait; Retry-After says when to come again."),
        (504, "A page, or all of them, took too long."),
    )
}
_BINARY = {"schema": {"type": "string", "format": "binary"}}
_REQUEST_BODY = {
    "requestBody": {
        "required": True,
        "description": "A picture or document itself, or any number of them as parts. Options may be parts too, and so "
        "may the password of PDFs; with a file as the body it is in the header Document-Password.",
        "content": {
            "application/octet-stream": _BINARY,
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "properties": {
                        "file": {"type": "array", "items": _BINARY["schema"]},
                        "password": {"type": "string"},
                    },
                }
            },
        },
    }
}
_ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {
        "model": schema.FileAnswer | schema.FilesAnswer,
        "description": "Tables, in the format that Accept asks for. Pages that failed are in `failed`; where all did, "
        "the answer is a problem.",
        "content": {kind.partition(";")[0]: {} for kind in MEDIA_TYPES.values()},
    },
    **_PROBLEMS,
}

Options = Annotated[schema.Options, Query()]


class TableServer:
    """A server's parts: an application for uvicorn, and what it holds.

    Args:
        engine: What reads pages, see ``tablerec.engine.Engine``.
        settings: How, where a request does not say.
        access: Who may ask.
        limits: How much.
        jobs_dir: Folder in which those of requests and jobs are made; the system's for temporary files where None.
    """

    def __init__(
        self,
        engine: PageEngine,
        settings: Settings | None = None,
        access: Access | None = None,
        limits: ServerLimits | None = None,
        jobs_dir: Path | None = None,
    ) -> None:
        self.limits = limits or ServerLimits()
        self.settings = replace(
            settings or Settings(),
            max_megapixels=self.limits.megapixels,
            max_page_seconds=self.limits.draw_seconds,
            max_page_memory=self.limits.draw_gibibytes,
        )
        self.engine = engine
        self.metrics = Metrics()
        self.is_ready = False
        access = access or Access(Tokens())
        self.folder = Path(tempfile.mkdtemp(prefix="tablerec-serve-", dir=jobs_dir))
        (self.folder / "bodies").mkdir()
        (self.folder / "jobs").mkdir()
        self.storage = Storage(self.folder / "bodies", 1e9 * self.limits.spool_gigabytes)
        self.reader = Reader(engine, self.limits, self.metrics)
        self.jobs = Jobs(self.reader, self.folder / "jobs", self.limits)
        self.guard = Guard(_make_app(self, bool(access.tokens)), access, self.limits, self.metrics)
        self.app: Application = self.guard
        if access.origins:
            self.app = CORSMiddleware(
                self.guard,
                allow_origins=list(access.origins),
                allow_methods=["GET", "POST", "DELETE"],
                allow_headers=["Authorization", "Content-Type", "Document-Password"],
                expose_headers=["Location", "Retry-After"],
            )
        for name, text, value in (
            ("tablerec_pages_waiting", "Pages that wait to be read", lambda: self.reader.waiting),
            ("tablerec_requests_active", "Requests at hand", lambda: self.guard.n_active),
            ("tablerec_workers", "Pages read at the same time", lambda: len(engine)),
            ("tablerec_jobs_queued", "Jobs that wait", lambda: self.jobs.count("queued")),
            ("tablerec_jobs_running", "Jobs that are read", lambda: self.jobs.count("running")),
            ("tablerec_spool_bytes", "Bodies on the disk", lambda: self.storage.used),
            ("tablerec_memory_bytes", "Resident memory, workers included", tree_memory),
        ):
            self.metrics.watch(name, text, value)

    @asynccontextmanager
    async def running(self, _: Any = None) -> AsyncIterator[None]:
        """Warm up at the start, and remove all that is kept at the end."""
        tasks = [asyncio.create_task(self._warm_up()), asyncio.create_task(self._sweep())]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await self.jobs.close()
            shutil.rmtree(self.folder, ignore_errors=True)

    async def _warm_up(self) -> None:
        import PIL.Image

        content = io.BytesIO()
        PIL.Image.fromarray(np.full((_BLANK, _BLANK), 255, np.uint8)).save(content, "PNG")
        while not self.is_ready:
            pages = [self.engine.submit(content.getvalue(), 1, "blank", self.settings) for _ in range(len(self.engine))]
            try:
                await asyncio.gather(*map(asyncio.wrap_future, pages))
                self.is_ready = True
            except TablerecError:
                _logger.exception("not ready: a blank page cannot be read")
                await asyncio.sleep(_SWEEP_SECONDS)

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(_SWEEP_SECONDS)
            self.jobs.remove_old()

    async def receive(self, request: Request, options: schema.Options, most_pages: int) -> "_Order":
        """Read a request: its files, how they are read, and which pages they have.

        Raises:
            RefusedError: There is no room, or the request is no good.
        """
        self.reader.check_room()
        with ExitStack() as stack:
            body = stack.enter_context(Body(self.storage, self.limits))
            await body.read(request.headers, _stream(request), options.name)
            fields = dict(body.fields)
            password = fields.pop("password", None) or _password(request)
            if fields:
                options = _with_fields(options, fields)
            settings = options.to_settings(self.settings, password)
            plan = await _unless_gone(request.receive, self.reader.plan(body.uploads, settings, most_pages))
            return _Order(body, options, plan, stack.pop_all())

    async def answer(self, order: "_Order", format: str) -> bytes:
        """Read the pages of a request, and write what it asked for.

        Raises:
            RefusedError: None of its files could be read; the time is over; or there is no room.
        """
        plan = order.plan
        with self.reader.admitted(plan.n_pages) as one_done:
            async with aclosing(self.reader.read(plan, one_done, self.limits.document_seconds)) as outcomes:
                async for outcome in outcomes:
                    plan.add(outcome)
        _refuse_if_all_failed(plan)
        return await asyncio.to_thread(write, plan.files, format, **order.write_options(self.settings))


class _Order:
    """A request that was received, and whatever ends with it."""

    def __init__(self, body: Body, options: schema.Options, plan: Plan, stack: ExitStack) -> None:
        self.body = body
        self.options = options
        self.plan = plan
        self.stack = stack

    def write_options(self, settings: Settings) -> dict[str, Any]:
        """What ``formats.write`` is told."""
        join_pages = settings.join_pages if self.options.join_pages is None else self.options.join_pages
        return {"join_pages": join_pages, "mark_below": self.options.mark_below}


class _PageStream(Response):
    """An answer that has each page on a line as soon as it is ready; it owns its request."""

    def __init__(self, server: TableServer, order: _Order) -> None:
        super().__init__()
        self.server = server
        self.order = order

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, as ASGI has it."""
        with self.order.stack, suppress(ClientGoneError):
            await _unless_gone(receive, self._send(send))

    async def _send(self, send: Send) -> None:
        reader, plan = self.server.reader, self.order.plan
        with reader.admitted(plan.n_pages) as one_done:
            headers = [(b"content-type", MEDIA_TYPES["ndjson"].encode())]
            await send({"type": "http.response.start", "status": 200, "headers": headers})

            async def line(content: bytes) -> None:
                await send({"type": "http.response.body", "body": content, "more_body": True})

            n_read = n_failed = 0
            for file, found in enumerate(plan.files):
                for number, problem in found.failures:
                    n_failed += 1
                    await line(failure_line(file, found.name, number, problem))
            outcomes = reader.read(plan, one_done, self.server.limits.document_seconds)
            try:
                async with aclosing(outcomes):
                    async for outcome in outcomes:
                        name = plan.uploads[outcome.file].name
                        if outcome.page is not None:
                            n_read += 1
                            await line(page_line(outcome.file, name, outcome.page))
                        elif outcome.problem is not None:
                            n_failed += 1
                            await line(failure_line(outcome.file, name, outcome.number, outcome.problem))
            except TablerecError as error:
                # The status is out already: which pages are missing is said by numbers, why by this line.
                missing = plan.n_pages - n_read - n_failed
                n_failed += missing
                await line(failure_line(None, "", None, to_problem(error)))
            await send({"type": "http.response.body", "body": end_line(n_read, n_failed), "more_body": False})


def _make_app(server: TableServer, needs_token: bool) -> FastAPI:
    app = FastAPI(
        title="tablerec",
        version=__version__,
        description="Pictures and documents in, tables out.",
        lifespan=server.running,
        docs_url=None,
        redoc_url=None,
        # The guard has looked at the token already: this tells those who read OpenAPI of it.
        dependencies=[Depends(HTTPBearer(auto_error=False))] if needs_token else [],
    )
    for kind, handler in _HANDLERS.items():
        app.add_exception_handler(kind, handler)
    limits = server.limits

    @app.post("/v1/tables", responses=_ANSWERS, openapi_extra=_REQUEST_BODY, tags=["tables"])
    async def read_tables(request: Request, options: Options) -> Any:
        """Read the tables of pictures and documents.

        Formats by Accept: JSON, HTML, XLSX, CSV, Markdown, LaTeX, ZIP with all of them, or JSON lines, of which each
        page has one as soon as it is ready.
        """
        choose_format(request.headers.get("accept", ""), options.format)
        order = await server.receive(request, options, limits.pages)
        with ExitStack() as stack:
            stack.enter_context(order.stack)
            format = choose_format(request.headers.get("accept", ""), order.options.format)
            if format == "ndjson":
                server.reader.check_room(order.plan.n_pages)
                order.stack = stack.pop_all()
                return _PageStream(server, order)
            content = await _unless_gone(request.receive, server.answer(order, format))
            return Response(content, media_type=MEDIA_TYPES[format], headers=_POLICY.get(format))

    @app.post(
        "/v1/jobs",
        status_code=202,
        response_model=schema.JobAnswer,
        responses=_PROBLEMS,
        openapi_extra=_REQUEST_BODY,
        tags=["jobs"],
    )
    async def start_job(request: Request, options: Options) -> Any:
        """Hand in long documents; Location is where to look how far they are."""
        server.jobs.check_room()
        order = await server.receive(request, options, limits.job_pages)
        with order.stack as stack:
            _refuse_if_all_failed(order.plan)
            job = server.jobs.submit(order.body, order.plan, request.state.client, order.write_options(server.settings))
            stack.pop_all()  # the job removes its files
        return JSONResponse(job.to_dict(limits.job_minutes), 202, {"Location": f"/v1/jobs/{job.id}"})

    @app.get("/v1/jobs/{id}", response_model=schema.JobAnswer, responses=_PROBLEMS, tags=["jobs"])
    async def look_at_job(request: Request, id: str) -> Any:
        """Say how far a job is."""
        return JSONResponse(server.jobs.get(id, request.state.client).to_dict(limits.job_minutes))

    @app.get("/v1/jobs/{id}/result", responses=_ANSWERS, tags=["jobs"])
    async def fetch_result(request: Request, id: str, format: str | None = None) -> Any:
        """Fetch the result of a job that is done, as often as wanted, in any format."""
        job = server.jobs.get(id, request.state.client)
        chosen = choose_format(request.headers.get("accept", ""), format)
        return FileResponse(
            server.jobs.result(job, chosen), headers=_POLICY.get(chosen), media_type=MEDIA_TYPES[chosen]
        )

    @app.delete("/v1/jobs/{id}", status_code=204, responses=_PROBLEMS, tags=["jobs"])
    async def delete_job(request: Request, id: str) -> Response:
        """Stop a job, and remove its files and results."""
        await server.jobs.delete(server.jobs.get(id, request.state.client))
        return Response(status_code=204)

    @app.get("/v1/schema", tags=["about"])
    async def answer_schema() -> Any:
        """JSON schema of the answers about one file and about several."""
        from pydantic import TypeAdapter

        return JSONResponse(TypeAdapter(schema.FileAnswer | schema.FilesAnswer).json_schema())

    @app.get("/healthz", tags=["about"])
    async def is_alive() -> Any:
        """Say that the process runs."""
        return JSONResponse({"status": "ok"})

    @app.get("/readyz", tags=["about"])
    async def is_ready() -> Any:
        """Say whether pages can be read."""
        if not server.is_ready:
            raise RefusedError(503, "starting", "models are loaded: try again in 2 s", {"Retry-After": "2"})
        return JSONResponse({"status": "ready", "workers": len(server.engine), "waiting": server.reader.waiting})

    @app.get("/metrics", tags=["about"])
    async def metrics() -> Response:
        """Counts and times, as Prometheus reads them."""
        return Response(await asyncio.to_thread(server.metrics.render), media_type=METRICS_TYPE)

    @app.get("/", include_in_schema=False)
    async def page() -> Response:
        return Response(_file("index.html"), media_type=_HTML)

    @app.get("/docs", include_in_schema=False)
    async def docs() -> Response:
        return Response(_file("docs.html"), media_type=_HTML)

    @app.get("/static/{name}", include_in_schema=False)
    async def static(name: str) -> Response:
        if name not in _STATIC:
            raise RefusedError(404, "unknown", _NOTHING)
        return Response(_file(name), media_type=_STATIC[name])

    return app


_NOTHING = "there is nothing at this address: see /docs"


def _file(name: str) -> bytes:
    return resources.files("tablerec.serve").joinpath("static").joinpath(name).read_bytes()


def _refuse_if_all_failed(plan: Plan) -> None:
    """Answer with a problem where nothing was read: the file's own, or one that holds those of all.

    Raises:
        RefusedError: Each file failed, with all its pages.
    """
    if any(len(each.failures) < max(1, each.n_pages) for each in plan.files):
        return
    first = plan.files[0].failures[0][1]
    if len(plan.files) == 1 and len(plan.files[0].failures) == 1:
        raise RefusedError(first.status, first.code, first.detail, more=first.more)
    errors = [
        {"file": index, "source": each.name, **failed}
        for index, each in enumerate(plan.files)
        for failed in each.failed()
    ]
    detail = f"none of {len(errors)} files and pages could be read; the first: {first.detail}"
    raise RefusedError(first.status, first.code, detail, more={"errors": errors})


async def _stream(request: Request) -> AsyncIterator[bytes]:
    more = True
    while more:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise ClientGoneError
        yield message.get("body", b"")
        more = message.get("more_body", False)


async def _unless_gone(receive: Receive, work: Awaitable[_Done]) -> _Done:
    """Do something, but only as long as somebody waits for it.

    Raises:
        ClientGoneError: Nobody does any more.
    """
    task = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(_wait_for_end(receive))
    try:
        await asyncio.wait([task, gone], return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise ClientGoneError
        return task.result()
    finally:
        for each in (task, gone):
            each.cancel()
        with suppress(asyncio.CancelledError, Exception):
            await task


async def _wait_for_end(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _with_fields(options: schema.Options, fields: dict[str, str]) -> schema.Options:
    """Options of the address and those among the parts; the latter count where both are there."""
    try:
        return schema.Options(**{**options.model_dump(exclude_none=True), **fields})
    except ValidationError as error:
        raise SettingsError(_first_error(error.errors())) from None


def _password(request: Request) -> str | None:
    given = request.headers.get("document-password")
    return None if given is None else given.encode("latin-1").decode("utf-8", "replace")


def _first_error(errors: Any) -> str:
    """The first of pydantic's errors, in a line, without what was sent."""
    first = errors[0]
    name = ".".join(str(part) for part in first["loc"] if part not in ("query", "path", "body"))[:60]
    if first["type"] == "extra_forbidden":
        return f"{name} is no option: there are {', '.join(schema.Options.model_fields)}"
    return f"{name}: {first['msg']}"


async def _on_refusal(request: Request, error: Exception) -> Any:
    return refuse(to_refused(error) if not isinstance(error, RefusedError) else error)


async def _on_wrong_option(request: Request, error: Exception) -> Any:
    assert isinstance(error, RequestValidationError)
    return refuse(RefusedError(422, "option", _first_error(error.errors())))


async def _on_http_error(request: Request, error: Exception) -> Any:
    assert isinstance(error, HTTPException)
    detail = _NOTHING if error.status_code == 404 else f"{request.method} is not what this address takes: see /docs"
    return refuse(RefusedError(error.status_code, "unknown", detail, error.headers or {}))


async def _on_end(request: Request, error: Exception) -> Any:
    async def nothing(scope: Scope, receive: Receive, send: Send) -> None:
        """Nobody is there to be answered."""

    return nothing


async def _on_fault(request: Request, error: Exception) -> Any:
    return refuse(to_refused(error))


_HANDLERS: dict[Any, Callable[[Request, Exception], Awaitable[Any]]] = {
    TablerecError: _on_refusal,
    RequestValidationError: _on_wrong_option,
    HTTPException: _on_http_error,
    ClientGoneError: _on_end,
    Exception: _on_fault,
}
