"""The packages stay in layers: no import cycle, one meaning per class name."""

import ast
import tomllib
from collections import defaultdict

import pytest
from import_graph import ROOT, Package, cycles_of, floors_of, packages

SAME_NAME: dict[str, str] = {}
"""Class names that two modules of the core use, and why that misleads nobody."""

EACH_PACKAGE = pytest.mark.parametrize(
    "package", [Package.read(name) for name in packages()], ids=lambda one: one.name
)


@EACH_PACKAGE
def test_neither_modules_nor_folders_import_each_other_in_a_circle(package):
    assert package.cycles() == {}


def test_the_root_of_the_core_holds_its_public_names_only():
    files = {path.name for path in (ROOT / "scheduler_core").iterdir() if path.is_file()}

    assert files == {"__init__.py", "api.py", "py.typed"}


def test_the_contract_lists_every_floor_of_the_core_and_none_twice():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (contract,) = [one for one in settings if one.get("containers") == ["scheduler_core"]]
    listed = [name.strip() for layer in contract["layers"] for name in layer.split("|")]
    core = Package.read("scheduler_core")

    assert sorted(listed) == sorted(core.within("scheduler_core").keys() - {"__init__"})
    assert core.floors() <= len(contract["layers"])


def test_no_two_classes_of_the_core_have_one_name_without_a_reason():
    found = defaultdict(set)
    for path in (ROOT / "scheduler_core").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                found[node.name].add(str(path.relative_to(ROOT)))

    assert {
        name: sorted(paths) for name, paths in found.items() if len(paths) > 1 and name not in SAME_NAME
    } == {}
    assert {name for name in SAME_NAME if len(found[name]) < 2} == set()


def written(root, **modules):
    """A package ``p`` with modules by dotted name."""
    for name, text in modules.items():
        path = root / "p" / (name.replace("__", "/") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        for folder in (path.parent, *path.parent.parents):
            if root in folder.parents:
                (folder / "__init__.py").touch()
        path.write_text(text)
    return Package.read("p", root)


def test_a_cycle_of_modules_is_found(tmp_path):
    package = written(tmp_path, a="from p.b import x", b="def f():\n    import p.a", c="from p import a")

    assert package.cycles() == {"p": [["a", "b"]]}


def test_a_cycle_of_folders_is_found_where_no_module_is_in_one(tmp_path):
    package = written(
        tmp_path, one__a="from p.two import a", one__b="", two__a="", two__b="from p.one.b import x"
    )

    assert package.cycles() == {"p": [["one", "two"]]}


def test_a_cycle_inside_a_folder_is_found_in_that_folder(tmp_path):
    package = written(tmp_path, one__a="import p.one.b", one__b="import p.one.a", two="from p.one import a")

    assert package.cycles() == {"p.one": [["a", "b"]]}


def test_floors_are_the_longest_chain_of_imports(tmp_path):
    package = written(tmp_path, a="import p.b\nimport p.c", b="import p.c", c="", d="import p.c")

    assert floors_of(package.within("p")) == 3
    assert cycles_of(package.within("p")) == []
    assert package.sizes() == {"p": 5}
