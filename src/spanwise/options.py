"""The checked options of a function, from its keywords and their records in `settings`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any, ClassVar, Self

from msgspec import Struct

from spanwise.settings import check_options


class CheckedOptions(Struct, frozen=True, kw_only=True):
    """The options of a function, with the names of its keywords; its records in `settings` check them."""

    verb: ClassVar[str]  # the name of the records

    def __post_init__(self) -> None:
        check_options(self.verb, self.chosen(*self.__struct_fields__))

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Self:
        """The options among the arguments of a function, which are its first local variables."""
        return cls(**{name: given[name] for name in cls.__struct_fields__})

    @classmethod
    def like(cls, function: Callable[..., object], **given: Any) -> Self:
        """The options of a function that is called with these keywords alone."""
        usual = {one.name: one.default for one in signature(function).parameters.values()}
        return cls(**{name: usual[name] for name in cls.__struct_fields__} | given)

    def chosen(self, *names: str) -> dict[str, Any]:
        """Some options as keywords."""
        return {name: getattr(self, name) for name in names}

    def kept_by(self, kind: type[Struct]) -> dict[str, Any]:
        """The options that a document records under the same names."""
        return self.chosen(*(name for name in kind.__struct_fields__ if name in self.__struct_fields__))

    def signed(self, *names: str) -> list[str]:
        """Parts of a signature."""
        return [f"{name}:{value}" for name, value in self.chosen(*names).items()]
