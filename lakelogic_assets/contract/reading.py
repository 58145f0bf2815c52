"""YAML text → plain values, with the file and line of every one of them.

The C parser composes the node tree; the values are built here, because a contract is stricter than YAML:
only true/false are booleans (`on:` is a key of a join), dates, times and `010` stay text, a key may
stand once, and a file from a stranger is refused before it can exhaust the machine.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NoReturn

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from lakelogic_assets.contract.problems import Location, Problem, YamlPath, shown
from lakelogic_assets.errors import ContractError

try:
    from yaml._yaml import CParser  # pyright: ignore[reportMissingModuleSource, reportMissingImports]
except ImportError as missing:  # PyYAML built without libyaml
    raise ImportError(
        "PyYAML has no C parser here; reinstall it from a wheel: pip install --force-reinstall PyYAML"
    ) from missing

MAX_BYTES = 2 * 1024 * 1024
MAX_DEPTH = 40
MAX_VALUES = 200_000
MAX_PROBLEMS = 200
"""Of reading one file; who makes more of them does not write YAML."""

_PLAIN, _QUOTED, _COLLECTION = "plain", "quoted", "collection"
_STANDARD_TAG = "tag:yaml.org,2002:"
_PLAIN_TAGS = frozenset(
    _STANDARD_TAG + name for name in ("map", "seq", "str", "int", "float", "bool", "null", "timestamp")
)
_WORDS = {
    "true": True, "True": True, "TRUE": True,
    "false": False, "False": False, "FALSE": False,
    "null": None, "Null": None, "NULL": None, "~": None, "": None,
}  # fmt: skip
_NUMBER_START = frozenset("-.0123456789")
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,18})\Z")
_FLOAT = re.compile(
    r"-?(?:(?:0|[1-9][0-9]*)?\.[0-9]+|(?:0|[1-9][0-9]*)\.|(?:0|[1-9][0-9]*)(?=[eE]))(?:[eE][-+]?[0-9]{1,3})?\Z"
)

# libyaml composes by recursion in C and ends the process on 10,000 brackets. Only a file that could
# nest that deeply pays for the second, iterative look.
_SUSPICIOUS = re.compile(r"^[ ]{120}|(?:[-?:] +){25}", re.MULTILINE)
_LONG_LINE = 120
_NOT_YAML = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_WIDE = 16


class _Composer(CParser):
    """libyaml's parser with the three hooks that composing needs, reduced to what is used here."""

    def descend_resolver(self, parent: Any, index: Any) -> None: ...

    def ascend_resolver(self) -> None: ...

    def resolve(self, kind: type[Node], value: Any, implicit: Any) -> str:  # noqa: ARG002 - the parser passes it
        if kind is not ScalarNode:
            return _COLLECTION
        return _PLAIN if implicit[0] else _QUOTED


class Document:
    """One YAML file: its values and where each of them stands."""

    __slots__ = ("_nodes", "_wide", "data", "path", "text")

    def __init__(self, path: Path | None, text: str, data: dict[str, Any]) -> None:
        self.path = path
        self.text = text
        self.data = data
        self._nodes: Node | None = None
        self._wide: dict[int, dict[str, tuple[Node, Node]]] = {}

    @property
    def root(self) -> Node:
        """The node tree, composed again for the few files that have something to report: it is ten times the text."""
        if self._nodes is None:
            self._nodes = _compose(self.text)
        return self._nodes

    def locate(self, path: YamlPath = ()) -> Location:
        """Where the value at `path` stands; for a part that is not there, the nearest that is."""
        key, _ = self._walk(path)
        return self._location(key)

    def locate_value(self, path: YamlPath, offset_line: int = 0) -> Location:
        """The value itself rather than its key; `offset_line` counts lines into a block of text."""
        key, value = self._walk(path)
        if not isinstance(value, ScalarNode):
            return self._location(key)
        mark = value.start_mark
        if value.style not in ("|", ">"):
            return Location(self.path, mark.line + 1, mark.column + 1)
        # Only in a literal block is a line of the text a line of the file.
        return Location(self.path, mark.line + 2 + (offset_line if value.style == "|" else 0))

    def _location(self, node: Node) -> Location:
        return Location(self.path, node.start_mark.line + 1, node.start_mark.column + 1)

    def _walk(self, path: YamlPath) -> tuple[Node, Node]:
        """The node that names the value (its key, or the list item) and the value's node."""
        key: Node = self.root
        node: Node = self.root
        for part in path:
            found = self._child(node, part)
            if found is not None:
                key, node = found
        return key, node

    def _child(self, node: Node, part: str | int) -> tuple[Node, Node] | None:
        if isinstance(node, SequenceNode):
            if isinstance(part, int) and 0 <= part < len(node.value):
                return node.value[part], node.value[part]
            return None
        if not isinstance(node, MappingNode):
            return None
        if len(node.value) > _WIDE:
            own = self._by_key(node).get(str(part))
        else:
            own = next(((key, value) for key, value in node.value if key.value == part), None)
        return own or self._merged_child(node, part)

    def _by_key(self, node: MappingNode) -> dict[str, tuple[Node, Node]]:
        """A wide mapping is searched once, not once for each of its problems."""
        if id(node) not in self._wide:
            self._wide[id(node)] = {key.value: (key, value) for key, value in node.value}
        return self._wide[id(node)]

    def _merged_child(self, node: MappingNode, part: str | int) -> tuple[Node, Node] | None:
        """What `<<` brings in stands where its anchor is."""
        brought = [value for key, value in node.value if key.value == "<<"]
        sources = [each for value in brought for each in (value.value if isinstance(value, SequenceNode) else [value])]
        return next((found for source in sources if (found := self._child(source, part))), None)


