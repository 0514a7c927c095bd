"""Nothing that came as data is run: the calls that could do it are listed here, each
with what keeps it harmless.
"""

import ast
import re
from functools import cache

from babelatlas.base.paths import DATA

LIBRARY = DATA.parents[1]
# Built-in functions, and functions of modules by their last name, that run what they
# read, or a shell.
BUILT_IN = {"eval", "exec", "compile", "__import__"}
RUNS = {
    *(
        "import_module",
        "exec_module",
        "spec_from_file_location",
        "run_path",
        "run_module",
        "Unpickler",
        "read_pickle",
    ),
    *(
        "unsafe_load",
        "full_load",
        "system",
        "popen",
        "getoutput",
        "extractall",
        "unpack_archive",
    ),
}
# Modules whose `load` or `loads` runs what it reads, or does so unless it is told
# otherwise.
LOADERS = {
    "pickle",
    "marshal",
    "shelve",
    "dill",
    "joblib",
    "cloudpickle",
    "torch",
    "np",
    "numpy",
    "yaml",
}
# What such a loader has to be told.
TOLD = {
    "torch.load": ("weights_only", "True"),
    "np.load": ("allow_pickle", "False"),
    "load_checkpoint": ("weights_only", "True"),
}
# Where such a call is allowed, and why.
ALLOWED = {
    (
        "babelatlas/models/loaders/user_model.py",
        "compile",
    ): "the user's own Python file, which the config names (custom_models)",
    ("babelatlas/models/loaders/user_model.py", "exec"): "the same",
    (
        "babelatlas/models/loaders/openclip.py",
        "import_module",
    ): "a module that an entry of models.toml names",
    ("babelatlas/__init__.py", "import_module"): "the front desk's own modules",
    (
        "babelatlas/lexicon/prompts.py",
        "spec_from_file_location",
    ): "a file of the installed package open_clip",
    ("babelatlas/lexicon/prompts.py", "exec_module"): "the same",
    (
        "babelatlas/base/download.py",
        "unpack_archive",
    ): "tarfile's filter, and zipfile by itself, keep names and links inside",
    (
        "atlas_study/pages/runnable.py",
        "extractall",
    ): "zipfile takes `..` and the root out of names and makes no links",
}


@cache
def nodes() -> list:
    """Every call and import of the library's code, with its file."""
    return [
        (path.relative_to(LIBRARY).as_posix(), node)
        for path in sorted(LIBRARY.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call | ast.Import | ast.ImportFrom)
    ]


@cache
def calls() -> list:
    """Every call of the library: file, what is called ("np.load"), the node."""
    return [
        (file, dotted(node.func), node)
        for file, node in nodes()
        if isinstance(node, ast.Call)
    ]


def dotted(called: ast.expr) -> str:
    """The words of what is called; those of names alone without unparsing, which is
    slow.
    """
    names = []
    inner = called
    while isinstance(inner, ast.Attribute):
        names.append(inner.attr)
        inner = inner.value
    if not isinstance(inner, ast.Name):
        return ast.unparse(called)
    return ".".join([inner.id, *reversed(names)])


def test_what_is_called_is_named_as_it_is_written():
    written = ["f", "np.load", "a.b.c", "f(x).load", "a[0].b", "'x'.join", "(a + b).c"]
    assert [dotted(ast.parse(f"{one}()").body[0].value.func) for one in written] == (
        written
    )


def test_the_calls_that_could_run_data_are_those_that_are_listed():
    found = {
        (file, name.rpartition(".")[2])
        for file, name, _ in calls()
        if name.rpartition(".")[2] in RUNS
    }
    assert found | {
        (file, name) for file, name, _ in calls() if name in BUILT_IN
    } == set(ALLOWED)


def test_what_could_unpickle_is_told_not_to():
    seen = set()
    for file, name, node in calls():
        module, _, function = name.rpartition(".")
        if name in TOLD or function in TOLD:
            key, value = TOLD.get(name) or TOLD[function]
            given = {one.arg: ast.unparse(one.value) for one in node.keywords}
            assert given.get(key) == value, (
                f"{file}: {ast.unparse(node)} without {key}={value}"
            )
            seen.add(name if name in TOLD else function)
        elif name == "yaml.load":
            loader = ast.unparse(node.args[1])
            assert f"class {loader}(yaml.SafeLoader)" in (LIBRARY / file).read_text(
                "utf-8"
            )
        else:
            assert not (module in LOADERS and function in ("load", "loads")), (
                f"{file}: {ast.unparse(node)}"
            )
    assert seen == set(TOLD)


def test_one_module_reads_pickles_and_takes_arrays_alone_from_them():
    """Its test is `test_nothing_in_a_pickle_is_run`, of a hostile file."""
    imported = {
        (file, name.name)
        for file, node in nodes()
        if isinstance(node, ast.Import)
        for name in node.names
    }
    imported |= {
        (file, node.module)
        for file, node in nodes()
        if isinstance(node, ast.ImportFrom)
    }
    readers = {"pickle", "marshal", "shelve", "dill", "joblib", "cloudpickle"}
    assert {(file, name) for file, name in imported if name in readers} == {
        ("babelatlas/models/loaders/mclip.py", "pickle")
    }


def test_no_command_goes_through_a_shell():
    shells = [
        (file, name)
        for file, name, node in calls()
        if any(one.arg == "shell" for one in node.keywords)
    ]
    assert shells == []


def test_code_of_a_repository_is_asked_for_by_consent_alone():
    """Auto classes would ask at the terminal, or of a folder run its code, where
    nothing is said.
    """
    asked = set()
    allowed = {
        "False",
        "entry.remote_code",
    }  # the second as `hub.check_consent` returns the entry
    settings = {
        "babelatlas/models/loaders/caption_writer.py",
        "babelatlas/models/loaders/image_text.py",
    }  # these give it with further settings
    for file, name, node in calls():
        owner, _, function = name.rpartition(".")
        kind = owner.rpartition(".")[2]
        if function == "from_pretrained" and kind.startswith("Auto"):
            asked.add(kind)
            given = {one.arg: ast.unparse(one.value) for one in node.keywords}
            assert given.get("trust_remote_code") in allowed or file in settings, (
                f"{file}: {name}"
            )
    assert {"AutoConfig", "AutoImageProcessor", "AutoProcessor"} <= asked
    for file in settings:
        assert re.search(
            r'"trust_remote_code": (False|entry\.remote_code)\b',
            (LIBRARY / file).read_text("utf-8"),
        )


def test_every_name_in_a_command_of_a_rule_is_quoted(demo_graph):
    rules = demo_graph.rules
    commands = {name: rule.shellcmd for name, rule in rules.items() if name != "all"}
    assert {"zeroshot", "chapter_00_summary", "book", "page"} <= {*commands}
    for name, command in commands.items():
        used = re.findall(r"\{([^}]+)\}", command)
        bare = [word for word in used if not word.endswith(":q")]
        assert used, name
        assert set(bare) <= {"resources.gpu"}, name
