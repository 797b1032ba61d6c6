"""Assemble the page: charts, words and packed sentences in one template."""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import TypeAlias

from jinja2 import Environment
from markupsafe import Markup, escape
from msgspec import Struct
from msgspec.structs import replace

from spanwise.document import Document, DocumentLike
from spanwise.document.analyses import PlacementDocument
from spanwise.document.evaluation import Evaluation, ScoreGrid
from spanwise.document.loading import as_document
from spanwise.document.study import Study
from spanwise.errors import ChoiceError, InputError
from spanwise.reports._charts import shortened, titled
from spanwise.reports._document import examples, pair_link, short_signature
from spanwise.reports.html.packing import packed
from spanwise.reports.html.views import Card, cards_of, drawn, view_parts
from spanwise.reports.templates import compact_script, compact_style, environment_of
from spanwise.settings import CONFIDENCE
from spanwise.views import has_view, view
from spanwise.views import silver as judge
from spanwise.views import wording as words
from spanwise.views.added import added
from spanwise.views.inputs import files as files_of
from spanwise.views.inputs import made_with
from spanwise.views.statements import named_test, others_corrected, statements

Parts: TypeAlias = dict[str, object]  # the values that a template needs, by name

_POLICY = 'http-equiv="Content-Security-Policy" content="'
ALWAYS = ("page.js", "tools.js")
PAIR = "pair.js"  # for pages on which a pair can be chosen
ROWS = "rows.js"  # for pages with tables whose rows can be filtered
SENTENCES = ("where.js", "controls.js", "filter.js", "examples.js")


def render(document: DocumentLike, against: DocumentLike | None = None) -> str:
    """Render the page as text; its policy allows no network and no code but its own scripts, by hash."""
    document = as_document(document)
    context = _parts(document)
    data = context["data"]
    assert data is None or isinstance(data, Mapping)
    style = compact_style(_resource("page.css"))
    names = _scripts(data)
    if isinstance(document, PlacementDocument) or (isinstance(document, Evaluation) and document.answers):
        names.append(ROWS)
    scripts = [compact_script(_resource(name)) for name in names]
    template = _environment().get_template(str(context["template"]))
    later = FoldedParts()
    return template.render(
        style=Markup(style), scripts=[Markup(script) for script in scripts],
        policy=_policy(style, scripts), later=later.keep, changed=_changed(document, against),
        dataset=document.dataset if isinstance(document, Evaluation) else {},
        added=cards_of(added(document), {}, ()) if "cards" not in context else (),
        pack=lambda: packed({**(data or {}), "parts": later.parts}), **context,
    )  # fmt: skip


def _scripts(data: Mapping[str, Sequence[Mapping[str, object]]] | None) -> list[str]:
    """The scripts that a page with this data needs, in the order in which they run."""
    if data is None:
        return list(ALWAYS)
    return [*ALWAYS, *([PAIR] if "board" in data["sets"][0] else []), *SENTENCES]


def _parts(document: Document) -> Parts:
    """The values that the template of a document needs."""
    if isinstance(document, Evaluation) and document.systems:
        from spanwise.reports.html import evaluation

        return evaluation.evaluation_parts(document)
    if isinstance(document, Study):
        from spanwise.reports.html import evaluation

        return evaluation.study_parts(document)
    if has_view(document):
        return {"document": document, **view_parts(document)}
    raise ChoiceError(
        f"there is no page for a document of kind {document.kind!r}.\n"
        "Show its screen with: spanwise export FILE terminal"
    )


class ChangedParts(Struct, frozen=True):
    """What changed since an earlier result: the sentence about it, and the cards behind it."""

    sentence: str
    cards: Sequence[Card] = ()


def _changed(document: Document, against: DocumentLike | None) -> ChangedParts | None:
    """What changed since an earlier result; without the mentions of both, the command that keeps them."""
    if against is None or not isinstance(document, ScoreGrid):
        return None
    from spanwise.changing import changes

    try:
        shown = view(changes(against, document))
    except InputError as error:
        return ChangedParts(str(error).replace("\n", " "))
    last = ("kinds", "buckets")  # after the sentences
    listed = sorted(shown.on("page"), key=lambda row: row.name.partition("-")[0] in last)
    sections = [replace(row, name=f"changed-{row.name}") for row in listed if row.name != "answer"]
    told = " ".join(map(str, [shown.verdict, *shown.statements]))
    return ChangedParts(told, cards_of(sections, {}, shown.systems))


class FoldedParts:
    """Parts of the page that are hidden at first: folded tables and the views of other systems.

    They are packed with the data and deflate to an eighth of their size, which keeps pages small.
    """

    def __init__(self) -> None:
        self.parts: list[str] = []

    def keep(self, html: Markup) -> Markup:
        """Keep `html` and return the attribute for the element that the script will insert it into."""
        self.parts.append(str(html))
        return Markup(' data-part="{}"').format(len(self.parts) - 1)


def _resource(name: str) -> str:
    return files("spanwise.reports.html").joinpath(name).read_text(encoding="utf-8")


def _policy(style: str, scripts: Sequence[str]) -> str:
    allowed = " ".join(_hash(script) for script in scripts)
    return (
        f"default-src 'none'; script-src {allowed}; style-src {_hash(style)}; "
        "base-uri 'none'; form-action 'none'"
    )


def policy_of(page: str) -> str:
    """The content security policy of a page, from its first meta element."""
    begin = page.index(_POLICY) + len(_POLICY)
    return html.unescape(page[begin : page.index('"', begin)])


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


@lru_cache(maxsize=1)
def _environment() -> Environment:
    environment = environment_of("spanwise.reports.html", keep_trailing_newline=True)
    environment.globals.update(
        words=words, judge=judge, titled=titled,
        link=examples, pair_link=pair_link, mentions=mentions, heat=heat,
        statements=statements, named_test=named_test, others_corrected=others_corrected,
        drawn=drawn, made_with=made_with, files_of=files_of,
        usual_confidence=CONFIDENCE,
    )  # fmt: skip
    environment.filters.update(
        points=words.points, signed=words.signed, count=words.count, visible=words.visible,
        interval=words.interval, p=words.p_value, correlation=words.correlation, plain=words.plain,
        percent=words.percent, attribute=words.attribute, bucket=words.bucket, spread=words.spread,
        signed_interval=words.signed_interval, short=short_signature,
        brief=lambda name: shortened(name, 20), capitalised=words.capital, base_name=words.base_name,
    )  # fmt: skip
    return environment


def mentions(number: float | None, text: str | None = None, **choices: str | None) -> Markup:
    """A number of mentions as a link to them; 0 is plain text."""
    shown = escape(words.count(number) if text is None else text)
    if not number:
        return shown
    return Markup('<a class="n" href="{}">{}</a>').format(examples(number, **choices), shown)


def heat(number: float, most: float) -> int:
    """Which of ten shades a count gets, on a square-root scale, since a few cells hold most errors."""
    return 0 if not number or not most else max(1, round(10 * (number / most) ** 0.5))
