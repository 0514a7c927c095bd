"""What notebooks declare: parameters with types and bounds, and the modules and data
that they depend on.
"""

import json
import math
import re
from functools import cache

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from atlas_study.workflow import notebooks
from babelatlas.analysis import real_models as released
from babelatlas.base import languages
from babelatlas.base.errors import InputError
from babelatlas.models import registry as models
from babelatlas.models import translators
from conftest import ROOT, tracked

NOTEBOOKS = ROOT / "notebooks"
ALL = tracked("notebooks/*/*.ipynb")
EXAMPLE = (
    ROOT / "lib" / "babelatlas" / "data" / "new_chapter.ipynb"
)  # what `babelatlas new chapter` copies
CELL = """
n_resamples: int = 2000  # ge=1
level: float = 0.95  # gt=0, lt=1
choice: str = ""  # one of: first, all
limit: int | str = ""  # ge=1
seeds: list[int] = [0]  # ge=0
# A comment above, as before.
rules = ["all"]
shares = {"en": 0.2}
fix = False
fallback = ""
metrics: list[str] = ["TC"]  # one of: TC, IC
"""


def write(path, *sources: str, tag: str = "parameters"):
    """A notebook whose cells have a tag."""
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(
        new_notebook(
            cells=[new_code_cell(one, metadata={"tags": [tag]}) for one in sources]
        ),
        path,
    )
    return path


@pytest.fixture(scope="module")
def notebook(tmp_path_factory):
    return write(tmp_path_factory.mktemp("notebooks") / "any.ipynb", CELL)


@pytest.mark.parametrize(
    "values",
    [
        {
            "n_resamples": 1,
            "level": 0.5,
            "choice": "all",
            "limit": 3,
            "seeds": [1, 2],
            "rules": [],
            "fix": True,
        },
        {
            "choice": "",
            "limit": "",
            "shares": {"de": 1},
            "fallback": ["label", "own.csv"],
            "metrics": ["IC"],
        },
        {"level": 0.5, "fallback": "label", "shares": {}},
    ],
)
def test_values_of_the_type_and_within_the_bounds_are_accepted(notebook, values):
    notebooks.check_parameters(notebook, values)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        (
            {"resamples": 3},
            (
                r"The notebook any has a key 'resamples' that nothing reads: did you"
                r" mean n_resamples\?"
            ),
        ),
        (
            {"n_resamples": 0},
            "any has n_resamples = 0: input should be greater than or equal to 1",
        ),
        ({"n_resamples": "20"}, "any has n_resamples = '20'"),
        ({"n_resamples": True}, "n_resamples = True"),
        ({"level": 1.0}, "less than 1"),
        ({"choice": "firts"}, "'first'"),
        ({"limit": "few"}, "limit = 'few'"),
        ({"seeds": [-1]}, "greater than or equal to 0"),
        ({"rules": [1]}, "write a text"),
        ({"metrics": ["BLEU"]}, "'TC'"),
    ],
)
def test_a_value_of_another_type_or_out_of_bounds_is_one_sentence(
    notebook, values, sentence
):
    with pytest.raises(InputError, match=sentence) as error:
        notebooks.check_parameters(notebook, values)
    assert "\n" not in str(error.value)


# A parameter's name, or a value of its own, says that it names a model, a language or a
# run.
NAMING = re.compile(
    r"(model|translator|language|lang|tier)s?(_shown)?|results|.*_(models|fallback_language)"
)
# Values that are codes of languages by chance: the collection of documents on human
# resources.
BY_CHANCE = {
    ("29_documents", "collections"),
    # Models of machine translation have no list: any of the hub will do.
    ("80_translated_texts", "model"),
    ("81_translated_prompts", "model"),
}
KINDS = """
models: list[str] = ["picto-en"]  # kind: model
judge: str = ""  # kind: model or translator
trained: str = ""  # kind: new translator
rivals: list[list[str]] = []  # kind: released model
spoken: dict[str, list[str]] = {}  # kind: language
pairs: str = ""  # kind: languages
dataset: str = "pictograms"  # kind: data set
results = "results/demo"  # kind: run
checkpoint = ""
gib: float = 2.0  # gt=0
"""


