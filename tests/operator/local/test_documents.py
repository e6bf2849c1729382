"""YAML documents: JSON values with lines, and faults that name the line, whatever the input."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock_operator.local.documents import DocumentError, read_documents

pytestmark = pytest.mark.interpreter


def read(text: str) -> list[object]:
    return [document.content for document in read_documents("m.yaml", text)]


def test_file_has_any_number_of_documents_of_json_values() -> None:
    assert read("a: 1\n---\n---\n# nothing\n---\nb: [x, 2.5, true, null]\n") == [
        {"a": 1},
        {"b": ["x", 2.5, True, None]},
    ]
    assert read("") == []
    assert read('{"kind": "Stream"}') == [{"kind": "Stream"}]
    assert read("at: 2026-01-31T12:00:00Z\nday: 2026-01-31") == [{"at": "2026-01-31T12:00:00Z", "day": "2026-01-31"}]
    text = "base: &base {a: 1, b: 2}\nmine:\n  <<: *base\n  b: 3\nagain: *base\n"
    assert read(text) == [{"base": {"a": 1, "b": 2}, "mine": {"a": 1, "b": 3}, "again": {"a": 1, "b": 2}}]


def test_each_value_and_item_has_its_line_and_a_missing_one_the_line_around_it() -> None:
    [document] = read_documents("m.yaml", "kind: Stream\nspec:\n  subjects:\n  - a\n  - b\n")
    assert document.place(("spec", "subjects", 1)) == "m.yaml:5"
    assert document.place(("spec", "maxAge")) == "m.yaml:2"
    assert document.place() == "m.yaml:1"
    [document] = read_documents("m.yaml", "kind: List\nitems:\n- kind: A\n- kind: B\n  spec: {}\n")
    assert [item.place() for item in document.items()] == ["m.yaml:3", "m.yaml:4"]
    assert [item.place(("spec",)) for item in document.items()] == ["m.yaml:3", "m.yaml:5"]


REFUSED = (
    ("a: [1", "m.yaml:1: This is not YAML"),
    ("a: 1\n\tb: 2", "m.yaml:2: This is not YAML"),
    ("a: 1\nb: 2\na: 3", "m.yaml:3: The key 'a' stands here a second time."),
    ("1: x", "m.yaml:1: A key is a string, and 1 is not one"),
    ("[a]: x", "m.yaml:1: A key is a string, and a list or a mapping is not one"),
    ("a: !!binary aGk=", "m.yaml:1: The tag tag:yaml.org,2002:binary means nothing in JSON."),
    ("a: !!python/object:os.system x", "means nothing in JSON."),
    ("a: !!set {x}", "means nothing in JSON."),
    ("a: !!int seven", "'seven' cannot be read as what its tag or form says."),
    ("a: *nothing", "found undefined alias"),
    ("a: &a [*a]", "It is nested deeper than 100 levels."),
    ("[" * 100_000, "It is nested deeper than 100 levels."),
    ("a: " + "9" * 5000, "cannot be read"),
    ("a: \x00", "This is not YAML"),
)


def test_document_that_json_cannot_express_is_refused_with_its_line(subtests: pytest.Subtests) -> None:
    for text, said in REFUSED:
        with subtests.test(text[:20]):
            with pytest.raises(DocumentError) as refusal:
                read(text)
            assert said in str(refusal.value)
            assert str(refusal.value).startswith("m.yaml:")


def test_nested_aliases_cannot_fill_the_memory() -> None:
    levels = [f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]" for level in range(1, 10)]
    with pytest.raises(DocumentError, match="more than 1,000,000 values"):
        read("\n".join(["a0: &a0 [x]", *levels]))


@given(st.text())
def test_any_text_is_read_or_refused_with_one_line(text: str) -> None:
    try:
        fault = ""
        read(text)
    except DocumentError as refusal:
        fault = str(refusal)
    assert not fault or (fault.startswith("m.yaml:") and "\n" not in fault)
