"""Check the papers' printed tables against each other: means, margins, claims and possible p-values."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import combinations, permutations
from pathlib import Path
from statistics import fmean
from typing import Literal, TypeAlias

from spanwise.reproduction._cells import Cell, among_printed, closely, exactly

Row: TypeAlias = Mapping[str, str]
Tables: TypeAlias = Mapping[str, Mapping[str, Mapping[str, Mapping[str, str]]]]

FOLDER = "printed"
SOURCE = "Fu20, Fu19, Tu21"

_ROUNDED = 1e-9
# The tables of Fu19, one per dataset, and its name for each column of Fu20.
_FU19_TABLES = ("4", "7", "8", "9", "10", "11")
_NAMES = {
    "eDen": "R-eDen", "oDen": "R-oov", "sLen": "R-sLen", "eCon": "MF-et",
    "tCon": "MF-tt", "eFre": "F-ent", "tFre": "F-tok", "eLen": "R-eLen",
}  # fmt: skip
# Tests of Fu20 whose number of pairs is not stated, and the number that fits the printed p.
FITTED = (
    ("CRF and MLP, eDen:XL", "1.8 × 10−5", 24),
    ("larger context on WB", "5.1 × 10−3", 10),
    ("LSTM and CNN, eLen:XL", "1.2 × 10−2", 8),
)
_SUPERSCRIPT = str.maketrans("−–", "--")


def cells(folder: Path) -> list[Cell]:
    """All checks of the tables in the folder."""
    fu20, fu19, tu21 = (
        json.loads((folder / f"{name}.json").read_text(encoding="utf-8")) for name in ("fu20", "fu19", "tu21")
    )
    checks = (
        *_means_of_f1(fu20["tables"], fu19["tables"]),
        *_means(fu20["tables"], fu19["tables"]),
        *_friedman(fu20["tables"]),
        *_wilcoxon(),
        closely("Fu20", "text", "gain of larger context on WB", 10.07, 76.42 - 66.35, within=_ROUNDED),
        *_scores_of_tu21(tu21["tables"]),
        *_composition_of_tu21(tu21["tables"]),
        *_claims_of_tu21(tu21["tables"]),
    )
    return among_printed(checks)


def _rounding(text: str) -> float:
    """Half a unit of the last printed digit."""
    return 0.5 * 10.0 ** -len(text.partition(".")[2]) + _ROUNDED


def _printed(
    source: str,
    table: str,
    name: str,
    text: str,
    computed: float,
    why: str = "",
    reason: Literal["shown", "guess", "none"] = "shown",
) -> Cell:
    """A printed number and a computed one, equal if they round to the same digits."""
    within = _rounding(text)
    return closely(source, table, name, float(text), computed, within=within, why=why, reason=reason)


def _means_of_f1(fu20: Tables, fu19: Tables) -> Iterator[Cell]:
    """The F1 in Table 2 as the mean of Table 1 over six datasets."""
    earlier = fu19["3"]["rows"]
    elsewhere = [float(text) for text in re.findall(r"\d\d\.\d\d", json.dumps(fu19["13"]))]
    for model, row in fu20["2"]["rows"].items():
        scores = {name: float(text) for name, text in fu20["1"]["rows"][model].items()}
        text = str(row["F1"])
        within = _rounding(text)
        fitting = _left_out(scores, float(text), within) or _replaced(
            scores, earlier.get(model, {}), elsewhere, float(text), within
        )
        yield _printed(
            "Fu20", "Table 2", f"{model} F1, mean of Table 1", text, fmean(scores.values()),
            fitting or "no mean of some of the six, and none with a score printed elsewhere, is this number",
            "guess" if fitting else "none",
        )  # fmt: skip


def _left_out(scores: Mapping[str, float], mean: float, within: float) -> str:
    for size in range(1, len(scores) - 1):
        for names in combinations(scores, size):
            rest = [value for name, value in scores.items() if name not in names]
            if abs(fmean(rest) - mean) <= within:
                return f"it is the mean without {', '.join(names)}"
    return ""


def _replaced(
    scores: Mapping[str, float], earlier: Row, elsewhere: list[float], mean: float, within: float
) -> str:
    for name, value in scores.items():
        near = [float(earlier[name])] if name in earlier else []
        near += [other for other in elsewhere if abs(other - value) < 1]
        for other in near:
            if abs(fmean({**scores, name: other}.values()) - mean) <= within:
                return f"it is the mean with {other:.2f} for {name}, as Fu19 prints it, not {value:.2f}"
    return ""


def _means(fu20: Tables, fu19: Tables) -> Iterator[Cell]:
    """Table 2 of Fu20 as the mean of six tables of Fu19, matching columns by name.

    The order of two columns differs between Fu19's tables; where the mean by position is the printed number,
    that is the explanation.
    """
    why = "it is the mean by position: Fu19 prints MF-tt before F-ent in Table 4, after it in Tables 7 to 11"
    for model, row in fu20["2"]["rows"].items():
        for half, cells_of in (("spearman", row["spearman"]), ("std", row["std"])):
            for index, (column, text) in enumerate(_pairs(cells_of)):
                by_place = fmean(_at(fu19[table], model, half, index) for table in _FU19_TABLES)
                by_name = fmean(_named(fu19[table], model, half, _NAMES[column]) for table in _FU19_TABLES)
                name = f"{model} {half} {column}, mean of {_NAMES[column]}"
                moved = why if abs(float(text) - by_place) <= _rounding(text) else ""
                yield _printed("Fu20", "Table 2", name, text, by_name, moved)


def _pairs(cells_of: object) -> list[tuple[str, str]]:
    assert isinstance(cells_of, dict)
    return list(cells_of.items())


def _at(table: Mapping[str, Mapping[str, Mapping[str, str]]], model: str, half: str, position: int) -> float:
    return float(_pairs(table["rows"][model][half])[position][1])


def _named(table: Mapping[str, Mapping[str, Mapping[str, str]]], model: str, half: str, name: str) -> float:
    folded = {column.lower(): text for column, text in _pairs(table["rows"][model][half])}
    return float(folded[name.lower()])


def number_of(text: str) -> float:
    """Parse a printed p-value.

    Examples:
        >>> number_of("2.2 × 10−12"), number_of("0.39")
        (2.2e-12, 0.39)
    """
    mantissa, _, exponent = text.translate(_SUPERSCRIPT).partition("×")
    power = exponent.strip().removeprefix("10").strip("^{} ")
    return float(f"{mantissa.strip()}e{power or 0}")


def _same_digits(text: str, computed: float) -> bool:
    """Whether a number rounds to the printed digits."""
    mantissa = text.partition("×")[0].strip()
    scale = number_of(text) / float(mantissa) if float(mantissa) else 1.0
    return abs(number_of(text) - computed) <= scale * _rounding(mantissa) * (1 + 1e-6)


@cache
def friedman_values(blocks: int, buckets: int) -> tuple[float, ...]:
    """All p-values that a Friedman test without ties can have, in ascending order.

    Examples:
        >>> round(friedman_values(6, 4)[0], 5)
        0.00044
    """
    from scipy.stats import chi2

    sums = {(0,) * buckets}
    orders = list(permutations(range(1, buckets + 1)))
    for _ in range(blocks):
        # The statistic does not depend on the order of the buckets, so sorted sums are enough.
        sums = {
            tuple(sorted(map(sum, zip(totals, order, strict=True)))) for totals in sums for order in orders
        }
    scale = 12 / (blocks * buckets * (buckets + 1))
    statistics = {scale * sum(s * s for s in totals) - 3 * blocks * (buckets + 1) for totals in sums}
    return tuple(float(chi2.sf(statistic, buckets - 1)) for statistic in sorted(statistics, reverse=True))


def _friedman(fu20: Tables) -> Iterator[Cell]:
    """Tables 5 and 6: whether each p-value is possible with the stated design."""
    designs = (("5", 12, "12 models"), ("6", 6, "6 datasets"))
    for table, blocks, what in designs:
        possible = friedman_values(blocks, 4)
        for row, columns in fu20[table]["rows"].items():
            for column, text in columns.items():
                p = number_of(str(text))
                nearest = min(possible, key=lambda value: abs(value - p))
                equal = any(_same_digits(str(text), value) for value in possible)
                if p < possible[0]:
                    why = (
                        f"lower than {blocks} blocks of 4 buckets can give ({possible[0]:.1e}); there may "
                        "have been more buckets than the four of appendix B"
                    )
                elif _same_digits(str(text), float(f"{nearest:.2e}")):
                    why = f"{nearest:.3e} was perhaps rounded twice, first to {nearest:.2e}"
                else:
                    why = (
                        f"no value of a test without ties on {blocks} blocks of 4 buckets; there may have "
                        "been ties or other buckets"
                    )
                name = f"{row} {column}, possible on {what} × 4 buckets"
                yield Cell("Fu20", f"Table {table}", name, p, nearest, equal, "" if equal else why, "guess")


def one_direction(pairs: int, method: Literal["approx", "exact"]) -> float:
    """The two-sided p of a signed-rank test if all differences have the same sign, the smallest possible.

    Examples:
        >>> round(one_direction(10, "approx"), 4), round(one_direction(12, "exact"), 6)
        (0.0051, 0.000488)
    """
    from scipy.stats import wilcoxon

    return float(wilcoxon(list(range(1, pairs + 1)), method=method, correction=False).pvalue)


def _wilcoxon() -> Iterator[Cell]:
    """The p-values of Fu20's signed-rank tests with a stated number of pairs, all in the same direction."""
    for name, text, pairs in (
        ("low consistency", "6.5 × 10−4", 15),
        ("high consistency", "5.1 × 10−3", 15),
    ):
        computed = one_direction(pairs, "approx")
        equal = _same_digits(text, computed)
        why = f"10 pairs would give {one_direction(10, 'approx'):.1e}, or differences in both directions"
        name = f"Wilcoxon, CRF and MLP, eLen, {name}, {pairs} pairs"
        yield Cell("Fu20", "text", name, number_of(text), computed, equal, "" if equal else why, "guess")
    least = one_direction(12, "exact")
    for name, text in (("eCon", "1.7 × 10−8"), ("tCon", "2.3 × 10−7"), ("eFre", "1.2 × 10−5")):
        why = f"a signed-rank test on 12 pairs cannot be lower than {least:.1e}"
        yield Cell("Fu20", "text", f"self-diagnosis of {name}", number_of(text), least, False, why, "none")