def leaves(value):
    """The texts and numbers in a value, at any depth of lists and of the values of
    mappings.
    """
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from leaves(inner)
    else:
        yield value


def is_code(value) -> bool:
    try:
        return isinstance(value, str) and languages.canonical(value) == value
    except InputError:
        return False


@cache
def known_models() -> set[str]:
    return {*models.known(), *translators.names(), *released.registry()["model"]}


def names_something(name: str, value) -> bool:
    """Whether a parameter names models or languages, or a run, by its own name or by
    the values that it has.
    """
    values = list(leaves(value))
    by_value = any(one in known_models() for one in values) or (
        bool(values) and all(map(is_code, values))
    )
    return not isinstance(value, bool | int) and (
        bool(NAMING.fullmatch(name)) or by_value
    )


@pytest.mark.parametrize("path", [*ALL, EXAMPLE], ids=lambda path: path.stem)
def test_no_parameter_that_names_a_model_a_language_or_a_run_or_is_an_amount_is_untyped(
    path,
):
    limits, declared = notebooks.limits(path), notebooks.declared(path)
    for name, value in (declared["parameters"] | declared["inputs"]).items():
        amounts = [
            one
            for one in leaves(value)
            if isinstance(one, int | float) and not isinstance(one, bool)
        ]
        assert not amounts or limits[name].bounds, (
            f"the amount {name} has no bounds, as in # ge=0"
        )
        if names_something(name, value) and (path.stem, name) not in BY_CHANCE:
            assert limits[name].kind or limits[name].words, (
                f"{name} says of no kind what it names"
            )


@pytest.fixture
def of_kinds(tmp_path, monkeypatch):
    """A notebook with a parameter of each kind, in a project in which a run has
    evaluated a model of its own.
    """
    (tmp_path / "Snakefile").touch()
    (tmp_path / "results/own").mkdir(parents=True)
    listing = ["zeroshot/my-clip_my-birds.parquet", "notebooks/67_zeroshot.ipynb"]
    (tmp_path / "results/own/files.json").write_text(
        json.dumps(listing), encoding="utf-8"
    )
    monkeypatch.chdir(tmp_path)
    return write(tmp_path / "kinds.ipynb", KINDS)


@pytest.mark.parametrize(
    ("values", "fitting"),
    [
        ({"models": ["picto-multi", "openai-b32", "picto-en+sw.mse"]}, {}),
        ({"models": ["my-clip"], "dataset": "my-birds"}, {}),
        ({"models": ["mine"], "checkpoint": "mine.py"}, {}),
        ({"judge": "llava-1.5-7b"}, {}),
        ({"judge": "picto-en"}, {}),
        ({"judge": ""}, {}),
        ({"rivals": [["siglip2-b16-224"]], "results": "results/own"}, {}),
        ({"spoken": {"one": ["deu", "en"]}}, {"spoken": {"one": ["de", "en"]}}),
        ({"pairs": "fra de"}, {"pairs": "fr de"}),
    ],
)
def test_names_that_are_known_are_accepted_and_codes_become_the_studys(
    of_kinds, values, fitting
):
    assert notebooks.check_parameters(of_kinds, values) == values | fitting


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        (
            {"models": ["picto-xx"]},
            "kinds: models has 'picto-xx': there is no model 'picto-xx': did you mean",
        ),
        ({"models": ["67"]}, "there is no model '67'"),
        ({"judge": "llava-1.5-7"}, "there is no model 'llava-1.5-7'"),
        ({"trained": "llava-1.5-7b"}, "the name of a published one, 'llava-1.5-7b'"),
        (
            {"rivals": [["siglip2-b16-224", "siglip2-b16-225"]]},
            r"released results: did you mean siglip2-b16-224\?",
        ),
        ({"spoken": {"one": ["en", "xx"]}}, "no language with the code 'xx'"),
        ({"pairs": "fr xx"}, "no language with the code 'xx'"),
        (
            {"dataset": "pictogram"},
            r"no data set 'pictogram': did you mean pictograms\?",
        ),
        (
            {"results": "results/onw"},
            r"there is no run in results/onw: did you mean results/own\?",
        ),
        ({"gib": -5.0}, "greater than 0"),
        ({"gib": math.inf}, "finite"),
        ({"gib": math.nan}, "finite"),
    ],
)
def test_a_name_that_nothing_has_is_one_sentence_with_the_nearest(
    of_kinds, values, sentence
):
    with pytest.raises(InputError, match=sentence) as error:
        notebooks.check_parameters(of_kinds, values)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("kind", ["modle", "model or run or"])
