"""Statements of a resource log put together to records, across the traps of the real logs.

ptxas reports an entry in three lines and puts the properties of device functions between them or
after them. nvlink reports the same kernel again with the final figures. `cuobjdump -res-usage`
shows spills as stack only and, like nvlink, counts the driver's reserve as shared memory on the
architectures that the knowledge base lists.
"""

from __future__ import annotations

from dataclasses import field

from lark import Token, Tree

from .generations import family
from .listing import ResourceRecord
from .record import dataclass

Statement = Tree[Token]


@dataclass
class Draft:
    """A record that is still being read."""

    name: str
    arch: str | None
    line: int
    is_entry: bool | None
    linked: bool = False
    reserve: bool = False
    figures: dict[str, int | None] = field(default_factory=dict)
    banks: dict[int, int] = field(default_factory=dict)

    def record(self, path: str) -> ResourceRecord:
        """Freeze the draft; what was not said stays None."""
        get = self.figures.get
        return ResourceRecord(
            name=self.name,
            arch=self.arch,
            is_entry=self.is_entry,
            registers=get("registers"),
            static_smem=get("smem"),
            stack=get("stack"),
            spill_stores=get("spill_stores"),
            spill_loads=get("spill_loads"),
            barriers=get("barriers"),
            constant=self.banks.get(0),
            local=get("lmem"),
            smem_includes_reserve=self.reserve,
            constant_banks=tuple(sorted(self.banks.items())) or None,
            path=path,
            line=self.line,
        )


class Log:
    """The state of reading: which architecture, which entry, which function is spoken of."""

    def __init__(self, path: str, reserve_bytes: dict[str, int], arch: str | None) -> None:
        self.path = path
        self.reserve_bytes = reserve_bytes
        self.default_arch = arch
        self.arch: str | None = None
        self.entry: Draft | None = None
        self.subject: Draft | None = None
        self.drafts: list[Draft] = []

    def take(self, statement: Statement, line: int) -> None:
        """Take one parsed statement in."""
        kind = str(statement.data)
        if kind == "code_of":
            self.arch = _arch(_tokens(statement)[0])
            self.entry = self.subject = None
        elif kind == "compiling":
            quoted, arch = _tokens(statement)
            self.arch = _arch(arch)
            self.entry = self.subject = self.open(str(quoted[1:-1]), self.arch, line, True)
        elif kind == "properties":
            self.properties(statement, line)
        elif kind == "function":
            name = str(_tokens(statement)[0]).strip()
            self.entry = None
            self.subject = self.open(name, self.arch or self.default_arch, line, None)
        elif kind == "frame" and self.subject is not None:
            stack, stores, loads = (_bytes(token) for token in _tokens(statement))
            self.subject.figures.update(stack=stack, spill_stores=stores, spill_loads=loads)
        elif kind == "used":
            self.used(statement, line)
        elif kind == "usage" and self.subject is not None:
            self.usage(_tokens(statement))

    def open(self, name: str, arch: str | None, line: int, is_entry: bool | None) -> Draft:
        """Start a record."""
        draft = Draft(name, arch, line, is_entry)
        self.drafts.append(draft)
        return draft

    def properties(self, statement: Statement, line: int) -> None:
        """Turn to the function that the next lines speak of: the entry, or one beside it."""
        token = _tokens(statement)[0]
        target = _target(statement)
        if token.type == "LINKED_NAME":
            name = token.rstrip(": \t")[1:-1]
            self.entry = None
            self.subject = self.open(name, target or self.arch, line, None)
            self.subject.linked = True
        elif self.entry is not None and self.entry.name == str(token).strip():
            self.subject = self.entry
        else:
            arch = self.arch or self.default_arch
            self.subject = self.open(str(token).strip(), arch, line, False)

    def used(self, statement: Statement, line: int) -> None:
        """Take the figures after `Used`; they belong to the entry until it has its own."""
        draft = self.subject
        if self.entry is not None and "registers" not in self.entry.figures:
            draft = self.entry
        if draft is None:
            return
        draft.figures.setdefault("smem", 0)  # ptxas leaves out what is zero
        for item in statement.find_pred(lambda tree: tree.data != "used"):
            numbers = [int(token) for token in _tokens(item) if token.type == "NUMBER"]
            if item.data == "bank":
                bank = next(token for token in _tokens(item) if token.type == "BANK")
                draft.banks[int(bank[5:-1])] = sum(numbers)
            elif item.data == "cumulative":
                draft.figures.setdefault("stack", sum(numbers))
            elif numbers and item.data != "ignored":
                draft.figures[str(item.data)] = sum(numbers)
        if draft.linked:
            draft.is_entry = True if 0 in draft.banks else None
            self.take_reserve_off(draft)

    def usage(self, fields: list[Token]) -> None:
        """Take one line of `-res-usage`."""
        draft = self.subject
        if draft is None:
            return
        names = {"STACK": "stack", "SHARED": "smem", "LOCAL": "lmem"}
        for field_text in fields:
            name, _, value = field_text.partition(":")
            if not value.isdigit():
                continue  # STACK:UNKNOWN, of a recursive function
            if name.startswith("CONSTANT["):
                draft.banks[int(name[9:-1])] = int(value)
            elif name == "REG" and int(value):  # REG:0 stands in objects that are not linked yet
                draft.figures["registers"] = int(value)
            elif name in names:
                draft.figures[names[name]] = int(value)
        draft.is_entry = True if 0 in draft.banks else None
        self.take_reserve_off(draft)

    def take_reserve_off(self, draft: Draft) -> None:
        """Take the driver's reserve off; a kernel without shared memory is shown with 0."""
        arch = draft.arch or ""
        reserve = self.reserve_bytes.get(arch, self.reserve_bytes.get(family(arch), 0))
        smem = draft.figures.get("smem")
        if reserve and smem is not None and smem >= reserve:
            draft.figures["smem"] = smem - reserve
            draft.reserve = True

    def records(self) -> list[ResourceRecord]:
        """Give one record per function and architecture; the linker's figures win over ptxas."""
        kept: dict[tuple[str, str | None, str], Draft] = {}
        for draft in self.drafts:
            if not draft.figures:
                continue
            key = (draft.name, draft.arch, "")
            before = kept.get(key)
            if before is not None and draft.linked and not before.linked:
                before.figures.update({k: v for k, v in draft.figures.items() if v is not None})
                before.banks.update(draft.banks)
                before.reserve = draft.reserve
                continue
            if before is not None and (before.figures, before.banks) != (
                draft.figures,
                draft.banks,
            ):
                key = (draft.name, draft.arch, str(draft.line))  # another build of the same name
            kept.setdefault(key, draft)
        return [draft.record(self.path) for draft in kept.values()]


def _tokens(statement: Statement) -> list[Token]:
    return [child for child in statement.children if isinstance(child, Token)]


def _target(statement: Statement) -> str | None:
    for child in statement.children:
        if isinstance(child, Tree) and child.data == "target":
            return _arch(_tokens(child)[0])
    return None


def _arch(token: Token) -> str:
    return token.strip("'")


def _bytes(token: Token) -> int | None:
    """Give a byte count; a negative one, as some releases print for spills, tells nothing."""
    return int(token) if int(token) >= 0 else None
