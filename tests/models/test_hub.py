"""A model's folders: given, cached or fetched; the hub is played by its cache's layout
and its own errors.
"""

import os
from hashlib import sha256

import pytest

from atlas_study.commands import main as command_line
from babelatlas.base.errors import InputError
from babelatlas.models import hub as checkpoints
from babelatlas.models import registry as models
from babelatlas.models import translators
from babelatlas.models.registry import Source

COMMIT, OTHER = "a" * 40, "b" * 40
MAIN = Source(
    repository="tiny/main", revision=COMMIT, files=("*.json", "*.safetensors")
)
IMAGE = Source(repository="tiny/image", revision=OTHER)
ENTRY = models.get_model("openai-b32").model_copy(
    update={"name": "tiny", "source": MAIN, "companions": {}}
)
BOTH = ENTRY.model_copy(update={"companions": {"image": IMAGE}})


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """Give an empty cache of the hub; nothing is asked of the network."""
    constants = pytest.importorskip("huggingface_hub.constants")
    cache = tmp_path / "hub"
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(cache))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    return cache


def keep(hub, source, commit=None, files=("config.json", "model.safetensors")):
    """Put files into the cache as the hub's download does, and return the folder of
    their commit.
    """
    commit = commit or source.revision
    folder = hub / f"models--{source.repository.replace('/', '--')}"
    (folder / "blobs").mkdir(parents=True, exist_ok=True)
    for name in files:
        place, blob = (
            folder / "snapshots" / commit / name,
            folder / "blobs" / sha256(name.encode()).hexdigest(),
        )
        place.parent.mkdir(parents=True, exist_ok=True)
        blob.write_text(name, encoding="utf-8")
        place.symlink_to(os.path.relpath(blob, place.parent))
    (folder / "refs").mkdir(exist_ok=True)
    (folder / "refs" / "main").write_text(commit, encoding="utf-8")
    return folder / "snapshots" / commit


def test_the_pinned_revision_is_taken_from_the_cache_and_without_a_pin_the_newest(hub):
    folder, newest = keep(hub, MAIN), keep(hub, MAIN, OTHER)
    loose = ENTRY.model_copy(
        update={"source": MAIN.model_copy(update={"revision": ""})}
    )

    assert checkpoints.folders(ENTRY) == {"": folder}
    assert checkpoints.key(ENTRY, {"": folder}) == f"tiny/main@{COMMIT}"
    assert checkpoints.folders(loose) == {"": newest}
    assert checkpoints.key(loose, {"": newest}) == f"tiny/main@{OTHER}"


def test_a_folder_that_is_given_comes_before_the_cache_and_companions_have_their_roles(
    hub, tmp_path
):
    main, image = keep(hub, MAIN), keep(hub, IMAGE)
    assert checkpoints.folders(BOTH) == {"": main, "image": image}
    assert (
        checkpoints.key(BOTH, {"": main, "image": image})
        == f"tiny/main@{COMMIT} tiny/image@{OTHER}"
    )
    (tmp_path / "mine").mkdir()
    assert checkpoints.folders(BOTH, tmp_path / "mine") == {
        "": tmp_path / "mine",
        "image": image,
    }
    (tmp_path / "mine" / "image").mkdir()
    assert (
        checkpoints.folders(BOTH, tmp_path / "mine")["image"]
        == tmp_path / "mine" / "image"
    )
    with pytest.raises(
        InputError, match=r"folder .*/nowhere of the model 'tiny' does not exist"
    ):
        checkpoints.folders(ENTRY, tmp_path / "nowhere")
    with pytest.raises(
        InputError,
        match="'picto-en' is kept in a folder that the run makes: give that folder",
    ):
        checkpoints.folders(models.get_model("picto-en"))


@pytest.mark.parametrize(
    "name", ["M-BERT-Base-69-ViT Linear Weights.pkl", "2_Dense/config.json"]
)
def test_the_key_of_a_given_folder_follows_whatever_a_loader_may_read(tmp_path, name):
    for file in ("config.json", ".cache.json", name):
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text("one", encoding="utf-8")
    key = checkpoints.key(ENTRY, {"": tmp_path})
    (tmp_path / ".cache.json").write_text("two", encoding="utf-8")
    assert checkpoints.key(ENTRY, {"": tmp_path}) == key
    (tmp_path / name).write_text("two", encoding="utf-8")
    assert checkpoints.key(ENTRY, {"": tmp_path}) != key


