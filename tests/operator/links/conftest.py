"""What tests of links share."""

from collections.abc import AsyncIterator

import pytest

from tests.operator.links.linking import Kept, keeping


@pytest.fixture
async def kept() -> AsyncIterator[Kept]:
    async with keeping() as kept:
        yield kept
