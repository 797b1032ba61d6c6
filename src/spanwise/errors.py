"""The exceptions people meet, and how their texts are built."""

from __future__ import annotations

from collections.abc import Iterable


class SpanwiseError(Exception):
    """Any error that spanwise raises on purpose; its text is written for the person at the keyboard."""


class InputError(SpanwiseError):
    """An input cannot be used: missing, unreadable, malformed or not aligned."""


class ChoiceError(SpanwiseError, ValueError):
    """A call is wrong: an unknown name, or a value that an option does not take."""


class MissingExtra(SpanwiseError, ImportError):
    """An optional package is needed for what was asked and is not installed."""

    @classmethod
    def of(cls, package: str, extra: str, purpose: str) -> MissingExtra:
        """The error that says what `package` is needed for and how to get it."""
        return cls(
            f"{purpose} needs the package {package!r}, which is not installed.\n"
            f"Install it with: pip install 'spanwise[{extra}]'"
        )


class WorkerLost(SpanwiseError):
    """A worker process was killed from outside before its part of the work was done."""


class UnknownKey(ChoiceError, KeyError):
    """A key that a part of a result does not have."""

    def __str__(self) -> str:
        return Exception.__str__(self)  # a KeyError would show its text in quotes, on one line


def many(number: int, noun: str) -> str:
    """A number with its noun.

    Examples:
        >>> many(1, "token"), many(1200, "token")
        ('1 token', '1,200 tokens')
    """
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def at(path: str, line: int | None, message: str) -> str:
    """A message after its place, as `file:line: message`."""
    return f"{path}:{line}: {message}" if line is not None else f"{path}: {message}"


def unknown(kind: str, name: object, known: Iterable[str]) -> ChoiceError:
    """The error for an unknown name, with the nearest known one.

    Examples:
        >>> print(unknown("attribute", "entity_lenght", ["entity_length", "label"]))
        no attribute is called 'entity_lenght'. Did you mean 'entity_length'?
        There are: entity_length, label.
        >>> print(unknown("label", "org", ["LOC", "ORG"]))
        no label is called 'org'. Did you mean 'ORG'?
        There are: LOC, ORG.
    """
    names = sorted(known)
    # Differences in case are common slips, so they are ignored.
    folded = {name.casefold(): name for name in reversed(names)}
    import difflib  # only needed for a wrong name

    near = difflib.get_close_matches(str(name), names, n=1) or [
        folded[one] for one in difflib.get_close_matches(str(name).casefold(), folded, n=1)
    ]
    hint = f" Did you mean {near[0]!r}?" if near else ""
    between = "; " if any("," in name for name in names) else ", "
    listed = f"There are: {between.join(names)}." if names else "There are none yet."
    return ChoiceError(f"no {kind} is called {name!r}.{hint}\n{listed}")
