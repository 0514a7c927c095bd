import subprocess
import sys

import pytest

from babelatlas import InputError, models, published


def test_names_are_unique_and_found():
    names = models.names()

    assert len(names) == len(set(names))
    assert [models.entry(name).name for name in names] == names


def test_the_models_of_the_demo_are_kept_in_folders_and_others_are_not():
    embedded = [name for name in models.names() if models.entry(name).embedded]

    assert embedded == ["picto-en", "picto-multi", "picto-distilled"]


def test_an_entry_cannot_be_changed():
    with pytest.raises(AttributeError):
        models.entry("picto-en").name = "other"


def test_an_unknown_model_gets_the_nearest_names():
    with pytest.raises(InputError, match="did you mean picto-multi"):
        models.entry("picto-mutli")


def test_rows_of_the_paper_are_called_as_in_its_tables():
    known = set(published.read()["model"])

    assert {model.paper_row for model in models.MODELS if model.paper_row} <= known


def test_the_list_of_models_imports_no_torch():
    code = (
        "import sys; from babelatlas import models, datasets, pictograms, embedding; assert 'torch' not in sys.modules"
    )

    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.slow
def test_checkpoints_are_known_to_open_clip_by_these_names():
    open_clip = pytest.importorskip("open_clip")

    named = [(model.architecture, model.checkpoint) for model in models.MODELS if not model.embedded]
    assert set(named) <= set(open_clip.list_pretrained())
    for model in models.MODELS:
        if not model.embedded:
            assert open_clip.get_model_config(model.architecture)["vision_cfg"]["image_size"] == model.image_size


def test_a_page_cautions_about_the_embedded_models_and_about_no_others():
    text = models.caution(["openai-b32", "picto-en"])
    assert text.startswith("```{admonition}")
    assert "picto-en: three quarters" in text
    assert models.caution(["openai-b32"]) == ""
