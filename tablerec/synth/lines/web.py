"""What stands in tables of web pages: Chinese with names, numbers and units of Latin letters between, and the like."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tablerec.models.characters import HAN
from tablerec.synth.content.texts import vocabulary
from tablerec.synth.lines.lexicon import words
from tablerec.synth.lines.numbers import code, date, fill, grouped, number_text, unit
from tablerec.synth.lines.wording import latin_text

_HEADS = (
    "参数", "参数说明", "参数类型", "默认值", "可选值", "名称", "型号", "规格", "单价", "数量", "金额", "小计", "合计",
    "总计", "备注", "说明", "类型", "状态", "操作", "编号", "序号", "日期", "时间", "更新时间", "创建时间", "地址",
    "电话", "邮箱", "联系人", "负责人", "单位", "部门", "职务", "姓名", "性别", "年龄", "出生日期", "身份证号", "学历",
    "专业", "籍贯", "民族", "版本", "平台", "下载", "大小", "格式", "语言", "精度", "模型", "任务", "数据集",
    "推理耗时", "模型大小", "训练时间", "准确率", "召回率", "内存", "显存", "处理器", "硬盘", "分辨率", "尺寸", "重量",
    "颜色", "材质", "产地", "品牌", "保质期", "净含量", "功率", "电压", "频率", "温度", "湿度", "气压", "风速",
    "降水量", "收盘价", "开盘价", "最高", "最低", "涨跌幅", "成交量", "市盈率", "净利润", "营业收入", "同比增长",
    "环比", "排名", "得分", "胜", "平", "负", "积分", "场次", "主队", "客队", "第一季度", "上半年", "年度", "一等奖",
    "二等奖", "星期一", "填报人", "填报单位", "审核人", "主管领导", "联系电话", "填表日期", "所在地区", "省", "市",
    "县（区）", "乡镇", "是否", "有无", "其中", "人均", "一般", "一、", "一级", "同一", "统一", "第一", "唯一", "一年",
    "一次", "一个",
)  # fmt: skip
_VALUES = (
    "是", "否", "无", "有", "可选", "必填", "必选", "字符串", "整数", "浮点数", "布尔值", "列表", "已完成", "未开始",
    "进行中", "正常", "异常", "启用", "禁用", "查看", "编辑", "删除", "详情", "更多", "下载", "收起", "展开", "上一页",
    "下一页", "男", "女", "汉", "本科", "硕士", "博士", "大专", "免费", "待定", "缺货", "有货", "不支持", "支持",
    "未知", "暂无", "不限", "全部", "其他", "良好", "优", "良", "及格", "高", "中", "低", "晴", "多云", "阴", "小雨",
)  # fmt: skip
_CLAUSES = (
    "{z}{z}。{z}{z}，{z}", "{z}{Name}。{z}{z}{z}，{z}{Name}", "{z}，{z}；{z}。{z}：{z}",
    "{z}（{Name}，{Name}+{Name}）（{h}）", "{Name}和{Name}，{z}{Name}。{z}", "{z}是一种基于{Name}的{z}",
    "用于{z}的{h}，{z}{z}", "如果{z}为{Name}，则{z}", "支持{Name}、{Name}和{Name}", "默认为{d}{d}，{z}可设为{d}",
    "{z}{z}，{z}{z}。", "请{z}{z}后再{z}", "{Name}是{z}提出的{z}{h}", "（注：{z}{z}）", "将{h}设置为{Name}",
    "{h}不超过{n}", "{y}年{m}月起{z}{z}", "{z}的{h}、{h}及{h}", "与{Name}相比，{h}提升{d}.{d}%", "{z}、{z}、{z}等",
    "按照《{z}{z}》{z}", "{z}：{z}；{z}：{z}", "“{z}”{z}", "{z}，{Name}{h}", "可{z}，也可{z}", "第{d}条 {z}{z}",
    "{d}. {z}{z}{z}", "{z}{z}（{Name}）{z}", "包括{z}和{z}，共{d}{d}{c}", "低于{n}{c}时{z}",
)  # fmt: skip
_MIXED = (
    "{h}", "{h}", "{h}", "{h}:", "{h}：", "{h}（{u}）", "{h} ({u})", "{h}({u})", "{h}/{u}", "{h}（{z}）", "{h}{h}",
    "{h}：{n}", "{h}：{v}", "{h}: {date}", "{h}{d}", "{v}", "{v}", "{v}/{v}", "{v}（{d}）", "{n}{c}", "{n} {c}",
    "{n}{u}", "¥{n}", "￥{n}", "¥ {n}", "{n}元/{c}", "{n}元起", "约{n}{c}", "{y}年{m}月{D}日", "{y}-{mm}-{DD}",
    "{y}年{m}月", "{m}月{D}日", "{hour}:{min} - {hour}:{min}", "{y}/{mm}/{DD} {hour}:{min}",
    "{y}-{mm}-{DD} {hour}:{min}:{min}", "{Name}", "{Name}", "{Name}", "{Name} {h}", "{Name}{h}", "{h}{Name}",
    "{z}{A}型", "{A}型{z}", "{z}{A}型-{A}型", "{A}-{A}{z}", "{z}{A}{d}", "{A}{d}{z}", "{A}级", "{z}{A}", "{h} {Name}",
    "{z}{Name}", "{Name}（{z}）", "{Name}({z})", "{name}_{name}", "{name}_{name}_{name}", "{name}.{name}",
    "{name}={d}", "--{name}", "{name}()", "{Name}|None", "str|None", "int", "float", "bool", "True", "False", "None",
    "null", "http://www.{name}.com", "{name}.{ext}", "https://{name}.cn/{name}", "{name}@{name}.com",
    "0{d}{d}-{d}{d}{d}{d}{d}{d}{d}{d}", "1{d}{d}{d}{d}{d}{d}{d}{d}{d}{d}", "{d}{d}{d}{d}{d}{d}{D}{mm}{DD}{d}{d}{d}X",
    "{d}.{d}%", "{d}{d}.{d}{d}%", "+{d}.{d}{d}%", "-{d}.{d}{d}%", "{n}", "{n}", "{w}×{w}×{w} mm", "{w}*{w}*{w}mm",
    "{w}×{w}", "{d}-{d}{d}{c}", "{d}~{d}{d}{c}", "≥{n}{c}", "≤{n}{u}", ">{d}{d}%", "{w}GB+{w}GB", "{d}.{d}GHz", "{w}W",
    "第{d}{d}{c}", "共{w}{c}", "（{d}）{h}", "({d}){h}", "{d}、{h}", "{d}.{h}", "{d}. {z}{z}", "①{h}", "{h}—{h}",
    "{h}——{h}", "{h}-{h}", "{h}·{h}", "{h}→{h}", "{z}{z}", "{z}{z}{z}", "{z} {z}", "{z}、{z}、{z}", "{z}；{z}",
    "{spread}", "{spread}:", "{spread}：", "{han}{han}{han}", "{han}{han}", "《{z}{z}》", "【{z}】", "[{z}]", "“{z}”",
    "*{h}", "{h}*", "{h}：*", "{h}?", "{z}！", "{z}…", "{n}万", "{n}亿", "{n}万元", "{code}", "{code}{z}", "{z}{code}",
    "{code}（{z}）", "{h}1", "{h}2", "H{d}N{d}", "H{d}N{d}{z}", "{h}/{h}", "{h}\\{h}", "{h}＋{h}", "{d}:{d}",
    "{d}：{d}", "--", "—", "/", "-", "#{w}", "No.{w}", "V{d}.{d}", "v{d}.{d}.{d}", "{d}x{d}", "{m}月", "{y}",
)  # fmt: skip
_COUNTERS = "个人元次天年月日时分秒台件套只头羽吨米克升亩户家名位组条篇章页项份批辆张期层级度倍"
_STEMS = (
    "Net", "Res", "Vision", "Swin", "Mobile", "Fast", "PP", "OCR", "CLIP", "Former", "Rec", "Det", "Seg", "Air", "Pro",
    "Max", "Plus", "Mini", "Ultra", "Wi-Fi", "USB", "Type-C", "HDMI", "Win", "Mac", "OS", "iOS", "Linux", "Intel",
    "Core", "Xeon", "GPU", "CPU", "RAM", "SSD", "DDR", "LED", "LCD", "HD", "PDF", "Excel", "Word", "API", "SDK",
    "JSON", "HTML", "SQL", "Java", "Python", "Web", "App", "VIP", "KTV", "ISO", "GB/T", "QQ", "DNA", "PCR", "ELISA",
    "IgG", "pH", "CO", "PM2.5", "COVID-19", "A股", "B超", "CT", "T恤", "Li", "Wang", "Beijing", "China", "Hub", "Lab",
    "large", "tiny",
)  # fmt: skip
_EXTENSIONS = ("pdf", "zip", "tar", "exe", "json", "py", "html", "xlsx", "docx", "jpg", "png", "yaml", "csv", "txt")


def _name(rng: Random) -> str:
    """Return a name of a product, a model or a technique."""
    stems = [rng.choice(_STEMS) for _ in range(rng.choice((1, 1, 2, 2, 3)))]
    text = rng.choice(("", "-", "_", "", " ")).join(stems)
    form = rng.random()
    if form < 0.4:
        return text
    tail = rng.choice(
        (
            "{d}",
            "{d}{d}",
            "-{d}",
            "_{d}{d}{d}",
            "v{d}",
            "-L",
            "-S",
            "_x{d}_{d}",
            " {d}",
            "{d}.{d}",
            "-B{d}",
            "_x{d}_{d}_S",
            "_{d}x",
            "-{d}{d}",
        )
    )
    return text + fill(rng, tail)


def _spread(rng: Random) -> str:
    """Return a short word with blanks between its characters, as forms have it."""
    return " ".join(rng.choice(_HEADS)[:3])


_FIELDS: dict[str, Callable[[Random], str]] = {
    "h": lambda rng: rng.choice(_HEADS),
    "v": lambda rng: rng.choice(_VALUES),
    "z": lambda rng: rng.choice(words("chinese") or vocabulary("chinese")["goods"]),
    "c": lambda rng: rng.choice(_COUNTERS),
    "u": unit,
    "n": grouped,
    "hour": lambda rng: f"{rng.randint(0, 23):02}",
    "A": lambda rng: rng.choice("OIOIABCDEFGHKLMNPRSTVXYZ"),
    "Name": _name,
    "name": lambda rng: rng.choice(words("english") or ("total", "note", "value")).lower(),
    "ext": lambda rng: rng.choice(_EXTENSIONS),
    "han": lambda rng: rng.choice(HAN),
    "date": date,
    "code": code,
    "spread": _spread,
}


def web_text(rng: Random) -> str:
    """Return the text of a cell, or a line of it, of a table in a Chinese web page.

    >>> web_text(Random(3)) != ""
    True
    """
    form = rng.random()
    if form < 0.5:
        return fill(rng, rng.choice(_MIXED), _FIELDS)
    if form < 0.68:
        return _part_of(rng, fill(rng, rng.choice(_CLAUSES), _FIELDS), rng.randint(6, 24))
    if form < 0.84:
        return _part_of(rng, fill(rng, rng.choice((*_MIXED, *_CLAUSES)), _FIELDS), rng.randint(1, 6))
    if form < 0.92:
        return "".join(rng.choices(HAN[:3755] if rng.random() < 0.6 else HAN, k=rng.randint(2, 16)))
    return (number_text if form < 0.96 else latin_text)(rng)


def _part_of(rng: Random, text: str, longest: int) -> str:
    """Return what of a text lies in one line of a column."""
    first = rng.randint(0, max(0, len(text) - longest)) if rng.random() < 0.7 else 0
    part = text[first : first + longest].strip()
    return text if part in _LIKE_OTHERS else part


_LIKE_OTHERS = frozenset("一口丨卜〇、，。；：·.'\",-—|OoIlXxCcSsVvWwZzPpUu")
"""What alone could be something else."""
