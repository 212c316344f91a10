"""The page of a run: one file without scripts, which needs nothing but itself."""

from __future__ import annotations

import base64
import io
import shlex
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from tablerec.training.scores import ScoreNames

Line = Mapping[str, Any]

_MAX_ROWS = 12
"""Of a table that stands in for a curve."""
_OPTIONS = {
    "cellnet": "--detector cellnet --detector-dir {folder}",
    "cellnet_lines": "--detector cellnet --detector-dir {folder}",
    "rtdetr_l": "--detector RT-DETR-L_wired_table_cell_det --detector-dir {folder}",
    "linenet": "--ocr tablerec --ocr-dir {folder}",
}
"""How the command line takes what a network of this kind was exported to."""
_ENDED = {"finished": "Finished", "stopped": "Stopped before its end", "failed": "Failed"}

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 62em; padding: 0 1em; color: #222 }
h1 { font-size: 1.5em; margin-bottom: 0 } h2 { font-size: 1.1em; margin: 2em 0 .5em; border-bottom: 1px solid #ccc }
.lead { color: #666; margin-top: .2em }
table { border-collapse: collapse } td, th { padding: .2em 1.2em .2em 0; text-align: left; vertical-align: top }
th { font-weight: normal; color: #666 } td.number { text-align: right; font-variant-numeric: tabular-nums }
.better { color: #17733a } .worse { color: #a00 }
.notes { background: #fff6dd; border-left: 4px solid #e0a800; padding: .5em 1em .5em 2em }
.failed { background: #fde8e8; border-left: 4px solid #a00; padding: .5em 1em; white-space: pre-wrap }
pre { background: #f5f5f5; padding: .8em; overflow-x: auto }
.curves svg { max-width: 100%; height: auto }
figure { margin: 1em 0 } figcaption { color: #666 } img { max-width: 100%; border: 1px solid #ccc }
summary { cursor: pointer; color: #666 }
"""


def page(
    summary: Mapping[str, Any],
    names: ScoreNames,
    losses: Sequence[Line],
    curve: Sequence[Line],
    pictures: Sequence[tuple[int, Path]],
) -> str:
    """Return the page of a run.

    Args:
        summary: See ``report.summarize``.
        names: Its scores.
        losses: Lines of ``log.jsonl``.
        curve: Lines of ``curve.jsonl``.
        pictures: Step and JPEG file of the answers of the weights as given and as kept.
    """
    title = f"{summary['model']}: {_ENDED[summary['ended']].lower()}"
    parts = [
        f"<h1>{escape(_headline(summary, names))}</h1>",
        f'<p class="lead">{escape(_lead(summary))}</p>',
        _problem(summary),
        _notes(summary["warnings"]),
        _section("Scores", _scores(summary, names)),
        _section("Run", _rows(_facts(summary))),
        _section("Curves", _curves(losses, curve, names)),
        _section("Pictures", "".join(_figure(step, path) for step, path in pictures)),
        _section("Next", _next(summary)),
        f"<details><summary>Settings</summary><pre>{escape(_settings(summary['settings']))}</pre></details>",
    ]
    body = "\n".join(part for part in parts if part)
    return f"""<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>{escape(title)}</title><style>{_STYLE}</style></head>
<body>
{body}
</body>
</html>
"""


def _section(heading: str, content: str) -> str:
    return f"<h2>{heading}</h2>\n{content}" if content else ""


def _headline(summary: Mapping[str, Any], names: ScoreNames) -> str:
    before, after = summary["before"], summary["after"]
    if summary["ended"] == "failed":
        return f"{summary['model']}: failed at step {summary['steps']:,}"
    if not after:
        return f"{summary['model']}, not validated"
    if not before or after["step"] == 0:
        return f"{summary['model']}: {names.title} is {after[names.best]:.3f}"
    return f"{summary['model']}: {names.title} from {before[names.best]:.3f} to {after[names.best]:.3f}"


def _lead(summary: Mapping[str, Any]) -> str:
    return (
        f"{_ENDED[summary['ended']]} after {_count(summary['steps'], 'step')} and {summary['minutes']:.1f} minutes "
        f"of training on {summary['source']}."
    )


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _problem(summary: Mapping[str, Any]) -> str:
    if summary["ended"] != "failed":
        return ""
    whole = summary["checkpoint"]
    rest = f"{whole} is whole: the same command goes on from it." if whole else "No checkpoint was written."
    return f'<p class="failed">{escape(summary["problem"])}\n{escape(str(rest))}</p>'


def _notes(warnings: Sequence[str]) -> str:
    return f'<ul class="notes">{"".join(f"<li>{escape(each)}</li>" for each in warnings)}</ul>' if warnings else ""


def _scores(summary: Mapping[str, Any], names: ScoreNames) -> str:
    before, after = summary["before"], summary["after"]
    if not after:
        return ""
    rows = ["<tr><th></th><th>before</th><th>after</th><th>difference</th></tr>"]
    for name, heading in names.headings.items():
        old, rising = before[name] if before else None, names.rising or name != names.best
        cells = f"<td>{'' if old is None else f'{old:.4f}'}</td><td>{after[name]:.4f}</td>"
        rows.append(f"<tr><th>{heading}</th>{cells}{_difference(after[name], old, rising=rising)}</tr>")
    note = f"After: the weights that were kept, of step {after['step']}. {names.note}"
    return f"<table>{''.join(rows)}</table><p class='lead'>{note}</p>"


def _difference(new: float, old: float | None, *, rising: bool) -> str:
    if old is None:
        return "<td></td>"
    kind = "" if new == old else "better" if (new > old) == rising else "worse"
    return f'<td class="{kind}">{new - old:+.4f}</td>'


def _facts(summary: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    share = summary["n_trainable"] / max(summary["n_parameters"], 1)
    trainable = (
        f"{summary['trainable']}: {summary['n_trainable']:,} of {summary['n_parameters']:,} weights ({share:.1%})"
    )
    yield "trained", trainable
    yield "device", summary["device"]
    yield "samples prepared", f"{summary['samples']:,}"
    yield "steps", f"{summary['steps']:,}"
    yield "minutes", f"{summary['minutes']:.1f}"
    if summary["images_per_second"]:
        yield "canvases a second", f"{summary['images_per_second']:.3g}"
    if summary["peak_bytes"]:
        yield "peak memory", f"{summary['peak_bytes'] / 1e9:.2f} GB of tensors"
    if summary["process_bytes"]:
        yield "peak of the process", f"{summary['process_bytes'] / 1e9:.2f} GB"
    if summary["weights"]:
        yield "weights", str(summary["weights"])
    if summary["checkpoint"]:
        yield "newest checkpoint", str(summary["checkpoint"])


def _rows(facts: Iterable[tuple[str, str]]) -> str:
    return f"<table>{''.join(f'<tr><th>{name}</th><td>{escape(value)}</td></tr>' for name, value in facts)}</table>"


def _next(summary: Mapping[str, Any]) -> str:
    if not summary["weights"]:
        return ""
    weights, folder = (
        shlex.quote(str(path)) for path in (summary["weights"], Path(summary["settings"]["output"]) / "model")
    )
    options = _OPTIONS[summary["model"]].format(folder=folder)
    lines = (f"export {weights} -o {folder}", f"picture.png {options}", f"eval LABELS {options}")
    return "<pre>" + "\n".join(escape(f"tablerec {line}") for line in lines) + "</pre>"


def _settings(settings: Mapping[str, Any], indent: str = "") -> str:
    lines = []
    for name, value in settings.items():
        within = isinstance(value, Mapping) and value
        lines.append(f"{indent}{name}:\n{_settings(value, indent + '  ')}" if within else f"{indent}{name}: {value}")
    return "\n".join(lines)


def _figure(step: int, path: Path) -> str:
    caption = "as it was given" if step == 0 else f"after step {step}"
    data = base64.b64encode(path.read_bytes()).decode()
    return (
        f"<figure><figcaption>{caption}; red: true, green: the network's</figcaption>"
        f'<img alt="validation" src="data:image/jpeg;base64,{data}"></figure>'
    )


def _curves(losses: Sequence[Line], curve: Sequence[Line], names: ScoreNames) -> str:
    """Loss and scores over the steps, plotted where matplotlib is installed, else as tables."""
    if not losses and not curve:
        return ""
    try:
        return f'<div class="curves">{_plot_curves(losses, curve, names)}</div>'
    except ImportError:
        parts = [name for name in (losses[-1] if losses else {}) if name != "learning_rate"]
        return _lines_to_table(losses, parts) + _lines_to_table(curve, ["step", *names.headings])


def _plot_curves(losses: Sequence[Line], curve: Sequence[Line], names: ScoreNames) -> str:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 3.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    right.set_visible(bool(curve))
    steps, totals = [line["step"] for line in losses], [line["total"] for line in losses]
    left.plot(steps, totals, color="#bbb", linewidth=0.8)
    left.plot(steps, _smooth(totals), color="#1f4e9c", label="loss")
    for (name, heading), color in zip(names.headings.items(), ("#888", "#17733a", "#c77700"), strict=False):
        points = [line["step"] for line in curve], [line[name] for line in curve]
        right.plot(*points, marker="o", markersize=4, color=color, label=heading)
    right.legend(frameon=False)
    if totals and 0 < 100 * min(totals) < max(totals):
        left.set_yscale("log")
    left.set_title("loss")
    right.set_title("validation")
    for axes in (left, right):
        axes.set_xlabel("step")
        axes.spines[["top", "right"]].set_visible(False)
    svg = io.StringIO()
    figure.savefig(svg, format="svg", metadata={"Date": None})
    return svg.getvalue()[svg.getvalue().index("<svg") :]


def _smooth(values: Sequence[float], stays: float = 0.9) -> list[float]:
    """Follow the values slowly, as an average that forgets.

    >>> _smooth([1.0, 1.0, 0.0])
    [1.0, 1.0, 0.9]
    """
    smooth: list[float] = []
    for value in values:
        smooth.append(value if not smooth else stays * smooth[-1] + (1 - stays) * value)
    return smooth


def _lines_to_table(lines: Sequence[Line], names: Sequence[str]) -> str:
    if not lines:
        return ""
    shown = [*lines[:: -(-len(lines) // _MAX_ROWS)]]
    if shown[-1] is not lines[-1]:
        shown.append(lines[-1])
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    rows = "".join(
        "<tr>" + "".join(f'<td class="number">{line.get(name, float("nan")):.5g}</td>' for name in names) + "</tr>"
        for line in shown
    )
    return f"<table><tr>{head}</tr>{rows}</table>"
