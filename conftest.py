"""Every test has the testbed's fixtures."""

pytest_plugins = ("tests.testbed.plugin", "tests.requirements")
