import csv
import doctest
import os
import re
import subprocess
import sys
from collections import Counter

import pandas as pd
import pytest

from babelatlas.base import languages, paths, published
from babelatlas.base.errors import InputError
from babelatlas.models import loading
from babelatlas.models import registry as models
from babelatlas.models.loaders import sentence_embedders
from babelatlas.workflow import command_line
from conftest import ROOT

PUBLIC = [model for model in models.MODELS if not model.embedded]
SOURCES = [(model.name, source) for model in PUBLIC for source in (model.source, *model.companions.values())]
# The English text tower of CLIP, and XLM-R's pooler: weights that these four hold and never use, in millions.
UNUSED = {"mclip-mbert-b32": 64, "mclip-xlmr-b32": 64.5, "mclip-xlmr-b16plus": 92.2, "mclip-xlmr-l14": 124.7}
UNUSED |= {"st-mbert-b32": 63.4}


def test_the_examples_in_the_docstrings_hold():
    assert doctest.testmod(models).failed == 0


def test_names_are_unique_and_found():
    names = models.names()

    assert len(names) == len(set(names))
    assert [models.get_model(name).name for name in names] == names


def test_the_models_of_the_demo_are_kept_in_folders_and_others_are_not():
    embedded = [name for name in models.names() if models.get_model(name).embedded]

    assert embedded == ["picto-en", "picto-multi", "picto-distilled"]


def test_an_entry_cannot_be_changed():
    with pytest.raises(AttributeError):
        models.get_model("picto-en").name = "other"


def test_an_unknown_model_gets_the_nearest_names():
    with pytest.raises(InputError, match="did you mean picto-multi"):
        models.get_model("picto-mutli")
    with pytest.raises(InputError, match="did you mean siglip2-so400m"):
        models.get_model("siglip2-so400m")


def test_a_name_like_no_other_gets_one_short_sentence():
    with pytest.raises(InputError) as error:
        models.get_model("xxxxxxxx")

    assert str(error.value) == "There is no model 'xxxxxxxx': `babelatlas models` lists all."


def test_every_row_of_the_paper_has_one_model_called_as_in_its_tables():
    rows = [model.paper_row for model in models.MODELS if model.paper_row]

    assert sorted(rows) == sorted(published.models()["model"])
    assert set(rows) <= set(published.read()["model"])


def test_parameters_are_those_that_the_paper_prints_but_for_towers_that_are_not_used():
    printed = published.models().set_index("model")["parameters"]

    for model in PUBLIC:
        if model.paper_row:
            assert model.parameters + UNUSED.get(model.name, 0) == pytest.approx(printed[model.paper_row], abs=1)


def test_the_paper_evaluated_the_altclip_of_nine_languages():
    model = next(model for model in models.MODELS if model.paper_row == "AltCLIP XLMR-L L-14")

    assert model.source.repository == "BAAI/AltCLIP-m9"
    assert len(model.languages) == model.n_languages == 9


@pytest.mark.parametrize(("name", "source"), SOURCES, ids=lambda value: getattr(value, "repository", value))
def test_a_source_is_a_repository_at_a_full_commit_or_at_none(name, source):
    assert re.fullmatch(r"[\w.-]+/[\w.-]+", source.repository)
    assert re.fullmatch(r"[0-9a-f]{40}|", source.revision)


def test_one_repository_is_pinned_to_one_commit():
    pinned = {(source.repository, source.revision) for _, source in SOURCES}

    assert len(pinned) == len({repository for repository, _ in pinned})


@pytest.mark.parametrize("model", models.MODELS, ids=lambda model: model.name)
def test_an_entry_is_complete(model):
    assert model.family in (*loading.LOADERS, sentence_embedders.FAMILY)
    assert model.objective in models.OBJECTIVES
    assert model.licence
    assert model.data
    assert model.parameters > 0
    assert model.canonicalise in ("", "siglip")
    if not model.embedded:
        sizes = (0,) if model.family == sentence_embedders.FAMILY else (224, 240, 256, 336, 378, 384, 512)
        assert model.image_size in sizes
        assert 2021 <= model.year <= 2026
        assert model.dimension >= 256
        assert model.n_languages > 0 or model.name.startswith("e5-omni")  # of these nobody says


def test_families_have_the_switches_that_their_loaders_need():
    for model in PUBLIC:
        assert (model.canonicalise == "siglip") == (model.family == "siglip" or model.name == "msiglip-b16")
        assert model.needs_language == ("nllb" in model.name)
        assert model.remote_code == (model.family in ("jina-clip", "mexma-siglip") or model.series == "e5-omni")
        assert model.upstream_normalises != (model.family in ("mclip", "sentence-transformers"))
        assert ("image" in model.companions) == (model.family in ("mclip", "sentence-transformers", "mexma-siglip"))
        assert bool(model.architecture) == (model.family == "open_clip")


