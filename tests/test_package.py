"""The library for others: a wheel brings the data and the command, and the base install
needs no extra.
"""

import ast
import json
import os
import re
import subprocess
import sys
import sysconfig
import tomllib

import pytest

from babelatlas.base.extras import how_to_install
from conftest import ROOT

# Distribution -> what is imported of it, where the names differ.
MODULES = {
    "open_clip_torch": "open_clip",
    "protobuf": "google.protobuf",
    "pyyaml": "yaml",
    "umap-learn": "umap",
}
# Modules that are nothing without the extra `encoders`: they train or hold networks of
# torch.
NETWORKS = {"babelatlas.models.training.gated_network", "miniature.towers"}
# Modules that run the study, of the extra `workflow`.
RUNS = {
    f"atlas_study.workflow.{name}"
    for name in ("graph", "run_notebook", "progress", "book", "single_page")
}

BLOCK = """
import importlib, json, pathlib, sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name in blocked:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

blocked = set(json.loads(sys.argv[1]))
sys.meta_path.insert(0, Blocked())
"""
PACKAGES = ("babelatlas", "miniature", "papercheck", "atlas_build", "atlas_study")
WALK = f"""{BLOCK}
import babelatlas
folder = pathlib.Path(babelatlas.__file__).parents[1]
found = {{}}
for file in sorted(file for name in {PACKAGES} for file in (folder / name).rglob("*.py")):
    parts = file.relative_to(folder).with_suffix("").parts
    name = ".".join(parts).removesuffix(".__init__")
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        found[name] = error.name
print(json.dumps(found))
"""


def extras() -> set[str]:
    """The modules of everything that an extra brings and the base install does not."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))[
        "project"
    ]
    names = {
        entry for part in project["optional-dependencies"].values() for entry in part
    }
    return {module_of(entry) for entry in names}


def module_of(entry: str) -> str:
    """What is imported of a package that a line of dependencies names."""
    name = re.match(r"[\w-]+", entry)[0]
    return MODULES.get(name, name.replace("-", "_"))


def test_nothing_of_the_base_install_imports_an_extra():
    words = [sys.executable, "-W", "ignore", "-c", WALK, json.dumps(sorted(extras()))]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert {
        name: lacking for name, lacking in found.items() if name not in NETWORKS | RUNS
    } == {}
    assert {name for name, lacking in found.items() if lacking == "torch"} <= NETWORKS


def test_a_missing_module_is_told_with_the_extra_that_brings_it():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))[
        "project"
    ]
    imported = set()
    for file in (ROOT / "lib").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = (
                [alias.name for alias in node.names]
                if isinstance(node, ast.Import)
                else []
            )
            names += (
                [node.module]
                if isinstance(node, ast.ImportFrom) and node.module
                else []
            )
            imported |= {name.partition(".")[0] for name in names}
    for extra, brought in project["optional-dependencies"].items():
        modules = {module_of(entry) for entry in brought} & imported
        assert all(f"[{extra}]" in how_to_install(module) for module in modules), extra
    base = {module_of(entry) for entry in project["dependencies"]}
    assert not [module for module in base if how_to_install(module)]


@pytest.mark.parametrize("words", [["run", "any.ipynb"], ["locked", "snakemake"]])
def test_a_command_of_the_study_says_after_a_base_install_what_it_needs(
    words, tmp_path
):
    code = (
        BLOCK
        + "from atlas_study.commands.main import main\nsys.exit(main(sys.argv[2:]))"
    )
    call = [
        sys.executable,
        "-W",
        "ignore",
        "-c",
        code,
        json.dumps(sorted(extras())),
        *words,
    ]
    done = subprocess.run(call, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.endswith(
        "is not installed: run `pip install '.[workflow]'` in a copy of the study.\n"
    )
    assert done.stderr.count("\n") == 1


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A Python with the wheel of this tree installed; other packages are those of the
    tests, nothing is downloaded.
    """
    folder = tmp_path_factory.mktemp("package")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    wheel = [
        "wheel",
        "--no-build-isolation",
        "--no-deps",
        "--no-index",
        "--wheel-dir",
        folder,
        ROOT,
    ]
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "PIP_"))
    }
    subprocess.run(
        [*pip, *wheel],
        check=True,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
    )
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", folder / "env"],
        check=True,
        env=environment,
    )
    python = folder / "env" / "bin" / "python"
    install = [
        *pip,
        "--python",
        python,
        "install",
        "--no-deps",
        "--no-index",
        *folder.glob("*.whl"),
    ]
    subprocess.run(
        install, check=True, cwd=folder, env=environment, capture_output=True, text=True
    )
    where = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    with open(os.path.join(where, "others.pth"), "w", encoding="utf-8") as file:
        file.write(sysconfig.get_path("purelib") + "\n")
    return folder, environment


def call(installed, *words):
    folder, environment = installed
    words = [folder / "env" / "bin" / words[0], *words[1:]]
    return subprocess.run(
        words, cwd=folder, env=environment, capture_output=True, text=True, check=True
    ).stdout


@pytest.mark.slow
def test_three_lines_load_a_table_from_the_installed_wheel(installed):
    code = (
        "import sys, time; began = time.perf_counter(); import babelatlas as ba; taken"
        " = time.perf_counter() - began; assert not {'pandas', 'torch'} &"
        " set(sys.modules); table = ba.load('labels'); assert 'torch' not in"
        " sys.modules; print(ba.__file__, len(table), taken < 0.5);"
        " print(ba.describe('labels'))"
    )
    file, rows, fast, *_ = call(installed, "python", "-c", code).split()
    assert str(installed[0]) in file
    assert (int(rows) > 10_000, fast) == (True, "True")


@pytest.mark.slow
def test_the_installed_wheel_brings_the_command_and_every_file_of_data(installed):
    assert "msiglip-b16" in call(installed, "babelatlas", "models")
    assert "Swahili" in call(installed, "babelatlas", "labels")
    assert "Swahili" in call(installed, "python", "-m", "atlas_study", "labels")
    code = (
        "import pathlib, babelatlas; lib = pathlib.Path(babelatlas.__file__).parents[1];"
        f" print(*sorted(p.relative_to(lib).as_posix() for name in {PACKAGES}"
        " for p in (lib / name).rglob('*') if p.is_file() and"
        " not p.suffix.startswith('.py')))"
    )
    ours = sorted(
        path.relative_to(ROOT / "lib").as_posix()
        for name in PACKAGES
        for path in (ROOT / "lib" / name).rglob("*")
        if path.is_file() and not path.suffix.startswith(".py")
    )
    assert "papercheck/data/items.csv" in ours
    assert call(installed, "python", "-c", code).split() == ours
