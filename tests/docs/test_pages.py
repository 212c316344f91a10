"""The pages: each has its twin in Chinese, links lead somewhere, and the answers are two clicks away."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.helpers.pages import ROOT, name_of, pages, translated, without_code

ENGLISH = [page for page in pages() if not page.name.endswith(".zh-CN.md")]
# Pages of developers, and lists of figures: in English alone.
UNTRANSLATED = re.compile(
    r"C[A-Z]+\.md|(data|docs/api|tests|tablerec/models|.*/csrc)/|.*/(MEASURED|PORTING|glossary)\.md"
)
PAIRS = [page for page in ENGLISH if not UNTRANSLATED.match(name_of(page))]
# What people ask in public -> words of the question that answers it.
QUESTIONS = {
    *("one column", "merged cells", "without lines", "turned, bent", "handwriting", "by hand", "confidence"),
    *("languages", "numbers text in Excel", "dates", "text of my PDF", "offline", "Windows or macOS", "How fast"),
    *("memory", "GPU", "password", "Docker", "PaddleX pipeline", "train it", "cite it", "report a fault"),
}
# Nothing is looked up when tests run: an address that a page names is looked at when it is added here.
OUTSIDE = {
    "10.0.0.7",
    "127.0.0.1",
    "docs.ray.io",
    "keepachangelog.com",
    "semver.org",
}
_LINK = re.compile(r"\]\(([^)\s]+)[^)]*\)|(?:src|href)=\"([^\"]+)\"")


def slug(title: str) -> str:
    """The anchor of a heading, as forges and the site make it."""
    plain = re.sub(r"\[([^]]*)\]\([^)]*\)|[`*]", r"\1", title.strip())
    kept = (
        character for character in plain.lower() if character in " -_" or unicodedata.category(character)[0] in "LNM"
    )
    return "".join(kept).replace(" ", "-")


@cache
def anchors(page: Path) -> set[str]:
    return {slug(title) for title in re.findall(r"^#+ (.*)", without_code(page.read_text("utf-8")), re.MULTILINE)}


def links(page: Path) -> Iterator[str]:
    for pair in _LINK.findall(without_code(page.read_text("utf-8"))):
        yield pair[0] or pair[1]


def test_slugs_are_those_of_forges() -> None:
    titles = [
        "Why is my table one column?",
        "In docling, LangChain",
        "PDF 的文字层",
        "可以商用吗，怎样引用",
        "`a_b` [c](d)",
    ]
    assert [slug(title) for title in titles] == [
        *("why-is-my-table-one-column", "in-docling-langchain", "pdf-的文字层", "可以商用吗怎样引用", "a_b-c"),
    ]


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    broken = []
    for link in links(page):
        target, _, anchor = link.partition("#")
        if "://" in link:
            continue
        path = (page.parent / target).resolve() if target else page
        if path.parent == ROOT / "notebooks/zh" and (ROOT / "notebooks" / path.name).is_file():
            continue  # tests/test_notebooks.py says whether it is there in Chinese
        if not path.is_file() or (anchor and path.suffix == ".md" and anchor not in anchors(path)):
            broken.append(link)
    assert broken == []


def test_addresses_outside_are_listed() -> None:
    named = {link.split("/")[2].split(":")[0] for page in pages() for link in links(page) if "://" in link}
    assert named <= OUTSIDE and OUTSIDE - named <= {"10.0.0.7", "127.0.0.1"}


@pytest.mark.parametrize("name", ["README.md", "README.zh-CN.md"])
def test_the_front_page_is_short_and_shows_a_picture(name: str) -> None:
    page = ROOT / name
    assert len(page.read_bytes()) <= 9_000, "the rest belongs to the README of its part"
    assert any(link.endswith(".png") for link in links(page))


@pytest.mark.parametrize("name", ["README.md", "README.zh-CN.md"])
def test_every_page_is_reached_from_the_front_page_by_links(name: str) -> None:
    reached, waiting = set(), [ROOT / name]
    while waiting:
        page = waiting.pop()
        if page in reached:
            continue
        reached.add(page)
        targets = [(page.parent / link.partition("#")[0]).resolve() for link in links(page) if "://" not in link]
        waiting += [target for target in targets if target.suffix == ".md"]
    assert [name_of(page) for page in pages() if page not in reached] == []


def test_each_question_is_answered_two_clicks_from_the_front_page() -> None:
    faq = ROOT / "docs/faq.md"
    assert "docs/faq.md" in links(ROOT / "README.md")
    text = faq.read_text("utf-8")
    sections = re.split(r"^## ", text, flags=re.MULTILINE)
    asked = [section.partition("\n")[0] for section in sections[1:]]
    assert len(asked) >= 20
    assert [words for words in QUESTIONS if not any(words.lower() in title.lower() for title in asked)] == []
    listed = {link[1:] for link in re.findall(r"\]\((#[^)]*)\)", sections[0])}
    assert listed == {slug(title) for title in asked}
    short = [title for title, section in zip(asked, sections[1:], strict=True) if len(section.split()) < 15]
    assert short == []


class Section(NamedTuple):
    """What a section of a page holds, in whatever language it is written."""

    level: int
    code: list[tuple[str, str]]
    tables: list[list[str]]
    terms: set[str]
    figures: set[str]
    links: set[str]


def sections(text: str) -> list[Section]:
    """Return the sections in their order; code without comments, of tables the figures and terms."""
    return [to_section(part) for part in re.split(r"^(?=#+ )", text, flags=re.MULTILINE) if part]


def to_section(text: str) -> Section:
    block = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    said = re.compile(r"[ ]+# .*$|(?<=echo )\"[^\"]*\"", re.MULTILINE)
    code = [(language, said.sub("", body)) for language, body in block.findall(text)]
    prose = block.sub("", text)
    found = re.findall(r"\]\(([^)\s#]+)[^)]*\)", prose)
    plain = re.sub(r"\]\([^)]*\)", "", prose)
    return Section(
        level=len(prose) - len(prose.lstrip("#")),
        code=code,
        tables=[
            re.findall(r"`[^`]+`|\|:?-+|\d(?:[\d.,]*\d)?", row) for row in prose.splitlines() if row.startswith("|")
        ],
        terms=set(re.findall(r"`[^`\n]+`", plain)),
        figures=set(re.findall(r"\d(?:[\d.,]*\d)?", plain)),
        links={link.replace(".zh-CN", "").replace("notebooks/zh/", "notebooks/").removeprefix("zh/") for link in found},
    )


@pytest.mark.parametrize("page", PAIRS, ids=name_of)
def test_the_chinese_page_has_the_same_sections(page: Path) -> None:
    other = translated(page)
    english, chinese = page.read_text("utf-8"), other.read_text("utf-8")
    assert f"]({other.name})" in english.split("##")[0]
    assert f"]({page.name})" in chinese.split("##")[0]
    ours, theirs = sections(english), sections(chinese)
    assert [section.level for section in ours] == [section.level for section in theirs]
    titles = re.findall(r"^#+ .*", without_code(english), re.MULTILINE)
    for title, one, two in zip(titles, ours, theirs, strict=True):
        for field, this, that in zip(Section._fields, one, two, strict=True):
            assert this == that, f"{title}, {field}"


@pytest.mark.parametrize("page", PAIRS, ids=name_of)
def test_a_chinese_page_leads_to_chinese_pages(page: Path) -> None:
    other = translated(page)
    targets = [(other.parent / link.partition("#")[0]).resolve() for link in links(other) if "://" not in link]
    english = {target for target in targets if target in PAIRS} - {page}
    assert [name_of(target) for target in english] == []


def test_no_page_is_translated_in_vain() -> None:
    twins = {translated(page) for page in PAIRS}
    assert {page for page in pages() if page.name.endswith(".zh-CN.md")} == twins


def test_the_comparison_of_two_pages_notices_changes() -> None:
    text = "# a\n\n```bash\nls x  # look\n```\n\n## b\n- `c` [d](e)\n\n| f | 1.5 |\n| --- | --- |\n| 2 | 3 |\n"
    twin = text.replace("# look", "# 看").replace("[d]", "[丁]").replace("| f", "| 己").replace("## b", "## 乙")
    assert sections(text) == sections(twin) and len(sections(text)) == 2
    for old, new in [("ls x", "ls y"), ("## b", "### b"), ("`c`", "`d`"), ("(e)", "(f)"), ("1.5", "1.6")]:
        assert sections(text) != sections(text.replace(old, new)), old
    assert sections(text) != sections(text.replace("| 2 | 3 |", "| 3 | 2 |"))
