"""Which function and which architecture a user means; errors list what there is."""

from __future__ import annotations

from collections.abc import Sequence

from .errors import KneckError, Place, printable
from .generations import family, is_readable, sm_number
from .listing import Function, Listing
from .names import demangle, find_name

LONGEST_LIST = 20  # names in one message


def select_function(
    listing: Listing, name: str | None = None, arch: str | None = None, prefer: str | None = None
) -> Function:
    """Find the one function that a user means.

    `name` is a mangled name, a demangled one or a part of either; without it the listing must hold
    one kernel only. `arch` narrows a listing of several architectures; `prefer` is the device's.
    Raises KneckError that lists the candidates where none or several fit.
    """
    functions = _of_architecture(listing, arch, prefer)
    kernels = [each for each in functions if each.is_entry is not False]
    chosen = choose_name(name, [each.name for each in kernels or functions], listing.path)
    return next(each for each in functions if each.name == chosen)


def choose_name(wanted: str | None, names: Sequence[str], path: str) -> str:
    """Find the one kernel name that a user's word means; without a word there must be one only."""
    known = list(dict.fromkeys(names))
    found = known if wanted is None else find_name(wanted, known)
    if len(found) == 1:
        return found[0]
    if not known:
        raise KneckError("there is no kernel in it", Place(path), "name a file with device code")
    if wanted is None:
        what = f"there are {len(known)} kernels and none is named"
        raise KneckError(what, Place(path), f"add --kernel NAME; there are: {listed(known)}")
    if found:
        what = f'"{printable(wanted)}" fits {len(found)} kernels'
        raise KneckError(what, Place(path), f"name one in full: {listed(found)}")
    from .suggest import suggestion

    what = f'there is no kernel "{printable(wanted)}"'
    near = suggestion(wanted, [printable(demangle(name)) for name in known])
    raise KneckError(what, Place(path), near)


def choose_architecture(
    available: Sequence[str], wanted: str | None, prefer: str | None, path: str
) -> str:
    """Choose among the architectures of a file: the wanted one, else what the device can run best.

    A device runs code of its own major version up to its own minor version; the newest such code
    is taken, and without any the newest of all, which the report then names.
    """
    known = sorted(set(available), key=lambda each: (sm_number(each) or 0, each))
    readable = [each for each in known if is_readable(each)]
    if wanted is not None:
        exact = [each for each in known if each == wanted]
        close = exact or [each for each in known if family(each) == wanted]
        if close:
            return close[-1]
        raise KneckError(
            f"there is no code for {printable(wanted)} in it",
            Place(path),
            f"there is code for {', '.join(known)}" if known else "name a file with device code",
        )
    if not readable:
        return known[-1]  # refused by name where it is read
    runs = [each for each in readable if prefer is not None and _runs_on(each, prefer)]
    return (runs or readable)[-1]


def listed(names: Sequence[str]) -> str:
    """List names in their readable form, with a count of what is left out."""
    shown = [printable(demangle(name)) for name in names[:LONGEST_LIST]]
    more = len(names) - len(shown)
    return "; ".join(shown) + (f"; and {more} more" if more > 0 else "")


def _of_architecture(listing: Listing, arch: str | None, prefer: str | None) -> list[Function]:
    available = [each.arch for each in listing.functions]
    if arch is None and len(set(available)) == 1:
        return list(listing.functions)
    chosen = choose_architecture(available, arch, prefer, listing.path)
    return [each for each in listing.functions if each.arch == chosen]


def _runs_on(code: str, device: str) -> bool:
    """Tell whether a device runs code: same major version, minor not above its own."""
    if code == device:
        return True
    own, other = sm_number(device), sm_number(code)
    if own is None or other is None or code != family(code):
        return False  # code for one chip only runs on that chip
    return other // 10 == own // 10 and other <= own
