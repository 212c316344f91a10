"""Whether two checkouts make the same tables, and how long the host takes for them.

``python -m tests.benchmarks.outputs.same_tables OLD NEW FOLDER... --words DIR [--count N] [--repeat N]``

Each picture goes to a process of the old checkout and to one of the new, in turns, with the words of an earlier run
(see ``tablerec eval --words``), so that nothing but detection and geometry is compared. Prints the pictures whose HTML
differs, and the time without that of the network: the sum over all pictures, of the best of ``--repeat`` runs each.
What runs in a checkout is this file alone: it imports nothing of the project but public names.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any, TypedDict

SUFFIXES = {".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".webp"}


class Answer(TypedDict):
    """What a checkout makes of one picture."""

    html: str
    host_seconds: float
    network_seconds: float


def serve(layout: Any) -> None:
    """Answer for the checkout that is on the path: a line of JSON for each line of standard input."""
    import onnxruntime
    from PIL import Image

    from postprocess.export import table_to_html
    from tablerec import Recognizer, Settings, Word

    spent = [0.0]
    run = onnxruntime.InferenceSession.run

    def timed(self: Any, *args: Any, **options: Any) -> Any:
        started = time.perf_counter()
        try:
            return run(self, *args, **options)
        finally:
            spent[0] += time.perf_counter() - started

    onnxruntime.InferenceSession.run = timed
    recognizer = Recognizer(Settings(layout=layout))
    import numpy as np

    answers = sys.stdout
    sys.stdout = sys.stderr
    for line in sys.stdin:
        picture, words_file = json.loads(line)
        with Image.open(picture) as opened:
            image = np.ascontiguousarray(np.asarray(opened.convert("RGB"))[..., ::-1])
        known = json.loads(Path(words_file).read_text("utf-8")) if words_file else []
        words = [
            Word(
                each["text"],
                tuple(map(tuple, each["quad"])),
                each["score"],
                each["char_spans"] and tuple(map(tuple, each["char_spans"])),
            )
            for each in known
        ]
        spent[0], started = 0.0, time.perf_counter()
        try:
            result = recognizer.recognize(image, words)
            html = "\n".join(table_to_html(table) for table in result.tables)
        except Exception as error:
            html = f"{type(error).__name__}: {error}"
        host = time.perf_counter() - started - spent[0]
        answers.write(json.dumps({"html": html, "host_seconds": host, "network_seconds": spent[0]}) + "\n")
        answers.flush()


def find_pictures(folders: list[Path], words: Path, count: int | None) -> list[tuple[Path, Path]]:
    """Pictures that have words, with these; evenly spread over the folders where not all are wanted."""
    known = {path.stem: path for path in words.rglob("*.json")}
    pictures = [path for folder in folders for path in sorted(folder.rglob("*")) if path.suffix.lower() in SUFFIXES]
    pairs = [(path, known[path.stem]) for path in pictures if path.stem in known]
    return pairs if count is None else pairs[:: max(len(pairs) // count, 1)][:count]


def main() -> None:
    """Compare two checkouts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path, help="a checkout")
    parser.add_argument("new", type=Path, help="another one")
    parser.add_argument("folders", type=Path, nargs="+", help="pictures")
    parser.add_argument("--words", type=Path, required=True, help="words by the name of the picture, as JSON")
    parser.add_argument("--layout", choices=["table", "page"], default="table")
    parser.add_argument("--count", type=int, help="so many pictures, evenly spread")
    parser.add_argument("--repeat", type=int, default=1, help="runs of each picture, of which the best counts")
    parser.add_argument("-o", "--output", type=Path, help="folder for both tables where they differ")
    options = parser.parse_args()
    # Not above: either checkout, which runs this file too, may lack it.
    from tests.helpers.checkouts import Checkout

    folders = [checkout.resolve() for checkout in (options.old, options.new)]
    workers = [Checkout(each, __file__, "--serve", options.layout, PYTHONUNBUFFERED="1") for each in folders]
    pairs = find_pictures([folder.resolve() for folder in options.folders], options.words.resolve(), options.count)
    seconds, network, different = [0.0, 0.0], [0.0, 0.0], 0
    for picture, words in pairs:
        asked = json.dumps([str(picture), words and str(words)])
        answers: list[list[Answer]] = [[worker.ask(asked) for worker in workers] for _ in range(options.repeat)]
        for side in (0, 1):
            seconds[side] += min(pair[side]["host_seconds"] for pair in answers)
            network[side] += min(pair[side]["network_seconds"] for pair in answers)
        old, new = (each["html"] for each in answers[0])
        if old != new:
            different += 1
            print(f"differs: {picture.parent.name}/{picture.name}", flush=True)
            if options.output:
                options.output.mkdir(parents=True, exist_ok=True)
                for name, html in (("old", old), ("new", new)):
                    (options.output / f"{picture.stem}.{name}.html").write_text(html, "utf-8")
    for worker in workers:
        worker.close()
    print(f"{len(pairs)} pictures, {different} with another HTML")
    if pairs:
        mean = [1000 * total / len(pairs) for total in (*seconds, *network)]
        print(f"host: {mean[0]:.0f} ms a picture before, {mean[1]:.0f} after, ratio {mean[1] / mean[0]:.3f}")
        print(f"network: {mean[2]:.0f} ms a picture before, {mean[3]:.0f} after")


if __name__ == "__main__":
    serve(sys.argv[2]) if sys.argv[1:2] == ["--serve"] else main()
