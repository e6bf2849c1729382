"""A pytest plugin for the marker `requirement`: adds the ids to the report, and selects tests by them."""

from functools import cache

import pytest

from tools.requirements import PROPERTY, STATEMENTS, load


@cache
def known() -> frozenset[str]:
    return frozenset(load())


def pytest_addoption(parser: pytest.Parser) -> None:
    told = "run only tests that prove it; may be repeated"
    parser.getgroup("requirements").addoption("--requirement", action="append", default=[], metavar="ID", help=told)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the ids that a test proves into its report; leave out tests that prove none of those asked for."""
    for item in items:
        item.user_properties.extend((PROPERTY, id_) for id_ in sorted(proved_by(item) & known()))
    wanted = set(config.option.requirement)
    if wanted:
        config.hook.pytest_deselected(items=[item for item in items if not wanted & proved_by(item)])
        items[:] = [item for item in items if wanted & proved_by(item)]


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Fail a test that claims to prove what is not stated: here, as a parallel process cannot end the run."""
    unknown = proved_by(item) - known()
    if unknown:
        pytest.fail(f"It proves {', '.join(sorted(unknown))}, which {STATEMENTS.name} does not state.", pytrace=False)


def proved_by(item: pytest.Item) -> set[str]:
    return {id_ for marker in item.iter_markers(PROPERTY) for id_ in marker.args}
