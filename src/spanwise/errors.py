"""The exceptions that spanwise raises, and helpers to word their messages."""

from __future__ import annotations

from collections.abc import Iterable

LONGEST = 500  # characters of a line of an error message; what is longer is data, not words


class SpanwiseError(Exception):
    """Base class of all errors that spanwise raises on purpose; the message is written for the user.

    Examples:
        >>> try:
        ...     raise ChoiceError("no scheme is called 'IOB3'.")
        ... except SpanwiseError as error:
        ...     print(error)
        no scheme is called 'IOB3'.
    """

    def __init__(self, message: object = "", *others: object) -> None:
        super().__init__(shortened(message) if isinstance(message, str) else message, *others)


def shortened(message: str) -> str:
    """The message with the middle of long lines left out, which may quote a token of any length."""
    if len(message) <= LONGEST:
        return message
    lines = (
        line if len(line) <= LONGEST else f"{line[: LONGEST - 121]} … {line[-118:]}"
        for line in message.split("\n")
    )
    return "\n".join(lines)


class InputError(SpanwiseError):
    """An input cannot be used: missing, unreadable, malformed or not aligned.

    Examples:
        >>> import spanwise
        >>> try:
        ...     spanwise.read("missing.conll")
        ... except InputError as error:
        ...     print(error)
        missing.conll: there is no such file.
        Check the path.
    """


class ChoiceError(SpanwiseError, ValueError):
    """A call is wrong: an unknown name, or a value that an option does not take.

    Examples:
        >>> import spanwise
        >>> try:
        ...     spanwise.evaluate([["O"]], {"mine": [["O"]]}, unit="word")
        ... except ChoiceError as error:
        ...     print(error)
        unit is 'word', but must be 'sentence', 'document' or 'block:N'.
        Write block:20 for blocks of 20 consecutive sentences.
    """


class MissingExtra(SpanwiseError, ImportError):
    """An optional package that is needed for this request is not installed.

    Examples:
        >>> print(MissingExtra.of("pyarrow", "arrow", "writing Parquet"))
        writing Parquet needs the package 'pyarrow', which is not installed.
        Install it with: pip install 'spanwise[arrow]'
    """

    @classmethod
    def of(cls, package: str, extra: str, purpose: str) -> MissingExtra:
        """The error that says what `package` is needed for and how to install it."""
        return cls(
            f"{purpose} needs the package {package!r}, which is not installed.\n"
            f"Install it with: pip install 'spanwise[{extra}]'"
        )

    @classmethod
    def package(cls, purpose: str, package: str) -> MissingExtra:
        """The error that says which package of this project is needed, and how to install it."""
        return cls(
            f"{purpose} needs the package {package!r}, which is not installed.\n"
            f"Install it with: pip install {package} (from a checkout: pip install . ./packages/{package})"
        )


class WorkerLost(SpanwiseError):
    """A worker process was killed from outside before it finished its part of the work."""


class UnknownKey(ChoiceError, KeyError):
    """A part of a result does not have this key."""

    def __str__(self) -> str:
        return Exception.__str__(self)  # KeyError would show the repr of the message


def many(number: int, noun: str) -> str:
    """A number with its noun, in the plural unless the number is 1.

    Examples:
        >>> many(1, "token"), many(1200, "token")
        ('1 token', '1,200 tokens')
    """
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def at(path: str, line: int | None, message: str) -> str:
    """A message with its location in front, as `file:line: message`."""
    return f"{path}:{line}: {message}" if line is not None else f"{path}: {message}"


def differ_only_in(one: str, other: str) -> str | None:
    """In what two different strings differ if they look alike: "Unicode form" or "case".

    Examples:
        >>> differ_only_in("Per", "PER"), differ_only_in("PER", "LOC")
        ('case', None)
    """
    import unicodedata  # only needed where something differs

    one, other = unicodedata.normalize("NFKC", one), unicodedata.normalize("NFKC", other)
    if one == other:
        return "Unicode form"
    return "case" if one.casefold() == other.casefold() else None


def unknown(kind: str, name: object, known: Iterable[str]) -> ChoiceError:
    """The error for an unknown name, which suggests the closest known one.

    Examples:
        >>> print(unknown("attribute", "entity_lenght", ["entity_length", "label"]))
        no attribute is called 'entity_lenght'. Did you mean 'entity_length'?
        There are: entity_length, label.
        >>> print(unknown("label", "org", ["LOC", "ORG"]))
        no label is called 'org'. Did you mean 'ORG'?
        There are: LOC, ORG.
    """
    names = sorted(known)
    # Wrong case is a common slip, so names are also compared without it.
    folded = {name.casefold(): name for name in reversed(names)}
    import difflib  # only needed for a wrong name

    near = difflib.get_close_matches(str(name), names, n=1) or [
        folded[match] for match in difflib.get_close_matches(str(name).casefold(), folded, n=1)
    ]
    hint = f" Did you mean {near[0]!r}?" if near else ""
    separator = "; " if any("," in name for name in names) else ", "
    listed = f"There are: {separator.join(names)}." if names else "There are none yet."
    if len(listed) > LONGEST:
        import textwrap

        listed = textwrap.fill(listed, LONGEST, break_long_words=False, break_on_hyphens=False)
    return ChoiceError(f"no {kind} is called {name!r}.{hint}\n{listed}")
