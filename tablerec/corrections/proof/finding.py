"""What speaks against a cell, or for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["text", "structure", "sum", "type", "date", "check_digit", "repeated_label"]

Evidence = Literal["confirmed", "sum", "product", "balance", "check digit", "count"]
"""Who or what proves a cell: a person, or what it has to do with other cells."""

MESSAGES: dict[str, tuple[str, str]] = {
    "doubt": ("the text {0}", "文字可疑：{0}"),
    "score": ("probability that the text is right: {0}", "文字正确的概率：{0}"),
    "borders": ("probability that the borders are right: {0}", "边框正确的概率：{0}"),
    "among_digits": ("“{0}” among digits: should it be {1}?", "数字中有“{0}”，是否应为 {1}？"),
    "among_letters": ("“{0}” among letters: should it be {1}?", "字母中有“{0}”，是否应为 {1}？"),
    "blank": ("space inside a number", "数字中有空格"),
    "sum": ("the sum would be right with {0}", "若为 {0}，合计就相符"),
    "sum_off": ("the cells add up to {0}; rounding explains at most {1}", "各单元格合计为 {0}；四舍五入最多相差 {1}"),
    "product": ("the product would be right with {0}", "若为 {0}，乘积就相符"),
    "product_off": ("the product of the cells is {0}", "各单元格的乘积为 {0}"),
    "balance": ("the balance would be right with {0}", "若为 {0}，余额就相符"),
    "balance_off": ("the balance should be {0}", "余额应为 {0}"),
    "no_number": ("not a number, in a column of numbers", "数字列中出现非数字"),
    "like_number": ("in a column of numbers: should it be {0}?", "此列为数字，是否应为 {0}？"),
    "ink": ("unread ink next to the text", "文字旁边有未识别的墨迹"),
    "ink_only": ("empty, but the picture shows ink", "单元格为空，但图片中有墨迹"),
    "empty": ("empty, while the rest of the column is filled", "单元格为空，但该列其他单元格都有内容"),
    "decimals": ("{0} decimal places, the others have {1}", "有 {0} 位小数，其他单元格为 {1} 位"),
    "groups": ("thousands separators differ from the other numbers", "千位分隔符与其他数字不同"),
    "unit": ("symbols differ from the rest of the column", "符号与该列其他单元格不同"),
    "no_date": ("not a date, in a column of dates", "日期列中出现非日期"),
    "date_format": ("format differs from the other dates", "日期格式与其他单元格不同"),
    "date_order": ("breaks the order of the dates", "日期不符合先后顺序"),
    "count": ("breaks the numbering: should it be {0}?", "序号不连续，是否应为 {0}？"),
    "form": ("the others look like {0}", "其他单元格形如 {0}"),
    "like_form": ("the others look like {0}: should it be {1}?", "其他单元格形如 {0}，是否应为 {1}？"),
    "check_digit": ("the check digit of {0} does not match", "{0} 校验码不符"),
    "grouping": ("spaces or hyphens are placed differently from the others", "空格或连字符的位置与其他单元格不同"),
    "other_label": ("elsewhere it is “{0}”", "别处写作“{0}”"),
}
"""Reason -> what is said of it, in English and in Chinese."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that speaks against a cell; a person decides.

    Args:
        cell: Index into ``table.cells``.
        kind: What it is about.
        reason: A key of ``MESSAGES``.
        severity: How likely the cell is wrong, roughly, 0 to 1.
        values: What fills the gaps of the message.
        mended: The text that would be right by this, where it is known.
    """

    cell: int
    kind: Kind
    reason: str
    severity: float
    values: tuple[str, ...] = ()
    mended: str = ""

    @property
    def messages(self) -> tuple[str, str]:
        """What is said, in English and in Chinese.

        >>> Finding(0, "date", "date_order", 0.5).messages[0]
        'breaks the order of the dates'
        """
        english, chinese = (message.format(*self.values) for message in MESSAGES[self.reason])
        return english, chinese
