"""What the server answers: bytes, JSON, a file, or a refusal as JSON or as a page that a person can read."""

from __future__ import annotations

import html
import json
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, BinaryIO

HTML, TEXT, JSON, PNG = "text/html; charset=utf-8", "text/plain; charset=utf-8", "application/json", "image/png"
EXCEL = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>tablerec review</title>
</head>
<body>
<main>
<h1>tablerec review</h1>
<p>{english}</p>
<p lang="zh-CN">{chinese}</p>
{next}</main>
</body>
</html>
"""
_NEXT = """<p>All steps so far are kept. <a href="/">Open the review again.</a></p>
<p lang="zh-CN">到此为止的修改都已保留。<a href="/">重新打开校对页面。</a></p>
"""
"""Leads nowhere for who has no token."""
_ONLY_ENGLISH = "请求没有完成，原因见上面的英文。"
"""What most of tablerec says is English."""


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer.

    Args:
        kind: Content type.
        body: Bytes, or a file that is sent from its beginning and closed.
        status: Of HTTP.
        headers: Further ones.
    """

    kind: str
    body: bytes | BinaryIO
    status: HTTPStatus = HTTPStatus.OK
    headers: dict[str, str] = field(default_factory=dict)


class RefusedError(Exception):
    """A request that is not answered.

    Args:
        status: Of the reply.
        message: For a person.
        chinese: The same in Chinese.
    """

    def __init__(self, status: HTTPStatus, message: str, chinese: str) -> None:
        super().__init__(message)
        self.status, self.chinese = status, chinese


def to_json(data: Any, status: HTTPStatus = HTTPStatus.OK) -> Reply:
    """Answer with JSON.

    >>> to_json({"n": 1}).body
    b'{"n": 1}'
    """
    text = json.dumps(data, ensure_ascii=False, allow_nan=False)
    return Reply(JSON, text.encode("utf-8", "backslashreplace"), status)


def to_refusal(status: HTTPStatus, message: str, chinese: str | None, *, as_page: bool) -> Reply:
    """Say why there is no other answer.

    Args:
        status: Of HTTP.
        message: For a person.
        chinese: The same in Chinese; None where there is none.
        as_page: For a person who went to the address, not for a script.

    >>> to_refusal(HTTPStatus(403), "no token", None, as_page=False).body
    b'{"error": "no token"}'
    >>> b"<p>no &lt;token&gt;</p>" in to_refusal(HTTPStatus(403), "no <token>", None, as_page=True).body
    True
    """
    if not as_page:
        return to_json({"error": message} | ({"error_zh": chinese} if chinese else {}), status)
    page = _PAGE.format(
        english=html.escape(message),
        chinese=html.escape(chinese) if chinese else _ONLY_ENGLISH,
        next="" if status == HTTPStatus.FORBIDDEN else _NEXT,
    )
    return Reply(HTML, page.encode("utf-8", "replace"), status)
