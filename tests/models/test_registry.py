import csv
import json
import re
from collections import Counter

import pandas as pd
import pytest

from babelatlas.base import languages, paths, published
from babelatlas.base.errors import InputError
from babelatlas.models import registry as models
from conftest import ROOT

PUBLIC = [model for model in models.MODELS if not model.embedded]
ON_HUB = [model for model in PUBLIC if not model.bridge]
SOURCES = [
    source for model in ON_HUB for source in (model.source, *model.companions.values())
]
# The English text tower of CLIP, and XLM-R's pooler: weights that these four hold and
# never use, in millions.
UNUSED = {
    "mclip-mbert-b32": 64,
    "mclip-xlmr-b32": 64.5,
    "mclip-xlmr-b16plus": 92.2,
    "mclip-xlmr-l14": 124.7,
}
UNUSED |= {"st-mbert-b32": 63.4}


def test_an_unknown_model_gets_the_nearest_names_and_an_entry_cannot_be_changed():
    with pytest.raises(InputError, match="did you mean picto-multi"):
        models.get_model("picto-mutli")
    with pytest.raises(ValueError, match="frozen"):
        models.get_model("picto-en").name = "other"


def test_every_row_of_the_paper_has_one_model_called_as_in_its_tables():
    rows = [model.paper_row for model in models.MODELS if model.paper_row]

    assert sorted(rows) == sorted(published.models()["model"])
    assert set(rows) <= set(published.read()["model"])


def test_parameters_are_those_that_the_paper_prints_but_for_towers_that_are_not_used():
    printed = published.models().set_index("model")["parameters"]

    for model in PUBLIC:
        if model.paper_row:
            assert model.parameters + UNUSED.get(model.name, 0) == pytest.approx(
                printed[model.paper_row], abs=1
            )


def test_one_repository_is_pinned_to_one_commit():
    pinned = {(source.repository, source.revision) for source in SOURCES}

    for repository, revision in pinned:
        assert re.fullmatch(r"[\w.-]+/[\w.-]+", repository)
        assert re.fullmatch(r"[0-9a-f]{40}|", revision)
    assert len(pinned) == len({repository for repository, _ in pinned})


def test_an_entry_is_complete():
    for model in PUBLIC:
        sizes = (
            (0,)
            if model.family == "sentence-embedder"
            else (224, 240, 256, 260, 336, 378, 384, 512)
        )
        assert model.image_size in sizes
        assert 2021 <= model.year <= 2026
        assert model.dimension >= 256
        assert model.parameters > 0
        assert model.n_languages > 0 or model.name.startswith(
            "e5-omni"
        )  # of these nobody says


def test_families_have_the_switches_that_their_loaders_need():
    for model in PUBLIC:
        assert (model.canonicalise == "siglip") == (
            model.family == "siglip" or "SigLIP" in model.architecture
        )
        assert model.needs_language == ("nllb" in model.name)
        assert model.remote_code == (
            model.family in ("jina-clip", "mexma-siglip") or model.series == "e5-omni"
        )
        assert model.upstream_normalises != (
            model.family in ("mclip", "sentence-transformers")
        )
        assert ("image" in model.companions) == (
            model.family in ("mclip", "sentence-transformers", "mexma-siglip")
        )
        assert bool(model.architecture) == (model.family in ("open_clip", "bridge"))


def test_languages_are_the_studys_codes_each_once_and_no_more_than_the_authors_speak_of():
    for model in PUBLIC:
        assert [languages.canonical(code) for code in model.languages] == list(
            model.languages
        )
        assert len(model.languages) == len(set(model.languages))
        # Sentence-transformers speaks of "50+", Jina's card of 89, and lists 93 codes.
        allowance = {"st-mbert-b32": 1, "jina-clip-v2": 4}.get(model.name, 0)
        assert len(model.languages) <= model.n_languages + allowance


def test_the_lists_of_languages_have_the_lengths_that_are_published():
    with open(
        paths.DATA / "training_languages.csv", encoding="utf-8", newline=""
    ) as file:
        rows = list(csv.DictReader(file))

    assert list(rows[0]) == ["list", "basis", "code", "lang"]
    lengths = Counter(row["list"] for row in rows)
    expected = {
        "altclip-9": 9,
        "altclip-18": 18,
        "uform": 21,
        "m-clip": 47,
        "english": 1,
        "chinese": 1,
    }
    assert {name: lengths[name] for name in expected} == expected
    nllb = languages.table().query("nllb != ''")
    assert set(models.language_lists()["nllb"][0]) == set(nllb["code"])


