"""What goes together in a mirror or a source, and what does not.

Knows the exclusions within one source. Does not know the Stream that it stands in.
"""

from penstock_operator.resources.terms import Term, filled, given, rule, value

_OWN_API = "$JS.API"

EXTERNAL_RULES = (
    rule(
        "The apiPrefix $JS.API is this account's own: leave external out, or give another prefix.",
        Term(f"self.apiPrefix != '{_OWN_API}'", lambda external: value(external, "apiPrefix") != _OWN_API),
    ),
)

SOURCE_RULES = (
    rule(
        "Choose startSequence or startTime: a copy begins at one place.",
        ~(given("startSequence") & given("startTime")),
    ),
    rule(
        "Choose filterSubject or subjectTransforms: the source of a transform is its filter.",
        ~(given("filterSubject") & filled("subjectTransforms")),
    ),
    rule(
        "A consumer excludes startSequence, startTime and filterSubject: it says itself what it delivers.",
        ~(given("consumer") & (given("startSequence") | given("startTime") | given("filterSubject"))),
    ),
)
