"""``tablerec completion``."""

from __future__ import annotations

import click

SHELLS = ("bash", "zsh", "fish")

_EPILOG = """
\b
bash, in ~/.bashrc:                eval "$(tablerec completion bash)"
zsh, in ~/.zshrc, after compinit:  eval "$(tablerec completion zsh)"
fish:  tablerec completion fish > ~/.config/fish/completions/tablerec.fish
"""


@click.command("completion", epilog=_EPILOG)
@click.argument("shell", type=click.Choice(SHELLS))
def command(shell: str) -> None:
    """Print what a shell needs to complete verbs, options and files with the Tab key."""
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None  # click has all three
    # What completes is the program itself, asked by the shell; the script needs its name alone.
    click.echo(kind(click.Command("tablerec"), {}, "tablerec", "_TABLEREC_COMPLETE").source())
