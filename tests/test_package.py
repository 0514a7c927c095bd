"""The library for others: a wheel brings the data and the command, and the base install needs no extra."""

import json
import os
import subprocess
import sys
import sysconfig
import tomllib

import pytest

from conftest import ROOT

# Distribution -> what is imported of it, where the names differ.
MODULES = {"open_clip_torch": "open_clip", "protobuf": "google.protobuf", "pyyaml": "yaml"}
# Modules that are nothing without the extra `encoders`: they train or hold networks of torch.
NETWORKS = {"babelatlas.models.towers"}
# Modules that run the study, of the extra `workflow`.
RUNS = {f"babelatlas.workflow.{name}" for name in ("config", "run_notebook", "book")}

WALK = """
import importlib, json, pathlib, sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name in blocked:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

blocked = set(json.loads(sys.argv[1]))
sys.meta_path.insert(0, Blocked())
import babelatlas
folder = pathlib.Path(babelatlas.__file__).parent
found = {}
for file in sorted(folder.rglob("*.py")):
    parts = file.relative_to(folder.parent).with_suffix("").parts
    name = ".".join(parts).removesuffix(".__init__")
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        found[name] = error.name
print(json.dumps(found))
"""


def extras() -> set[str]:
    """The modules of everything that an extra brings and the base install does not."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = {entry for part in project["optional-dependencies"].values() for entry in part}
    names = {entry.replace("<", ">").replace("=", ">").split(">")[0] for entry in names}
    return {MODULES.get(name, name.replace("-", "_")) for name in names}


def test_nothing_of_the_base_install_imports_an_extra():
    words = [sys.executable, "-W", "ignore", "-c", WALK, json.dumps(sorted(extras()))]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert {name: lacking for name, lacking in found.items() if name not in NETWORKS | RUNS} == {}
    assert {name for name, lacking in found.items() if lacking == "torch"} <= NETWORKS


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A Python with the wheel of this tree installed; other packages are those of the tests, nothing is downloaded."""
    folder = tmp_path_factory.mktemp("package")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    wheel = ["wheel", "--no-build-isolation", "--no-deps", "--no-index", "--wheel-dir", folder, ROOT]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PIP_"))}
    subprocess.run([*pip, *wheel], check=True, cwd=folder, env=environment, capture_output=True, text=True)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "env"], check=True, env=environment)
    python = folder / "env" / "bin" / "python"
    install = [*pip, "--python", python, "install", "--no-deps", "--no-index", *folder.glob("*.whl")]
    subprocess.run(install, check=True, cwd=folder, env=environment, capture_output=True, text=True)
    where = subprocess.run([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
                           capture_output=True, text=True, check=True).stdout.strip()  # fmt: skip
    with open(os.path.join(where, "others.pth"), "w", encoding="utf-8") as file:
        file.write(sysconfig.get_path("purelib") + "\n")
    return folder, environment


def call(installed, *words):
    folder, environment = installed
    words = [folder / "env" / "bin" / words[0], *words[1:]]
    return subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=True).stdout


@pytest.mark.slow
def test_three_lines_load_a_table_from_the_installed_wheel(installed):
    code = (
        "import sys, time; began = time.perf_counter(); import babelatlas as ba; taken = time.perf_counter() - began; "
        "assert not {'pandas', 'torch'} & set(sys.modules); table = ba.load('labels'); "
        "assert 'torch' not in sys.modules; print(ba.__file__, len(table), taken < 0.5); print(ba.describe('labels'))"
    )
    file, rows, fast, *_ = call(installed, "python", "-c", code).split()
    assert str(installed[0]) in file
    assert (int(rows) > 10_000, fast) == (True, "True")


@pytest.mark.slow
def test_the_installed_wheel_brings_the_command_and_every_file_of_data(installed):
    assert "msiglip-b16" in call(installed, "babelatlas", "models")
    assert "Swahili" in call(installed, "babelatlas", "labels")
    assert "Swahili" in call(installed, "python", "-m", "babelatlas", "labels")
    code = "from babelatlas.base.paths import DATA; print(*sorted(p.name for p in DATA.rglob('*') if p.is_file()))"
    ours = sorted(path.name for path in (ROOT / "lib" / "babelatlas" / "data").rglob("*") if path.is_file())
    assert call(installed, "python", "-c", code).split() == ours