def test_a_kind_that_there_is_not_is_refused(tmp_path, kind):
    with pytest.raises(InputError, match="There is no kind of parameter"):
        notebooks.check_parameters(
            write(tmp_path / "wrong.ipynb", f"a: str = ''  # kind: {kind}"), {}
        )


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.stem)
def test_the_defaults_of_every_notebook_fit_their_own_types(path):
    values = notebooks.declared(path)
    inputs = {
        name: value for name, value in values["inputs"].items() if name != "results"
    }  # no run need be there
    notebooks.check_parameters(path, values["parameters"] | inputs)


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.stem)
def test_by_itself_a_notebook_writes_to_the_scratch_folder_only(path):
    for name, place in notebooks.declared(path)["outputs"].items():
        assert place == "" or place.startswith("results/scratch"), name


@pytest.mark.parametrize(
    ("cell", "sentence"),
    [
        ("half = whole / 2", "plain values only"),
        ("a = 1\na = 2", "'a' twice"),
        ("a: size = 1", "a type of a"),
    ],
)
def test_a_cell_that_declares_no_plain_values_is_refused(tmp_path, cell, sentence):
    with pytest.raises(InputError, match=sentence):
        notebooks.check_parameters(write(tmp_path / "wrong.ipynb", cell), {})


def names(stage: str) -> set[str]:
    return {
        path.name
        for path in notebooks.sources(next(NOTEBOOKS.glob(f"*/{stage}.ipynb")))
    }


def test_a_notebook_depends_on_the_modules_it_imports_on_theirs_and_on_its_data():
    found = names("*_working_languages")
    assert {"__init__.py", "published.py", "bootstrap.py", "tables.py"} <= found
    assert "geigle2024.csv" in found
    assert not {"embedding.py", "encoder.py", "run_notebook.py"} & found


def test_the_gpus_work_is_not_done_again_for_a_paper_more():
    papers = {path.name for path in (notebooks.DATA / "published").iterdir()}
    for stage in ("zeroshot", "retrieval", "subsets"):
        assert papers & names(f"*_{stage}") == set()
    assert "cocosm2023.csv" in names("*_translated_captions")


def test_every_file_of_the_data_is_read_by_something():
    named = {path.name for notebook in ALL for path in notebooks.sources(notebook)}
    shipped = {path.name for path in (notebooks.DATA).rglob("*") if path.is_file()}
    papers = "".join(
        path.read_text(encoding="utf-8")
        for path in (ROOT / "lib" / "papercheck").glob("*.py")
    )
    # Licences, what only a command reads, and the sources of facts, for people.
    other = {"README.md", "columns.csv", "new_chapter.ipynb", "sheet.html"}
    other |= {"image_sheet.html"}
    other |= {"statement_sheet.html"}
    other |= {"licence_cecill-c.txt", "senses_notices.txt", "labels_licence.md"}
    other |= {
        "captioners_sources.csv",
        "labels_licence_template.md",
        "models_sources.csv",
        "translators_sources.csv",
    }
    other |= {"caption_sheet.html", "continents.csv", "sheet_page.html"}
    # What `babelatlas new data` writes.
    other |= {"new_data.yml", "example_captions.csv"}
    other |= {"captioners.toml"}  # stages depend on its entries one by one
    assert [name for name in shipped - named - other if name not in papers] == []


