"""The plugins of all tests."""

pytest_plugins = ("tests.testbed.plugin", "tests.requirements", "tests.made_up", "tests.timing", "tests.stress")
