"""Who imports whom within a package: cycles, floors and the size of folders. Prints a table when run.

In every folder its modules and subfolders are the nodes, and an import between two of them is an arrow,
however deep in a subfolder it starts or ends. So a cycle of modules and a cycle of folders are both cycles
of nodes of one folder.
"""

from __future__ import annotations

import ast
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
Graph = Mapping[str, frozenset[str]]


@dataclass(frozen=True)
class Package:
    """The modules of a package by name, each with the modules of the package that it imports."""

    name: str
    imports: Graph
    folders: frozenset[str]

    @classmethod
    def read(cls, name: str, root: Path = ROOT) -> Package:
        paths = {_module(path.relative_to(root)): path for path in sorted((root / name).rglob("*.py"))}
        folders = frozenset(module for module, path in paths.items() if path.name == "__init__.py")
        imports = {
            module: frozenset(_imported(path, frozenset(paths))) - {module} for module, path in paths.items()
        }
        return cls(name, imports, folders)

    def sizes(self) -> dict[str, int]:
        """The number of .py files of each folder, without its subfolders; ``__init__.py`` counts."""
        count = dict.fromkeys(self.folders, 1)
        for module in self.imports.keys() - self.folders:
            count[module.rpartition(".")[0]] += 1
        return count

    def within(self, folder: str) -> Graph:
        """The graph of a folder: its modules and subfolders, and the arrows between them."""
        graph: dict[str, set[str]] = {}
        for module, imported in self.imports.items():
            if _is_in(module, folder):
                here = _node(module, folder)
                arrows = {_node(other, folder) for other in imported if _is_in(other, folder)}
                graph.setdefault(here, set()).update(arrows - {here})
        return {node: frozenset(arrows) for node, arrows in graph.items()}

    def cycles(self) -> dict[str, list[list[str]]]:
        """The cycles of each folder that has any."""
        found = {folder: cycles_of(self.within(folder)) for folder in sorted(self.folders)}
        return {folder: cycles for folder, cycles in found.items() if cycles}

    def floors(self) -> int:
        """How many floors the folders and modules in the package's root stand on."""
        return floors_of(self.within(self.name))


def packages(root: Path = ROOT) -> tuple[str, ...]:
    """The names of the packages that the wheel holds."""
    settings = tomllib.loads((root / "pyproject.toml").read_text())
    return tuple(settings["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"])


def cycles_of(graph: Graph) -> list[list[str]]:
    """The sets of nodes that reach each other, each sorted."""
    reached = {node: _reached(graph, node) for node in graph}
    sets = {frozenset(other for other in reached[node] if node in reached[other]) for node in graph}
    return sorted(sorted(one) for one in sets if one)


def floors_of(graph: Graph) -> int:
    """The number of nodes on the longest chain of arrows. The graph has no cycle."""
    known: dict[str, int] = {}

    def floor(node: str) -> int:
        if node not in known:
            known[node] = 1 + max((floor(other) for other in graph.get(node, ())), default=0)
        return known[node]

    return max((floor(node) for node in graph), default=0)


def _reached(graph: Graph, start: str) -> set[str]:
    found: set[str] = set()
    waiting = [*graph.get(start, ())]
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting += graph.get(node, ())
    return found


def _module(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imported(path: Path, known: frozenset[str]) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names if one.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module in known:
            for one in node.names:
                full = f"{node.module}.{one.name}"
                yield full if full in known else node.module


def _is_in(module: str, folder: str) -> bool:
    return module == folder or module.startswith(f"{folder}.")


def _node(module: str, folder: str) -> str:
    return module[len(folder) + 1 :].partition(".")[0] or "__init__"


if __name__ == "__main__":
    sys.stdout.write(f"{'package':<16}{'modules':>8}{'folders':>8}{'largest':>8}{'floors':>8}{'cycles':>8}\n")
    for each in map(Package.read, packages()):
        cycles = each.cycles()
        floors = "-" if each.name in cycles else str(each.floors())
        sizes = (len(each.imports), len(each.folders), max(each.sizes().values()))
        figures = f"{sizes[0]:>8}{sizes[1]:>8}{sizes[2]:>8}{floors:>8}{len(cycles):>8}"
        sys.stdout.write(f"{each.name:<16}{figures}\n")
