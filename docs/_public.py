"""What is public: the names of the package itself, the types of its documents, and the names below.

The reference lists exactly these, each with types and an example that runs, and a test asserts that it does.
Everything else serves the package itself, and may change in any release.
"""

from __future__ import annotations

# The public names of modules, in the order in which data flow through them.
MODULES = {
    "formats": "FORMATS File Format Options Part Problem Record Validation from_spans from_tags validate",
    "schemes": "SCHEMES Tags decode encode malformed recognise",
    "matching": "MATCHERS OUTCOMES Events Matcher Matching match",
    "attributes": (
        "ATTRIBUTES PRESETS SUBSETS Attribute Context Mention Side Token TrainingCounts Values own values"
    ),
    "buckets": "BUCKETINGS Bucket Bucketing Strategy fit parse",
    "credits": "CREDITS Credit parse",
    "rates": "SCORES Rate",
    "conditions": "parse",
    "table": "PerformanceTable",
    "statistics": "bh correct fisher friedman holm rank_correlation sign_test spearman wilcoxon",
    "diagnosis": "lettering rank_flips self_diagnosis",
    "gates": "Change Check Outcome gate",
    "engines": "Engine",
    "interpreteval": "Departures Figures Tagged evaluate",
    "demo": "Demo generate",
    "views": "Section",
    "views.added": "SECTIONS AddedSection",
    "reports": "REPORTS Report render",
    "reports.outlets": "TRACKERS dataset_card flat model_index scalars step_summary",
    "compat.evaluate": "Seqeval Spanwise load make_compute_metrics tagged",
    "compat.seqeval": "install",
    "compat.seqeval.metrics": (
        "accuracy_score classification_report f1_score performance_measure precision_score recall_score"
    ),
    "compat.conlleval": "conlleval",
    "compat.nervaluate": "to_nervaluate",
    "compat.spacy": "make_ner_scorer make_spancat_scorer ner_score spancat_score",
    "compat.pytest": "Gate",
    "compat.torchmetrics": "SpanMetric",
    "compat.keras": "SpanScores",
    "scorers": "CorpusScore SampleCounts corpus_score count_sample",
    "scorers.inspect": "span_f1",
    "scorers.pydantic_evals": "SpanCounts SpanF1",
    "scorers.dspy": "SpanF1",
    "scorers.lm_eval": "corpus_f1 corpus_precision corpus_recall span_f1 span_scores",
    "citations": "Citation find",
    "registry": "Registry",
}

# What public classes have for the other modules of the package only.
INNER = {
    "AddedSection": "package",
    "Annotation": "labels_as_read",
    "Bucket": "hidden to_dict",
    "Bucketing": "fitted redacted unplaced",
    "Context": "counted known lexicon lowercase of_training per_sentence runs side sides strings tallies"
    " tokens train_code training unknown",
    "Corpus": "place_of recoded",
    "Credit": "matrix",
    "Document": "document encoded inconsistent without_sentences",
    "File": "again chunks first_lines is_zip line_chunks no_file not_utf8 of_bytes seekable sha256 stored"
    " utf8",
    "Format": "interning keeps_scores",
    "LeakStudy": "own",
    "Mentions": "relabeled sole within",
    "MentionCodes": "made",
    "MissingExtra": "of package",
    "Options": "check_used declared finished relabeled spelled spelling",
    "PlacementDocument": "chosen redacted shortened",
    "Result": "in_memory keeps_mentions of_kind with_answers without_analyses",
    "Section": "is_on",
    "Settings": "gold_digest gold_rules label_rules more_scores signed_hierarchy",
    "Side": "counts form forms group of_sentence place placed runs train_label tree unit_code"
    " unit_train_code units",
    "SpanMetric": "states sync",
    "SystemLeaks": "parts",
    "ShownTuples": "inconsistent",
    "SystemResult": "document known_keys",
    "SystemTuples": "inconsistent",
    "Tagged": "labels mentions sentence_of words",
    "TupleStudy": "own",
    "Values": "described distinct named times",
}
