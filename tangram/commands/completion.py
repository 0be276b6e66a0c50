"""``tangram completion``: what a shell reads to complete the command."""

from __future__ import annotations

from argparse import Namespace

from tangram.face import DONE, Face, Subparsers, add_command
from tangram.program.completion import SHELLS, shell_code
from tangram.summaries import SUMMARIES


def add(parsers: Subparsers) -> None:
    """Add the subcommand."""
    example = """tangram completion bash > ~/.local/share/bash-completion/completions/tangram
  tangram completion zsh > ~/.zfunc/_tangram        # with fpath+=~/.zfunc before compinit
  tangram completion fish > ~/.config/fish/completions/tangram.fish
  for this shell only: source <(tangram completion bash)

kubectl tangram is completed by kubectl's own completion: it finds kubectl_complete-tangram, which is
installed beside tangram."""
    parser = add_command(parsers, "completion", SUMMARIES["completion"], example, _run)
    parser.add_argument("shell", choices=SHELLS, help="the shell that is to complete")


def _run(options: Namespace, face: Face) -> int:
    code = shell_code(options.shell)
    if options.json:
        face.out.json({"shell": options.shell, "code": code})
    else:
        face.out.text(code)
    return DONE
