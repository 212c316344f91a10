"""What the editor refuses, in Chinese: by the name that an error has, and by what it speaks of."""

from __future__ import annotations

from tablerec.errors import TablerecError

CHINESE = {
    # Steps on a table, see ``postprocess.editing``.
    "no_place": "第 {0} 行第 {1} 列的单元格没有位置",
    "no_line": "{0}之间没有编号为 {1} 的线",
    "no_row_or_column": "没有编号为 {1} 的{0}（从 0 起）",
    "nothing_to_divide": "没有单元格止于编号为 {1} 的{0}，无法分割",
    "no_cells": "表格没有单元格",
    "too_thin": "该{0}太窄，不能在此处分割",
    "only_one": "这是唯一的一{0}，表格至少要有一{0}",
    "no_block": "第 {0} 到 {1} 行、第 {2} 到 {3} 列不在表格内（从 0 起）",
    "not_merged": "该单元格没有合并，请在其中画线",
    "does_not_fit": "{0} × {1} 的文字超出 {2} × {3} 的表格，请先扩展表格",
    "in_merged": "“{0}”会落入合并单元格，请先拆分",
    "headers_do_not_fit": "{0} 行标题行和 {1} 列标题列超出表格的大小（{2} × {3}）",
    "no_end": "那里没有单元格止于编号为 {0} 的线",
    "no_cell": "第 {0} 行第 {1} 列不在表格内（从 0 起）",
    "nothing_to_find": "请输入要查找的文字",
    "no_words": "此表格中文字的位置未知，请重新识别该单元格",
    "word_is_placed": "该词已在单元格中，或不存在",
    "text_outside_grid": "第 {0} 行第 {1} 列中输入的文字不在该网格内",
    # The editor and its journal.
    "bad_step": "操作无效，请重新加载页面",
    "bad_value": "操作“{0}”中有无效的值（例如过长的文字），请重新加载页面",
    "changed_elsewhere": "表格已在另一个窗口中修改，此处现已显示修改后的内容",
    "no_reader": "此处无法识别文字，请用 `tablerec review` 打开表格，或在创建编辑器时指定 reader",
    "broken_picture": "表格的图片已损坏，请重新启动以重新写入图片",
    "no_picture": "{0}：无法读取（{1}），请重新启动以重新写入文件",
    "link": "{0}：是指向文件夹之外的链接，请将其删除",
    "journal_gone": "{0}：找不到（{1}），操作未执行；请放回原处，或重新启动",
    "other_journal": "{0}：现在是另一个表格的记录，请重新启动",
    "journal_unwritable": "{0}：无法写入（{1}），操作未执行；请腾出空间后重试",
    "unremovable": "{0}：无法删除（{1}），请先关闭该文件",
    "unwritable": "{0}：无法写入（{1}），请腾出空间或关闭该文件",
    "outside": "第 {0} 行第 {1} 列超出图片 {2} 像素（图片为 {3} × {4} 像素）",
    "bad_shape": "第 {0} 行第 {1} 列的形状不正确",
    # The review.
    "fault": "tablerec 内部错误（{0}），请报告此问题",
    "no_table": "没有表格“{0}”，请返回列表",
    "changed_since": "{0}：读取后已被修改，请重新启动 tablerec review",
    "unreadable": "{0}：无法读取（{1}），请检查文件",
    "no_input": "{0}：从文件名看不是图片或文档，支持的扩展名：{1}",
    "no_output": "{0}：已不存在，请重新生成",
    "no_frame": "选框需要四个数（像素），请重新画框",
    "small_frame": "选框太小或在页面之外，请围绕表格画框",
    "bad_grid": "请同时填写行数和列数，或都不填",
    "nothing_saved": "还没有已保存的表格，请先保存一个，或选择所有表格",
    "nothing_there": "还没有表格",
    "no_longer_one": "{0}：已不能合为一个表格（{1}），请拆开或修改",
    "no_viewer": "没有可用于打开文件夹的程序（{0}），文件在 {1}",
    "part_already": "{0}：已经是此表格的一部分",
    "does_not_go_on": "{0}：不能接在 {1} 之后（{2}）",
    "on_one_page": "{0}：只在一页上",
    "look_again": "表格已更改，请重新打开预览",
    "no_undo_for_all": "没有可以全部撤销的操作",
    "no_paddle": '学习功能需要 Paddle，请运行 pip install "tablerec[paddle]"，然后重新启动',
    "nothing_learnt": "还没有学习结果，请先开始学习",
    "worse": "采用学习结果后，部分已保存的表格识别效果变差；如仍要使用，请选择“仍然使用”",
    "nothing_to_take_back": "没有可以撤销的学习",
    "busy": "请等待后台任务完成，或先停止该任务",
    "too_few": "已保存 {0} 个表格，至少保存 {1} 个才能学习",
}
"""Name of an error -> what is said, with gaps for its values."""

_WORDS = {"row": "行", "column": "列"}


def to_chinese(error: TablerecError) -> str | None:
    """What an error says, in Chinese; None where it has no name.

    >>> to_chinese(TablerecError("the row is too thin").named("too_thin", "row"))
    '该行太窄，不能在此处分割'
    """
    said = CHINESE.get(error.reason)
    return said and said.format(*(_WORDS.get(str(value), value) for value in error.values))


def error_to_dict(error: TablerecError) -> dict[str, str]:
    """What a page is told of an error: ``error``, and ``error_zh`` where that is known.

    >>> error_to_dict(TablerecError("no"))
    {'error': 'no'}
    """
    chinese = to_chinese(error)
    return {"error": str(error)} | ({"error_zh": chinese} if chinese else {})
