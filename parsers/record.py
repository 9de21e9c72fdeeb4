"""`dataclass` as in the standard library, for the command line's sake made in a third of the time.

The standard one writes six methods as text for each class and compiles them, half a millisecond
that a short run pays two hundred times. Here only `__init__` is written; equality, hash and
representation are shared by all. `replace` looks fields up once for each class. What
`frozen=True` forbids is left to the type checker.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
    from dataclasses import replace as replace
else:
    from dataclasses import dataclass as _standard
    from dataclasses import fields
    from operator import attrgetter

    def dataclass(cls=None, *, frozen=False, eq=True, slots=False):
        """Make a dataclass; `fields`, `replace` and `asdict` work on it as on any."""
        if cls is None:
            return lambda cls: dataclass(cls, frozen=frozen, eq=eq, slots=slots)
        own = set(vars(cls))
        made = _standard(eq=False, repr=False, slots=slots)(cls)
        compared = tuple(field.name for field in fields(made) if field.compare)
        made.__compared__ = attrgetter(*compared) if compared else type
        shared = {"__repr__": _shown}
        if eq:
            shared |= {"__eq__": _equal, "__hash__": _hash if frozen else None}
        for name, method in shared.items():
            if name not in own:
                setattr(made, name, method)
        return made

    def replace(instance, /, **values):
        """Give a copy with other values, of classes all of whose fields `__init__` takes."""
        cls = type(instance)
        read = _readers.get(cls)
        if read is None:
            names = tuple(field.name for field in fields(cls))
            read = _readers[cls] = names, attrgetter(*names)
        names, get = read
        return cls(**(dict(zip(names, get(instance), strict=True)) | values))

    _readers = {}

    def _equal(self, other):
        if other.__class__ is not self.__class__:
            return NotImplemented
        return self.__compared__(self) == self.__compared__(other)

    def _hash(self):
        return hash(self.__compared__(self))

    def _shown(self):
        shown = (f"{f.name}={getattr(self, f.name)!r}" for f in fields(self) if f.repr)
        return f"{type(self).__qualname__}({', '.join(shown)})"
