"""How hypothesis makes up examples, in all tests: the same everywhere, and as fast as the machine happens to be.

By hand: `pytest --hypothesis-profile=thorough` takes other examples each time, and many. A pytest plugin.
"""

from hypothesis import HealthCheck, settings
from hypothesis.configuration import set_hypothesis_home_dir

from tools.environment import ROOT

THOROUGH_EXAMPLES = 20_000

set_hypothesis_home_dir(ROOT / ".cache" / "hypothesis")
settings.register_profile(
    "same-everywhere",
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "thorough", settings.get_profile("same-everywhere"), derandomize=False, max_examples=THOROUGH_EXAMPLES
)
settings.load_profile("same-everywhere")
