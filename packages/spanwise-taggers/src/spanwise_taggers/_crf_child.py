"""Tag with a CRFsuite model in a separate process, because a damaged model may crash it.

Run as a program: standard input has the length of the model on the first line, then the model, then the
features of one sentence per line as JSON. Standard output has the labels of the model on the first line,
then the tags of each sentence and their probabilities. It imports nothing but pycrfsuite.
"""

from __future__ import annotations

import json
import sys


def main() -> int:
    """Tag standard input; with an argument, also compute probabilities."""
    import pycrfsuite

    with_probabilities = len(sys.argv) > 1
    source = sys.stdin.buffer
    model = source.read(int(source.readline()))
    tagger = pycrfsuite.Tagger()
    try:
        tagger.open_inmemory(model)
        names = list(tagger.labels())
        out = [json.dumps(names)]
        for line in source:
            tags = tagger.tag(json.loads(line))
            probabilities = (
                [tagger.marginal(tag, index) for index, tag in enumerate(tags)] if with_probabilities else []
            )
            out.append(json.dumps([tags, probabilities]))
    except (ValueError, RuntimeError) as error:
        sys.stderr.write(str(error).partition("\n")[0][:200])
        return 3
    sys.stdout.write("\n".join(out))
    return 0


if __name__ == "__main__":
    sys.exit(main())