def read_document(path: Path) -> Document:
    """Read one file, or raise a ContractError that names the line."""
    try:
        size = path.stat().st_size
        if size > MAX_BYTES:
            _refuse(
                "LL003", f"The file has {size:,} bytes; at most {MAX_BYTES:,} are read.", Location(path), found=size
            )
        raw = path.read_bytes()
    except OSError as error:
        _refuse("LL001", f"The file cannot be read: {error.strerror or error}.", Location(path))
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        _refuse("LL002", f"Byte {error.start} is not UTF-8.", Location(path, line))
    return read_text(text, path)


def read_text(text: str, path: Path | None = None) -> Document:
    """Read YAML text; `path` is only used to say where a problem is."""
    if len(text) > MAX_BYTES:
        _refuse("LL003", f"The text has {len(text):,} characters; at most {MAX_BYTES:,} are read.", Location(path))
    try:
        _check_depth(text, path)
        root = _compose(text)
    except yaml.YAMLError as error:
        _refuse_syntax(error, text, path)
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        _refuse("LL002", f"The character {text[error.start]!r} does not exist in UTF-8.", Location(path, line))
    if root is None:
        _refuse("LL009", "The file is empty.", Location(path))
    if not isinstance(root, MappingNode):
        _refuse("LL009", f"The file holds a {_kind(root)}, not a mapping.", _mark(path, root))
    builder = _Builder(path)
    data = builder.mapping(root, 1)
    if builder.problems:
        raise ContractError(builder.problems)
    return Document(path, text, data)


def read_value(text: str) -> Any:
    """One value on one line: a list, a mapping or a quoted text as in a file; anything else is taken as it is."""
    text = text.strip()
    if text[:1] not in ("[", "{", '"', "'"):
        return _scalar(text)
    data = read_text(f"value: {text}").data
    if list(data) != ["value"]:
        _refuse("LL010", "The text holds more than one value.", Location())
    return data["value"]


def _compose(text: str) -> Any:
    return _Composer(text).get_single_node()


