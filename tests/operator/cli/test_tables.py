"""Tables: aligned, with one line per row for any text in the cells."""

from hypothesis import given
from hypothesis import strategies as st

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
