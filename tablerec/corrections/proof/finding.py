"""What speaks against a cell, or for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["text", "structure", "sum", "type", "date", "check_digit", "repeated_label"]

Evidence = Literal["confirmed", "sum", "product", "balance", "check digit", "count"]
"""Who or what proves a cell: a person, or what it has to do with other cells."""

MESSAGES: dict[str, tuple[str, str]] = {
    "doubt": ("the text {0}", "文字可疑：{0}"),
    "score": ("right by the reader with a chance of {0}", "识别正确的概率为 {0}"),
    "borders": ("its borders are in doubt ({0})", "边框可疑（{0}）"),
    "among_digits": ("“{0}” stands among digits: {1}?", "数字之间有“{0}”：是否为 {1}？"),
    "among_letters": ("“{0}” stands among letters: {1}?", "字母之间有“{0}”：是否为 {1}？"),
    "blank": ("a blank inside of a number", "数字中有空格"),
    "sum": ("the sum would be right with {0}", "若为 {0}，合计就相符"),
    "sum_off": ("the cells give {0}; rounding explains {1} at most", "各单元格合计为 {0}；四舍五入最多造成 {1} 的差异"),
    "product": ("the product would be right with {0}", "若为 {0}，乘积就相符"),
    "product_off": ("the product is {0}", "乘积为 {0}"),
    "balance": ("the balance would be right with {0}", "若为 {0}，余额就相符"),
    "balance_off": ("the balance should be {0}", "余额应为 {0}"),
    "no_number": ("no number, in a column of numbers", "数字列中的非数字"),
    "like_number": ("in a column of numbers: {0}?", "数字列：是否为 {0}？"),
    "ink": ("ink beside the text that was not read", "文字旁边有未识读的墨迹"),
    "ink_only": ("empty, but there is ink in the picture", "没有文字，但图片中有墨迹"),
    "empty": ("empty, in a column that is full", "该列其他单元格都有内容"),
    "decimals": ("{0} decimals, the others have {1}", "有 {0} 位小数，其他单元格为 {1} 位"),
    "groups": ("thousands are written as in no other number", "千位分隔与其他数字不同"),
    "unit": ("other signs than the rest of the column", "符号与该列其他单元格不同"),
    "no_date": ("no date, in a column of dates", "日期列中的非日期"),
    "date_format": ("written otherwise than the other dates", "日期写法与其他单元格不同"),
    "date_order": ("out of the order of the dates", "日期顺序有误"),
    "count": ("out of count: {0}?", "序号不连续：是否为 {0}？"),
    "form": ("the others look like {0}", "其他单元格形如 {0}"),
    "like_form": ("the others look like {0}: {1}?", "其他单元格形如 {0}：是否为 {1}？"),
    "check_digit": ("the check digit of {0} does not agree", "{0} 校验码不符"),
    "grouping": ("blanks or hyphens stand elsewhere than in the others", "空格或连字符的位置与其他单元格不同"),
    "other_label": ("“{0}” stands elsewhere", "别处为“{0}”"),
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
        'out of the order of the dates'
        """
        english, chinese = (message.format(*self.values) for message in MESSAGES[self.reason])
        return english, chinese
