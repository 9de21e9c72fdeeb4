"""YAML documents in which every value keeps its place.

The node API of PyYAML is used instead of plain loading: each scalar stays the text that was
written (plain loading turns `20:1` into 1201 and `on` into true), duplicate keys are refused,
and each node has a line and a column. Schemas are pydantic models; their errors are mapped back
to the place in the file, with the nearest known name as a suggestion.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import TYPE_CHECKING, Any, TypeVar

from ..parsers.errors import KnowledgeError, Place
from ..parsers.record import dataclass
from ..parsers.suggest import suggestion

if TYPE_CHECKING:
    import yaml
    from pydantic import BaseModel

    M = TypeVar("M", bound=BaseModel)
else:
    M = TypeVar("M")

Key = str | int
Plain = str | list["Plain"] | dict[str, "Plain"] | None
LARGEST_FILE_BYTES = 4_000_000  # a rule file is prose; this stops a mistaken path, not a writer
DEEPEST_NESTING = 40


@dataclass(frozen=True)
class Document:
    """One parsed file: plain data (all scalars text), and where each value and key stands."""

    path: str
    data: Plain
    values: dict[tuple[Key, ...], tuple[int, int]] = field(default_factory=dict)
    keys: dict[tuple[Key, ...], tuple[int, int]] = field(default_factory=dict)
    styles: dict[tuple[Key, ...], str] = field(
        default_factory=dict
    )  # ' " | > or none, lists [ or -

    def place(self, *at: Key) -> Place:
        """Give the place of the value at a path, or of the nearest parent that has one."""
        for length in range(len(at), -1, -1):
            if at[:length] in self.values:
                return Place(self.path, *self.values[at[:length]])
        return Place(self.path)

    def text_place(self, *at: Key) -> Place:
        """Give the place of a scalar's first character, behind an opening quote."""
        place = self.place(*at)
        quoted = self.styles.get(at) in ("'", '"')
        return Place(place.path, place.line, place.column + 1) if quoted else place

    def key_place(self, *at: Key) -> Place:
        """Give the place of a mapping key."""
        return Place(self.path, *self.keys[at]) if at in self.keys else self.place(*at)

    def error(self, what: str, *at: Key, help: str | None = None) -> KnowledgeError:
        """Make the error for the value at a path."""
        return KnowledgeError(what, self.place(*at), help)


