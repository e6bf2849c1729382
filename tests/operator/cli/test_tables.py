"""Tables: aligned, with one line per row for any text in the cells; numbers, sizes and ages in a readable form."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from penstock_operator.cli import human
from penstock_operator.cli.tables import Column, lines
from penstock_operator.cli.widths import width

COLUMNS = (Column("STREAM"), Column("PENDING", right=True), Column("STATE"))


def test_columns_are_aligned_and_numbers_are_on_the_right() -> None:
    rows = [("orders", "12,345", "ready"), ("a-long-name", "7", "")]
    assert lines(COLUMNS, rows) == [
        "STREAM        PENDING   STATE",
        "orders         12,345   ready",
        "a-long-name         7",
    ]
    assert lines(COLUMNS, []) == ["STREAM   PENDING   STATE"]


def test_wide_letters_take_two_columns_and_accents_none() -> None:
    rows = [("注文", "x"), ("e\u0301", "y")]
    assert lines((Column("A"), Column("B")), rows) == ["A      B", "注文   x", "e\u0301      y"]


@given(st.lists(st.tuples(st.text(), st.text(), st.text()), max_size=5))
def test_no_cell_breaks_a_line_or_has_colours(rows: list[tuple[str, str, str]]) -> None:
    table = lines(COLUMNS, rows)
    assert len(table) == len(rows) + 1
    assert not any("\x1b" in line or "\n" in line or "\r" in line for line in table)


@given(st.lists(st.tuples(st.text("ab注", max_size=9), st.text("12,", min_size=1, max_size=9)), max_size=5))
def test_numbers_end_in_one_column(rows: list[tuple[str, str]]) -> None:
    table = lines((Column("NAME"), Column("NUMBER", right=True)), rows)
    assert len({width(line) for line in table}) == 1


NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
SIZES = {
    0: "0 B",
    1023: "1,023 B",
    1024: "1.0 KiB",
    1_288_490_189: "1.2 GiB",
    150 * 2**20: "150 MiB",
    2**20 - 1: "1.0 MiB",
    2**63 - 1: "8.0 EiB",
    None: "-",
}
DURATIONS = {
    0.4: "0s",
    119: "119s",
    300: "5m",
    7199: "119m",
    7200: "2h",
    3 * 86_400: "3d",
    800 * 86_400: "2y",
    -5: "0s",
    None: "-",
}
NUMBERS = {0: "0", 999: "999", 12_345: "12,345", -1: "-1", None: "-"}


def test_numbers_sizes_durations_and_ages_have_commas_and_one_unit() -> None:
    assert {value: human.number(value) for value in NUMBERS} == NUMBERS
    assert {value: human.size(value) for value in SIZES} == SIZES
    assert {value: human.duration(value) for value in DURATIONS} == DURATIONS
    assert human.age(NOW - timedelta(minutes=5), NOW) == "5m"
    assert human.age(NOW + timedelta(seconds=3), NOW) == "0s"
    assert human.age(None, NOW) == "-"
