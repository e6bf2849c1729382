"""Manifests, read from files, folders and standard input: what they declare, and what else is in them.

Knows which files are read, and which kinds mean something to the local home: ours, Secrets, ConfigMaps, Namespaces.
Refuses what cannot be meant, each fault with its file and line, and all at once. Does not know what the kinds mean
(plan.declared).
"""

import base64
import binascii
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from penstock_operator.constants import API_VERSION, GROUP
from penstock_operator.local.documents import Document, DocumentError, read_documents
from penstock_operator.plan.declared import Declared, Identity
from penstock_operator.resources import KINDS

STANDARD_INPUT = "-"
SUFFIXES = (".yaml", ".yml", ".json")
NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
LIST = ("v1", "List")
SECRET = ("v1", "Secret")
CONFIG_MAP = ("v1", "ConfigMap")
NAMESPACE = ("v1", "Namespace")
FIELD = re.compile(r"(?<!\S)spec(\.\w+|\[[0-9]+\])*: ")
FILE_NAME = re.compile(r"[-._a-zA-Z0-9]{1,253}")
STEP = re.compile(r"\w+")
OUR_KINDS = tuple(kind.name for kind in KINDS)
FIRST_GENERATION = 1


class ManifestError(Exception):
    """Something in the manifests cannot be meant. Each fault is a sentence with file and line."""

    def __init__(self, faults: Sequence[str]) -> None:
        super().__init__("\n".join(faults))
        self.faults = tuple(faults)


@dataclass(frozen=True, slots=True)
class Manifests:
    """All that was read."""

    declared: dict[Identity, Declared] = field(default_factory=dict)
    contents: dict[Identity, Mapping[str, Any]] = field(default_factory=dict)
    """Each declared object as it was written, with its namespace."""
    places: dict[Identity, str] = field(default_factory=dict)
    """Where each stands, as file:line."""
    secrets: dict[tuple[str, str], Mapping[str, bytes]] = field(default_factory=dict)
    """By namespace and name."""
    config_maps: dict[tuple[str, str], Mapping[str, str]] = field(default_factory=dict)
    """By namespace and name: what is text in them."""
    namespaces: dict[str, Mapping[str, str]] = field(default_factory=dict)
    """The labels of those that were declared."""
    skipped: list[str] = field(default_factory=list)
    """What is of no kind that means something here, each as a sentence."""


def read_manifests(paths: Iterable[str], namespace: str, now: datetime, *, recursive: bool = False) -> Manifests:
    """Read files, folders, and standard input for "-"; what names no namespace is in the one given."""
    reader = _Reader(namespace, now)
    for path in paths:
        for source, text in reader.texts(path, recursive=recursive):
            reader.read(source, text)
    if reader.faults:
        raise ManifestError(reader.faults)
    return reader.found


def is_object_name(text: object) -> bool:
    """Tell whether Kubernetes takes it as the name of an object."""
    return isinstance(text, str) and NAME.fullmatch(text) is not None and ".." not in text


def is_file_name(text: str) -> bool:
    """Tell whether Kubernetes takes it as a key of a ConfigMap, which a mounted one has as a file."""
    return FILE_NAME.fullmatch(text) is not None and text not in {".", ".."}


