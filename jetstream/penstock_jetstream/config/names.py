"""What may be the name of a stream, a consumer or a bucket (X-18).

Knows what would make a name several tokens of a subject, or a path. Does not know which names are taken.
"""

from unicodedata import category

MAX_NAME_BYTES = 255
FORBIDDEN = ".*>/\\"
NAME_ADVICE = "Use letters, digits, - and _: no white space, and none of . * > / \\."


def name_fault(name: str) -> str:
    """Return what is wrong with a name, as the end of "the name …"; empty if nothing is."""
    if not name:
        return "is empty"
    if len(name.encode("utf-8", "surrogatepass")) > MAX_NAME_BYTES:
        return f"is longer than {MAX_NAME_BYTES} bytes"
    wrong = sorted({letter for letter in name if letter in FORBIDDEN or letter.isspace() or category(letter) == "Cc"})
    return f"contains {', '.join(map(repr, wrong))}" if wrong else ""
