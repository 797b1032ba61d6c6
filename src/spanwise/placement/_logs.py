"""Read the logs of evaluation harnesses and batch APIs as records of answers, one per response."""

from __future__ import annotations

import csv
import io
import json
import math
import struct
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal, TypeGuard

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from spanwise.errors import InputError, MissingExtra, at, unknown
from spanwise.formats import File, read_text, unpacked_zstd
from spanwise.placement.parsing import Json

TRUNCATED = ("length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded")
REFUSED = ("content_filter", "refusal", "safety")
_IDS = ("id", "unit_id", "example_id", "sentence_id", "document_id", "doc_id", "uid")
_ZSTD = 93  # the number of the compression method in zip archives
_LEAST, _MOST = 1 << 26, 200  # bytes and times its own size that an archive may unpack to


Stopped = Literal["", "refused", "truncated", "error"]


class Usage(Struct, frozen=True):
    """What a response cost: tokens and dollars, where the log says so."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None


class Response(Struct, frozen=True):
    """One response of a log: what it is about, what the model wrote, and what went wrong."""

    payload: Json = None
    ids: tuple[str, ...] = ()  # names that may identify the unit, the most explicit first
    texts: tuple[str, ...] = ()  # texts that may be, or contain, the text of the unit
    system: str | None = None
    sample: str | None = None
    stopped: Stopped = ""  # refused, truncated or error; empty if the response is complete
    why: str = ""
    usage: Usage | None = None
    line: int | None = None
    prompt: str = ""  # what the model was asked


class LogFormat(Struct, frozen=True):
    """A format of logs: how it is recognised and which responses its items hold."""

    name: str
    summary: str
    holds: Callable[[Mapping[str, Json]], bool]  # whether an item is of this format
    responses: Callable[[Mapping[str, Json], str | None], Iterator[Response]]


# ---- shared parts of logs --------------------------------------------------------------------------


def _mapping(value: Json) -> TypeGuard[Mapping[str, Json]]:
    return isinstance(value, Mapping)


def dotted(value: Json, path: str) -> Json:
    """The value at a dotted path, such as `choices.0.message.content`; None if there is none.

    Examples:
        >>> dotted({"choices": [{"text": "[]"}]}, "choices.0.text")
        '[]'
    """
    if _mapping(value) and path in value:
        return value[path]
    for key in path.split("."):
        if _mapping(value) and key in value:
            value = value[key]
        elif isinstance(value, list) and key.isdecimal() and int(key) < len(value):
            value = value[int(key)]
        else:
            return None
    return value


def _strings(value: Json, depth: int = 3) -> Iterator[str]:
    """The strings in a value, in order."""
    if isinstance(value, str):
        yield value
    elif depth and isinstance(value, Mapping | list):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _strings(item, depth - 1)


def _prompt(value: Json) -> str:
    """What a model was asked: a text, or the contents of the messages of a chat."""
    if isinstance(value, list):
        messages = [dotted(item, "content") if _mapping(item) else item for item in value]
        return "\n\n".join(filter(None, (" ".join(_strings(message)) for message in messages)))
    return value if isinstance(value, str) else "\n".join(_strings(value))


def _ids(*values: Json) -> tuple[str, ...]:
    """The names in given fields, and the values that are names themselves."""
    found: list[str] = []
    for value in values:
        if _mapping(value):
            found += [str(value[key]) for key in _IDS if isinstance(value.get(key), str | int)]
        elif isinstance(value, str | int) and not isinstance(value, bool):
            found.append(str(value))
    return tuple(dict.fromkeys(found))


def _whole(value: Json) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _cost(value: Json) -> float | None:
    numeric = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e300
    return float(value) if numeric else None


def _usage(counts: Json, cost: Json = None) -> Usage | None:
    """Tokens and dollars from the fields under which logs keep them."""
    table: Mapping[str, Json] = counts if _mapping(counts) else {}

    def first(*names: str) -> int | None:
        return next((number for name in names if (number := _whole(table.get(name))) is not None), None)

    usage = Usage(
        first("prompt_tokens", "input_tokens", "prompt", "prompt_token_count"),
        first("completion_tokens", "output_tokens", "completion", "completion_token_count"),
        _cost(cost),
    )
    return None if usage == Usage() else usage


def _shared(usage: Usage | None, number: int) -> list[Usage | None]:
    """What each of several choices of one request cost: whole tokens that add up to those of the request."""
    if usage is None:
        return [None] * number
    cost = None if usage.cost is None else usage.cost / number

    def part(tokens: int | None, at: int) -> int | None:
        return None if tokens is None else tokens * (at + 1) // number - tokens * at // number

    return [Usage(part(usage.input_tokens, at), part(usage.output_tokens, at), cost) for at in range(number)]


def _message(message: Mapping[str, Json]) -> Json:
    """What a message of a chat says: the arguments of its tool calls, else its content."""
    calls = [_arguments(call) for call in message.get("tool_calls") or [] if _mapping(call)]
    if calls:
        return calls[0] if len(calls) == 1 else _together(calls)
    content = message.get("content")
    if isinstance(content, list):
        parts = [part.get("text") for part in content if _mapping(part)]
        tools = [part.get("input") for part in content if _mapping(part) and part.get("type") == "tool_use"]
        if tools:
            return tools[0] if len(tools) == 1 else _together(tools)
        content = "".join(part for part in parts if isinstance(part, str))
    return content


def _together(calls: Sequence[Json]) -> Json:
    """Several calls as one value: a list of answers if each call is an object, else a list of all."""
    return [item for call in calls for item in (call if isinstance(call, list) else [call])]


def _arguments(call: Mapping[str, Json]) -> Json:
    function = call.get("function")
    given = function.get("arguments") if _mapping(function) else call.get("arguments", call.get("args"))
    if not isinstance(given, str):
        return given
    try:
        return json.loads(given)
    except (ValueError, RecursionError):
        return given


def _chat(
    choice: Mapping[str, Json], reason: Json, about: Callable[..., Response], usage: Usage | None
) -> Response:
    """The response in a choice of a chat model, with its refusal or truncation."""
    message = choice.get("message")
    message = message if _mapping(message) else choice
    refusal = message.get("refusal")
    if isinstance(refusal, str) and refusal:
        return about(stopped="refused", why=f"the model refused: {_short(refusal)}", usage=usage)
    if reason in REFUSED:
        return about(stopped="refused", why=f"the response was stopped: {reason}", usage=usage)
    stopped: Stopped = "truncated" if reason in TRUNCATED else ""
    return about(payload=_message(message), stopped=stopped, usage=usage)


def _short(text: Json) -> str:
    line = " ".join(str(text).split())
    return line if len(line) <= 80 else line[:79] + "…"


def _failed(error: Json) -> str:
    message = error.get("message", error) if _mapping(error) else error
    return f"the request failed: {_short(message)}"


# ---- the formats -----------------------------------------------------------------------------------


def _inspect(sample: Mapping[str, Json], response: str | None) -> Iterator[Response]:
    output = sample.get("output")
    output = output if _mapping(output) else {}
    choices = [choice for choice in output.get("choices") or [] if _mapping(choice)]
    usages = [usage for usage in (sample.get("model_usage") or {}).values() if _mapping(usage)]
    totals = {
        name: sum(_whole(usage.get(name)) or 0 for usage in usages)
        for name in ("input_tokens", "output_tokens")
    }
    cost = [number for usage in usages if (number := _cost(usage.get("total_cost"))) is not None]
    messages = sample.get("input")
    common: dict[str, Json] = {
        "ids": _ids(sample.get("metadata"), sample.get("id")),
        "texts": tuple(
            dict.fromkeys([*_strings(sample.get("metadata")), *_strings(messages)])
        ),
        "prompt": _prompt(messages),
    }  # fmt: skip
    error, epoch = sample.get("error"), str(sample.get("epoch", 1))
    shares = _shared(_usage(totals if usages else None, sum(cost) if cost else None), len(choices) or 1)
    for number, (choice, usage) in enumerate(zip(choices or [{}], shares, strict=True), start=1):
        named = {**common, "usage": usage, "sample": epoch if len(choices) < 2 else f"{epoch}.{number}"}
        if response is not None:
            yield Response(payload=dotted(sample, response), **named)
        elif error or not choices:
            yield Response(stopped="error", why=_failed(error or "there is no output"), **named)
        else:

            def about(usage: Usage | None = None, named: dict[str, Json] = named, **kept: Json) -> Response:
                return Response(**{**named, **kept})

            yield _chat(choice, choice.get("stop_reason"), about, None)


def _lm_eval(item: Mapping[str, Json], response: str | None) -> Iterator[Response]:
    document, arguments = item.get("doc"), item.get("arguments")
    texts = tuple(dict.fromkeys([*_strings(document), *_strings(arguments)]))
    ids = _ids(document, item.get("doc_id"))
    given = dotted(item, response) if response is not None else item.get("filtered_resps", item.get("resps"))
    flat = list(_flat(given)) if isinstance(given, list) else [given]
    for number, text in enumerate(flat, start=1):
        sample = str(number) if len(flat) > 1 else None
        yield Response(text, ids, texts, item.get("filter"), sample, prompt=_asked(arguments))


def _asked(arguments: Json) -> str:
    """The first argument of a request, which is the prompt; the others are options."""
    while isinstance(arguments, list | Mapping) and arguments:
        arguments = arguments[0] if isinstance(arguments, list) else next(iter(arguments.values()))
    return arguments if isinstance(arguments, str) else ""


def _flat(listed: list[Json]) -> Iterator[Json]:
    for item in listed:
        if isinstance(item, list):
            yield from _flat(item)
        else:
            yield item


def _promptfoo(row: Mapping[str, Json], response: str | None) -> Iterator[Response]:
    provider, prompt, test = row.get("provider"), row.get("prompt"), row.get("testCase")
    name = (provider.get("label") or provider.get("id")) if _mapping(provider) else provider
    variables = row.get("vars")
    metadata = test.get("metadata") if _mapping(test) else None
    given = row.get("response")
    given = given if _mapping(given) else {}
    number = row.get("_prompt")
    common: dict[str, Json] = {
        "ids": _ids(metadata, variables),
        "texts": tuple(dict.fromkeys([*_strings(variables), *_strings(metadata), *_strings(prompt)])),
        "system": str(name) if number is None else f"{name}, prompt {number}",
        "sample": row.get("_repeat"),
        "prompt": _prompt(prompt.get("raw") if _mapping(prompt) else prompt),
        "usage": _usage(given.get("tokenUsage", row.get("tokenUsage")), given.get("cost", row.get("cost"))),
    }
    error = given.get("error") or (row.get("error") if given.get("output") is None else None)
    if response is not None:
        yield Response(payload=dotted(row, response), **common)
    elif error:
        yield Response(stopped="error", why=_failed(error), **common)
    elif given.get("isRefusal") is True or given.get("finishReason") in REFUSED:
        yield Response(stopped="refused", why="the model refused", **common)
    else:
        stopped: Stopped = "truncated" if given.get("finishReason") in TRUNCATED else ""
        yield Response(payload=given.get("output"), stopped=stopped, **common)


def _langextract(item: Mapping[str, Json], response: str | None) -> Iterator[Response]:
    text = item.get("text")
    payload = item.get("extractions") if response is None else dotted(item, response)
    yield Response(
        payload if payload is not None else [],
        _ids(item.get("document_id")),
        (text,) if isinstance(text, str) else (),
        prompt=text if isinstance(text, str) else "",
    )


def _openai_batch(item: Mapping[str, Json], response: str | None) -> Iterator[Response]:
    ids = _ids(item.get("custom_id"))
    reply = item.get("response")
    body = reply.get("body") if _mapping(reply) else None
    body = body if _mapping(body) else {}
    status = reply.get("status_code", 200) if _mapping(reply) else None
    error = item.get("error") or body.get("error") or (f"status {status}" if status != 200 else None)
    usage = _usage(body.get("usage"))
    if response is not None:
        yield Response(dotted(item, response), ids, usage=usage)
        return
    if error:
        yield Response(None, ids, stopped="error", why=_failed(error))
        return
    choices = [choice for choice in body.get("choices") or [] if _mapping(choice)]
    outputs = [part for part in body.get("output") or [] if _mapping(part)]  # the newer responses API
    if not choices and outputs:
        choices = [{"message": _of_outputs(outputs), "finish_reason": _incomplete(body)}]
    if not choices:
        yield Response(None, ids, stopped="error", why=_failed("there is no choice"))
    for number, (choice, share) in enumerate(
        zip(choices, _shared(usage, len(choices)), strict=True), start=1
    ):
        sample = str(number) if len(choices) > 1 else None

        def about(sample: str | None = sample, **kept: Json) -> Response:
            return Response(ids=ids, sample=sample, **kept)

        yield _chat(choice, choice.get("finish_reason"), about, share)


def _anthropic_batch(item: Mapping[str, Json], response: str | None) -> Iterator[Response]:
    result = item.get("result")
    result = result if _mapping(result) else {}
    message, kind = result.get("message"), result.get("type")
    message = message if _mapping(message) else {}

    def about(**kept: Json) -> Response:
        return Response(ids=_ids(item.get("custom_id")), **kept)

    usage = _anthropic_usage(message.get("usage"))
    if response is not None:
        yield about(payload=dotted(item, response), usage=usage)
    elif kind == "succeeded":
        yield _chat(message, message.get("stop_reason"), about, usage)
    else:  # errored, canceled or expired
        error = result.get("error")
        inner = error.get("error") if _mapping(error) else None
        yield about(stopped="error", why=_failed(inner or error or kind))


def _anthropic_usage(counts: Json) -> Usage | None:
    """Tokens of the input are those that were read, and those that were written to or read from a cache."""
    if not _mapping(counts):
        return None
    parts = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    read = [number for key in parts if (number := _whole(counts.get(key))) is not None]
    return _usage({**counts, "input_tokens": sum(read) if read else None})


def _of_outputs(outputs: Sequence[Mapping[str, Json]]) -> dict[str, Json]:
    """The message of the responses API as one of a chat."""
    calls = [part for part in outputs if part.get("type") == "function_call"]
    content = [part for output in outputs for part in output.get("content") or [] if _mapping(part)]
    refusals = [part.get("refusal") for part in content if part.get("type") == "refusal"]
    return {"tool_calls": calls, "content": content, "refusal": refusals[0] if refusals else None}


def _incomplete(body: Mapping[str, Json]) -> Json:
    details = body.get("incomplete_details")
    return details.get("reason") if _mapping(details) else None


def _langsmith(item: Mapping[str, Json], response: str | None) -> Iterator[Response]:
    run, example = item.get("run", item), item.get("example")
    run = run if _mapping(run) else {}
    inputs = run.get("inputs")
    metadata = example.get("metadata") if _mapping(example) else None
    counts = {"prompt_tokens": run.get("prompt_tokens"), "completion_tokens": run.get("completion_tokens")}
    session = run.get("session_name")
    common: dict[str, Json] = {
        "ids": _ids(metadata, inputs, run.get("reference_example_id")),
        "texts": tuple(dict.fromkeys([*_strings(inputs, 4), *_strings(metadata)])),
        "usage": _usage(counts, run.get("total_cost")),
        "system": session if isinstance(session, str) else None,
        "sample": item.get("_repeat"),
        "prompt": _prompt(inputs),
    }
    if response is not None:
        yield Response(payload=dotted(item, response), **common)
    elif run.get("error"):
        yield Response(stopped="error", why=_failed(run["error"]), **common)
    else:
        yield Response(payload=_only(run.get("outputs")), **common)


def _only(outputs: Json) -> Json:
    """The only value of an object, as long as there is one; messages are read as in a chat."""
    while _mapping(outputs) and len(outputs) == 1:
        key, value = next(iter(outputs.items()))
        if key in ("output", "outputs", "result", "response", "answer", "completion", "text", "generations"):
            outputs = value
        else:
            break
    return _message(outputs) if _mapping(outputs) and "content" in outputs else outputs


def _phoenix(item: Mapping[str, Json], response: str | None) -> Iterator[Response]:
    common: dict[str, Json] = {
        "ids": _ids(item.get("metadata"), item.get("input"), item.get("example_id")),
        "texts": tuple(dict.fromkeys([*_strings(item.get("input")), *_strings(item.get("metadata"))])),
        "sample": str(item["repetition_number"]) if _whole(item.get("repetition_number")) else None,
        "usage": _usage(item, item.get("total_cost")),
        "prompt": _prompt(item.get("input")),
    }
    if response is not None:
        yield Response(payload=dotted(item, response), **common)
    elif item.get("error"):
        yield Response(stopped="error", why=_failed(item["error"]), **common)
    else:
        yield Response(payload=_only(item.get("output")), **common)


def _is_extraction(item: Mapping[str, Json]) -> bool:
    extractions = item.get("extractions")
    return "document_id" in item and (extractions is None or isinstance(extractions, list))


LOGS = {
    log.name: log
    for log in (
        LogFormat(
            "inspect", "logs of Inspect (.eval or .json)",
            lambda item: {"id", "epoch", "input", "output"} <= item.keys(), _inspect,
        ),
        LogFormat(
            "lm-eval", "samples_*.jsonl of lm-evaluation-harness",
            lambda item: "doc_id" in item and ("resps" in item or "filtered_resps" in item), _lm_eval,
        ),
        LogFormat(
            "promptfoo", "results.json of promptfoo",
            lambda item: "vars" in item and "provider" in item and ("response" in item or "error" in item),
            _promptfoo,
        ),
        LogFormat(
            "langextract-jsonl", "annotated documents of LangExtract, with character intervals",
            lambda item: _is_extraction(item) and "extractions" in item, _langextract,
        ),
        LogFormat(
            "openai-batch", "the output file of a batch of requests",
            lambda item: "custom_id" in item and ("response" in item or "error" in item), _openai_batch,
        ),
        LogFormat(
            "anthropic-batch", "the results of a batch of messages, as JSONL",
            lambda item: "custom_id" in item and isinstance(dotted(item, "result.type"), str),
            _anthropic_batch,
        ),
        LogFormat(
            "langsmith", "runs of a LangSmith experiment, as JSON or JSONL",
            lambda item: "reference_example_id" in item
            or (_mapping(item.get("run")) and "example" in item), _langsmith,
        ),
        LogFormat(
            "phoenix", "runs of a Phoenix experiment, as JSON",
            lambda item: "example_id" in item and "output" in item
            and ("reference_output" in item or "repetition_number" in item), _phoenix,
        ),
    )
}  # fmt: skip
FORMATS = ("auto", "records", *LOGS, "csv")  # the choices of answers_format


# ---- from files to items ---------------------------------------------------------------------------


class Log(Struct, frozen=True):
    """A log that was recognised: its format, and its responses in order."""

    format: str
    responses: tuple[Response, ...]


def read_log(file: File, answers_format: str = "auto", response: str | None = None) -> Log | None:
    """The responses of a log; None if the file holds plain records.

    Raises:
        InputError: the file is not of the named format, or is damaged.
    """
    if answers_format not in FORMATS:
        raise unknown("format of answers", answers_format, FORMATS)
    if answers_format == "records":
        return None
    if file.is_zip:
        items: list[tuple[int | None, Json]] = [(None, item) for item in _archive(file)]
        found = "inspect"
        if answers_format not in ("auto", "inspect"):
            raise _other(file.path, answers_format, found)
        return _log(file.path, LOGS[found], items, response)
    if answers_format == "csv" or (answers_format == "auto" and file.suffix in (".csv", ".tsv")):
        return Log("csv", tuple(_table(file, response)))
    text = read_text(file)
    listed = _items(file.path, text)
    if listed is None:
        if answers_format == "auto":
            return None
        raise _other(file.path, answers_format, None)
    first = next((item for _, item in listed if _mapping(item)), None)
    names = [name for name, log in LOGS.items() if first is not None and log.holds(first)]
    if answers_format != "auto":
        if answers_format not in names:
            raise _other(file.path, answers_format, names[0] if names else None)
        names = [answers_format]
    if not names:
        return None
    return _log(file.path, LOGS[names[0]], listed, response)


def _other(path: str, named: str, found: str | None) -> InputError:
    is_other = f"it looks like {found}" if found is not None else f"nothing in it looks like {named}"
    return InputError(
        f"{path}: this is not a log of the format {named}; {is_other}.\n"
        "Leave out answers_format to have it recognised, or give the right file."
    )


def _log(path: str, log: LogFormat, items: list[tuple[int | None, Json]], response: str | None) -> Log:
    responses: list[Response] = []
    for line, item in _numbered(log.name, items):
        if not _mapping(item) or not log.holds(item):
            raise InputError(
                at(path, line, f"this is not an entry of a log of the format {log.name}: {_short(item)}.\n"
                   "Give one log per file.")
            )  # fmt: skip
        for read in log.responses(item, response):
            responses.append(read if line is None else _at_line(read, line))
    if not responses:
        raise InputError(f"{path}: the log holds no responses.\nWas the run finished?")
    return Log(log.name, tuple(responses))


def _at_line(response: Response, line: int) -> Response:
    return replace(response, line=line)


def _numbered(name: str, items: list[tuple[int | None, Json]]) -> list[tuple[int | None, Json]]:
    """The items, with the number of the prompt and of the repetition where a log has several per unit."""
    if name not in ("promptfoo", "langsmith"):
        return items
    key = _promptfoo_key if name == "promptfoo" else _langsmith_key
    prompts: dict[str, int] = {}
    seen: dict[object, int] = {}
    for _, item in items:
        if _mapping(item):
            seen[key(item)] = seen.get(key(item), 0) + 1
            prompts.setdefault(_template(item), len(prompts) + 1)
    # Texts may occur twice, but repetitions are of all rows.
    repeats = math.gcd(*seen.values()) if name == "promptfoo" else 0
    given: dict[object, int] = {}
    numbered: list[tuple[int | None, Json]] = []
    for line, item in items:
        if not _mapping(item):
            numbered.append((line, item))
            continue
        more: dict[str, Json] = {}
        if name == "promptfoo" and len(prompts) > 1:
            more["_prompt"] = prompts[_template(item)]
        if repeats > 1 or (name == "langsmith" and seen[key(item)] > 1):
            given[key(item)] = given.get(key(item), 0) + 1
            more["_repeat"] = str((given[key(item)] - 1) % (repeats or seen[key(item)]) + 1)
        numbered.append((line, {**item, **more} if more else item))
    return numbered


def _template(item: Mapping[str, Json]) -> str:
    """The prompt of a row of promptfoo before its variables are filled in.

    `promptIdx` numbers columns of the table, of which each provider has one per prompt.
    """
    prompt = item.get("prompt")
    label = prompt.get("label") if _mapping(prompt) else None
    return label if isinstance(label, str) and label else str(item.get("promptIdx"))


def _promptfoo_key(item: Mapping[str, Json]) -> object:
    """What is asked of whom: rows that agree in this are repetitions, whatever their `testIdx`."""
    test = item.get("testCase")
    about = [item.get("vars"), test.get("metadata") if _mapping(test) else None]
    return str(item.get("provider")), _template(item), json.dumps(about, sort_keys=True, default=str)


def _langsmith_key(item: Mapping[str, Json]) -> object:
    return item.get("reference_example_id"), str(item.get("example"))


def _decoded(text: str) -> Json:
    """A JSON value; raises ValueError or RecursionError if the text is none."""
    try:
        return msgspec.json.decode(text)
    except msgspec.MsgspecError:  # also NaN, which Python accepts
        return json.loads(text)


def _items(path: str, text: str) -> list[tuple[int | None, Json]] | None:
    """The entries of a log with their lines: of one JSON document, or one per line; None if neither."""
    start = text.lstrip("\ufeff \t\r\n")
    if start[:1] not in ("{", "["):
        return None
    first = start.split("\n", 1)[0]
    try:
        value = _decoded(first)
        whole = len(first) == len(start.rstrip())
    except (ValueError, RecursionError):
        value, whole = _document(path, start), True
        if value is None:
            return None
    if whole:
        listed = _listed(value)
        if listed is not None:
            return [(None, item) for item in listed]
        if not _mapping(value):
            return None
        return [(1, value)]
    if not _mapping(value) or not any(log.holds(value) for log in LOGS.values()):
        return None
    return list(_lines(path, text))


def _document(path: str, text: str) -> Json:
    try:
        return _decoded(text)
    except (ValueError, RecursionError) as error:
        head = text[:4096]
        if '"promptIdx"' in head or ('"eval"' in head and '"status"' in head) or '"evalId"' in head:
            line = getattr(error, "lineno", None)
            raise InputError(
                at(path, line, "the log breaks off or is not JSON.\nWas it copied completely?")
            ) from None
        return None


def _listed(value: Json) -> list[Json] | None:
    """The entries of a log that is one JSON document."""
    if isinstance(value, list):
        return value
    if not _mapping(value):
        return None
    if "eval" in value and isinstance(value.get("samples"), list):  # Inspect
        return list(value["samples"])
    results = value.get("results")
    results = results.get("results") if _mapping(results) else results
    if isinstance(results, list):  # promptfoo, and LangSmith's results with example and run
        return results
    for key in ("data", "runs", "experiment_runs"):
        if isinstance(value.get(key), list):
            return list(value[key])
    return None


def _lines(path: str, text: str) -> Iterator[tuple[int | None, Json]]:
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            yield number, _decoded(line.lstrip("\ufeff"))
        except (ValueError, RecursionError):
            raise InputError(
                at(path, number, "this line of the log is not JSON.\nWas the log copied completely?")
            ) from None


def _archive(file: File) -> list[Json]:
    """The samples of an Inspect log, in order of epoch and of their names."""
    try:
        with zipfile.ZipFile(io.BytesIO(file.stored)) as archive:
            members = [info for info in archive.infolist() if info.filename.startswith("samples/")]
            if not members:
                raise InputError(
                    f"{file.path}: the archive holds no samples.\nGive a log of Inspect, of a finished run."
                )
            size = sum(info.file_size for info in members)
            if size > max(_LEAST, _MOST * len(file.stored)):
                raise InputError(
                    f"{file.path}: the log would unpack to {size >> 20:,} MB, more than {_MOST} times "
                    "its size.\nGive a log of Inspect."
                )
            return [_decoded(_member(file, archive, info).decode("utf-8")) for info in members]
    except (InputError, MissingExtra):
        raise
    except Exception as error:  # damage shows in many ways, and some packages have errors of their own
        raise InputError(
            f"{file.path}: the log is damaged ({_short(error)}).\nWas it copied completely?"
        ) from None


def _member(file: File, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """The bytes of a member; zipfile may not know Zstandard, which is unpacked here."""
    if info.compress_type != _ZSTD:
        return archive.read(info)
    data = file.stored
    name, extra = struct.unpack("<HH", data[info.header_offset + 26 : info.header_offset + 30])
    begin = info.header_offset + 30 + name + extra
    return unpacked_zstd(data[begin : begin + info.compress_size], info.file_size, "reading this log")


def _table(file: File, response: str | None) -> Iterator[Response]:
    """The responses of a CSV or TSV file with a header."""
    text = read_text(file)
    head = text.split("\n", 1)[0]
    delimiter = "\t" if head.count("\t") > head.count(",") else ","
    rows = csv.DictReader(io.StringIO(text), delimiter=delimiter)
    names = list(rows.fieldnames or ())
    column = response or next((name for name in names if name.lower() in _COLUMNS), None)
    inner = ""
    if column is not None and column not in names:
        column, _, inner = column.partition(".")  # a column with JSON, and the path in it
    if column is None or column not in names:
        listed = ", ".join(map(repr, names[:12])) or "none"
        what = f"no column {response!r}" if response else "no column with responses"
        raise InputError(
            f"{file.path}: the table has {what}; its columns are: {listed}.\n"
            "Name the column with the model's response: response=."
        )
    try:
        for row in rows:
            read = _of_row(row, column, rows.line_num)
            yield replace(read, payload=_inside(read.payload, inner)) if inner else read
    except csv.Error as error:
        raise InputError(
            at(file.path, rows.line_num + 1, f"this is not CSV: {error}.\nGive the log as JSON lines.")
        ) from None


def _inside(cell: Json, path: str) -> Json:
    """The value at a path in a cell with JSON; None if there is none."""
    try:
        return dotted(_decoded(cell), path)
    except (ValueError, RecursionError):
        return None


def _of_row(row: Mapping[str, Json], column: str, line: int) -> Response:
    given = {name: value for name, value in row.items() if name and value not in (None, "")}
    texts = [given[name] for name in given if name.lower() in ("text", "sentence", "input", "prompt")]
    return Response(
        row.get(column) or "",
        _ids({name.lower(): value for name, value in given.items()}),
        tuple(texts),
        sample=given.get("sample", given.get("run")),
        line=line,
        prompt=next((given[name] for name in given if name.lower() in ("prompt", "input")), ""),
    )


_COLUMNS = ("response", "completion", "output", "answer", "answers", "generated_text", "prediction")