class _Reader:
    """Gathers what documents say, and what is wrong with them."""

    def __init__(self, namespace: str, now: datetime) -> None:
        self.found = Manifests()
        self.faults: list[str] = []
        self._namespace = namespace
        self._now = now
        self._first: dict[tuple[str, str, str], str] = {}

    def texts(self, path: str, *, recursive: bool) -> Iterator[tuple[str, str]]:
        try:
            sources = _files(path, recursive=recursive)
        except OSError as problem:
            self.faults.append(f"{path}: The folder cannot be read: {problem.strerror}.")
            return
        for source in sources:
            try:
                yield str(source), _text(source)
            except OSError as problem:
                self.faults.append(f"{source}: It cannot be read: {problem.strerror}.")
            except UnicodeDecodeError as problem:
                self.faults.append(f"{source}: It is no text in UTF-8: byte {problem.start} is part of no letter.")

    def read(self, source: str, text: str) -> None:
        try:
            documents = read_documents(source, text)
        except DocumentError as problem:
            self.faults.append(str(problem))
            return
        for document in documents:
            self._take(document)

    def _take(self, document: Document) -> None:
        content = document.content
        if not isinstance(content, dict):
            self._fault(document, "A manifest is a mapping with apiVersion, kind and metadata.")
            return
        version, kind = content.get("apiVersion"), content.get("kind")
        if not isinstance(version, str) or not isinstance(kind, str):
            missing = "apiVersion" if not isinstance(version, str) else "kind"
            self._fault(document, f"A manifest says its {missing}, as a string.", missing)
        elif (version, kind) == LIST:
            self._take_list(document)
        elif self._metadata_holds(document):
            self._take_object(document, version, kind)

    def _take_list(self, document: Document) -> None:
        if not isinstance(document.content.get("items"), list):
            self._fault(document, "A List has items.", "items")
            return
        for item in document.items():
            self._take(item)

    def _take_object(self, document: Document, version: str, kind: str) -> None:
        name, namespace = self._name(document.content)
        if version.partition("/")[0] == GROUP:
            if self._is_ours(document, version, kind) and self._is_first(document, kind, namespace, name):
                self._declare(document, Identity(kind, namespace, name))
        elif (version, kind) == SECRET:
            if self._is_first(document, kind, namespace, name):
                self.found.secrets[namespace, name] = self._secret(document)
        elif (version, kind) == CONFIG_MAP:
            if self._is_first(document, kind, namespace, name):
                self.found.config_maps[namespace, name] = self._config_map(document)
        elif (version, kind) == NAMESPACE:
            self.found.namespaces[name] = document.content["metadata"].get("labels") or {}
        else:
            self.found.skipped.append(f"{document.place()}: {kind} {name} is none of Penstock's, and left alone.")

    def _is_ours(self, document: Document, version: str, kind: str) -> bool:
        if version != API_VERSION:
            self._fault(document, f"{version} is not known here: write apiVersion: {API_VERSION}.", "apiVersion")
        elif kind not in OUR_KINDS:
            self._fault(document, f"{GROUP} has no kind {kind:.80}; it has {', '.join(OUR_KINDS)}.", "kind")
        else:
            return True
        return False

    def _is_first(self, document: Document, kind: str, namespace: str, name: str) -> bool:
        place = document.place()
        first = self._first.setdefault((kind, namespace, name), place)
        if first != place:
            self._fault(document, f"{kind} {namespace}/{name} is declared a second time; the first is at {first}.")
        return first == place

    def _declare(self, document: Document, identity: Identity) -> None:
        content = {key: value for key, value in document.content.items() if key != "status"}
        content["metadata"] = {**content["metadata"], "namespace": identity.namespace}
        declared = Declared.read({**content, "metadata": self._as_if_created(identity, content["metadata"])})
        if declared.spec is None:
            for path, sentence in _by_field(declared.fault):
                self._fault(document, f"{identity}: {sentence}", *path)
            return
        self.found.declared[identity] = declared
        self.found.contents[identity] = content
        self.found.places[identity] = document.place()

    def _as_if_created(self, identity: Identity, metadata: Mapping[str, Any]) -> dict[str, Any]:
        """Return what people say of an object, and what an API server would add."""
        written = {key: metadata[key] for key in ("name", "namespace", "labels", "annotations") if metadata.get(key)}
        added = {"uid": str(identity), "generation": FIRST_GENERATION, "creationTimestamp": self._now.isoformat()}
        return {**written, **added}

    def _name(self, content: Mapping[str, Any]) -> tuple[str, str]:
        metadata = content["metadata"]
        return metadata["name"], metadata.get("namespace") or self._namespace

    def _metadata_holds(self, document: Document) -> bool:
        metadata = document.content.get("metadata")
        if not isinstance(metadata, dict):
            self._fault(document, "A manifest has metadata, with a name.", "metadata")
            return False
        faults = list(_metadata_faults(metadata))
        for key, sentence in faults:
            self._fault(document, sentence, "metadata", key)
        return not faults

    def _secret(self, document: Document) -> dict[str, bytes]:
        """Return a Secret's data. No fault quotes a value: it may be the secret."""
        data = {}
        for part, decode in (("data", _from_base64), ("stringData", str.encode)):
            values = document.content.get(part) or {}
            if not isinstance(values, dict):
                self._fault(document, f"{part} is a mapping.", part)
                continue
            for key, value in values.items():
                try:
                    data[key] = decode(value)
                except (TypeError, ValueError):
                    form = "base64" if part == "data" else "a string"
                    self._fault(document, f"The value of {part}.{key} is not {form}.", part, key)
        return data

    def _config_map(self, document: Document) -> dict[str, str]:
        values = document.content.get("data") or {}
        if not isinstance(values, dict):
            self._fault(document, "data is a mapping.", "data")
            return {}
        for key, value in values.items():
            if not isinstance(value, str) or not is_file_name(key):
                self._fault(document, f"data.{key}: a ConfigMap maps names of files to texts.", "data", key)
        return values

    def _fault(self, document: Document, sentence: str, *path: str | int) -> None:
        self.faults.append(f"{document.place(path)}: {_in_one_line(sentence)}")


def _files(path: str, *, recursive: bool) -> list[str | Path]:
    if path == STANDARD_INPUT or not Path(path).is_dir():
        return [path]
    found = Path(path).rglob("*") if recursive else Path(path).iterdir()
    return sorted(file for file in found if file.suffix in SUFFIXES and file.is_file())


def _text(source: str | Path) -> str:
    if source == STANDARD_INPUT:
        return sys.stdin.buffer.read().decode()
    return Path(source).read_text(encoding="utf-8")


def _in_one_line(sentence: str) -> str:
    """Leave out of a sentence what somebody wrote into a manifest to move a cursor, or by accident."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in sentence)


def _by_field(fault: str) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Split a fault into its sentences, each with the path to the field that it begins with."""
    starts = [match.start() for match in FIELD.finditer(fault)]
    for start, end in pairwise([*(starts if starts[:1] == [0] else [0, *starts]), len(fault)]):
        sentence = fault[start:end].strip()
        steps = STEP.findall(sentence.partition(": ")[0]) if FIELD.match(sentence) else ["spec"]
        yield tuple(int(step) if step.isdecimal() else step for step in steps), sentence


def _metadata_faults(metadata: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Tell what is wrong with what all objects have in common, each with the key that it is about."""
    if not is_object_name(metadata.get("name")):
        yield (
            "name",
            "metadata.name is of lower-case letters, digits, dots and dashes, with a letter or digit at each end.",
        )
    if metadata.get("namespace") is not None and not is_object_name(metadata["namespace"]):
        yield "namespace", "metadata.namespace is of lower-case letters, digits and dashes."
    for key in ("labels", "annotations"):
        values = metadata.get(key) or {}
        if not isinstance(values, dict) or not all(isinstance(value, str) for value in values.values()):
            yield key, f"metadata.{key} maps strings to strings: put numbers and yes or no into quotes."


def _from_base64(value: object) -> bytes:
    if not isinstance(value, str):
        raise TypeError
    try:
        return base64.b64decode("".join(value.split()), validate=True)
    except binascii.Error as problem:
        raise ValueError from problem
