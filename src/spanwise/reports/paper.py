"""A paper's results as one LaTeX document: main table, figure, what the tests say, and an appendix."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from spanwise import __version__
from spanwise.document import DocumentLike
from spanwise.document.evaluation import DatasetRuns, Evaluation
from spanwise.document.loading import as_document, load
from spanwise.document.scores import Comparison
from spanwise.document.study import Study
from spanwise.errors import ChoiceError, InputError, many, unknown
from spanwise.reports.figures import file_name
from spanwise.reports.figures import save as save_figures
from spanwise.reports.tables import Table, latex, tables
from spanwise.settings import CONFIDENCE
from spanwise.views import sentences, wording
from spanwise.views.standing import family_of
from spanwise.views.statements import over_datasets, score_tested

FILE = "paper.tex"
_FEW = 2  # pairs that cannot be told apart and are named; more are counted
APPENDIX = ("datasets", "scores", "labels", "tough")  # the tables of the appendix, where a document has them
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
        appendix: the names of further tables; by default, the data and all scores, labels and tough mentions.

    Returns:
        The files that were written.
    """
    if decimals not in (1, 2):
        raise ChoiceError(f"decimals is {decimals!r}, but must be 1 or 2.")
    document = load(result) if isinstance(result, str | Path) else as_document(result)
    if not isinstance(document, Evaluation | Study) or not document.datasets:
        raise InputError("a paper is made from a study or an evaluation.\nSave one with --json.")
    chosen = tables(document)
    for name in appendix or ():
        if name not in chosen:
            raise unknown("table of this document", name, chosen)
    names = [name for name in APPENDIX if name in chosen] if appendix is None else list(appendix)
    figure = "holistic" if isinstance(document, Study) else "score"
    drawn = save_figures(document, output, formats=("pdf",), names=(figure,), columns=1)
    further = [chosen[name].rounded(decimals) for name in names]
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
    yield "\n".join(_paragraph(document, decimals)) + "\n"
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


def _paragraph(document: Evaluation | Study, decimals: int) -> Iterator[str]:
    """How systems were tested and what the tests say, one sentence per line."""
    yield f"Table~\\ref{{tab:holistic}} and Figure~\\ref{{fig:main}} show {latex(_score(document))}."
    parts = document.datasets
    comparisons = [row for part in parts.values() for row in part.comparisons if _is_tested(row)]
    if not comparisons:
        return
    family = family_of(document) if isinstance(document, Study) else ""
    yield latex(f"Test of differences: {sentences.named_test(comparisons, document.settings, family)}.")
    for name, part in parts.items():
        where = f"On {wording.visible(name)}, " if len(parts) > 1 else ""
        yield from (latex(wording.capital(where + text)) for text in _differences(part, decimals))
    if any(row.primary is not None and row.primary.interval for row in comparisons) and len(comparisons) > 1:
        yield "Intervals of differences are not corrected for the number of tests."
    if isinstance(document, Study) and len(parts) > 1:
        yield from (latex(text) for text in over_datasets(document, places=decimals).values() if text)


def _is_tested(row: Comparison) -> bool:
    return row.primary is not None and row.primary.p_corrected is not None


def _differences(part: DatasetRuns, decimals: int) -> Iterator[str]:
    """Every significant difference of one dataset, and how many pairs cannot be told apart."""
    tests = [(row, row.primary) for row in part.comparisons if row.primary is not None and _is_tested(row)]
    tied = [row for row, test in tests if not test.significant]
    yield from (f"{_better(row, decimals)}." for row, test in tests if test.significant or len(tied) <= _FEW)
    if len(tied) > _FEW:
        least = min(test.p_corrected or 0.0 for _, test in tests if not test.significant)
        p = sentences.sentence_p(least)
        p = p if p == "= 1.000" else p.replace("=", "≥")
        others = "other " if len(tied) < len(tests) else ""
        yield f"the {others}{many(len(tied), 'pair')} of systems {sentences.NOT_APART} (p {p})."


def _better(row: Comparison, decimals: int) -> str:
    test = row.primary
    if test is None or test.difference is None:
        return ""
    worded = sentences.better_by(
        row.systems, test.difference, test.interval, score_tested(test), significant=test.significant,
        places=decimals,
    )  # fmt: skip
    return f"{worded} (p {sentences.sentence_p(test.p_corrected)})"
