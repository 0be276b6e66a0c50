"""What every subcommand receives: the machines and clusters it may read, and its output."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final, NoReturn

from scheduler_core.base.quick_dataclass import dataclass
from tangram.errors import BadInput

if TYPE_CHECKING:  # a command loads those that it uses
    from tangram.clusters import Connect
    from tangram.doctor.ports import OpenMendable
    from tangram.live_cluster import OpenCluster
    from tangram.machines import Machines, Serve
    from tangram.program.output import Output

DONE: Final = 0
DOES_NOT_FIT: Final = 1
WRONG_INPUT: Final = 2
UNREACHABLE: Final = 3
UNDECIDED: Final = 4
PROGRAMS_FORMS: Final = ("json", "yaml")


@dataclass(frozen=True, slots=True)
class Face:
    """The surroundings of a subcommand.

    ``serve`` runs the kubelet plugin while its block is open; ``connect`` finds a cluster to read, ``live``
    one to be measured, ``mend`` one in which single objects may be changed.
    """

    machines: Machines
    out: Output
    serve: Serve
    connect: Connect
    live: OpenCluster
    mend: OpenMendable


Command = Callable[[argparse.Namespace, Face], int]


class Parser(argparse.ArgumentParser):
    """A parser whose mistakes are ordinary errors, so that one place reports them all."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False, **settings)

    def error(self, message: str) -> NoReturn:
        """Refuse the arguments. Raises: BadInput."""
        raise BadInput(f"{message}; see {self.prog} --help")

    def parse_known_args(  # type: ignore[override]  # argparse declares two forms of it
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse the arguments; what is unknown is refused by the parser of the subcommand it is for."""
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            meant = _meant(unknown[0].partition("=")[0], self._option_string_actions)
            self.error(f"unrecognized arguments: {' '.join(unknown)}{meant}")
        return found, []

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            meant = _meant(str(value), map(str, action.choices or ()))
            raise argparse.ArgumentError(action, f"{error.message}{meant}") from error


def _meant(word: str, known: Iterable[str]) -> str:
    """Return a question about the known word that is most alike, empty where none is."""
    alike = get_close_matches(word, list(known), 1)
    return f"; did you mean {alike[0]}?" if alike else ""


class _InForm(argparse.Action):
    """``-o FORM`` and ``--json``. What is printed as YAML is the value that is printed as JSON."""

    def __call__(self, _parser: object, namespace: argparse.Namespace, form: Any, _as: object = None) -> None:
        namespace.output = form or "json"
        namespace.json = namespace.output in PROGRAMS_FORMS


Subparsers = Any  # argparse's class of this is private


def add_command(
    parsers: Subparsers,
    name: str,
    summary: str,
    example: str,
    command: Command,
    *,
    wide: str = "",
) -> Parser:
    """Add a subcommand that takes ``--json`` and ``-o``; its help ends with the example.

    Shape: ``wide`` says what its pictures show more with ``-o wide``, empty where that is nothing.
    """
    parser: Parser = parsers.add_parser(
        name,
        help=summary,
        description=f"{summary[:1].upper()}{summary[1:]}.",
        epilog=f"example:\n  {example}",
    )
    forms = (*PROGRAMS_FORMS, *(("wide",) if wide else ()))
    told = f"json or yaml: print the value in this form{f'; wide: show the picture {wide}' if wide else ''}"
    one = parser.add_mutually_exclusive_group()
    one.add_argument("--json", action=_InForm, nargs=0, help="print one JSON value; messages are JSON too")
    one.add_argument("-o", "--output", action=_InForm, choices=forms, metavar="FORM", help=told)
    parser.set_defaults(command=command, json=False, output="")
    return parser
