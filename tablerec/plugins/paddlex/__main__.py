"""``python -m tablerec.plugins.paddlex``: PaddleX's command line, with our pipeline registered."""

from __future__ import annotations

import logging

from tablerec.errors import TablerecError


class OneLine(logging.Filter):
    """Our own errors are one line; PaddleX logs them with a traceback."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Keep every message."""
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, TablerecError):
            record.msg, record.args, record.exc_info = str(error), (), None
        return True


def main() -> None:
    """Register the pipeline and hand over."""
    from paddlex.__main__ import console_entry

    logging.getLogger("paddlex").addFilter(OneLine())
    console_entry()


if __name__ == "__main__":
    main()
