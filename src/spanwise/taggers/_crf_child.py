"""Tag with a model of CRFsuite in a process of its own, which a damaged model may end.

Run as a program: standard input holds the length of the model in one line, the model, then the features of
one sentence per line as JSON; standard output gets the tags and their probabilities, one line per sentence.
It needs nothing but pycrfsuite.
"""

from __future__ import annotations

import json
import sys


def main() -> int:
    """Tag standard input; with an argument, probabilities are computed too."""
    import pycrfsuite

    wanted = len(sys.argv) > 1
    source = sys.stdin.buffer
    model = source.read(int(source.readline()))
    tagger = pycrfsuite.Tagger()
    try:
        tagger.open_inmemory(model)
        names = list(tagger.labels())
        out = [json.dumps(names)]
        for line in source:
            tags = tagger.tag(json.loads(line))
            sure = [tagger.marginal(tag, index) for index, tag in enumerate(tags)] if wanted else []
            out.append(json.dumps([tags, sure]))
    except (ValueError, RuntimeError) as error:
        sys.stderr.write(str(error).partition("\n")[0][:200])
        return 3
    sys.stdout.write("\n".join(out))
    return 0


if __name__ == "__main__":
    sys.exit(main())
