"""``python -m tablerec.plugins.paddlex``: PaddleX's command line, with our pipeline registered.

What PaddleX would end with a traceback for is a line here, and the server is for this machine alone until it is told
another ``--host``.
"""

from __future__ import annotations

import argparse
import ipaddress
import logging
import os
import sys
from collections.abc import Sequence
from typing import Any

from tablerec.errors import InputError, SettingsError, TablerecError

_HOST = "127.0.0.1"


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
    from paddlex import paddlex_cli
    from paddlex.__main__ import console_entry

    logging.getLogger("paddlex").addFilter(OneLine())
    parse = paddlex_cli.args_cfg
    paddlex_cli.args_cfg = lambda: _for_this_machine(*parse())
    try:
        check_arguments(sys.argv[1:])
        console_entry()
    except TablerecError as error:
        sys.stderr.write(f"Error: {error}\n")
        sys.exit(2 if isinstance(error, SettingsError) else 1)


def _for_this_machine(parser: argparse.ArgumentParser, of_pipeline: Any) -> tuple[argparse.ArgumentParser, Any]:
    parser.set_defaults(host=_HOST)
    for action in parser._actions:
        if action.dest == "host":
            action.help = f"Host address to serve on (default: {_HOST}, this machine alone)."
    return parser, of_pipeline


def check_arguments(arguments: Sequence[str]) -> None:
    """Refuse what PaddleX would end with a traceback for, and say who may ask a server.

    Raises:
        SettingsError: There is no such pipeline, or none is named.
        InputError: There is no input, or no such file of a pipeline.
    """
    from paddlex.inference import pipelines

    from tablerec.inputs.images import display_name
    from tablerec.plugins.paddlex.options import NAME

    parser = argparse.ArgumentParser(add_help=False, exit_on_error=False, allow_abbrev=False)
    for name in ("--pipeline", "--input", "--host", "--get_pipeline_config"):
        parser.add_argument(name, nargs="?")
    parser.add_argument("--serve", action="store_true")
    given, _ = parser.parse_known_args(arguments)
    pipeline = given.pipeline or given.get_pipeline_config
    if pipeline is None:
        if given.serve or given.input:
            raise SettingsError(f"--pipeline is missing: give --pipeline {NAME}, or a file")
        return
    if pipeline.endswith((".yaml", ".yml")):
        if not os.path.isfile(pipeline):
            raise InputError(f"{display_name(pipeline)}: no such file; --get_pipeline_config {NAME} writes one")
    else:
        pipelines.get_pipeline_path(pipeline)
    if given.serve and not _is_local(given.host or _HOST) and not os.environ.get("TABLEREC_TOKEN"):
        sys.stderr.write(
            f"Note: with --host {display_name(given.host)} others on the network can ask this server; set the variable "
            "TABLEREC_TOKEN to a token of your own, which clients send as Authorization: Bearer TOKEN\n"
        )
    elif not given.serve and given.pipeline and given.input is None:
        raise SettingsError("--input is missing: give a picture, a PDF or a folder")


def _is_local(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


if __name__ == "__main__":
    main()