def _score(tables: Tables, table: str, model: str, column: str) -> str:
    cell = tables[table]["rows"][model][column]
    assert isinstance(cell, dict)
    return str(cell["mean"])


def _scores_of_tu21(tables: Tables) -> Iterator[Cell]:
    """F1 computed from precision and recall, and the overall recall compared between tables."""
    for table in ("5", "6", "14", "15"):
        for model in tables[table]["rows"]:
            p, r = (float(_score(tables, table, model, column)) for column in ("Precision", "Recall"))
            text = _score(tables, table, model, "F1")
            # The mean of five F1 scores is within rounding of the F1 of mean precision and mean recall.
            yield closely(
                "Tu21", f"Table {table}", f"{model} F1 from P and R", float(text), 2 * p * r / (p + r),
                within=0.015, reason="guess",
                why="precision and recall of the same row give another F1: perhaps a misprint",
            )  # fmt: skip
    for table, whole in (("7", "5"), ("8", "5"), ("9", "6"), ("10", "6"), ("12", "15"), ("13", "14")):
        for model in tables[table]["rows"]:
            paper, computed = (
                float(_score(tables, *where)) for where in ((table, model, "ALL"), (whole, model, "Recall"))
            )
            name = f"{model} ALL, recall of Table {whole}"
            yield closely("Tu21", f"Table {table}", name, paper, computed, within=_ROUNDED)