def read_document(text: str, path: str) -> Document:
    """Parse YAML text; raises KnowledgeError with line and column on anything irregular."""
    import yaml

    if len(text) > LARGEST_FILE_BYTES:
        raise KnowledgeError(
            f"the file has {len(text)} characters, more than {LARGEST_FILE_BYTES}", Place(path)
        )
    loader: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    try:
        _refuse_nesting_and_aliases(yaml.parse(text, Loader=loader), path)
        root = yaml.compose(text, Loader=loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = Place(path, mark.line + 1, mark.column + 1) if mark else Place(path)
        what = error.problem or "this is not YAML"
        raise KnowledgeError(what, place, "check indentation, quotes and colons there") from None
    except yaml.YAMLError as error:
        what = str(error).splitlines()[0]
        raise KnowledgeError(what, Place(path), "write the file as UTF-8 text") from None
    document = Document(path, None)
    if root is None:
        return document
    data = _plain(root, (), document)
    return Document(path, data, document.values, document.keys, document.styles)


def _refuse_nesting_and_aliases(events: Iterator[yaml.Event], path: str) -> None:
    """Walk the event stream, which needs no recursion, before anything is built from it."""
    import yaml

    depth = 0
    for event in events:
        mark = event.start_mark
        place = Place(path, mark.line + 1, mark.column + 1) if mark else Place(path)
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise KnowledgeError(
                "anchors and aliases are not used here", place, "write the value out"
            )
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > DEEPEST_NESTING:
                raise KnowledgeError(f"nested deeper than {DEEPEST_NESTING} levels", place)
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _plain(node: yaml.Node, at: tuple[Key, ...], document: Document) -> Plain:
    import yaml

    mark = node.start_mark
    document.values[at] = (mark.line + 1, mark.column + 1)
    if isinstance(node, yaml.ScalarNode):
        quoted = node.style in ("'", '"', "|", ">")
        document.styles[at] = node.style if quoted else ""
        return None if not quoted and node.value in ("", "~", "null") else str(node.value)
    if isinstance(node, yaml.SequenceNode):
        document.styles[at] = "[" if node.flow_style else "-"
        return [_plain(item, (*at, index), document) for index, item in enumerate(node.value)]
    mapping: dict[str, Plain] = {}
    for key, value in node.value:
        place = Place(document.path, key.start_mark.line + 1, key.start_mark.column + 1)
        if not isinstance(key, yaml.ScalarNode):
            raise KnowledgeError("a key must be text", place)
        if key.value in mapping:
            raise KnowledgeError(f'duplicate key "{key.value}"', place, "keep one of the two")
        mapping[key.value] = _plain(value, (*at, key.value), document)
        document.keys[(*at, key.value)] = (place.line, place.column)
    return mapping


def validate(document: Document, model: type[M], *at: Key) -> M:
    """Check the value at a path against a pydantic model; the first fault is raised with its place.

    Scalars arrive as text and pydantic's lax mode converts them to the type of the field.
    """
    checked = checked_or_faults(document, model, *at)
    if isinstance(checked, list):
        raise checked[0]
    return checked


def checked_or_faults(document: Document, model: type[M], *at: Key) -> M | list[KnowledgeError]:
    """Check the value at a path against a pydantic model; give it, or all of its faults."""
    from pydantic import ValidationError

    data: Any = document.data
    for key in at:
        data = data[key]
    try:
        return model.model_validate(data)
    except ValidationError as error:
        faults = sorted(error.errors(), key=_misspelt_first)
        return [_fault(document, model, fault, at) for fault in faults]


def _misspelt_first(fault: Any) -> bool:
    """A misspelt key is the reason why another one is missing."""
    return bool(fault["type"] != "extra_forbidden")


def _fault(
    document: Document, model: type[BaseModel], fault: Any, at: tuple[Key, ...]
) -> KnowledgeError:
    where = (*at, *fault["loc"])
    kind = fault["type"]
    if kind == "extra_forbidden":
        key = str(where[-1])
        known = _siblings(model, fault["loc"][:-1])
        place = document.key_place(*where)
        return KnowledgeError(f'unknown key "{key}"', place, suggestion(key, known))
    if kind == "missing":
        return document.error(f'missing "{where[-1]}"', *where[:-1], help=f'add "{where[-1]}:"')
    name = ".".join(map(str, where[len(at) :])) or "this"
    if fault.get("input", "") is None:
        return document.error(f"{name} is empty", *where, help="write a value, or remove the key")
    value = f", got {fault['input']!r}" if isinstance(fault.get("input"), str) else ""
    if kind == "literal_error":
        known = [word.strip("'") for word in _literal_words(fault["ctx"]["expected"])]
        help = suggestion(str(fault["input"]), known)
        return document.error(f"{name} is not one of {', '.join(known)}{value}", *where, help=help)
    return document.error(f"{name}: {fault['msg']}{value}", *where)


def _literal_words(expected: str) -> list[str]:
    """Split pydantic's list of choices: "'a', 'b' or 'c'"."""
    return expected.replace(" or ", ", ").split(", ")


def _siblings(model: type[BaseModel], loc: tuple[Key, ...]) -> list[str]:
    """Name the keys that the model allows where an unknown one stood."""
    from pydantic import BaseModel

    current: Any = model
    for step in loc:
        fields = getattr(current, "model_fields", {})
        if step in fields:
            current = _model_in(fields[step].annotation) or current
        elif isinstance(step, str) and not fields:
            break
    if isinstance(current, type) and issubclass(current, BaseModel):
        return [entry.alias or name for name, entry in current.model_fields.items()]
    return []


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """Find the model inside `list[Model]`, `Model | None` and the like."""
    from pydantic import BaseModel

    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for part in getattr(annotation, "__args__", ()):
        found = _model_in(part)
        if found is not None:
            return found
    return None
