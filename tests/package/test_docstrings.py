"""Examples in docstrings, each in a folder of its own with the example lake, mapped, as `lake`."""

import doctest
import importlib
import pathlib
import pkgutil

import package_lake
import pytest

lakebed = package_lake.lakebed


def examples():
    modules = [lakebed] + [
        importlib.import_module("lakebed." + found.name)
        for found in pkgutil.iter_modules(lakebed.__path__)
        if found.name != "_core"
    ]
    finder = doctest.DocTestFinder(recurse=True)
    for module in modules:
        globs = dict(vars(module), lakebed=lakebed)
        for example in finder.find(module, module.__name__, globs=globs):
            if example.examples and example.globs.get("__name__") == module.__name__:
                yield pytest.param(example, id=example.name)


@pytest.mark.parametrize("example", list(examples()))
def test_docstring(example, tmp_path, monkeypatch):
    package_lake.make(tmp_path / "lake", mapped=example.name != "lakebed")
    monkeypatch.chdir(tmp_path)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    said = []
    runner.run(example, out=said.append)
    assert runner.failures == 0, "".join(said)


def test_every_public_thing_has_a_docstring():
    undocumented = []
    for name in lakebed.__all__:
        thing = getattr(lakebed, name)
        members = vars(thing).items() if isinstance(thing, type) else []
        undocumented += [name] if not (thing.__doc__ or "").strip() else []
        undocumented += [
            "%s.%s" % (name, member)
            for member, value in members
            if not member.startswith("_") and (callable(value) or isinstance(value, property)) and not value.__doc__
        ]
    assert undocumented == []


def test_stub_files_are_there():
    folder = pathlib.Path(lakebed.__file__).parent
    assert (folder / "py.typed").exists() and (folder / "_core.pyi").exists()
