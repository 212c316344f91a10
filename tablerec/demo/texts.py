"""What the page of ``tablerec demo`` says, in English and Chinese."""

from __future__ import annotations

import locale
import os
from typing import Literal

Language = Literal["en", "zh"]

TEXTS: dict[Language, dict[str, str]] = {
    "en": {
        "lang": "en",
        "title": "{name}: tables read by tablerec",
        "lead": "Point at a cell in the picture or the workbook to highlight it in both.",
        "facts": "{tables} in {seconds:.1f} s on this machine",
        "one": "1 table",
        "many": "{n} tables",
        "picture": "Picture",
        "page": "Page {number}",
        "workbook": "Workbook",
        "save": "Save workbook",
        "sheet": "Table {number}",
        "size": "{rows} rows × {cols} columns",
        "sure": "{percent:.0f}% probability that every cell is in place",
        "check": "Check first",
        "header": "header",
        "data": "data",
        "doubtful": "check this",
        "none": "No table was found in this picture.",
        "more": "The document has more pages; the tablerec command reads them all.",
        "next": "What to try next",
        "next_own": "open this page for your own picture or PDF",
        "next_files": "write scan.html and scan.xlsx next to the picture",
        "next_pages": "write pages 2 to 4 to one workbook, one sheet per table",
        "next_review": "correct the doubtful tables of a folder in the browser",
        "next_help": "list everything else",
    },
    "zh": {
        "lang": "zh-CN",
        "title": "{name}：tablerec 识别的表格",
        "lead": "将鼠标移到图中或工作簿中的任一单元格，两边会同时高亮。",
        "facts": "在本机用时 {seconds:.1f} 秒，识别出{tables}",
        "one": " 1 个表格",
        "many": " {n} 个表格",
        "picture": "图片",
        "page": "第 {number} 页",
        "workbook": "工作簿",
        "save": "保存工作簿",
        "sheet": "表格 {number}",
        "size": "{rows} 行 × {cols} 列",
        "sure": "所有单元格的位置都正确的概率为 {percent:.0f}%",
        "check": "请先核对",
        "header": "表头",
        "data": "数据",
        "doubtful": "请核对",
        "none": "图中没有找到表格。",
        "more": "文档还有其他页；tablerec 命令会识别所有页。",
        "next": "接下来可以试试",
        "next_own": "用自己的图片或 PDF 生成这个页面",
        "next_files": "在图片旁生成 scan.html 和 scan.xlsx",
        "next_pages": "将第 2 至 4 页写入一个工作簿，每个表格一个工作表",
        "next_review": "在浏览器里校正文件夹中可疑的表格",
        "next_help": "查看其他功能",
    },
}


def guess_language() -> Language:
    """Return the language of the user's environment; English where it is neither.

    >>> guess_language() in TEXTS
    True
    """
    asked = next(filter(None, map(os.environ.get, ("LC_ALL", "LC_MESSAGES", "LANG", "LANGUAGE"))), None)
    return "zh" if (asked or locale.getlocale()[0] or "").lower().startswith(("zh", "chinese")) else "en"
