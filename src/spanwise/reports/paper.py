"""A paper's results as one LaTeX document: main table, figure, what the tests say, and an appendix."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from msgspec.structs import replace

from spanwise import __version__
from spanwise.document import DocumentLike, given
from spanwise.document.evaluation import Evaluation
from spanwise.document.loading import as_document, load
from spanwise.document.scores import Comparison
from spanwise.document.study import Study
from spanwise.errors import ChoiceError, InputError, many, unknown
from spanwise.reports.figures import file_name
from spanwise.reports.figures import save as save_figures
from spanwise.reports.tables import Table, latex, tables
from spanwise.settings import CONFIDENCE
from spanwise.views import cells, sentences, wording
from spanwise.views.cells import PaperCell as Cell
from spanwise.views.cells import text_of
from spanwise.views.standing import family_of
from spanwise.views.statements import over_datasets, score_tested

FILE = "paper.tex"
TESTS = "tests"  # the table of all tests
APPENDIX = ("datasets", TESTS, "scores", "labels", "tough")  # where a document has them
# Papers of the ACL have columns of 7.7 cm; without their style, the page is set in the same way.
_HEAD = r"""\documentclass[11pt,twocolumn]{article}
\IfFileExists{acl.sty}{\usepackage{acl}\usepackage{times}}{%
  \usepackage[a4paper,textwidth=16cm,textheight=24.7cm,columnsep=0.6cm]{geometry}}
