"""The result documents that all functions return: the fields and methods they have in common."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self, TypeAlias, TypeVar

from msgspec import UNSET, Meta, Struct, UnsetType, convert, field

from spanwise.errors import InputError, UnknownKey
from spanwise.rates import FIELDS, RATES, Rate, f_beta, is_rate
from spanwise.registry import resolve
from spanwise.settings import default_value

if TYPE_CHECKING:
    from pathlib import Path

    from altair import LayerChart

    from spanwise.reports.tables import Table


SCHEMA = 2

Scalar: TypeAlias = str | int | float | bool | None
Interval: TypeAlias = tuple[float | None, float | None]
MOST = 2**53  # above it, not every whole number can be represented as a float
Count: TypeAlias = Annotated[int, Meta(ge=0, le=MOST)]
Halves: TypeAlias = Count | Annotated[float, Meta(ge=0, le=MOST, multiple_of=0.5)]
Fraction: TypeAlias = Annotated[float, Meta(ge=0, le=1)] | None
Probability: TypeAlias = Annotated[float, Meta(ge=0, le=1)] | None


T = TypeVar("T")


def given(value: T | UnsetType) -> T | None:
    """The value of a field, or None if it is not set."""
    return None if isinstance(value, UnsetType) else value


class DocumentPart(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A part of a document, with its keys as attributes; keys that are not set are left out of the JSON."""

    @classmethod
    def known_keys(cls) -> tuple[str, ...]:
        """All keys of this part, set or not."""
        return cls.__struct_fields__

    def keys(self) -> list[str]:
        """The keys that are set."""
        keys = [key for key in self.known_keys() if getattr(self, key) is not UNSET and key != "more"]
        return [*keys, *getattr(self, "more", ())]

    def __getitem__(self, key: str) -> Any:
        if key not in self.keys():
            raise UnknownKey(_no_such_key(key, self.known_keys()))
        return getattr(self, key)

    if not TYPE_CHECKING:  # type checkers find such errors themselves

        def __getattr__(self, name: str) -> object:
            if name != "more" and name in getattr(self, "more", ()):
                return self.more[name]
            raise AttributeError(_no_such_key(name, type(self).known_keys()))


def _no_such_key(name: str, keys: tuple[str, ...]) -> str:
    message = f"there is no {name!r} here.\nThere are: {', '.join(keys) or 'none'}."
    is_score = "exact" in keys and name in ("f1", "precision", "recall")
    return message + (f"\nThe usual score is exact.overall.{name}." if is_score else "")


class Alignment(DocumentPart, frozen=True, kw_only=True):
    """How predictions were aligned to the gold text, and how many mentions could not be."""

    how: str
    sentences: Count
    changed_sentences: Count
    changed_tokens: Count
    unplaced: Count
    crossing: Count | UnsetType = UNSET  # how many of the unplaced mentions cross the end of a gold sentence


class Input(Struct, frozen=True, kw_only=True):
    """A file or object that was read, and how it was read."""

    role: str
    path: str | None = None
    sha256: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")] | None = None
    format: str | None = None
    scheme: str | None = None
    evidence: str | None = None
    repair: str | None = None
    repairs: int = 0
    notes: tuple[str, ...] = ()
    sentences: Count | None = None
    tokens: Count | None = None
    mentions: Count | None = None
    alignment: Alignment | None = None
    paired: str | UnsetType = UNSET  # how sentences were paired with those of gold
    merged: Count | UnsetType = UNSET  # mentions that became equal when labels were mapped
    dropped: Count | UnsetType = UNSET  # mentions whose labels were left out
    system: str | UnsetType = UNSET
    dataset: str | UnsetType = UNSET
    run: str | UnsetType = UNSET


def gold_input(
    inputs: Iterable[Input], document: str = "the document", dataset: str | UnsetType = UNSET
) -> Input:
    """The gold data among the inputs of a document, or of one dataset of a study.

    A document may be shown without it, but not compared with another.
    """
    for row in inputs:
        if row.role == "gold" and dataset in (UNSET, row.dataset):
            return row
    of = "" if dataset is UNSET else f" of the dataset {dataset!r}"
    raise InputError(f"{document}: the gold data{of} are not among the inputs.\nMake the document again.")