def _composition_of_tu21(tables: Tables) -> Iterator[Cell]:
    """Whether subsets add up to their union, and types to the total."""
    for table in ("2", "3", "4", "16", "17"):
        rows = {name.replace("TOK.", "TOKENS"): row for name, row in tables[table]["rows"].items()}
        for union, parts in (
            ("UNSEEN-ANY", ("UNSEEN-TOKENS", "UNSEEN-TYPE")),
            ("TCM-ALL", ("TCM-SEEN", "TCM-UNSEEN")),
        ):
            for column, text in rows[union].items():
                computed = sum(float(rows[part][column]) for part in parts)
                # The sum of rounded parts may differ by a tenth from the rounded sum.
                why = "parts rounded separately" if abs(float(text) - computed) < 0.15 else ""
                name = f"{union} {column}, sum of its parts"
                within = 0.05 + _ROUNDED
                yield closely(
                    "Tu21", f"Table {table}", name, float(text), computed,
                    within=within, why=why, reason="guess",
                )  # fmt: skip
    whole = ("2",), ("3",), ("4",), ("16", "17")
    for parts_of in whole:
        counts = {
            column: int(text.replace(",", ""))
            for table in parts_of
            for column, text in _counts(tables, table).items()
        }
        total = counts.pop("ALL")
        name = "mentions of all types, added up"
        yield exactly("Tu21", f"Table {' and '.join(parts_of)}", name, total, sum(counts.values()))


