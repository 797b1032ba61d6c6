"""Normalise strings and labels, and join the answers in a file with the units of the gold text."""

from __future__ import annotations

import hashlib
import json
import os
import re
import string
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from spanwise.columns import Ints, ints
from spanwise.corpus import Annotation, Corpus, Mentions
from spanwise.errors import InputError, at, many, unknown
from spanwise.formats import File, RepeatedKey, opened, parse_json, read_text
from spanwise.placement._lines import label_key as label_key
from spanwise.placement._logs import Log, Response, Usage, dotted, read_log
from spanwise.placement.parsing import LISTS, STATUSES, Answer, Json, Parsed, apart, located, parse

_ARTICLES = ("a", "an", "the")
_ARTICLE = re.compile(r"\b(a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def collapse(text: str) -> str:
    """Collapse each run of white space to one blank, and strip the ends.

    Examples:
        >>> collapse(" New   York ")
        'New York'
    """
    return " ".join(text.split())


@lru_cache(maxsize=1 << 16)
def fold(text: str) -> str:
    """Normalise the text to Unicode form NFKC, fold its case and collapse its white space.

    Examples:
        >>> fold("STRASSE ﬁ") == fold("straße fi")
        True
    """
    if text.isascii():
        return " ".join(text.lower().split())
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def bare(text: str) -> str:
    """Keep only the letters, digits and marks of a text.

    Examples:
        >>> bare("u.s.-based")
        'usbased'
    """
    if text.isalnum():
        return text
    return "".join([char for char in text if char.isalnum() or unicodedata.category(char)[0] in "LNM"])


def without_article(text: str) -> str:
    """The text after a leading a, an or the; empty if there is no article, or nothing else.

    Examples:
        >>> without_article("The Hague"), without_article("Rome")
        ('Hague', '')
    """
    first, _, rest = collapse(text).partition(" ")
    return rest if first.casefold() in _ARTICLES else ""


def uniner(text: str) -> str:
    """Lower-case the text, and remove ASCII punctuation and the words a, an and the.

    Examples:
        >>> uniner("The U.S. Senate")
        'us senate'
    """
    return collapse(_ARTICLE.sub(" ", text.lower().translate(_NO_PUNCTUATION)))


def as_written(text: str) -> str:
    """Return the text unchanged."""
    return text


NORMALISATIONS: dict[str, Callable[[str], str]] = {
    "as-written": as_written,
    "case": fold,
    "bare": lambda text: bare(fold(text)),
    "uniner": uniner,
}


PromptUnit = Literal["sentence", "document"]


class Units(Struct, frozen=True, eq=False, dict=True):
    """The sentences or documents that a model was prompted with, in order.

    Unit `i` holds the sentences `sentences[i]` … `sentences[i + 1] - 1` of the corpus.
    """

    corpus: Corpus
    kind: PromptUnit
    sentences: Ints

    @classmethod
    def of(cls, corpus: Corpus, kind: PromptUnit) -> Units:
        """Divide a corpus with text into units."""
        if kind not in ("sentence", "document"):
            raise unknown("prompt unit", kind, ("sentence", "document"))
        if corpus.without_text:
            raise InputError(
                f"{corpus.source.path}: answers can be placed only on text, but the gold file holds none.\n"
                "Give a gold file with tokens or text."
            )
        if kind == "sentence":
            return cls(corpus, kind, ints(np.arange(len(corpus) + 1)))
        if corpus.documents is None:
            raise InputError(
                f"{corpus.source.path}: the file marks no documents to place answers in.\n"
                'Use prompt_unit="sentence", or mark documents with -DOCSTART- lines or a field.'
            )
        return cls(corpus, kind, corpus.documents)

    def __len__(self) -> int:
        return len(self.sentences) - 1

    @cached_property
    def of_sentence(self) -> Ints:
        """The unit of each sentence."""
        return ints(np.repeat(np.arange(len(self)), np.diff(self.sentences)))

    @cached_property
    def tokens(self) -> Ints:
        """The first token of each unit, and the end of the last one."""
        return ints(self.corpus.sentences[self.sentences])

    @cached_property
    def sentence_of_token(self) -> Ints:
        """The sentence of each token."""
        return ints(np.repeat(np.arange(len(self.corpus)), self.corpus.lengths))

    @property
    def ids(self) -> Sequence[str] | None:
        """The names of the units in the data, if any."""
        return self.corpus.ids if self.kind == "sentence" else self.corpus.document_ids

    def words(self, unit: int, most: int | None = None) -> list[str]:
        """The tokens of one unit, at most `most` of them."""
        begin, end = int(self.tokens[unit]), int(self.tokens[unit + 1])
        end = end if most is None else min(end, begin + most)
        vocabulary = self.corpus.vocabulary
        return [vocabulary[code] for code in self.corpus.tokens[begin:end].tolist()]

    def text(self, unit: int) -> str:
        """The text of one unit, or its tokens joined by blanks."""
        if self.corpus.texts is not None:
            return "\n".join(self.corpus.texts[int(self.sentences[unit]) : int(self.sentences[unit + 1])])
        return " ".join(self.words(unit))

    def ink(self, unit: int) -> str:
        """The characters of one unit without white space."""
        if self.corpus.texts is not None:
            texts = self.corpus.texts[int(self.sentences[unit]) : int(self.sentences[unit + 1])]
            return "".join("".join(text.split()) for text in texts)
        return "".join("".join(word.split()) for word in self.words(unit))

    def positions(self, start: Ints, end: Ints) -> tuple[Ints, Ints, Ints]:
        """Convert runs of tokens of the whole corpus to sentence, start and end, as in mentions."""
        sentence = self.sentence_of_token[start] if len(start) else ints([])
        if self.corpus.token_start is not None and self.corpus.token_end is not None:
            return sentence, ints(self.corpus.token_start[start]), ints(self.corpus.token_end[end - 1])
        first = self.corpus.sentences[sentence]
        return sentence, ints(start - first), ints(end - first)


def surfaces(corpus: Corpus, mentions: Mentions) -> list[tuple[str, ...]]:
    """The text of each piece of each mention: its tokens joined by blanks, or a slice of the text."""
    if corpus.texts is not None:
        texts = corpus.texts
        rows = zip(mentions.sentence.tolist(), mentions.pieces(), strict=True)
        return [tuple(texts[sentence][low:high] for low, high in pieces) for sentence, pieces in rows]
    vocabulary, tokens = corpus.vocabulary, corpus.tokens
    first = corpus.sentences[mentions.sentence].tolist()
    return [
        tuple(
            " ".join([vocabulary[code] for code in tokens[begin + low : begin + high].tolist()])
            for low, high in pieces
        )
        for begin, pieces in zip(first, mentions.pieces(), strict=True)
    ]


def gold_order(gold: Annotation) -> Ints:
    """The rows of the gold mentions, sorted by sentence, start, end and label."""
    mentions = gold.mentions
    rank = np.argsort(np.argsort(np.array(mentions.labels, dtype=object), kind="stable"), kind="stable")
    label = rank[mentions.label] if len(mentions.labels) else mentions.label
    return ints(np.lexsort((label, mentions.end, mentions.start, mentions.sentence)))


_RESPONSES = ("response", "completion", "generated_text", "raw")
_TEXTS = ("text", "sentence", "input")
_TOKENS = ("tokens", "words", "sentence")
_LABELS = ("label", "entity_type")
_PROMPTS = ("prompt", "input", "text", "sentence")
_ABOUT = {"id", "document", "doc_id", "sample", "run", "meta", "model", *_TEXTS, *_TOKENS}


class AnswerRecord(Struct, frozen=True):
    """One line of a file of answers, or one item of a list."""

    value: Json
    line: int | None


class Exchange(Struct, frozen=True):
    """What a model was asked about a unit, and what it wrote."""

    prompt: str = ""
    response: Json = None


class ParsedAnswers(Struct, frozen=True):
    """The parsed answers of each unit, and their source."""

    units: tuple[Parsed, ...]
    exchanges: tuple[Exchange, ...]
    path: str
    sha256: str | None = None
    format: str = "jsonl"
    usage: Usage | None = None
    system: str | None = None  # as a log of several systems names it

    @property
    def statuses(self) -> dict[str, int]:
        """The number of units with each status."""
        counts: dict[str, int] = dict.fromkeys(STATUSES, 0)
        for unit in self.units:
            counts[unit.status] += 1
        return counts


def read_answers(
    source: object,
    units: Units,
    *,
    labels: Sequence[str],
    aliases: Iterable[str] = (),
    response: str | None = None,
    sample: str | None = None,
    answers_format: str = "auto",
    gapped: bool = True,
) -> ParsedAnswers:
    """Read the answers in a file with one JSON value per line, a log, or a list, by unit of the gold text.

    Args:
        labels: the labels of gold.
        aliases: other names of these labels.
        response: the field with the raw response of the model.
        sample: the sample to read, if units have several.
        answers_format: the format of the file; "auto" recognises it.
        gapped: whether gold has discontinuous mentions; if not, several texts are an answer each.
    """
    path, digest = "<answers>", None
    known = frozenset((*labels, *aliases))
    only_label = labels[0] if len(labels) == 1 else None
    if isinstance(source, str | os.PathLike):
        file = opened(source)
        log = read_log(file, answers_format, response)
        if log is not None:
            return _of_log(log, file, units, known, only_label, sample, gapped=gapped)
        path, records = file.path, _lines(file.path, read_text(file))
        digest = None if path == "-" else file.sha256
    else:
        records = [AnswerRecord(value, None) for value in _listed(source)]
    records = _of_sample(_one_response_each(records, response), sample, path)
    if not records:
        raise InputError(
            f"{path}: there are no records.\nGive one JSON object per unit, even if it is empty."
        )
    parsed: list[Parsed] = [Parsed("absent")] * len(units)
    exchanges = [Exchange()] * len(units)
    for record, unit in zip(records, _joined(records, units, path), strict=True):
        payload = _payload(record, response, path, known)
        label = _first_text(record.value, _LABELS) or only_label
        text = _first_text(record.value, _TEXTS)
        exchanges[unit] = Exchange(_first_text(record.value, _PROMPTS) or "", payload)
        parsed[unit] = _parsed(payload, label, known, units, unit, text, gapped=gapped)
    return ParsedAnswers(tuple(parsed), tuple(exchanges), path, digest)


def _parsed(
    payload: Json,
    label: str | None,
    labels: frozenset[str],
    units: Units,
    unit: int,
    text: str | None,
    *,
    gapped: bool,
) -> Parsed:
    """Parse the answers of one unit, and locate those that give positions in its text."""
    words = units.words(unit)
    parsed = parse(payload, label=label, labels=labels, words=words)
    parsed = parsed if gapped else apart(parsed)
    if any(answer.span is not None for answer in parsed.answers):
        place = located(parsed.answers, units.text(unit) if text is None else text, words)
        parsed = replace(parsed, answers=place)
    return parsed


def _of_log(
    log: Log,
    file: File,
    units: Units,
    labels: frozenset[str],
    label: str | None,
    sample: str | None,
    *,
    gapped: bool,
) -> ParsedAnswers:
    """The parsed responses of a log: a request that failed is a failed unit."""
    chosen = _chosen(log, file.path, sample)
    parsed: list[Parsed] = [Parsed("absent")] * len(units)
    exchanges = [Exchange()] * len(units)
    for entry, (unit, text) in zip(chosen, _joined_log(chosen, units, file.path), strict=True):
        exchanges[unit] = Exchange(entry.prompt, entry.payload)
        if entry.stopped in ("error", "refused"):
            parsed[unit] = Parsed("failed", why=entry.why, stopped=entry.stopped)
            continue
        read = _parsed(entry.payload, label, labels, units, unit, text, gapped=gapped)
        parsed[unit] = replace(read, stopped="truncated") if entry.stopped == "truncated" else read
    digest = None if file.path == "-" else file.sha256
    return ParsedAnswers(
        tuple(parsed), tuple(exchanges), file.path, digest, log.format, _total(chosen), chosen[0].system
    )


def _total(responses: Sequence[Response]) -> Usage | None:
    """The tokens and dollars of all responses that say so; None if none does."""
    usages = [entry.usage for entry in responses if entry.usage is not None]

    def total(values: Sequence[float | None]) -> float | None:
        given = [value for value in values if value is not None]
        return sum(given) if given else None

    if not usages:
        return None
    tokens = [
        total([usage.input_tokens for usage in usages]),
        total([usage.output_tokens for usage in usages]),
    ]
    cost = total([usage.cost for usage in usages])
    first, second = (None if number is None else int(number) for number in tokens)
    return Usage(first, second, cost)


def _name(response: Response) -> str:
    return "/".join(part for part in (response.system, response.sample) if part is not None)


def chosen_sample(
    source: object, sample: object, response: str | None = None, answers_format: str = "auto"
) -> str | None:
    """The sample or system to read; None for all of them, which "all" stands for unless one is called so."""
    if sample != "all":
        return None if sample is None else str(sample)
    if isinstance(source, str | os.PathLike) and (log := read_log(opened(source), answers_format, response)):
        names = {name for entry in log.responses for name in (entry.system, entry.sample)}
    else:
        names = set(samples_of(source, response, answers_format))
    return "all" if "all" in names else None


def _chosen(log: Log, path: str, sample: str | None) -> list[Response]:
    """The responses of one system and sample.

    Raises:
        InputError: there are several and none was chosen, or the chosen one is missing.
    """
    names = list(dict.fromkeys(map(_name, log.responses)))
    if sample is None:
        chosen = list(log.responses)
    else:
        chosen = [entry for entry in log.responses if sample in (entry.system, entry.sample, _name(entry))]
    left = list(dict.fromkeys(map(_name, chosen)))
    if len(left) == 1:
        return chosen
    listed = ", ".join(names[:8])
    raise InputError(
        f"{path}: there is no sample {sample!r}.\nThere are: {listed}."
        if not left
        else f"{path}: there are several samples per unit: {', '.join(left[:8])}.\nChoose one with sample=."
    )


def _joined_log(responses: Sequence[Response], units: Units, path: str) -> list[tuple[int, str | None]]:
    """The unit of each response, and its text if the log has it: by id, by text, or by verified number.

    A log's own numbers are trusted only where the text of the unit occurs in what the log says of it.
    """
    for join in (_log_by_id, _log_by_text, _log_by_number):
        joined = join(responses, units)
        if joined is None:
            continue
        seen: dict[int, Response] = {}
        for response, (unit, _) in zip(responses, joined, strict=True):
            if unit in seen:
                name = units.ids[unit] if units.ids is not None else str(unit)
                raise InputError(
                    at(path, response.line, f"the log has two responses for the {units.kind} {name!r}.\n"
                       "Remove one of them, or give a log with one response per unit.")
                )  # fmt: skip
            seen[unit] = response
        return joined
    known = set(units.ids or ())
    first = next((entry for entry in responses if known.isdisjoint(entry.ids)), responses[0])
    shown = ", ".join(map(repr, first.ids[:3])) or "none"
    if (
        first is not responses[0]
        and first.ids
        and any(not known.isdisjoint(entry.ids) for entry in responses)
    ):
        others = sum(known.isdisjoint(entry.ids) for entry in responses) - 1
        raise InputError(
            at(path, first.line, f"no {units.kind} of the gold file ({units.corpus.source.path}) has the id "
               f"{shown}{_and_others(others)}.\nLeave out responses about other text.")
        )  # fmt: skip
    raise InputError(
        at(path, first.line, f"the responses cannot be joined with the {units.kind}s of the gold file "
           f"({units.corpus.source.path}): neither the ids (here {shown}) nor the texts agree.\n"
           "Give the samples of the log the ids or the texts of gold, in a field 'id' or 'text'.")
    )  # fmt: skip


def _log_by_id(responses: Sequence[Response], units: Units) -> list[tuple[int, str | None]] | None:
    if units.ids is None:
        return None
    unit_of = {name: unit for unit, name in enumerate(units.ids)}
    found = [next((unit_of[name] for name in entry.ids if name in unit_of), None) for entry in responses]
    if any(unit is None for unit in found):
        return None
    return [
        (unit, _own_text(entry, units.ink(unit)))
        for unit, entry in zip(found, responses, strict=True)
        if unit is not None
    ]


def _own_text(response: Response, ink: str) -> str | None:
    return next((text for text in response.texts if "".join(text.split()) == ink), None)


def _log_by_text(responses: Sequence[Response], units: Units) -> list[tuple[int, str | None]] | None:
    units_with: dict[str, list[int]] = {}
    for unit in reversed(range(len(units))):
        units_with.setdefault(units.ink(unit), []).append(unit)
    joined: list[tuple[int, str | None]] = []
    for entry in responses:
        found = next(
            ((left, text) for text in entry.texts if (left := units_with.get("".join(text.split())))), None
        )
        if found is None:
            return None
        joined.append((found[0].pop(), found[1]))
    return joined


def _log_by_number(responses: Sequence[Response], units: Units) -> list[tuple[int, str | None]] | None:
    """Join by the unit's number, from 0 or 1, where the log's text contains the unit's."""
    for first in (0, 1):
        joined: list[tuple[int, str | None]] = []
        for entry in responses:
            numbers = [int(name) - first for name in entry.ids if name.isdecimal() and len(name) < 10]
            unit = next((number for number in numbers if 0 <= number < len(units)), None)
            inks = ["".join(text.split()) for text in entry.texts]
            # Numbers from 1 are not the numbers of units, so that only text can confirm them.
            if unit is None or (not any(units.ink(unit) in ink for ink in inks) if inks else first):
                break
            joined.append((unit, None))
        else:
            return joined
    return None


def samples_of(
    source: object, response: str | None = None, answers_format: str = "auto", system: str | None = None
) -> dict[str, str]:
    """The samples in a source, in order of first occurrence, each with a hash of its contents.

    Args:
        response: the field with the raw response of the model.
        system: the system of a log with several; by default, the samples of all.
    """
    if isinstance(source, str | os.PathLike):
        file = opened(source)
        if (log := read_log(file, answers_format, response)) is not None:
            return _samples_of_log(log, system)
        records = _lines(file.path, read_text(file))
    else:
        records = [AnswerRecord(value, None) for value in _listed(source)]
    if system is not None:
        return {}
    digests: dict[str, hashlib._Hash] = {}
    for record in _one_response_each(records, response):
        name = _sample(record)
        if name is None or not isinstance(record.value, Mapping):
            continue
        content = {key: value for key, value in record.value.items() if key not in ("sample", "run")}
        digests.setdefault(name, hashlib.sha256()).update(_canonical(content))
    return {name: digest.hexdigest() for name, digest in digests.items()}


def _samples_of_log(log: Log, system: str | None) -> dict[str, str]:
    digests: dict[str, hashlib._Hash] = {}
    for entry in log.responses:
        if entry.sample is not None and system in (None, entry.system):
            content = _canonical([entry.ids, entry.texts, entry.payload, entry.stopped])
            digests.setdefault(entry.sample, hashlib.sha256()).update(content)
    return {name: digest.hexdigest() for name, digest in digests.items()}


def records_digest(records: Sequence[object]) -> str:
    """A hash of the contents of records in memory."""
    return hashlib.sha256(b"\n".join(map(_canonical, records))).hexdigest()


def _canonical(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, ensure_ascii=True, default=str).encode()


_OFFSETS = {"start", "begin", "start_offset", "from"}
_LOOKED_AT = 200  # number of records used to recognise a source


def has_answers(
    source: object, response: str | None = None, *, files: bool = False, answers_format: str = "auto"
) -> bool:
    """Whether a source holds answers without offsets, as opposed to tags or spans.

    Args:
        files: whether to look into files; otherwise only lists of objects can hold answers.
    """
    if isinstance(source, str | os.PathLike):
        if not files or (answers_format == "auto" and not _may_hold(path := os.fspath(source))):
            return False
        path = os.fspath(source)
        if read_log(opened(source), answers_format, response) is not None:
            return True
        if not _is_json(path):
            return False
        records = [record.value for record in _lines(path, read_text(path))[:_LOOKED_AT]]
    elif isinstance(source, list | tuple):
        records = list(source[:_LOOKED_AT])
        if not files and not all(isinstance(record, Mapping) for record in records):
            return False
    else:
        return False
    if response is not None:
        return any(dotted(record, response) is not None for record in records)
    judged = [answering for value in records if (answering := _is_answering(value)) is not None]
    return judged[0] if judged else files and bool(records)


def _may_hold(path: str) -> bool:
    return _is_json(path) or path.lower().endswith((".eval", ".csv"))


def _is_json(path: str) -> bool:
    return any(suffix in path.lower() for suffix in (".json", ".ndjson"))


def _is_answering(value: Json) -> bool | None:
    """Whether a record holds answers; None for an empty list, which could be either."""
    if not isinstance(value, Mapping):
        return isinstance(value, str) or (_hold_texts(value) if isinstance(value, list | tuple) else False)
    if any(key in value for key in ("tags", "ner_tags", "bio")):
        return False
    payload = next((value[key] for key in (*LISTS, *_RESPONSES) if key in value), None)
    if "answers" in value or isinstance(payload, str | Mapping) or _responses(value):
        return True
    if payload is None:
        rest = [field for key, field in value.items() if key not in _ABOUT]
        return bool(rest) and all(isinstance(field, list) for field in rest)
    return _hold_texts(payload) if isinstance(payload, list) else False


def _hold_texts(listed: Sequence[Json]) -> bool | None:
    """Whether a list holds texts with labels, as opposed to tags or spans; None if it is empty."""
    if not listed:
        return None
    first = listed[0]
    if isinstance(first, Mapping):
        return not _OFFSETS & first.keys()
    return isinstance(first, list | tuple) and len(first) > 0 and isinstance(first[0], str)


def _listed(source: object) -> list[Json]:
    if isinstance(source, Mapping) or not hasattr(source, "__iter__"):
        raise InputError(
            f"<answers>: {type(source).__name__} is not a list of records.\nGive one record per unit."
        )
    return list(source)


def _lines(path: str, text: str) -> list[AnswerRecord]:
    """The records of a file: one JSON value per line, or one list of objects."""
    if text.lstrip()[:1] == "[":
        try:
            whole = parse_json(text)
        except RepeatedKey as error:
            raise error.at(path, None) from None
        except (ValueError, RecursionError):
            whole = None
        if isinstance(whole, list) and whole and all(map(_is_record, whole)):
            return [AnswerRecord(item, 1) for item in whole]
    records: list[AnswerRecord] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            records.append(AnswerRecord(parse_json(line), number))
        except RepeatedKey as error:
            raise error.at(path, number) from None
        except json.JSONDecodeError as error:
            if not records and (keys := _keys_of_document(text)):
                raise InputError(
                    f"{path}: this is one JSON object with the keys {keys}, not a log or a list of records.\n"
                    "Give the file with the samples or responses, or one JSON object per line."
                ) from None
            raise InputError(
                at(path, number, f"this is not JSON: {error.msg} (column {error.colno}).\n"
                   "Give one JSON object per line; what a model wrote goes into a string, "
                   "named by response=.")
            ) from None  # fmt: skip
        except RecursionError:
            raise InputError(at(path, number, "the JSON is nested too deeply.\nFix the line.")) from None
        except ValueError:  # a number has too many digits
            raise InputError(at(path, number, "a number in the JSON is too long.\nFix the line.")) from None
    return records


def _keys_of_document(text: str) -> str:
    """The first keys of a file that is one JSON object; empty if it is not."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    return ", ".join(map(repr, list(value)[:6])) if isinstance(value, Mapping) else ""


def _is_record(value: Json) -> bool:
    """Whether an item of a list is the record of a unit, rather than an answer."""
    return isinstance(value, Mapping) and any(key in value for key in ("id", *LISTS, *_RESPONSES))


def _sample(record: AnswerRecord) -> str | None:
    if not isinstance(record.value, Mapping):
        return None
    name = record.value.get("sample", record.value.get("run"))
    return str(name) if isinstance(name, str | int) else None


def _one_response_each(records: Sequence[AnswerRecord], response: str | None) -> list[AnswerRecord]:
    """The records with one response each: a list of one string is that string, several are samples."""
    single: list[AnswerRecord] = []
    for record in records:
        found = _responses(record.value, response)
        if found is None:
            single.append(record)
            continue
        key, listed = found
        before = _sample(record)
        for number, text in enumerate(listed, start=1):
            one = {**record.value, key: text}
            if len(listed) > 1:
                one["sample"] = str(number) if before is None else f"{before}.{number}"
            single.append(AnswerRecord(one, record.line))
    return single


def _responses(value: Json, response: str | None = None) -> tuple[str, list[str]] | None:
    """The field with several responses of a model, as a list of strings, and these; None if there is none."""
    if not isinstance(value, Mapping):
        return None
    keys = _RESPONSES if response is None else (response,)
    key = next((key for key in keys if key in value and key not in LISTS), None)
    listed = None if key is None else value[key]
    if key is None or not isinstance(listed, list) or not listed:
        return None
    return (key, listed) if all(isinstance(text, str) for text in listed) else None


def _of_sample(records: list[AnswerRecord], sample: str | None, path: str) -> list[AnswerRecord]:
    names = list(dict.fromkeys(name for record in records if (name := _sample(record)) is not None))
    if sample is None and len(names) <= 1:
        return records
    if sample is None or sample not in names:
        listed = ", ".join(names[:8]) or "none"
        raise InputError(
            f"{path}: there are several samples per unit: {listed}.\nChoose one with sample=."
            if sample is None
            else f"{path}: there is no sample {sample!r}.\nThere are: {listed}."
        )
    return [record for record in records if _sample(record) == sample]


def _payload(record: AnswerRecord, response: str | None, path: str, labels: frozenset[str]) -> Json:
    """The answers in a record: a JSON value, or the text of a response."""
    value = record.value
    if not isinstance(value, Mapping):
        return value
    if response is not None:
        if response not in value and (inner := dotted(value, response)) is not None:
            return inner
        if response not in value:
            raise InputError(_lacks(record, path, f"no field {response!r}", value))
        return value[response]
    for key in (*LISTS, *_RESPONSES):
        if key in value:
            return value[key]
    rest = {key: field for key, field in value.items() if key not in _ABOUT or key in labels}
    if rest and all(isinstance(field, list) for field in rest.values()):
        return rest
    raise InputError(_lacks(record, path, "no field with answers", value))


def _lacks(record: AnswerRecord, path: str, what: str, value: Mapping[str, Json]) -> str:
    keys = ", ".join(map(repr, sorted(map(str, value))[:12])) or "none"
    return at(
        path, record.line, f"the record has {what}; its keys are: {keys}.\n"
        "Call it 'answers', or name the field with the model's response: response=."
    )  # fmt: skip


def _first_text(value: Json, keys: Sequence[str]) -> str | None:
    if not isinstance(value, Mapping):
        return None
    return next((value[key] for key in keys if isinstance(value.get(key), str)), None)


def _joined(records: Sequence[AnswerRecord], units: Units, path: str) -> list[int]:
    """The unit of each record: by id, else by tokens or text, else by order if the numbers match."""
    ids = [record.value.get("id") if isinstance(record.value, Mapping) else None for record in records]
    if any(unit_id is not None for unit_id in ids):
        return _by_id(records, ids, units, path)
    texts = [_ink(record.value) for record in records]
    if all(text is not None for text in texts):
        return _by_text(records, texts, units, path)
    if len(records) != len(units):
        raise InputError(
            f"{path}: {many(len(records), 'record')} without id or text cannot be joined with "
            f"{many(len(units), units.kind)} of the gold file ({units.corpus.source.path}).\n"
            "Give every record the 'id' of its unit, or its tokens or text."
        )
    return list(range(len(records)))


def _by_id(records: Sequence[AnswerRecord], ids: Sequence[Json], units: Units, path: str) -> list[int]:
    names = [str(unit_id) for unit_id in ids]
    unit_of = {} if units.ids is None else {name: unit for unit, name in enumerate(units.ids)}
    if not any(name in unit_of for name in names):
        unit_of = {str(unit): unit for unit in range(len(units))}
    joined: list[int] = []
    seen: dict[int, AnswerRecord] = {}
    for record, record_id, name in zip(records, ids, names, strict=True):
        if record_id is None:
            raise InputError(at(path, record.line, "the record has no 'id', but others have one.\nAdd it."))
        if name not in unit_of:
            unknown = sum(name not in unit_of for name in names)
            raise InputError(
                at(path, record.line, f"no {units.kind} of the gold file ({units.corpus.source.path}) has "
                   f"the id {name!r}{_and_others(unknown - 1)}.\n"
                   f"Ids are {_examples(unit_of)}; leave out records about other text.")
            )  # fmt: skip
        unit = unit_of[name]
        if unit in seen:
            line = seen[unit].line
            before = "an earlier record" if line is None or line == record.line else f"line {line}"
            raise InputError(
                at(path, record.line, f"the id {name!r} was used by {before} already.\n"
                   "Remove one of the records, or number the samples of a unit in a field 'sample'.")
            )  # fmt: skip
        seen[unit] = record
        joined.append(unit)
    return joined


def _and_others(number: int) -> str:
    return f", and the same is true of {many(number, 'other record')}" if number else ""


def _examples(unit_of: Mapping[str, int]) -> str:
    names = list(unit_of)
    return " … ".join(map(repr, [*names[:2], names[-1]] if len(names) > 3 else names))


def _ink(value: Json) -> str | None:
    """The text in a record without white space, if there is one."""
    if not isinstance(value, Mapping):
        return None
    tokens = next((value[key] for key in _TOKENS if isinstance(value.get(key), list)), None)
    if tokens is not None and all(isinstance(token, str) for token in tokens):
        return "".join("".join(tokens).split())
    text = _first_text(value, _TEXTS)
    return None if text is None else "".join(text.split())


def _by_text(
    records: Sequence[AnswerRecord], texts: Sequence[str | None], units: Units, path: str
) -> list[int]:
    """Join records with units by text; units with the same text are used in order."""
    units_with: dict[str, list[int]] = {}
    for unit in reversed(range(len(units))):
        units_with.setdefault(units.ink(unit), []).append(unit)
    joined: list[int] = []
    for record, text in zip(records, texts, strict=True):
        left = units_with.get(text or "")
        if not left:
            what = "has this text" if left is None else "with this text is left: it occurs here too often"
            raise InputError(
                at(path, record.line, f"no {units.kind} of the gold file ({units.corpus.source.path}) {what}"
                   f": {_shown(record.value)}.\nGive every record the 'id' of its unit.")
            )  # fmt: skip
        joined.append(left.pop())
    return joined


def _shown(value: Mapping[str, Json]) -> str:
    tokens = next((value[key] for key in _TOKENS if isinstance(value.get(key), list)), None)
    text = " ".join(tokens) if tokens is not None else _first_text(value, _TEXTS) or ""
    return repr(text if len(text) <= 60 else text[:59] + "…")


class LabelMap(Struct, frozen=True):
    """How the labels of answers map to labels of gold."""

    names: dict[str, str]
    unknown: dict[str, int]  # labels not in gold, with the number of their answers


def mapped_labels(answers: Sequence[Answer], gold: Sequence[str], aliases: Mapping[str, str]) -> LabelMap:
    """Map each label of an answer to a label of gold.

    By the user's aliases; else to the same label; else to the only label that is equal after folding. Any
    other label stays as it is, and is unknown.

    Examples:
        >>> mapped_labels([Answer("Ann", "per")], ["PER"], {}).names
        {'per': 'PER'}
    """
    gold_labels = set(gold)
    by_key: dict[str, set[str]] = {}
    for label in gold_labels:
        by_key.setdefault(label_key(label), set()).add(label)
    alias_keys: dict[str, set[str]] = {}
    for alias, label in aliases.items():
        alias_keys.setdefault(label_key(alias), set()).add(label)
    names: dict[str, str] = {}
    unknown: dict[str, int] = {}
    for answer in answers:
        label = answer.label
        if label not in names:
            near = by_key.get(label_key(label), set()) or alias_keys.get(label_key(label), set())
            if label in aliases:
                names[label] = aliases[label]
            elif label in gold_labels or len(near) != 1:
                names[label] = label
            else:
                names[label] = next(iter(near))
        if names[label] not in gold_labels:
            unknown[names[label]] = unknown.get(names[label], 0) + 1
    return LabelMap(names, unknown)