class Document(Struct, frozen=True, kw_only=True):
    """The base class of all documents: common fields, and methods that export and render.

    Each kind of document is a subclass with its own fields. Reports dispatch on the kind: `SCREENS` in
    `reports/terminal`, `PAGES` in `reports/html/page.py`, and so on.
    """

    INDENT: ClassVar[int] = 1  # indentation of the JSON; 0 for kinds of document that are long

    spanwise: str
    schema: int = SCHEMA
    kind: str
    signature: str = ""
    inputs: tuple[Input, ...] = ()
    # By which labels were mapped or left out when files were read; evaluations have them in their settings.
    label_rules: Mapping[str, Any] | UnsetType = UNSET

    def without_sentences(self) -> Self:
        """A copy without sentences and counts per unit, if it has any; a screen does not need them."""
        return self

    def inconsistent(self) -> tuple[str, str] | None:
        """The path of a part that contradicts another, and what is wrong; None if all is consistent."""
        return None

    def document(self) -> Document:
        """The document as it is written, without data that is only held in memory."""
        return self

    def _repr_html_(self) -> str:
        return str(resolve("reports.notebook:notebook_table")(self))

    def to_dict(self) -> dict[str, Any]:
        """The document as plain dicts and lists; undefined numbers are None."""
        import msgspec

        plain: dict[str, object] = msgspec.json.decode(self.encoded())
        return plain

    def to_json(self, path: str | Path | None = None, *, indent: int | None = None) -> str:
        """The document as JSON text, also written to `path` if one is given."""
        encoded = self.encoded(indent=indent)
        if path is not None:
            resolve("formats:write_atomically")(path, encoded)
        return encoded.decode()

    def encoded(self, *, indent: int | None = None) -> bytes:
        """The document as JSON in UTF-8; the same content always gives the same bytes."""
        import msgspec

        document: object = self.document()
        settings = getattr(self, "settings", None)
        if len(RATES) > len(FIELDS) or any(given(getattr(settings, name, UNSET)) for name in MORE_SCORES):
            document = beside(msgspec.to_builtins(document, enc_hook=to_encodable))
        encoded = msgspec.json.encode(document, enc_hook=to_encodable)
        spaces = self.INDENT if indent is None else indent
        return (msgspec.json.format(encoded, indent=spaces) if spaces else encoded) + b"\n"

    def to_text(
        self,
        *,
        width: int | None = None,
        color: bool = False,
        signature: Literal["short", "long"] = "short",
        detail: Literal["brief", "usual", "full"] = "usual",
    ) -> str:
        """The text that the command line shows for this document.

        Its last line is the signature: "short" leaves out settings that have their default value, "long" does
        not. Of an evaluation or a study, `detail` "brief" shows the answer and the findings alone, and "full"
        shows every table.
        """
        render = resolve("reports.terminal:render")
        return str(render(self, width=width, color=color, signature=signature, detail=detail))

    def to_html(self, path: str | Path | None = None, *, against: DocumentLike | None = None) -> str:
        """The document as one self-contained HTML page, also written to `path` if one is given.

        Args:
            against: an earlier result of the same gold data; the page of an evaluation or a study then says
                what changed.
        """
        page = str(resolve("reports.html:render")(self, against))
        if path is not None:
            resolve("formats:write_atomically")(path, page)
        return page

    def tables(self) -> dict[str, Table]:
        """All tables of this document, by name; each has to_markdown, to_latex and to_csv."""
        tables: dict[str, Table] = resolve("reports.tables:tables")(self)
        return tables

    def table(self, name: str) -> Table:
        """The table of this document with the given name."""
        table: Table = resolve("reports.tables:table")(self, name)
        return table

    def figures(self) -> dict[str, LayerChart]:
        """All figures of this document, by name, as Altair charts."""
        charts: dict[str, LayerChart] = resolve("reports.figures:figures")(self)
        return charts

    def flat(self) -> dict[str, float]:
        """The main scores as scalars with stable names."""
        scalars: dict[str, float] = resolve("reports.outlets:flat")(self)
        return scalars

    def log(self, tracker: str, **options: object) -> None:
        """Log scores, intervals, signature and page to "mlflow", "wandb", "tensorboard" or "comet".

        Options are `to` (a run, experiment, writer or folder; by default the active one), `prefix`, `step`,
        and `page=False` to leave out the page and the JSON document.
        """
        resolve("reports.outlets:log")(self, tracker, **options)

    def __str__(self) -> str:
        return self.to_text()


# What every report accepts: a document, or the plain dicts and lists that represent one.
DocumentLike: TypeAlias = Document | Mapping[str, object]


MORE_SCORES = ("beta", "scores")  # settings of documents that have scores beside precision, recall and F1


def beside(content: Any) -> Any:
    """Plain data with the scores in `more` next to precision, recall and F1, as in a written document.

    Examples:
        >>> beside({"f1": 0.5, "more": {"f2": 0.4}})
        {'f1': 0.5, 'f2': 0.4}
    """
    if isinstance(content, list | tuple):
        return [beside(item) for item in content]
    if not isinstance(content, dict):
        return content
    kept = {key: beside(value) for key, value in content.items() if key != "more" or "f1" not in content}
    return kept | content["more"] if len(kept) < len(content) else kept


def apart(content: Any) -> Any:
    """The inverse of `beside`: other scores next to F1 are put into `more`."""
    if isinstance(content, list | tuple):
        return [apart(item) for item in content]
    if not isinstance(content, dict):
        return content
    more = [
        key
        for key, value in content.items()
        if "f1" in content and is_rate(key) and key not in FIELDS and not isinstance(value, dict)
    ]
    kept = {
        key: value if key == "interval" else apart(value) for key, value in content.items() if key not in more
    }
    return {**kept, "more": {key: content[key] for key in more}} if more else kept


