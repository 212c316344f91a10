"""The benchmark of numbers, with a few of them: nothing is wrong."""

from __future__ import annotations

import pytest

from tests.benchmarks.values import numbers


def test_no_value_is_changed_and_no_column_is_half(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["numbers", "-n", "600"])
    with pytest.raises(SystemExit) as ended:
        numbers.main()
    assert ended.value.code == 0
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.startswith(tuple(numbers.STYLES)) for line in lines) == len(numbers.STYLES) == 30


@pytest.mark.parametrize("name", numbers.STYLES)
def test_each_style_writes_digits_or_numerals(name: str) -> None:
    number = numbers.draw(numbers.np.random.default_rng(0), numbers.STYLES[name])
    assert any(
        char.isdecimal() or char in "一二三四五六七八九壹贰叁肆伍陆柒捌玖"
        for char in numbers.STYLES[name].write(number)
    )
