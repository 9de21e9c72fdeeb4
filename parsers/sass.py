"""SASS text in, `Listing` out: what cuobjdump and nvdisasm print, with or without encodings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from .collector import collector_paused
from .listing import Function, Instruction, Listing

# Opcodes whose last immediate is an address; other label operands are recognised by their form.
_JUMPS = frozenset({"BRA", "BSSY", "CALL", "JMP"})


def parse_sass(text: str, path: str = "<text>") -> Listing:
    """Parse a SASS listing.

    Raises KneckError where the text holds no SASS that kneck reads: PTX, an empty text, noise, or
    code of a generation before the 128-bit encoding.
    """
    from .sass_dialects import to_cuobjdump, without_markup
    from .sass_lines import Reader

    text = without_markup(_unix_lines(text))
    with collector_paused():
        listing = Reader(path).read(text)
        if not listing.functions and not listing.refused:
            converted = to_cuobjdump(text)
            if converted is not None:
                listing = Reader(path).read(converted)
    if not listing.functions:
        from .refusals import refusal

        raise refusal(text, listing)
    return listing


def branch_target(instruction: Instruction, function: Function) -> int | None:
    """Give the address that a branch, call or convergence point names; None where it names none.

    Indirect branches have several: see `branch_targets`.
    """
    for operand in reversed(instruction.operands):
        if operand.kind == "label" and operand.label is not None:
            return function.labels.get(operand.label)
    if instruction.opcode in _JUMPS and instruction.operands:
        last = instruction.operands[-1]
        if last.kind == "immediate" and isinstance(last.value, int):
            return last.value
        return function.labels.get(last.text)  # Triton writes labels without marks
    return None


def branch_targets(instruction: Instruction, function: Function) -> tuple[int, ...]:
    """Give every address a branch may go to, with those nvdisasm found for indirect branches."""
    labels: list[str] = []
    for annotation in instruction.annotations:
        word, _, names = annotation.partition(" ")
        if word == "BRANCH_TARGETS":
            labels += [name.strip() for name in names.split(",")]
    if labels:
        return tuple(function.labels[label] for label in labels if label in function.labels)
    target = branch_target(instruction, function)
    return () if target is None else (target,)


def unknown_operands(functions: Iterable[Function]) -> Counter[str]:
    """Count the operand texts that the grammar has no rule for."""
    found: Counter[str] = Counter()
    for function in functions:
        # Instructions of one text share their operands.
        different = {id(i.operands): i.operands for i in function.instructions}
        if "other" in {each.kind for operands in different.values() for each in operands}:
            found.update(
                each.text for i in function.instructions for each in i.operands
                if each.kind == "other"
            )  # fmt: skip
    return found


def _unix_lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
