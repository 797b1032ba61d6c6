"""The thresholds of gate.toml and of saved slices, checked for the latest result of every system."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from spanwise.conditions import parse
from spanwise.errors import SpanwiseError, many
from spanwise.gates import gate
from spanwise.slices.index import SCORES, Check, GateFile, NamedSlice, least_check, read_gate
from spanwise.workbench.bench import Bench, named_slice
from spanwise.workbench.index import Indexed
from spanwise.workbench.store import Gold, Result, pooled

GATE = "gate.toml"
NO_COLUMNS = "the folder has no mention columns of this system"
OTHER_COLUMNS = "its mention columns belong to another result than its latest one"


class CheckedThreshold(Struct, frozen=True, kw_only=True):
    """One threshold for one system; `passed` is null where it was not checked, and `why` says why."""

    system: str
    name: str
    state: Literal["passed", "failed", "not checked"]
    passed: bool | None
    message: str
    why: str | None = None


class GateAnswer(Struct, frozen=True, kw_only=True):
    """All thresholds, one entry for each system and threshold; `passed` is null if none was checked."""

    passed: bool | None  # whether no threshold failed
    checked: int  # thresholds that were checked
    checks: tuple[CheckedThreshold, ...]


def gate_answer(bench: Bench, gold: Gold, results: Sequence[Result] | None = None) -> GateAnswer:
    """Check results, by default the latest of every system, against gate.toml and saved slices."""
    path = bench.folder / GATE
    file = read_gate(path) if path.is_file() else GateFile()
    chosen = bench.latest(gold) if results is None else results
    several = {pool.id: len(pool.runs) for pool in pooled(bench.store.results(gold.slug))}
    checks: list[CheckedThreshold] = []
    for result in chosen:
        checks += _score_checks(bench, result, file)
    saved = {entry.name: named_slice(entry) for entry in bench.store.slices(gold.slug)}
    indexed = bench.shelf.indexed(gold)
    for name, row in [*file.named.items(), *saved.items()]:
        for result in chosen:
            checks += _slice_checks(indexed, result, name, row)
    runs = {result.system: several.get(result.id, 1) for result in chosen}
    checks = [
        replace(check, message=f"{check.message} This is the newest of its {runs[check.system]} runs.")
        if runs[check.system] > 1 and check.passed is not None
        else check
        for check in checks
    ]
    failed = any(check.state == "failed" for check in checks)
    checked = sum(check.state != "not checked" for check in checks)
    return GateAnswer(passed=not failed if checked else None, checked=checked, checks=tuple(checks))


def _score_checks(bench: Bench, result: Result, file: GateFile) -> Iterator[CheckedThreshold]:
    """The thresholds on the scores of a document, one at a time, so that a wrong one spoils no other."""
    document = bench.shelf.document(result)
    only = replace(document, systems={result.system: document.systems[result.system]})
    if file.fail_under is not None:
        what = f"{file.score or document.settings.primary or 'f1'} of at least {file.fail_under:g}"
        yield from _checked(
            result.system, what, lambda: gate(only, fail_under=file.fail_under, score=file.score).checks
        )
    for path, least in file.floors.items():
        yield from _checked(
            result.system,
            f"{path} of at least {least:g}",
            lambda path=path, least=least: gate(only, floors={path: least}).checks,  # type: ignore[misc]
        )


def _slice_checks(
    indexed: Indexed | None, result: Result, name: str, row: NamedSlice
) -> Iterator[CheckedThreshold]:
    """The thresholds of one slice for one result."""
    for score in SCORES:
        least = getattr(row, score)
        if least is None:
            continue
        what = f"slice {name} ({score}) of at least {least:g}"
        system = result.system
        if indexed is None or system not in indexed.index.systems:
            yield _unchecked(system, what, NO_COLUMNS)
            continue
        index = indexed.index
        if index.whole[system].score("f1") != result.board.scores.get("f1"):
            yield _unchecked(system, what, OTHER_COLUMNS)
            continue
        try:
            cell = index.counted(parse(row.where))[system]
        except SpanwiseError as error:
            yield _unchecked(system, what, str(error).partition("\n")[0].rstrip("."))
            continue
        if cell.gold < row.mentions:
            few = many(cell.gold, "mention")
            yield _unchecked(system, what, f"the slice has {few}, but at least {row.mentions} are required")
            continue
        subject = f"slice {name} ({score})"
        yield _shown(system, least_check(system, subject, cell.score(score), least, bound=False))


def _checked(system: str, what: str, checks: Callable[[], Sequence[Check]]) -> list[CheckedThreshold]:
    try:
        return [_shown(system, check) for check in checks()]
    except SpanwiseError as error:
        return [_unchecked(system, what, str(error).partition("\n")[0].rstrip("."))]


def _shown(system: str, check: Check) -> CheckedThreshold:
    return CheckedThreshold(
        system=system,
        name=check.name,
        state="passed" if check.passed else "failed",
        passed=check.passed,
        message=check.message,
    )


def _unchecked(system: str, what: str, why: str) -> CheckedThreshold:
    return CheckedThreshold(
        system=system,
        name=f"{system} {what}",
        state="not checked",
        passed=None,
        message=f"{system}: {what} was not checked: {why}.",
        why=why,
    )
