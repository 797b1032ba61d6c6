"""Commands for the papers' taggers: `train` and `tag`."""

from __future__ import annotations

import argparse
import sys

from spanwise.cli.arguments import Command, add_reading, reading_of, say_lost

TRAIN_EXAMPLES = """examples:
  spanwise train crf --train train.conll --dev dev.conll --test test.conll -o crf/
  spanwise train CcnnWgloveLstmCrf --train train.conll --dev dev.conll --seed 2 -o lstm/
  spanwise train CcnnWrandLstmCrf --train train.conll --dev dev.conll --set epochs=5 --set hidden=64 -o small/

the folder holds tagger.json (settings, versions, dev curve, seconds), the weights, and predictions/"""


def add_train(parser: argparse.ArgumentParser) -> None:
    """Add the options of `spanwise train`."""
    parser.add_argument("model", metavar="MODEL", help="the name of the tagger")
    parser.add_argument("--train", metavar="FILE", required=True, help="the data to learn from")
    parser.add_argument("--dev", metavar="FILE", required=True, help="the data used to choose the best epoch")
    parser.add_argument(
        "--test", often=True, metavar="FILE", action="append", default=[], help="data to tag; may be repeated"
    )
    parser.add_argument(
        "--seed", often=True, type=int, default=1, metavar="N", help="random seed (default: 1)"
    )
    parser.add_argument(
        "--context", type=int, metavar="K", help="sentences per window, all from one document (default: 1)"
    )
    parser.add_argument(
        "--device",
        often=True,
        default="auto",
        metavar="NAME",
        help="auto, cpu or cuda (default: auto, a GPU if there is one)",
    )
    parser.add_argument(
        "--preset", metavar="NAME", help="the settings a paper states: fu19 (hidden 100, SGD .01, batch 10)"
    )
    parser.add_argument("--options", metavar="FILE", help="settings in a TOML file")
    parser.add_argument(
        "--set",
        often=True,
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="one setting; may be repeated",
    )
    parser.add_argument("-o", "--output", metavar="FOLDER", required=True, help="the folder to write")
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    add_reading(parser)


def run_train(args: argparse.Namespace) -> int:
    """Train one of the papers' taggers by name, and tag test files with it.

    A name says what the tagger sees and how it decides: characters (none, cnn, flair, minilm, bert,
    elmo, features), words (none, rand, glove50, glove100), sentence encoder (Lstm, Cnn) and decoder
    (Crf, Mlp), such as CcnnWgloveLstmCrf. bert needs --set encoder=FOLDER, elmo and features need
    --set features=FOLDER. crf is a linear-chain model with hand-made features, trained as an averaged
    perceptron, or with --set algorithm=lbfgs by L-BFGS, as CRF++ is.
    """
    from pathlib import Path

    from spanwise_taggers import train
    from spanwise_taggers.saving import check_folder

    check_folder(Path(args.output))  # before hours of training, not after them
    options = options_of(args.options, args.set)
    if args.context is not None:
        options["context"] = args.context
    if args.preset is not None:
        options["preset"] = args.preset
    trained = train(
        args.model,
        args.train,
        args.dev,
        tests=args.test,
        seed=args.seed,
        device=args.device,
        progress=None if args.quiet else _say,
        reading=reading_of(args),
        **options,
    )
    lost = trained.save(args.output)
    if not args.quiet:
        for note in lost:
            _say(note)
        _say(f"saved in {args.output}")
    return 0


def options_of(file: str | None, pairs: list[str]) -> dict[str, object]:
    """The settings in a TOML file and in KEY=VALUE pairs, whose values are written as in TOML."""
    import tomllib

    from spanwise.errors import ChoiceError
    from spanwise.formats import read_toml

    options = read_toml(file, "Write lines such as: epochs = 10") if file else {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals:
            raise ChoiceError(f"--set needs KEY=VALUE, not {pair!r}.")
        try:
            options[key] = tomllib.loads(f"value = {value}")["value"]
        except (ValueError, RecursionError):
            options[key] = value  # an unquoted string
    return options


def _say(text: str) -> None:
    sys.stderr.write(f"spanwise: {text}\n")
    sys.stderr.flush()


TAG_EXAMPLES = """examples:
  spanwise tag lstm/ new.conll -o new.tagged.conll
  spanwise tag lstm/ test.conll -o test.jsonl --scores
  spanwise tag lstm/ test.conll -o tagged.conll --scores  # confidence … --score-column 2"""


def add_tag(parser: argparse.ArgumentParser) -> None:
    """Add the options of `spanwise tag`."""
    parser.add_argument("tagger", metavar="FOLDER", help="a folder written by 'spanwise train'")
    parser.add_argument("source", metavar="FILE", help="the text to tag; its own tags are ignored")
    parser.add_argument(
        "-o", "--output", metavar="OUT", required=True, help="the file to write; its suffix names the format"
    )
    parser.add_argument(
        "--to", often=True, metavar="FORMAT", help="the format to write (default: from the suffix)"
    )
    parser.add_argument(
        "--scores",
        often=True,
        action="store_true",
        help="write the tagger's confidence in each mention: beside its span in .jsonl, in a third column in "
        ".conll",
    )
    parser.add_argument(
        "--device", often=True, default="auto", metavar="NAME", help="auto, cpu or cuda (default: auto)"
    )
    add_reading(parser)


def run_tag(args: argparse.Namespace) -> int:
    """Tag a file with a tagger that spanwise trained."""
    from spanwise.errors import many
    from spanwise.formats.writing import check_scores_fit, write_results
    from spanwise_taggers import predict

    if args.scores:
        check_scores_fit(args.output, format=args.to)
    annotation = predict(args.tagger, args.source, scores=args.scores, device=args.device, **reading_of(args))
    lost = write_results(annotation, args.output, format=args.to, scores=args.scores)
    number = f"{many(len(annotation.corpus), 'sentence')}, {many(len(annotation.mentions), 'mention')}"
    sys.stderr.write(f"{args.output}: {number}\n")
    say_lost(lost)
    return 0


TRAIN = Command(add_train, run_train, TRAIN_EXAMPLES)
TAG = Command(add_tag, run_tag, TAG_EXAMPLES)
