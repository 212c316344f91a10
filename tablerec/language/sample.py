"""A step of training and three decoded tokens of a language model, for ``tablerec device coverage NAME`` to look at.

``python -m tablerec.language.sample NAME`` runs it on the CPU and prints the loss.
"""

from __future__ import annotations

import sys

from tablerec.language.models import MODELS
from tablerec.language.training import draw_state, run_course


def main() -> None:
    """Run the model that is named by the program's first argument."""
    if len(sys.argv) != 2:
        sys.exit(f"give one model: {', '.join(MODELS)}")
    name = sys.argv[1]
    course = run_course("cpu", name, draw_state(name), steps=1, new_tokens=3)
    print(*course.losses)  # noqa: T201


if __name__ == "__main__":
    main()
