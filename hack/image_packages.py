"""Which locked packages the programs import, and the removal of those that nothing imports.

Packages bring more than what is used: the Kubernetes client has a second one for asyncio, with ten packages
of its own. Takes folders of installed packages; the files are read, never run. An import inside of a function
counts, one that only type checkers see does not.
"""

from __future__ import annotations

import ast
import csv
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

LOADED_BY_COMPILED: Final = {"cryptography": ("_cffi_backend",)}
"""What compiled modules load, by the package that has them: their imports cannot be read."""


@dataclass(frozen=True)
class Distribution:
    """A package as it was installed.

    Shape: ``files`` relative to the folder, ``modules`` by their full names.
    """

    name: str
    info: Path
    files: tuple[Path, ...]
    modules: frozenset[str]


def remove_unused(dependencies: Path, project: Path) -> tuple[str, ...]:
    """Remove the packages of a folder that the project never imports, and return their names."""
    found = unused(dependencies, project)
    for one in found:
        for file in one.files:
            (dependencies / file).unlink(missing_ok=True)
        shutil.rmtree(one.info, ignore_errors=True)
        for folder in sorted({folder for file in one.files for folder in file.parents}, reverse=True):
            _remove_if_empty(dependencies / folder)
    return tuple(one.name for one in found)


def unused(dependencies: Path, project: Path) -> tuple[Distribution, ...]:
    """Return the packages of a folder that nothing of the project imports, directly or through others."""
    own = _modules(project)
    reached = _reached(own | _modules(dependencies), own)
    return tuple(one for one in distributions(dependencies) if reached.isdisjoint(one.modules))


def distributions(folder: Path) -> Iterator[Distribution]:
    """Yield the packages of a folder by name."""
    for info in sorted(folder.glob("*.dist-info")):
        with (info / "RECORD").open(newline="", encoding="utf-8") as record:
            named = [Path(row[0]) for row in csv.reader(record)]
        files = tuple(file for file in named if not file.is_absolute() and ".." not in file.parts)
        modules = frozenset(name for file in files if (name := _module(file)) is not None)
        yield Distribution(info.name.partition("-")[0], info, files, modules)


def _modules(folder: Path) -> dict[str, Path]:
    found = ((_module(path.relative_to(folder)), path) for path in folder.rglob("*.*"))
    return {name: path for name, path in found if name is not None}


def _module(file: Path) -> str | None:
    """Return the name of a module's file, None for other files."""
    if file.suffix not in {".py", ".so"} or any("-" in part for part in file.parts[:-1]):
        return None
    parts = [*file.parts[:-1], file.name.partition(".")[0]]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts) or None


def _reached(modules: Mapping[str, Path], roots: Mapping[str, Path]) -> frozenset[str]:
    """Return the modules that are imported when the roots are, or may be later."""
    reached: set[str] = set()
    waiting = set(roots)
    while waiting:
        name = waiting.pop()
        reached.add(name)
        waiting |= {one for one in _imported(name, modules[name]) if one in modules} - reached
    return frozenset(reached)


def _imported(name: str, path: Path) -> Iterator[str]:
    """Yield everything that a module may import, with the packages that it is in."""
    yield from LOADED_BY_COMPILED.get(name, ())
    yield from _with_parents(name)
    if path.suffix != ".py":
        return
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in _at_run_time(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _with_parents(alias.name)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            source = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                yield from _with_parents(f"{source}.{alias.name}")


def _at_run_time(module: ast.Module) -> Iterator[ast.AST]:
    """Yield the statements of a module, however deep, without those under ``if TYPE_CHECKING``."""
    waiting: list[ast.AST] = [*module.body]
    while waiting:
        node = waiting.pop()
        yield node
        is_hidden = isinstance(node, ast.If) and _name(node.test) == "TYPE_CHECKING"
        for part in ("body", "orelse", "finalbody", "handlers", "cases"):
            if not (is_hidden and part == "body"):
                waiting += getattr(node, part, ())


def _name(test: ast.expr) -> str:
    """Return the last part of a name, empty for any other expression."""
    return test.attr if isinstance(test, ast.Attribute) else getattr(test, "id", "")


def _with_parents(name: str) -> Iterator[str]:
    parts = name.split(".")
    return (".".join(parts[:count]) for count in range(1, len(parts) + 1))


def _remove_if_empty(folder: Path) -> None:
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()
