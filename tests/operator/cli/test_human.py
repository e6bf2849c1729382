"""Numbers, sizes and ages in a readable form."""

from datetime import UTC, datetime, timedelta

from penstock_operator.cli import human

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


def test_numbers_sizes_and_durations_have_commas_and_one_unit() -> None:
    assert {value: human.number(value) for value in NUMBERS} == NUMBERS
    assert {value: human.size(value) for value in SIZES} == SIZES
    assert {value: human.duration(value) for value in DURATIONS} == DURATIONS


def test_an_age_lasts_until_now() -> None:
    assert human.age(NOW - timedelta(minutes=5), NOW) == "5m"
    assert human.age(NOW + timedelta(seconds=3), NOW) == "0s"
    assert human.age(None, NOW) == "-"