class _Builder:
    """Builds plain values from nodes, counting what it builds; what one value does wrong does not hide the next."""

    __slots__ = ("count", "path", "problems")

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.count = 0
        self.problems: list[Problem] = []

    def value(self, node: Node, depth: int) -> Any:
        if type(node) is ScalarNode:
            tag = node.tag
            if tag == _QUOTED:
                return node.value
            if tag == _PLAIN:
                return _scalar(node.value)
            return self.tagged(node)
        if type(node) is MappingNode:
            return self.mapping(node, depth + 1)
        return self.sequence(node, depth + 1)

    def mapping(self, node: MappingNode, depth: int) -> dict[str, Any]:
        self.enter(node, depth)
        result: dict[str, Any] = {}
        merged: list[tuple[Node, Node]] = []
        for key_node, value_node in node.value:
            key = self.key(key_node)
            if key == "<<" and key_node.tag == _PLAIN:
                merged.append((key_node, value_node))
            elif key in result:
                self.report("LL005", f"The key `{shown(key)[1:-1]}` stands twice.", key_node, key)
            else:
                result[key] = self.value(value_node, depth)
        for key_node, value_node in merged:
            for key, value in self.merge(key_node, value_node, depth).items():
                result.setdefault(key, value)
        return result

    def sequence(self, node: Node, depth: int) -> list[Any]:
        self.enter(node, depth)
        return [self.value(item, depth) for item in node.value]

    def merge(self, key: Node, node: Node, depth: int) -> dict[str, Any]:
        """What `<<` brings in; of several mappings the earlier wins."""
        parts = node.value if isinstance(node, SequenceNode) else [node]
        result: dict[str, Any] = {}
        for part in parts:
            if not isinstance(part, MappingNode):
                self.report("LL012", f"`<<` brings in a {_kind(part)}.", key)
                continue
            for name, value in self.mapping(part, depth + 1).items():
                result.setdefault(name, value)
        return result

    def key(self, node: Node) -> str:
        if isinstance(node, ScalarNode) and (node.tag == _QUOTED or node.tag == _PLAIN):
            return str(node.value)
        self.report("LL011", f"A {_kind(node)} cannot be a key.", node)
        return f"key {len(self.problems)}"

    def tagged(self, node: ScalarNode) -> Any:
        if node.tag == _STANDARD_TAG + "str":
            return node.value
        if node.tag in _PLAIN_TAGS:
            return _scalar(node.value)
        self.report("LL008", f"The tag `{_shown_tag(node.tag)}` is not allowed.", node, node.tag)
        return None

    def enter(self, node: Node, depth: int) -> None:
        if node.tag != _COLLECTION and node.tag not in _PLAIN_TAGS:
            self.report("LL008", f"The tag `{_shown_tag(node.tag)}` is not allowed.", node, node.tag)
        if depth > MAX_DEPTH:
            _refuse("LL006", f"More than {MAX_DEPTH} levels are nested here.", _mark(self.path, node))
        self.count += 1 + len(node.value)
        if self.count > MAX_VALUES:
            _refuse("LL007", f"The file expands to more than {MAX_VALUES:,} values.", _mark(self.path, node))

    def report(self, code: str, message: str, node: Node, found: Any = None) -> None:
        problem = Problem(code, message, _mark(self.path, node), found=found)
        if problem not in self.problems[-20:]:  # an alias brings the same node again
            self.problems.append(problem)
        if len(self.problems) >= MAX_PROBLEMS:
            raise ContractError(self.problems)


def _scalar(text: str) -> Any:
    if text in _WORDS:
        return _WORDS[text]
    if text[0] in _NUMBER_START:
        if _INTEGER.match(text):
            return int(text)
        if _FLOAT.match(text):
            return float(text)
    return text


def _check_depth(text: str, path: Path | None) -> None:
    """Refuse what is nested too deeply, for a file that could be: many brackets, or lines long enough to nest by."""
    may_nest = any(len(line) > _LONG_LINE for line in text.split("\n")) and _SUSPICIOUS.search(text)
    if text.count("[") + text.count("{") < 500 and not may_nest:
        return
    depth = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > MAX_DEPTH:
            mark = event.start_mark
            where = Location(path, mark.line + 1, mark.column + 1) if mark else Location(path)
            _refuse("LL006", f"More than {MAX_DEPTH} levels are nested here.", where)


def _refuse_syntax(error: yaml.YAMLError, text: str, path: Path | None) -> NoReturn:
    if isinstance(error, yaml.reader.ReaderError) and (strange := _NOT_YAML.search(text)):
        line = text.count("\n", 0, strange.start()) + 1
        _refuse("LL004", f"The character {strange[0]!r} may not stand in YAML.", Location(path, line))
    # A quote that is never closed is found at the end of the file; where it was opened is what people look for.
    at_end = "unexpected end of stream" in str(getattr(error, "problem", None))
    mark = getattr(error, "context_mark", None) if at_end else getattr(error, "problem_mark", None)
    where = Location(path, mark.line + 1, mark.column + 1) if mark else Location(path)
    what = " ".join(str(part) for part in (getattr(error, "context", None), getattr(error, "problem", None)) if part)
    if "single document" in what:
        _refuse("LL010", "A second YAML document starts here.", where)
    _refuse("LL004", f"YAML cannot be read here: {what or error}.", where)


def _refuse(code: str, message: str, where: Location, found: Any = None) -> NoReturn:
    raise ContractError([Problem(code, message, where, found=found)])


def _mark(path: Path | None, node: Node) -> Location:
    return Location(path, node.start_mark.line + 1, node.start_mark.column + 1)


def _kind(node: Node) -> str:
    return "mapping" if isinstance(node, MappingNode) else "list" if isinstance(node, SequenceNode) else "single value"


def _shown_tag(tag: str) -> str:
    return tag.replace(_STANDARD_TAG, "!!")