def test_without_network_and_copy_the_sentence_says_what_to_fetch_and_how(hub):
    keep(hub, MAIN, OTHER)
    with pytest.raises(
        InputError,
        match=(
            rf"tiny/main, revision {COMMIT}\) cannot be fetched .*babelatlas fetch tiny"
        ),
    ):
        checkpoints.folders(ENTRY)


def test_what_is_not_cached_is_fetched_at_its_revision_with_its_files(
    hub, tmp_path, monkeypatch
):
    asked = []

    def download(repository, **settings):
        asked.append((repository, settings))
        return str(tmp_path)

    monkeypatch.setattr("huggingface_hub.snapshot_download", download)
    assert checkpoints.folders(ENTRY) == {"": tmp_path}
    assert asked == [
        (
            "tiny/main",
            {"revision": COMMIT, "allow_patterns": ["*.json", "*.safetensors"]},
        )
    ]


def test_the_command_prints_repository_commit_size_and_folder_and_names_what_is_damaged(
    hub, monkeypatch, capsys
):
    monkeypatch.setattr(models, "MODELS", [BOTH])
    folder = keep(hub, MAIN)
    keep(hub, IMAGE)

    assert command_line.main(["fetch", "tiny"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first == f"tiny: tiny/main at {COMMIT}, 0.0 MB in {folder}"
    assert second.startswith("tiny: tiny/image at ")
    (folder / "model.safetensors").resolve().write_text(
        "model.safetensorz", encoding="utf-8"
    )
    assert command_line.main(["fetch", "tiny"]) == 1
    assert "model.safetensors is damaged: delete" in capsys.readouterr().err


def test_code_of_a_repository_runs_only_where_the_user_names_it():
    entry = ENTRY.model_copy(update={"remote_code": True})
    for wrong in ("", "yes", "tiny/code", f"tiny/main@{OTHER}"):
        with pytest.raises(
            InputError,
            match=(
                r"code from the repository tiny/main .*set remote_code to 'tiny/main'"
            ),
        ):
            checkpoints.check_consent(entry, wrong)
    assert checkpoints.check_consent(entry, "tiny/main") == entry
    assert checkpoints.check_consent(entry, f"tiny/main@{COMMIT}") == entry
    assert checkpoints.check_consent(ENTRY, "") == ENTRY
    with pytest.raises(InputError, match="'tiny' runs no code of a repository: leave"):
        checkpoints.check_consent(ENTRY, "tiny/main")


def test_code_at_no_known_commit_runs_only_at_the_one_that_the_user_names():
    entry = ENTRY.model_copy(
        update={"remote_code": True, "source": MAIN.model_copy(update={"revision": ""})}
    )
    for wrong in (
        "",
        "tiny/main",
        "tiny/main@",
        "tiny/main@main",
        f"tiny/other@{OTHER}",
        f"tiny/main@{OTHER[1:]}",
    ):
        with pytest.raises(
            InputError,
            match=r"set remote_code to 'tiny/main@' and the full commit that you read",
        ):
            checkpoints.check_consent(entry, wrong)
    assert (
        checkpoints.check_consent(entry, f"tiny/main@{OTHER}").source.revision == OTHER
    )


def test_code_for_another_version_of_a_package_is_refused_before_anything_is_fetched():
    jina = models.get_model("jina-clip-v2")
    with pytest.raises(
        InputError,
        match=r"needs transformers<4\.52, and 5\S* is here: leave the model out",
    ):
        checkpoints.check_consent(jina, jina.source.repository)


def test_the_terms_of_a_gated_model_are_named_before_any_work(monkeypatch, hub):
    entry = translators.get_translator("paligemma-3b-mix-448")
    monkeypatch.setattr("huggingface_hub.get_token", lambda: None)
    with pytest.raises(
        InputError,
        match=r"accept them at https://huggingface.co/google/paligemma-3b-mix-448",
    ):
        checkpoints.check_agreement(entry)
    monkeypatch.setattr("huggingface_hub.get_token", lambda: "a token")
    checkpoints.check_agreement(entry)
    checkpoints.check_agreement(models.find("msiglip-b16"))  # not gated
