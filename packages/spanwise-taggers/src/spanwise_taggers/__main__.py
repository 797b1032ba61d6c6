"""Train the taggers listed in a file of jobs, for studies; predictions are saved as each run ends."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from spanwise.formats import write_atomically
from spanwise.formats.writing import lost_note, write_results
from spanwise_taggers import Job, train_all
from spanwise_taggers.api import TimeLeft, Trained


def main(file: str) -> None:
    """Train the jobs in a JSON file, printing one line as each of them ends."""
    jobs = json.loads(Path(file).read_text(encoding="utf-8"))
    left = TimeLeft(len(jobs))

    def done(number: int, ended: Trained | Exception) -> None:
        more = left.after_one()
        job = jobs[number]
        output = Path(job["output"])
        if isinstance(ended, Exception):
            write_atomically(output.with_suffix(".failed"), f"{ended}\n")
            sys.stdout.write(
                f"{job['name']}: failed, {str(ended).splitlines()[0] if str(ended) else type(ended)}{more}\n"
            )
        else:
            for note in lost_note(
                output, write_results(ended.predictions[job["test"]], output, format="conll")
            ):
                sys.stdout.write(f"{job['name']}: {note}\n")
            kept = {"key": job["key"], "report": ended.report}
            write_atomically(output.with_suffix(".json"), json.dumps(kept) + "\n")
            f1 = ended.report["f1"][job["test"]]
            shown = "n/a" if f1 is None else f"{100 * f1:.2f}"
            sys.stdout.write(f"{job['name']}: trained, F1 {shown}, {ended.report['seconds']:.1f} s{more}\n")
        sys.stdout.flush()

    train_all(
        [
            Job(
                job["model"],
                job["train"],
                job["dev"],
                (job["test"],),
                job["seed"],
                job["options"],
                job["reading"],
            )
            for job in jobs
        ],
        done,
    )


if __name__ == "__main__":
    main(sys.argv[1])