def to_encodable(value: object) -> object:
    """Convert values that the JSON encoder does not support, such as lazy mappings and sequences."""
    if isinstance(value, Mapping):
        return dict(value)
    return list(value) if isinstance(value, Iterable) else str(value)


class Settings(DocumentPart, frozen=True, kw_only=True):
    """Every choice that affects the numbers of an evaluation or the contents of its document."""

    matcher: str | UnsetType = UNSET  # if it is not "fair"
    focus: Literal["gold", "predicted", "both"]
    resamples: Count
    seed: Count
    confidence: float
    correction: str
    primary: str | UnsetType = UNSET  # if it is not F1
    beta: tuple[float, ...] | UnsetType = UNSET  # of the F-betas beside F1
    scores: tuple[Rate, ...] | UnsetType = UNSET  # those of other packages, as they declare them
    hierarchy: Mapping[str, str] | UnsetType = UNSET  # from label to path
    hierarchy_separator: str | UnsetType = UNSET
    hierarchy_level: Count | UnsetType = UNSET  # at which labels were read
    align: str
    repair: str
    map: Mapping[str, str | None] | UnsetType = UNSET  # from label to label; null leaves a label out
    predicted_map: Mapping[str, str | None] | UnsetType = UNSET
    only: tuple[str, ...] | UnsetType = UNSET
    without: tuple[str, ...] | UnsetType = UNSET
    lowercase: bool
    credits: Mapping[str, str]
    vocabulary: Count | None
    examples: str
    examples_cap: Count
    redacted: bool
    preset: str | None
    switched_off: tuple[str, ...] | UnsetType = UNSET
    command: str | None
    unit: str
    units: Count
    few_units: bool
    block: Count | UnsetType = UNSET  # the number of consecutive sentences per unit
    attributes: tuple[str, ...]
    buckets: Mapping[str, str]
    tags: Mapping[str, str] = field(default_factory=dict)  # such as commit and epoch

    @property
    def gold_rules(self) -> str:
        """A hash of the rules by which labels of gold are mapped or left out; empty without rules."""
        return self._hash("map", "only", "without", *self._levels)

    @property
    def label_rules(self) -> str:
        """A hash of all rules by which labels are mapped or left out; empty without rules."""
        return self._hash("map", "predicted_map", "only", "without", *self._levels)

    @property
    def _levels(self) -> tuple[str, ...]:
        """The names of the settings that say at which level of a hierarchy labels were read."""
        at_a_level = self.hierarchy_level is not UNSET
        return ("hierarchy", "hierarchy_separator", "hierarchy_level") if at_a_level else ()

    @property
    def signed_hierarchy(self) -> str:
        """The separator of a hierarchy of labels and, if it was given, a hash of it; empty without one."""
        if not self.hierarchy_separator:
            return ""
        return self.hierarchy_separator + (f".{self._hash('hierarchy')}" if self.hierarchy else "")

    def _hash(self, *names: str) -> str:
        rules = {name: value for name in names if (value := getattr(self, name)) or value == 0}
        return hash_of(rules) if rules else ""

    def gold_digest(self, sha256_of_file: str | None) -> str | None:
        """A hash of the gold file and of the rules on its labels, if there are any."""
        if sha256_of_file is None or not self.gold_rules:
            return sha256_of_file
        from spanwise.hashing import sha256  # needs NumPy, which help does without

        return sha256(f"{sha256_of_file} {self.gold_rules}".encode()).hexdigest()

    @property
    def more_scores(self) -> tuple[str, ...]:
        """The names of the scores that are reported besides precision, recall and F1."""
        declared = [name for name in RATES if name not in FIELDS]
        betas = (f_beta(beta).name for beta in self.beta or ())
        return (*declared, *betas, *(score.name for score in self.scores or ()))


def hash_of(rules: Mapping[str, object]) -> str:
    """A short hash of mappings and lists by name; the order within them does not matter.

    Examples:
        >>> hash_of({"only": ["A", "B"]}) == hash_of({"only": ("B", "A")})
        True
    """
    import json  # few documents need it

    from spanwise.hashing import sha256

    ordered = {
        name: sorted(value) if isinstance(value, list | tuple) else value for name, value in rules.items()
    }
    return sha256(json.dumps(ordered, sort_keys=True).encode()).hexdigest()[:12]


def usual_settings(**chosen: object) -> Settings:
    """The default settings, except for those that are passed."""
    same = ("focus", "resamples", "seed", "confidence", "correction", "align", "repair", "lowercase")
    usual: dict[str, object] = {name: default_value(name) for name in (*same, "examples", "examples_cap")}
    usual |= {"credits": {}, "vocabulary": None, "redacted": False, "preset": None, "command": None}
    usual |= {"unit": "sentence", "units": 0, "few_units": False, "attributes": (), "buckets": {}}
    return convert({**usual, **chosen}, Settings)
