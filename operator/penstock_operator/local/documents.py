"""YAML, as people write manifests, into JSON values that know on which line each of them stands.

Knows YAML, and what of it has no meaning in JSON: tags, keys that are no strings, a mapping that says a key twice. Bad
input is told in sentences with a file and a line, whatever it is. Does not know what a manifest is (manifests.py).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml
from yaml.composer import Composer
from yaml.constructor import SafeConstructor
from yaml.cyaml import CParser  # type: ignore[attr-defined]
from yaml.resolver import Resolver

MOST_VALUES = 1_000_000
"""In one document, with what its aliases repeat: a few lines of aliases of aliases can mean more than fits a memory."""
DEEPEST = 100
"""No schema of ours is nested so deep."""
SHOWN_LETTERS = 60
"""How much of a value stands in an error."""

Scalar = str | int | float | bool | None
Path = tuple[str | int, ...]
"""The way to a value: spec, subjects, 0."""

_PLAIN = "tag:yaml.org,2002:"
_MERGE = _PLAIN + "merge"


class DocumentError(Exception):
    """What was written is not YAML, or not what JSON can say. The text is a sentence, with file and line."""


@dataclass(frozen=True, slots=True)
class Document:
    """One document of a file, and the line of each of its values."""

    source: str
    content: Any
    lines: Mapping[Path, int]
    root: Path = field(default=())
    """Where in the file's document this one is: items of a List are documents of their own."""

    def place(self, path: Path = ()) -> str:
        """Return file:line of a value, or of the nearest one around it that is there."""
        whole = (*self.root, *path)
        while whole and whole not in self.lines:
            whole = whole[:-1]
        return f"{self.source}:{self.lines[whole]}"

    def items(self) -> Iterator["Document"]:
        """Go through the items of a List."""
        for number, content in enumerate(self.content["items"]):
            yield Document(self.source, content, self.lines, (*self.root, "items", number))


def read_documents(source: str, text: str) -> list[Document]:
    """Read all documents of a file; empty ones are left out."""
    try:
        loader = _Loader(text)
        documents = []
        while loader.check_node():
            reader = _Reader(source, loader)
            content = reader.document()
            if content is not None:
                documents.append(Document(source, content, reader.lines))
    except yaml.MarkedYAMLError as problem:
        raise DocumentError(_sentence(source, text, problem)) from problem
    except yaml.reader.ReaderError as problem:
        line = text.encode(errors="replace")[: problem.position].count(b"\n") + 1
        raise DocumentError(
            f"{source}:{line}: This is not YAML: no text has the character {problem.character!r}."
        ) from problem
    except UnicodeEncodeError as problem:
        line = text[: problem.start].count("\n") + 1
        raise DocumentError(f"{source}:{line}: This is not YAML: it has half of a character.") from problem
    except RecursionError:
        raise DocumentError(f"{source}:1: It is nested deeper than {DEEPEST} levels.") from None
    return documents


def _sentence(source: str, text: str, problem: yaml.MarkedYAMLError) -> str:
    mark = problem.problem_mark or problem.context_mark
    line = min(mark.line, text.count("\n")) + 1 if mark else 1  # what is missing at the end is missing on its last line
    said = ", ".join(part for part in (problem.context, problem.problem) if part)
    return f"{source}:{line}: This is not YAML: {said}."


class _Loader(Composer, CParser, SafeConstructor, Resolver):
    """Has libyaml parse, ten times as fast as Python, and Python compose: libyaml would overflow its stack.

    It reads times as the strings that they are in JSON.
    """

    yaml_implicit_resolvers = {  # noqa: RUF012 - yaml's own way to choose
        first: [(tag, pattern) for tag, pattern in resolvers if tag != _PLAIN + "timestamp"]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def __init__(self, text: str) -> None:
        CParser.__init__(self, text)
        Composer.__init__(self)
        SafeConstructor.__init__(self)
        Resolver.__init__(self)


class _Reader:
    """Makes a document's nodes values, and notes their lines."""

    def __init__(self, source: str, loader: _Loader) -> None:
        self.lines: dict[Path, int] = {}
        self._source = source
        self._loader = loader
        self._values = 0
        self._constructors: Mapping[str, Callable[[yaml.ScalarNode], Scalar]] = {
            _PLAIN + "str": lambda node: str(node.value),
            _PLAIN + "null": lambda node: None,  # noqa: ARG005 - there is nothing in it
            _PLAIN + "bool": loader.construct_yaml_bool,
            _PLAIN + "int": loader.construct_yaml_int,
            _PLAIN + "float": loader.construct_yaml_float,
        }

    def document(self) -> Any:  # noqa: ANN401 - JSON is anything
        node = self._loader.get_node()
        return None if node is None else self.value(node, (), DEEPEST)

    def value(self, node: yaml.Node, path: Path, depth: int) -> Any:  # noqa: ANN401 - JSON is anything
        self._values += 1
        if self._values > MOST_VALUES:
            raise self._fault(node, f"It has more than {MOST_VALUES:,} values, with those that its aliases repeat.")
        if not depth:
            raise self._fault(node, f"It is nested deeper than {DEEPEST} levels.")
        self.lines[path] = node.start_mark.line + 1
        match node:
            case yaml.MappingNode(tag="tag:yaml.org,2002:map"):
                return self._mapping(node, path, depth)
            case yaml.SequenceNode(tag="tag:yaml.org,2002:seq"):
                return [self.value(each, (*path, number), depth - 1) for number, each in enumerate(node.value)]
            case yaml.ScalarNode():
                return self._scalar(node)
            case _:
                raise self._fault(node, f"The tag {_short(node.tag)} means nothing in JSON.")

    def _mapping(self, node: yaml.MappingNode, path: Path, depth: int) -> dict[str, Any]:
        self._refuse_repeated_keys(node)
        self._loader.flatten_mapping(node)  # what a merge brings comes first, so that what is written here wins
        found: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = self._key(key_node)
            found[key] = self.value(value_node, (*path, key), depth - 1)
            self.lines[*path, key] = key_node.start_mark.line + 1
        return found

    def _refuse_repeated_keys(self, node: yaml.MappingNode) -> None:
        seen: set[str] = set()
        for key_node, _ in node.value:
            if key_node.tag == _MERGE:
                continue
            key = self._key(key_node)
            if key in seen:
                raise self._fault(key_node, f"The key {_short(key)!r} stands here a second time.")
            seen.add(key)

    def _key(self, node: yaml.Node) -> str:
        if not isinstance(node, yaml.ScalarNode) or node.tag != _PLAIN + "str":
            shown = _short(node.value) if isinstance(node, yaml.ScalarNode) else "a list or a mapping"
            raise self._fault(node, f"A key is a string, and {shown} is not one: put it in quotes.")
        return str(node.value)

    def _scalar(self, node: yaml.ScalarNode) -> Scalar:
        construct = self._constructors.get(node.tag)
        if construct is None:
            raise self._fault(node, f"The tag {_short(node.tag)} means nothing in JSON.")
        try:
            return construct(node)
        except (ValueError, KeyError, IndexError):
            raise self._fault(node, f"{_short(node.value)!r} cannot be read as what its tag or form says.") from None

    def _fault(self, node: yaml.Node, sentence: str) -> DocumentError:
        return DocumentError(f"{self._source}:{node.start_mark.line + 1}: {sentence}")


def _short(text: Sequence[str] | str) -> str:
    shown = str(text)
    return shown if len(shown) <= SHOWN_LETTERS else f"{shown[:SHOWN_LETTERS]}…"