def test_languages_are_the_studys_codes_each_once_and_no_more_than_the_authors_speak_of():
    for model in PUBLIC:
        assert [languages.canonical(code) for code in model.languages] == list(model.languages)
        assert len(model.languages) == len(set(model.languages))
        # Sentence-transformers speaks of "50+", Jina's card of 89, and lists 93 codes.
        allowance = {"st-mbert-b32": 1, "jina-clip-v2": 4}.get(model.name, 0)
        assert len(model.languages) <= model.n_languages + allowance


def test_the_lists_of_languages_have_the_lengths_that_are_published():
    with open(paths.DATA / "training_languages.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))

    assert list(rows[0]) == ["list", "basis", "code", "lang"]
    lengths = Counter(row["list"] for row in rows)
    assert {name: lengths[name] for name in ("altclip-9", "altclip-18", "uform", "m-clip", "english", "chinese")} == {
        "altclip-9": 9,
        "altclip-18": 18,
        "uform": 21,
        "m-clip": 47,
        "english": 1,
        "chinese": 1,
    }
    nllb = languages.table().query("nllb != ''")
    assert set(models.language_lists()["nllb"][0]) == set(nllb["code"])


def test_alemannic_of_wikipedia_is_not_albanian():
    with open(paths.DATA / "training_languages.csv", encoding="utf-8", newline="") as file:
        found = {row["code"]: row["lang"] for row in csv.DictReader(file) if row["list"] == "metaclip2"}

    assert (found["als"], found["sq"], found["zh_min_nan"], found["simple"]) == ("gsw", "sq", "nan", "en")


def test_every_list_is_of_one_basis_which_its_models_and_their_rows_say():
    with open(paths.DATA / "training_languages.csv", encoding="utf-8", newline="") as file:
        bases = {(row["list"], row["basis"]) for row in csv.DictReader(file)}

    assert dict(bases) == {name: basis for name, (_, basis) in models.language_lists().items()}
    assert len(bases) == len(models.language_lists())
    assert set(dict(bases).values()) == set(models.BASES)
    for model in PUBLIC:
        assert (model.basis in models.BASES) == bool(model.languages)
    said = models.training_languages().drop_duplicates("model").set_index("model")["basis"]
    assert (said["mclip-labse-l14"], said["metaclip2-h14"]) == ("translated into", "metadata")
    assert (said["jina-clip-v2"], said["altclip-m9"]) == ("supported", "trained")


def test_m_clip_saw_no_english_captions():
    assert not models.seen("mclip-xlmr-l14", "en")
    assert models.seen("nllb-clip-base", "en")


def test_numbers_that_the_authors_do_not_give_say_whose_they_are():
    others = {model.name for model in PUBLIC if model.counted_by != "authors"}

    assert {models.get_model(name).counted_by for name in others} == {"Geigle et al."}
    assert others == {
        "mclip-mbert-b32", "openclip-xlmr-b32", "openclip-xlmr-h14", "msiglip-b16", "siglip-i18n-so400m"
    }  # fmt: skip
    for name in others:
        assert any(row["field"] == "languages" and "geigle2024babel" in row["source"] for row in models.sources(name))


def test_only_the_metaclips_of_the_paper_are_said_to_be_contrastive():
    found = {model.name for model in PUBLIC if model.family == "metaclip2" and model.objective == "contrastive"}

    assert found == {"metaclip2-h14", "metaclip2-h14-378", "metaclip2-bigg14", "metaclip2-bigg14-378"}


def test_parameters_of_the_small_text_tower_of_metaclip_2_ask_for_77_tokens():
    # mT5's 250,000 pieces and the places, 12 layers of width 512, the last norm, the projection; ViT-B/32; one scale.
    layer = 4 * (512 * 512 + 512) + 2 * 4 * 512 * 512 + (4 + 1) * 512 + 2 * 2 * 512
    text = (250_000 + models.get_model("metaclip2-mt5-b32").context_length) * 512 + 12 * layer + 2 * 512 + 512 * 512

    assert text + 87_849_216 + 1 == 253_980_417


def test_families_are_called_as_in_the_field_whatever_loads_them():
    names = models.table().set_index("name")["series"]

    assert (names["msiglip-b16"], names["siglip-i18n-so400m"], names["siglip2-b16-256"]) == (
        "SigLIP",
        "SigLIP",
        "SigLIP 2",
    )
    assert set(names) == set(models.SERIES.values())


def test_seen_tells_a_language_that_is_not_listed_from_a_list_that_is_not_published():
    assert models.seen("mclip-xlmr-l14", "jp") is True
    assert models.seen("mclip-xlmr-l14", "qu") is False
    assert models.seen("msiglip-b16", "de") is None
    with pytest.raises(InputError, match="no language"):
        models.seen("mclip-xlmr-l14", "qqq")
    with pytest.raises(InputError, match="no model"):
        models.seen("no-model", "de")


def test_training_languages_are_one_row_for_each_model_and_language():
    table = models.training_languages()

    assert list(table.columns) == ["model", "lang", "basis"]
    assert not table.duplicated().any()
    assert table["model"].value_counts()["uform3"] == 21
    assert "siglip2-b16-256" not in set(table["model"])


def test_the_table_has_one_row_for_each_model():
    table = models.table()

    assert table["name"].tolist() == models.names()
    assert table.set_index("name")["distilled"]["mclip-xlmr-l14"]
    assert not table.set_index("name")["distilled"]["openclip-xlmr-h14"]
    assert table.set_index("name")["n_listed"]["altclip-m18"] == 18


def test_citations_are_in_the_bibliography():
    known = set(re.findall(r"^@\w+\{([^,]+),", (ROOT / "book/references.bib").read_text(encoding="utf-8"), re.M))

    assert {model.citation for model in PUBLIC} <= known


def test_every_fact_that_is_not_the_studys_own_says_where_it_was_seen():
    rows = pd.DataFrame(models.sources())

    assert list(rows.columns) == ["model", "field", "value", "source"]
    assert not rows.duplicated(["model", "field"]).any()
    assert rows["source"].str.len().min() > 5
    said = rows.set_index(["model", "field"])["value"]
    for model in PUBLIC:
        assert said[model.name, "licence"] == model.licence
        assert said[model.name, "parameters"] == f"{model.parameters:g}"
        assert said[model.name, "languages"] == str(model.n_languages)
        assert said[model.name, "revision"] == model.source.revision
        for field in ("objective", "pooling"):
            assert said.get((model.name, field), getattr(model, field)) == getattr(model, field)
        assert said.get((model.name, "context"), str(model.context_length)) == str(model.context_length)
        for role, source in model.companions.items():
            assert said[model.name, f"revision of {role}"] == source.revision


@pytest.mark.parametrize("width", [20, 80, 200])
def test_the_printed_list_keeps_to_its_width_and_names_every_model(width):
    lines = models.overview(width).splitlines()

    assert len(lines) == len(models.MODELS) + 1
    # The names alone are wider than a very narrow terminal, which then gets nothing but them.
    assert max(map(len, lines)) <= max(width, max(map(len, models.names())))
    if width >= 80:
        assert [line.split()[0] for line in lines[1:]] == models.names()


def test_the_command_prints_the_list_one_entry_and_a_table(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")  # lines are wrapped to the terminal's width
    assert command_line.main(["models"]) == 0
    assert "metaclip2-h14" in capsys.readouterr().out
    assert command_line.main(["models", "mclip-xlmr-b32"]) == 0
    printed = capsys.readouterr().out
    assert "M-CLIP/XLM-Roberta-Large-Vit-B-32 at 85949a3ac1415027bdf7a5d0994bba8d992fe494" in printed
    assert "companion image" in printed
    assert "fine_tune_languages.csv" in printed
    assert command_line.main(["models", "--csv"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(models.MODELS) + 1


def test_the_command_refuses_an_unknown_name_in_one_sentence(capsys):
    assert command_line.main(["models", "openai-b23"]) == 1
    assert capsys.readouterr().err.startswith("There is no model 'openai-b23': did you mean openai-b32")


def test_the_list_of_models_imports_no_torch():
    code = (
        "import sys; from babelatlas.datasets import pictograms; from babelatlas.evaluation import embedding; "
        "from babelatlas.models import loading, registry as models; from babelatlas.datasets import registry; "
        "from babelatlas.workflow import command_line; "
        "assert 'torch' not in sys.modules; "
        "command_line.main(['models', '--csv']); models.seen('openai-b32', 'de'); assert 'torch' not in sys.modules"
    )

    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


@pytest.mark.filterwarnings("ignore")
def test_entries_agree_with_open_clips_own_configurations():
    open_clip = pytest.importorskip("open_clip")
    from open_clip.pretrained import _PRETRAINED

    for model in PUBLIC:
        if model.architecture:
            configuration = open_clip.get_model_config(model.architecture)
            assert configuration["vision_cfg"]["image_size"] == model.image_size
            assert configuration["embed_dim"] == model.dimension
            assert configuration["text_cfg"].get("context_length", 77) == model.context_length
            named = {tag["hf_hub"].rstrip("/") for tag in _PRETRAINED[model.architecture].values()}
            assert model.source.repository in named


def test_a_page_marks_the_miniature_models_and_no_others():
    text = models.caution(["openai-b32", "picto-en"])
    assert text.strip().startswith("{.atlas-mark}\n**Miniature.**")
    assert "picto-en: tiny models" in text
    assert models.caution(["openai-b32"]) == ""


def test_a_checkpoint_that_is_a_python_file_has_an_entry_of_its_own():
    entry = models.find("my-clip", "modules/my_clip.py")
    assert (entry.name, entry.family, entry.embedded, entry.series) == ("my-clip", "own", False, "my-clip")
    assert models.find("picto-en", "results/demo/models/picto-en") is models.get_model("picto-en")
    assert models.find("msiglip-b16") is models.get_model("msiglip-b16")


@pytest.mark.parametrize("name", ["picto-en", "msiglip-b16"])
def test_a_model_of_ones_own_may_not_have_the_name_of_a_known_one(name):
    with pytest.raises(InputError, match=f"{name}.*another name"):
        models.own(name)


@pytest.mark.parametrize("name", ["", "a/b", "../x", "my clip", "-x", "under_score"])
def test_the_name_of_ones_own_model_can_be_part_of_a_files_name(name):
    with pytest.raises(InputError, match="letters, digits"):
        models.own(name)


def test_the_caution_passes_over_models_that_are_not_in_the_list():
    assert models.caution(["my-clip"]) == ""
    assert "picto-en: " in models.caution(["my-clip", "picto-en"])


ENTRY = """
[models.my-siglip]
like = "siglip2"
repository = "me/my-siglip"
image_size = 256
parameters = 375
dimension = 768
companions.text = "xlmr-base"
"""


def own_file(tmp_path, text):
    path = tmp_path / "my_models.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_of_ones_own_adds_models_that_may_use_what_is_shared(tmp_path):
    found, _ = models.read_models(models.SHIPPED, own_file(tmp_path, ENTRY))

    mine = found[-1]
    assert [model.name for model in found] == [*models.names(), "my-siglip"]
    assert (mine.family, mine.objective, mine.canonicalise, mine.series) == ("siglip", "sigmoid", "siglip", "my-siglip")
    assert mine.source == models.Source("me/my-siglip", "", ("*.json", "*.model", "*.safetensors"))
    assert mine.companions["text"] == models.get_model("openclip-xlmr-b32").companions["text"]


def test_the_environment_names_a_file_of_ones_own_models(tmp_path):
    code = "from babelatlas.models import registry; print(registry.get_model('my-siglip').n_languages)"
    environment = os.environ | {models.OWN: str(own_file(tmp_path, ENTRY))}

    done = subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True)

    assert done.stdout == "109\n"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("image_size", "image_sise", r"The model 'my-siglip' in .*toml has the key 'image_sise', which no entry has: "
         "did you mean image_size"),
        ("repository", "repositori", "has the key 'repositori', which no entry has: did you mean repository"),
        ("parameters = 375\n", "", "The model 'my-siglip' in .*toml has no 'parameters': add it."),
        ("256", '"256"', "has image_size = '256': expected a whole number."),
        ("256", "true", "has image_size = True: expected a whole number."),
        ("375", '"many"', "has parameters = 'many': expected a number."),
        ("dimension = 768", "normalise = 1", "has normalise = 1: expected true or false."),
        ("dimension = 768", "files = [1]", r"has files = \[1\]: expected a list of texts."),
        ("dimension = 768", 'files = "open_clip"', "names 'open_clip', .*files.*: did you mean open-clip"),
        ("dimension = 768", 'objective = "sigmoit"', "has the objective 'sigmoit': did you mean sigmoid"),
        ("dimension = 768", 'language_list = "nlb"', "names 'nlb', .*: did you mean nllb"),
        ("xlmr-base", "xlmr-bas", r"names 'xlmr-bas', which is not in \[repositories\]: did you mean xlmr-base"),
        ('"siglip2"', '"siglip3"', r"is like 'siglip3', which is no \[shared\] table: did you mean siglip2"),
        ("my-siglip]", "msiglip-b16]", "The model 'msiglip-b16' in .*toml is in the list already"),
        ("[models.", "[model.", r"has a table \[model\]: did you mean models"),
        ("375", "", "is not TOML"),
    ],
)  # fmt: skip
def test_an_entry_that_cannot_be_used_is_refused_in_one_sentence_with_the_nearest_name(tmp_path, old, new, said):
    assert old in ENTRY
    with pytest.raises(InputError, match=said) as caught:
        models.read_models(models.SHIPPED, own_file(tmp_path, ENTRY.replace(old, new, 1)))
    assert "\n" not in str(caught.value)


def test_a_file_of_models_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InputError, match=r"nowhere\.toml cannot be read .*: give the path of a TOML file"):
        models.read_models(models.SHIPPED, tmp_path / "nowhere.toml")
