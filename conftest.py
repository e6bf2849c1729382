"""Every test has the testbed's fixtures, and examples made up in the same way."""

pytest_plugins = ("tests.testbed.plugin", "tests.requirements", "tests.made_up")