@pytest.fixture
def reached(tmp_path, monkeypatch):
    """A function that returns what a chapter with some code reaches in a small library."""
    files = {
        "babelatlas/__init__.py": "",
        "babelatlas/room/__init__.py": "",
        "babelatlas/room/words.py": (
            "from babelatlas.room import papers\n"
            "def f():\n    from babelatlas import tools\n"
        ),
        "babelatlas/room/papers.py": '"""As babelatlas.room.cards and words.csv do."""',
        "babelatlas/room/cards.py": "",
        "babelatlas/tools.py": "",
        "babelatlas/data/schemas.csv": "",
        "babelatlas/data/words.csv": "",
        "babelatlas/data/published/paper.csv": "",
        "miniature/__init__.py": "import babelatlas.tools",
        "babelatlas/room/desks.py": "import babelatlas as ba\nba.f()",
        "babelatlas/pages/__init__.py": "",
        "babelatlas/pages/page.py": "",
        "babelatlas/pages/templates/page.md": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    data = tmp_path / "babelatlas" / "data"
    monkeypatch.setattr(notebooks, "LIBRARY", tmp_path)
    monkeypatch.setattr(notebooks, "DATA", data)
    monkeypatch.setattr(notebooks, "EVERYWHERE", (data / "schemas.csv",))
    monkeypatch.setattr(notebooks, "DESK", {"f": "babelatlas.room.words.f"})
    caches = (notebooks._files, notebooks._needed, notebooks._modules)

    def of(code: str, *lists: str) -> set[str]:
        for cached in caches:
            cached.cache_clear()
        path = write(
            tmp_path / "chapter.ipynb", f"data_files = {[*lists]}", tag="inputs"
        )
        notebook = nbformat.read(path, 4)
        notebook.cells.append(new_code_cell(code))
        nbformat.write(notebook, path)
        found = notebooks.sources(path)[1:]
        names = {str(file.relative_to(tmp_path / "babelatlas")) for file in found}
        return names - {"__init__.py", "room/__init__.py", "data/schemas.csv"}

    yield of
    for cached in caches:
        cached.cache_clear()


WHOLE = {"room/words.py", "room/papers.py", "tools.py"}


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("from babelatlas.room import words\nwords.words()", WHOLE),
        ("import babelatlas.room.words", WHOLE),
        ("if x:\n    from babelatlas.room.words import f as g", WHOLE),
        ("from babelatlas.room import papers", {"room/papers.py"}),
        ("from babelatlas import tools\n'data/words.csv'", {"tools.py"}),
        ("%matplotlib inline\nimport babelatlas", set()),
        ("import babelatlas as ba\nba.f()", WHOLE),
        ("from babelatlas import f", WHOLE),
        ("import babelatlas.room.desks", WHOLE | {"room/desks.py"}),
        (
            "import babelatlas.pages.page",
            {"pages/__init__.py", "pages/page.py", "pages/templates/page.md"},
        ),
    ],
)
def test_a_chapter_depends_on_modules_at_any_depth_and_not_on_names_in_texts(
    reached, code, expected
):
    assert reached(code) == expected


def test_a_chapter_depends_on_the_shipped_files_and_folders_that_it_lists(reached):
    listed = {"data/words.csv", "data/published/paper.csv"}
    assert reached("", "words.csv", "published") == listed
    with pytest.raises(InputError, match=r"lists 'word.csv' .* did you mean words.csv"):
        reached("", "word.csv")
