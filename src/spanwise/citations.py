"""The papers behind the measures and what to cite each for, as text and as BibTeX."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from spanwise.errors import unknown

# Short references for what is based on these papers.
FU19 = "Fu, Liu and Huang (2019)"
FU20 = "Fu, Liu and Neubig (2020)"
ORTMANN = "Ortmann (2022), Fine-Grained Error Analysis and Fair Evaluation of Labeled Spans, LREC"


class Citation(Struct, frozen=True):
    """A paper, and what to cite it for.

    Examples:
        >>> citation = find(["tu2021tmr"])[0]
        >>> citation.text.partition(".")[0], citation.bibtex.splitlines()[0]
        ('Jingxuan Tu and Constantine Lignos (2021)', '@inproceedings{tu2021tmr,')
    """

    name: str
    summary: str  # what to cite it for
    authors: tuple[str, ...]
    title: str
    year: int
    venue: str
    kind: str = "inproceedings"
    pages: str = ""
    url: str = ""

    @property
    def text(self) -> str:
        """The reference in one line."""
        *first, last = (" ".join(reversed(author.split(", "))) for author in self.authors)
        authors = f"{', '.join(first)} and {last}" if first else last
        pages = f", pages {self.pages}" if self.pages else ""
        return f"{authors} ({self.year}). {self.title}. {self.venue}{pages}."

    @property
    def bibtex(self) -> str:
        """The BibTeX entry."""
        fields = {
            "author": " and ".join(self.authors),
            "title": f"{{{self.title}}}",
            _CONTAINER[self.kind]: self.venue,
            "year": str(self.year),
            "pages": self.pages.replace("–", "--"),
            "url": self.url,
        }
        lines = [f"  {key} = {{{value}}}," for key, value in fields.items() if value]
        return "\n".join([f"@{self.kind}{{{self.name},", *lines, "}"])


_CONTAINER = {"inproceedings": "booktitle", "article": "journal", "misc": "howpublished"}

CITATIONS: tuple[Citation, ...] = (
    Citation(
        name="fu2020interpretable",
        summary="attributes, buckets, and model-, attribute- and bucket-wise analysis",
        authors=("Fu, Jinlan", "Liu, Pengfei", "Neubig, Graham"),
        title="Interpretable Multi-dataset Evaluation for Named Entity Recognition",
        year=2020,
        venue="Proceedings of the 2020 Conference on Empirical Methods in Natural Language Processing",
        pages="6058–6069",
        url="https://aclanthology.org/2020.emnlp-main.489",
    ),
    Citation(
        name="fu2019towards",
        summary="the ten attributes and the R-, F- and MF-buckets before those of 2020",
        authors=("Fu, Jinlan", "Liu, Pengfei", "Huang, Xuanjing"),
        title="Towards Interpretable Evaluations: A Case Study of Named Entity Recognition",
        year=2019,
        venue="Submission to the International Conference on Learning Representations (ICLR 2020)",
        kind="misc",
    ),
    Citation(
        name="ortmann2022fine",
        summary="outcomes (labeling and boundary errors) and fair scores",
        authors=("Ortmann, Katrin",),
        title="Fine-Grained Error Analysis and Fair Evaluation of Labeled Spans",
        year=2022,
        venue="Proceedings of the Thirteenth Language Resources and Evaluation Conference (LREC)",
        pages="1400–1407",
        url="https://aclanthology.org/2022.lrec-1.150",
    ),
    Citation(
        name="tu2021tmr",
        summary="tough mentions: recall of unseen and type-confusable mentions",
        authors=("Tu, Jingxuan", "Lignos, Constantine"),
        title="TMR: Evaluating NER Recall on Tough Mentions",
        year=2021,
        venue=(
            "Proceedings of the 16th Conference of the European Chapter of the Association for Computational"
            " Linguistics: Student Research Workshop"
        ),
        pages="155–163",
        url="https://aclanthology.org/2021.eacl-srw.21",
    ),
    Citation(
        name="segura2013semeval",
        summary="the relaxed matchings strict, exact, partial and type",
        authors=("Segura-Bedmar, Isabel", "Martínez, Paloma", "Herrero-Zazo, María"),
        title="SemEval-2013 Task 9: Extraction of Drug-Drug Interactions from Biomedical Texts",
        year=2013,
        venue="Proceedings of the Seventh International Workshop on Semantic Evaluation (SemEval 2013)",
        pages="341–350",
        url="https://aclanthology.org/S13-2056",
    ),
    Citation(
        name="tjong2003introduction",
        summary="exact-match precision, recall and F1 over mentions, and the repair of tags",
        authors=("Tjong Kim Sang, Erik F.", "De Meulder, Fien"),
        title="Introduction to the CoNLL-2003 Shared Task: Language-Independent Named Entity Recognition",
        year=2003,
        venue="Proceedings of the Seventh Conference on Natural Language Learning at HLT-NAACL 2003",
        pages="142–147",
        url="https://aclanthology.org/W03-0419",
    ),
    Citation(
        name="yeh2000more",
        summary="the paired randomisation test of two systems",
        authors=("Yeh, Alexander",),
        title="More accurate tests for the statistical significance of result differences",
        year=2000,
        venue="COLING 2000 Volume 2: The 18th International Conference on Computational Linguistics",
        url="https://aclanthology.org/C00-2137",
    ),
    Citation(
        name="holm1979simple",
        summary="the correction of p-values for many tests",
        authors=("Holm, Sture",),
        title="A Simple Sequentially Rejective Multiple Test Procedure",
        year=1979,
        venue="Scandinavian Journal of Statistics, 6(2)",
        kind="article",
        pages="65–70",
    ),
)


def find(names: Iterable[str] = ()) -> list[Citation]:
    """The papers with these names, or all papers if no name is given.

    Examples:
        >>> [citation.year for citation in find(["tu2021tmr"])]
        [2021]
    """
    by_name = {citation.name: citation for citation in CITATIONS}
    chosen = list(names) or list(by_name)
    for name in chosen:
        if name not in by_name:
            raise unknown("paper", name, by_name)
    return [by_name[name] for name in chosen]