def test_citations_are_in_the_bibliography():
    known = set(
        re.findall(
            r"^@\w+\{([^,]+),",
            (ROOT / "book/references.bib").read_text(encoding="utf-8"),
            re.M,
        )
    )

    assert {model.citation for model in PUBLIC} <= known


def test_every_fact_that_is_not_the_studys_own_says_where_it_was_seen():
    rows = pd.DataFrame(models.sources())

    assert list(rows.columns) == ["model", "field", "value", "source"]
    assert not rows.duplicated(["model", "field"]).any()
    assert rows["source"].str.len().min() > 5
    said = rows.set_index(["model", "field"])["value"]
    facts = {
        (model.name, field)
        for model in PUBLIC
        for field in ("licence", "parameters", "languages")
    }
    facts |= {
        (model.name, "requires" if model.bridge else "revision") for model in PUBLIC
    }
    assert facts - {*said.index} == set(), "add a row to models_sources.csv"
    for model in PUBLIC:
        assert said[model.name, "licence"] == model.licence
        assert said[model.name, "parameters"] == f"{model.parameters:g}"
        assert said[model.name, "languages"] == str(model.n_languages)
        if model.bridge:
            assert said[model.name, "requires"] == " ".join(model.requires)
        else:
            assert said[model.name, "revision"] == model.source.revision
        for field in ("objective", "pooling"):
            assert said.get((model.name, field), getattr(model, field)) == getattr(
                model, field
            )
        assert said.get((model.name, "context"), str(model.context_length)) == str(
            model.context_length
        )
        for role, source in model.companions.items():
            assert said[model.name, f"revision of {role}"] == source.revision


def test_a_checkpoint_that_is_a_python_file_has_an_entry_of_its_own():
    entry = models.find("my-clip", "modules/my_clip.py")
    assert (entry.name, entry.family, entry.embedded, entry.series) == (
        "my-clip",
        "own",
        False,
        "my-clip",
    )
    assert models.find("picto-en", "results/demo/models/picto-en") is models.get_model(
        "picto-en"
    )
    assert models.find("msiglip-b16") is models.get_model("msiglip-b16")


@pytest.mark.parametrize(
    "name", ["picto-en", "", "a/b", "../x", "my clip", "-x", "under_score"]
)
def test_a_model_of_ones_own_has_a_name_that_is_its_own_and_part_of_a_files_name(name):
    with pytest.raises(InputError, match="cannot be called"):
        models.custom(name, "mine.py")


ENTRY = {
    "like": "siglip2",
    "repository": "me/me-siglip",
    "image_size": 256,
    "companions": {"text": "xlmr-base"},
}


def test_an_entry_of_ones_own_may_use_what_is_shared_and_jobs_read_it_from_the_environment(
    monkeypatch,
):
    monkeypatch.setenv(
        models.CUSTOM, json.dumps({"me-siglip": ENTRY, "mine": "mine.py"})
    )
    mine = models.get_model("me-siglip")
    assert [*models.known()][-2:] == ["me-siglip", "mine"]
    assert (mine.family, mine.objective, mine.canonicalise, mine.series) == (
        "siglip",
        "sigmoid",
        "siglip",
        "me-siglip",
    )
    assert mine.source == models.Source(
        repository="me/me-siglip", files=("*.json", "*.model", "*.safetensors")
    )
    assert (
        mine.companions["text"]
        == models.get_model("openclip-xlmr-b32").companions["text"]
    )
    assert (mine.n_languages, len(models.table())) == (109, len(models.MODELS) + 2)


def test_a_folder_is_enough_for_the_weights_of_a_model_of_ones_own():
    mine = models.custom(
        "mine", {"family": "open_clip", "image_size": 224, "checkpoint": "/data/mine"}
    )
    assert (mine.embedded, mine.licence, mine.source.repository) == (
        False,
        "not stated",
        "",
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"image_sise": 256},
            (
                "'me-siglip' has a key 'image_sise' that nothing reads: did you mean"
                " image_size"
            ),
        ),
        (
            {"like": "siglip3"},
            r"names 'siglip3', which is not in \[shared\]: did you mean siglip",
        ),
        (
            {"parameters": "many"},
            "has parameters = 'many': input should be a valid number",
        ),
    ],
)
def test_an_entry_that_cannot_be_used_is_refused_in_one_sentence_with_the_nearest_name(
    change, said
):
    with pytest.raises(InputError, match=said):
        models.custom("me-siglip", ENTRY | change)
    with pytest.raises(
        InputError,
        match="has no weights: add its checkpoint, a folder, or its repository",
    ):
        models.custom("me-siglip", {"family": "open_clip"})