\usepackage[T1]{fontenc}
\IfFileExists{lmodern.sty}{\usepackage{lmodern}}{}
\usepackage{booktabs,graphicx,longtable,xcolor}
"""


def paper(
    result: DocumentLike | str | Path,
    output: str | Path,
    *,
    decimals: int = 1,
    wide: bool = False,
    appendix: Sequence[str] | None = None,
) -> list[Path]:
    """Write the main table, a figure, what the tests say, and an appendix as a LaTeX document.

    The document compiles by itself, in two columns of 7.7 cm, or in the style of the ACL if `acl.sty` is
    in the same folder.

    Examples:
        >>> import tempfile
        >>> import spanwise
        >>> gold = [["B-PER", "O"]] * 8
        >>> result = spanwise.compare(gold, {"all": gold, "none": [["O", "O"]] * 8}, resamples=100)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     [path.name for path in paper(result, folder)]
        ['paper.tex', 'score.pdf']

    Args:
        result: a study or an evaluation, or the file it was saved to.
        output: the folder for `paper.tex` and the figure.
        decimals: decimals of scores in points, 1 or 2.
        wide: whether the main table takes both columns of the page in any case.
        appendix: the names of further tables; by default, the data, the tests and all scores,
            labels and tough mentions.

    Returns:
        The files that were written.
    """
    if decimals not in (1, 2):
        raise ChoiceError(f"decimals is {decimals!r}, but must be 1 or 2.")
    document = load(result) if isinstance(result, str | Path) else as_document(result)
    if not isinstance(document, Evaluation | Study) or not document.datasets:
        raise InputError("a paper is made from a study or an evaluation.\nSave one with --json.")
    chosen = dict(tables(document))
    if (tests := _tests(document)) is not None:
        chosen[TESTS] = tests
    for name in appendix or ():
        if name not in chosen:
            raise unknown("table of this document", name, chosen)
    names = [name for name in APPENDIX if name in chosen] if appendix is None else list(appendix)
    figure = "holistic" if isinstance(document, Study) else "score"
    drawn = save_figures(document, output, formats=("pdf",), names=(figure,), columns=1)
    further = [_readable(chosen[name]).without_empty_columns().rounded(decimals) for name in names]
    main = chosen["holistic"].rounded(decimals)
    text = "\n".join(_lines(document, main, f"{file_name(figure)}.pdf", further, decimals, wide=wide))
    from spanwise.formats import write_atomically

    path = Path(output) / FILE
    write_atomically(path, text)
    return [path, *drawn]


def _lines(
    document: Evaluation | Study,
    main: Table,
    figure: str,
    further: Sequence[Table],
    decimals: int,
    *,
    wide: bool,
) -> Iterator[str]:
    yield f"% made by spanwise {__version__}"
    yield f"% {wording.visible(document.signature)}"
    yield "% the papers behind the numbers: spanwise cite --bibtex"
    yield _HEAD + r"\begin{document}" + "\n"
    yield "\\section{Results}\n"
    yield "\n".join(_paragraph(document, decimals, [table.name for table in further])) + "\n"
    yield main.to_latex(wide=wide)
    yield from _figure(document, figure)
    if further:
        yield "\\clearpage\\appendix\n\\section{Further results}\n"
        yield from (table.to_latex() for table in further)
    yield "\\end{document}\n"


def _figure(document: Evaluation | Study, file: str) -> Iterator[str]:
    score = _score(document)
    shown = f"Mean {score} over runs (small dots)" if isinstance(document, Study) else score
    level = 100 * (document.settings.confidence or CONFIDENCE)
    yield "\\begin{figure}[t]\n\\centering"
    yield f"\\includegraphics[width=\\linewidth]{{{file}}}"
    yield f"\\caption{{{latex(f'{shown} with {level:g} % intervals.')}}}"
    yield "\\label{fig:main}\n\\end{figure}\n"


def _score(document: Evaluation | Study) -> str:
    return wording.study_score(document.analyses) if isinstance(document, Study) else "F1"


def _paragraph(document: Evaluation | Study, decimals: int, named: Collection[str]) -> Iterator[str]:
    """What is tested, how, on how much, and what letters and bold numbers mean, one sentence per line.

    Every test is in a table of the appendix; without it, an evaluation's few tests are said in words.
    """
    yield f"Table~\\ref{{tab:holistic}} and Figure~\\ref{{fig:main}} show {latex(_score(document))}."
    parts = document.datasets
    tests = [row for part in parts.values() for row in part.comparisons if _is_tested(row)]
    if not tests:
        return
    family = family_of(document) if isinstance(document, Study) else ""
    test = sentences.named_test(tests, document.settings, family)
    runs = {number for row in tests for number in row.runs or (1, 1)}
    run = f", with {many(max(runs), 'run')} of each system" if min(runs) == max(runs) > 1 else ""
    yield latex(f"Differences are tested by {test}; n = {_sizes(document)}{run}.")
    significant = sum(row.primary is not None and row.primary.significant for row in tests)
    if len(tests) == 1:
        yield latex(f"{_better(tests[0], decimals)}.")
        return
    letters = "Raised letters name the systems that one is significantly better than (p < .05)"
    yield latex(f"{letters}; bold: no system is significantly better.")
    told = f"{significant or 'None'} of {len(tests)} tested differences {_are(significant)} significant"
    yield latex(told) + (f" (Table~\\ref{{tab:{TESTS}}})." if TESTS in named else ".")
    if isinstance(document, Study) and len(parts) > 1:
        over = [text for text in over_datasets(document, places=decimals).values() if text]
        if len(over) == 1:
            yield latex(over[0])


def _are(number: int) -> str:
    return "is" if number == 1 else "are"


def _sizes(document: Evaluation | Study) -> str:
    """How many units the tests are over, for each dataset."""
    unit = document.settings.unit or "unit"
    sizes: list[str] = []
    for name, part in document.datasets.items():
        facts = part.dataset
        own = {"sentence": facts.sentences, "document": facts.documents} if facts is not None else {}
        number = own.get(unit) or given(document.settings.units)
        if number:
            where = f" on {wording.visible(name)}" if len(document.datasets) > 1 else ""
            sizes.append(f"{wording.count(number) if sizes else wording.plural(number, unit)}{where}")
    if not sizes:
        return f"all {unit}s"
    return " and ".join([", ".join(sizes[:-1]), sizes[-1]] if len(sizes) > 1 else sizes)


def _is_tested(row: Comparison) -> bool:
    return row.primary is not None and row.primary.p_corrected is not None


def _tests(document: Evaluation | Study) -> Table | None:
    """Every test of the primary score, with its interval; None without tests."""
    several = len(document.datasets) > 1
    rows: list[tuple[Cell, ...]] = []
    for name, part in document.datasets.items():
        for row in part.comparisons:
            if (test := row.primary) is not None and _is_tested(row):
                difference = replace(cells.signed(test.difference), best=test.significant)
                numbers = (difference, cells.interval(test.interval, differs=True))
                rows.append(
                    ((name,) if several else ())
                    + (*map(wording.visible, row.systems), *numbers, cells.p_value(test.p_corrected))
                )
    if not rows:
        return None
    header = (*(("dataset",) if several else ()), "first", "second", "difference", "interval", "corrected p")
    caption = f"Differences in {_score(document)} between systems, the first less the second, in points."
    caption += " Bold: significant (p < .05). Intervals are not corrected for the number of tests."
    return Table(TESTS, caption, header, tuple(rows))


def _readable(table: Table) -> Table:
    """The table with the subsets of tough mentions in words, without empty subsets."""
    if not {"subset", "gold"} <= set(table.header):
        return table
    at, gold = table.header.index("subset"), table.header.index("gold")
    empty = cells.count(0).text
    rows = [row for row in table.rows if text_of(row[gold]).rstrip("†‡") != empty]
    return replace(
        table, rows=tuple((*row[:at], wording.tough(text_of(row[at])), *row[at + 1 :]) for row in rows)
    )


def _better(row: Comparison, decimals: int) -> str:
    test = row.primary
    if test is None or test.difference is None:
        return ""
    worded = sentences.better_by(
        row.systems, test.difference, test.interval, score_tested(test), significant=test.significant,
        places=decimals,
    )  # fmt: skip
    return f"{worded} (p {sentences.sentence_p(test.p_corrected)})"
