"""Long labels and headers: what is wrapped over several lines in print."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tablerec.synth.content.texts import Language, Writer

_LABELS: Mapping[Language, Sequence[str]] = {
    "english": (
        "{0} attributable to {1}", "{0} arising from {1}, net of {2}", "{0} (including {1} and {2})",
        "{0} in respect of {1}", "Effect of changes in {1} on {2}", "{0} and {1}", "{0}, {1} and {2}",
        "{0} – {1}", "{0} as at the end of the reporting period", "{0}, less {1} and {2} (net of {3})",
        "Share of {1} and {2} under the equity method", "{0} not elsewhere classified",
    ),
    "latin": ("{0} ({1})", "{0} – {1}", "{0}, {1}", "{0} / {1} ({2})"),
    "chinese": ("{0}及{1}", "因{0}产生的{1}", "其中：{0}及{1}", "{0}（含{1}、{2}）", "归属于{0}的{1}", "{0}、{1}和{2}"),
}  # fmt: skip
_HEADERS: Mapping[Language, Sequence[str]] = {
    "english": (
        "Approximate percentage of {1}", "Approximate percentage of {1} immediately following completion of {2}",
        "Number of {1}", "Total {1} and {2}", "{0} recognized in {1}", "{0} as a percentage of {1}",
        "Weighted average {1}", "Average {1} per {2}", "{0} before {1} and {2}", "{0}, net of {1}",
        "{0} (assuming that {1} is not exercised)", "Carrying amount of {1}", "Change in {1}", "Net {1} from {2}",
        "Margin of error ({1})", "Maximum exposure to {1}", "Adjusted {1}",
        "Approximate percentage of {1} immediately following completion of {2} (assuming that {3} is not exercised)",
        "{0} reclassified from {1} into {2} during the year", "Ineffectiveness recognized in {1}",
        "Share of {1} in {2} held directly or indirectly by {3}",
        "{0} in participating institutions after substitution",
    ),
    "latin": ("{0} ({1})", "{0} / {1}", "{0} – {1}"),
    "chinese": (
        "{0}占{1}的比例", "{0}{1}合计", "截至期末{0}", "本期{0}（{1}）", "{0}及{1}", "按{0}计算的{1}",
        "本次发行完成后{0}占{1}总数的比例（{2}）",
    ),
}  # fmt: skip


def long_label(writer: Writer, topic: str) -> str:
    """Return the label of a row, put together from several of the topic.

    >>> import numpy as np
    >>> writer = Writer(np.random.default_rng(1), "english")
    >>> long_label(writer, "accounts").startswith("Wages and salaries, less ")
    True
    """
    return _compose(writer, topic, _LABELS[writer.language])


def long_header(writer: Writer, topic: str = "measures") -> str:
    """Return the header of a column, put together from several labels of the topic.

    >>> import numpy as np
    >>> long_header(Writer(np.random.default_rng(1), "english")).startswith("Approximate percentage of ")
    True
    """
    return _compose(writer, topic, _HEADERS[writer.language])


def _compose(writer: Writer, topic: str, patterns: Sequence[str]) -> str:
    parts = writer.labels(topic, 4)
    inner = [part if writer.is_chinese or part.isupper() else part[:1].lower() + part[1:] for part in parts[1:]]
    return writer.choose(patterns).format(parts[0], *inner)