def _counts(tables: Tables, table: str) -> Row:
    rows = tables[table]["rows"]
    return next(row for name, row in rows.items() if "Count" in name)


def _claims_of_tu21(tables: Tables) -> Iterator[Cell]:
    """The numbers in the text, computed from the tables."""
    shares = {"English": "2", "Spanish": "3", "Dutch": "4"}
    rate = {language: float(tables[table]["rows"]["TCM-ALL"]["ALL"]) for language, table in shares.items()}
    unseen = [float(tables[table]["rows"]["UNSEEN-ANY"]["ALL"]) for table in shares.values()]
    exchanged = "section 3.3 exchanges English and Spanish; section 4.4 has them as the tables do"
    for section, claims in (("3.3", (10.7, 6.3, 0.2)), ("4.4", (6.3, 10.7, 0.2))):
        for language, paper in zip(shares, claims, strict=True):
            name = f"type-confusable mentions, {language}, section {section}"
            yield closely("Tu21", "text", name, paper, rate[language], within=_ROUNDED, why=exchanged)
    for language, table, paper in (("Dutch", "14", 91.26), ("Spanish", "15", 87.36)):
        precision = float(_score(tables, table, "BERT", "Precision"))
        why = f"it is the precision ({precision})" if precision == paper else ""
        f1 = float(_score(tables, table, "BERT", "F1"))
        yield closely("Tu21", "text", f"F1 of BERT, {language}", paper, f1, within=_ROUNDED, why=why)
    for name, paper, computed in (
        ("CharLSTM − CharCNN, F1, Spanish", 2.53, _lead(tables, "15", "CHARLSTM", "CHARCNN", "F1")),
        ("CharLSTM − CharCNN, F1, Dutch", 2.15, _lead(tables, "14", "CHARLSTM", "CHARCNN", "F1")),
        ("least share of unseen mentions", 39.6, min(unseen)),
        ("greatest share of unseen mentions", 54.6, max(unseen)),
        ("range of recall, TCM-UNSEEN", 8.17, _range(tables, "7", "TCM-UNSEEN")),
        ("range of recall, all mentions", 1.76, _range(tables, "7", "ALL")),
        ("BERT − BERT-CRF, TCM-UNSEEN", 5.87, _lead(tables, "7", "BERT", "BERT-CRF", "TCM-UNSEEN")),
        ("range of recall, Spanish", 11.80, _range(tables, "12", "ALL")),
        ("range of recall, Dutch", 17.13, _range(tables, "13", "ALL")),
        ("BERT, UNSEEN-TYPE, English − Spanish", 34.04,
         float(_score(tables, "8", "BERT", "U-TYPE")) - float(_score(tables, "12", "BERT", "U-TYPE"))),
        ("type-confusable mentions, OntoNotes", 7.7, float(tables["16"]["rows"]["TCM-ALL"]["ALL"])),
        ("UNSEEN-TYPE mentions, English", 85.0, round(0.015 * 5648)),
    ):  # fmt: skip
        yield closely("Tu21", "text", name, paper, computed, within=1e-6)


def _lead(tables: Tables, table: str, first: str, second: str, column: str) -> float:
    return float(_score(tables, table, first, column)) - float(_score(tables, table, second, column))


def _range(tables: Tables, table: str, column: str) -> float:
    values = [float(_score(tables, table, model, column)) for model in tables[table]["rows"]]
    return max(values) - min(values)
