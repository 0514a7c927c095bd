"""A model's folders: given, cached or fetched; the hub is played by its cache's layout and its own errors."""

import doctest
import errno
import json
import os
import subprocess
import sys
from dataclasses import replace
from hashlib import sha256

import numpy as np
import pytest

from babelatlas.base.errors import InputError
from babelatlas.models import hub as checkpoints
from babelatlas.models import registry as models
from babelatlas.models import translators
from babelatlas.models.checkpoint import Checkpoint, check_weights
from babelatlas.workflow import command_line, config

COMMIT, OTHER = "a" * 40, "b" * 40
MAIN = models.Source("tiny/main", COMMIT, ("*.json", "*.safetensors"))
IMAGE = models.Source("tiny/image", OTHER)
ENTRY = replace(models.get_model("openai-b32"), name="tiny", source=MAIN, companions={})
CHECKPOINT = Checkpoint(ENTRY, {})
BOTH = replace(ENTRY, companions={"image": IMAGE})


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """Give an empty cache of the hub; nothing is asked of the network."""
    constants = pytest.importorskip("huggingface_hub.constants")
    cache = tmp_path / "hub"
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(cache))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    return cache


def keep(hub, source, commit=None, files=("config.json", "model.safetensors")):
    """Put files into the cache as the hub's download does, and return the folder of their commit."""
    commit = commit or source.revision
    folder = hub / f"models--{source.repository.replace('/', '--')}"
    (folder / "blobs").mkdir(parents=True, exist_ok=True)
    for name in files:
        place, blob = folder / "snapshots" / commit / name, folder / "blobs" / sha256(name.encode()).hexdigest()
        place.parent.mkdir(parents=True, exist_ok=True)
        blob.write_text(name, encoding="utf-8")
        place.symlink_to(os.path.relpath(blob, place.parent))
    (folder / "refs").mkdir(exist_ok=True)
    (folder / "refs" / "main").write_text(commit, encoding="utf-8")
    return folder / "snapshots" / commit


def answer(monkeypatch, result):
    """Let the hub be reachable and every download end in `result`: a folder, or an error that is raised."""
    import huggingface_hub

    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    asked, local = [], huggingface_hub.snapshot_download

    def download(repository, local_files_only=False, **settings):
        if local_files_only:
            return local(repository, local_files_only=True, **settings)
        asked.append((repository, settings))
        if isinstance(result, Exception):
            raise result
        return str(result)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    return asked


def refusal(kind, status):
    import huggingface_hub.errors
    from huggingface_hub.errors import HfHubHTTPError

    network = HfHubHTTPError.__mro__[1].__module__.partition(".")[0]  # the library that the hub uses for HTTP
    http = pytest.importorskip(network)
    response = http.Response(status, request=http.Request("GET", "http://hub.invalid"))
    return getattr(huggingface_hub.errors, kind)("no", response=response)


def test_the_examples_in_the_docstrings_hold():
    assert doctest.testmod(checkpoints).failed == 0


def test_importing_it_loads_neither_torch_nor_the_hub():
    code = "import sys, babelatlas.models.hub; print({'torch', 'huggingface_hub', 'transformers'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


# Where the folders are.


def test_the_pinned_revision_is_taken_from_the_cache(hub):
    folder = keep(hub, MAIN)
    keep(hub, MAIN, OTHER)

    assert checkpoints.folders(ENTRY) == {"": folder}
    assert checkpoints.key(ENTRY, {"": folder}) == f"tiny/main@{COMMIT}"


def test_without_a_pin_the_newest_in_the_cache_is_taken_and_its_commit_is_in_the_key(hub):
    entry = replace(ENTRY, source=replace(MAIN, revision=""))
    keep(hub, MAIN)
    newest = keep(hub, MAIN, OTHER)

    assert checkpoints.folders(entry) == {"": newest}
    assert checkpoints.key(entry, {"": newest}) == f"tiny/main@{OTHER}"


def test_companions_are_found_by_their_roles_and_named_in_the_key(hub):
    main, image = keep(hub, MAIN), keep(hub, IMAGE)

    found = checkpoints.folders(BOTH)
    assert found == {"": main, "image": image}
    assert checkpoints.key(BOTH, found) == f"tiny/main@{COMMIT} tiny/image@{OTHER}"


def test_a_folder_that_is_given_comes_before_the_cache(hub, tmp_path):
    keep(hub, MAIN)
    image = keep(hub, IMAGE)
    (tmp_path / "mine").mkdir()

    assert checkpoints.folders(BOTH, tmp_path / "mine") == {"": tmp_path / "mine", "image": image}
    (tmp_path / "mine" / "image").mkdir()
    assert checkpoints.folders(BOTH, tmp_path / "mine")["image"] == tmp_path / "mine" / "image"


def test_a_relative_folder_is_below_the_projects_root(hub, tmp_path, monkeypatch):
    (tmp_path / "Snakefile").touch()
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "weights").mkdir()
    monkeypatch.chdir(tmp_path / "notebooks")

    assert checkpoints.folders(ENTRY, "weights") == {"": tmp_path / "weights"}


@pytest.mark.parametrize(
    "name",
    [
        "model.safetensors",
        "pytorch_model.bin",
        "open_clip_pytorch_model.pth",
        "M-BERT-Base-69-ViT Linear Weights.pkl",
        "linear.safetensors",
        "text_encoder.pt",
        "2_Dense/model.safetensors",
        "vocab.txt",
    ],
)
def test_the_key_of_a_given_folder_follows_whatever_a_loader_may_read(tmp_path, name):
    def key():
        return checkpoints.key(BOTH, {"": tmp_path, "image": tmp_path / "image"}).split()

    for file in ("config.json", ".cache.json", ".git/index", "image/weights.bin", name):
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text("one", encoding="utf-8")
    main, image = key()
    for file in (".cache.json", ".git/index"):
        (tmp_path / file).write_text("two", encoding="utf-8")
    assert key() == [main, image]
    (tmp_path / "image" / "weights.bin").write_text("two", encoding="utf-8")
    assert key()[0] == main
    assert key()[1] != image
    (tmp_path / name).write_text("two", encoding="utf-8")
    assert key()[0] != main


def test_a_folder_of_the_hub_that_was_changed_is_known_by_its_files(hub):
    folder = keep(hub, MAIN)
    kept = checkpoints.key(ENTRY, {"": folder})
    assert kept == f"tiny/main@{COMMIT}"

    (folder / "linear.safetensors").write_text("a head of one's own", encoding="utf-8")
    added = checkpoints.key(ENTRY, {"": folder})
    (folder / "linear.safetensors").write_text("another", encoding="utf-8")
    other = checkpoints.key(ENTRY, {"": folder})
    (folder / "linear.safetensors").unlink()
    assert checkpoints.key(ENTRY, {"": folder}) == kept

    (folder / "config.json").unlink()
    (folder / "config.json").write_text("edited", encoding="utf-8")
    edited = checkpoints.key(ENTRY, {"": folder})
    (folder / "config.json").unlink()
    (folder / "elsewhere.json").write_text("edited", encoding="utf-8")
    (folder / "config.json").symlink_to("elsewhere.json")
    assert len({kept, added, other, edited, checkpoints.key(ENTRY, {"": folder})}) == 5


def test_an_embedded_model_is_never_looked_for_on_the_hub(hub, tmp_path):
    entry = models.get_model("picto-en")

    with pytest.raises(InputError, match="'picto-en' is kept in a folder that the run makes: give that folder"):
        checkpoints.folders(entry)
    assert checkpoints.folders(entry, tmp_path) == {"": tmp_path}


# What is not there.


def test_a_given_folder_that_is_absent_is_named(hub, tmp_path):
    with pytest.raises(InputError, match=r"folder .*/nowhere of the model 'tiny' does not exist.*tiny/main there"):
        checkpoints.folders(ENTRY, tmp_path / "nowhere")


def test_without_network_and_copy_the_sentence_says_what_to_fetch_and_how(hub):
    with pytest.raises(InputError) as caught:
        checkpoints.folders(ENTRY)
    assert str(caught.value) == (
        f"The files of the model 'tiny' (repository tiny/main, revision {COMMIT}) are not in the cache {hub}, and "
        "HF_HUB_OFFLINE is set: fetch it with `babelatlas fetch tiny` on a machine with network, or "
        "put them in a folder and give it as the model's folder."
    )


def test_a_companion_that_is_absent_is_called_by_its_role(hub):
    keep(hub, MAIN)

    with pytest.raises(InputError, match=r"The files of the image part of .* tiny/image, .* in the sub-folder 'image'"):
        checkpoints.folders(BOTH)


def test_a_revision_that_is_not_in_the_cache_is_told_from_those_that_are(hub):
    keep(hub, MAIN, OTHER)

    with pytest.raises(InputError, match=rf"revision {COMMIT}\) are not in the cache .*, which has revision {OTHER}"):
        checkpoints.folders(ENTRY)


def test_a_download_that_was_stopped_is_not_taken_for_whole(hub):
    folder = keep(hub, MAIN)
    listing = pytest.importorskip("huggingface_hub._tree_cache")  # older versions keep no listing of a repository
    facts = {"size": 1, "blob_id": "0" * 40, "lfs_sha256": None, "lfs_size": None, "xet_hash": None}
    entries = {name: listing.TreeCacheEntry(**facts) for name in ("config.json", "tokenizer.json")}
    listing.write_tree_cache(str(folder.parents[1]), COMMIT, entries)

    with pytest.raises(InputError, match=r"are only partly in the cache"):
        checkpoints.folders(ENTRY)


def test_a_file_from_the_hub_that_is_not_as_the_hub_has_it_is_named(hub, monkeypatch):
    folder = keep(hub, MAIN)
    answer(monkeypatch, folder)
    assert len(list(checkpoints.fetch(ENTRY))) == 1
    (folder / "model.safetensors").resolve().write_text("model.safetensorz", encoding="utf-8")
    blob = (folder / "model.safetensors").resolve()

    with pytest.raises(InputError, match=rf"damaged \(model\.safetensors does not .*: delete {blob}, then fetch it"):
        list(checkpoints.fetch(ENTRY))


PARTS = json.dumps({"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}})


@pytest.mark.parametrize(
    ("files", "there", "lacking"),
    [
        (("*.json", "*.safetensors"), ["config.json"], "*.safetensors"),
        (("*.json", "model.safetensors"), ["config.json", "other.safetensors"], "model.safetensors"),
        (("config.json", "*.bin"), ["pytorch_model.bin"], "config.json"),
        ((), ["config.json"], "file of weights"),
        (("*.json", "*.safetensors"), ["model.safetensors.index.json", "model-1.safetensors"], "model-2.safetensors"),
    ],
)
def test_a_cache_without_all_weights_is_not_taken_for_whole(hub, monkeypatch, capsys, files, there, lacking):
    source = replace(MAIN, files=files)
    entry = replace(ENTRY, source=source)
    monkeypatch.setattr(models, "MODELS", [entry])
    folder = keep(hub, source, files=there)
    for file in folder.glob("*.index.json"):
        file.resolve().write_text(PARTS, encoding="utf-8")

    with pytest.raises(InputError) as caught:
        checkpoints.folders(entry)
    said = f"are only partly in the cache {hub} (there is no {lacking}), and HF_HUB_OFFLINE is set: fetch it with"
    assert said in str(caught.value)
    assert command_line.main(["fetch", "tiny"]) == 1
    out, error = capsys.readouterr()
    assert out == ""
    assert error == f"{caught.value}\n"


def test_a_companion_of_configurations_needs_no_weights_and_any_other_does(hub):
    keep(hub, MAIN)
    keep(hub, IMAGE, files=("config.json",))
    entry = replace(BOTH, companions={"image": replace(IMAGE, files=("config.json", "tokenizer*"))})

    assert set(checkpoints.folders(entry)) == {"", "image"}
    with pytest.raises(InputError, match=r"files of the image part of .* only partly in the cache"):
        checkpoints.folders(BOTH)


def test_what_is_half_cached_is_fetched_anew(hub, tmp_path, monkeypatch):
    keep(hub, MAIN, files=("config.json",))
    (tmp_path / "model.safetensors").touch()
    asked = answer(monkeypatch, tmp_path)

    assert checkpoints.folders(ENTRY) == {"": tmp_path}
    assert len(asked) == 1


def test_what_the_hub_gives_without_weights_is_refused(hub, tmp_path, monkeypatch):
    answer(monkeypatch, tmp_path)

    with pytest.raises(InputError, match=r"\(there is no \*\.safetensors\), and the hub cannot be reached or has no"):
        checkpoints.folders(ENTRY)


def test_what_is_not_cached_is_fetched_at_its_revision_with_its_files(hub, tmp_path, monkeypatch):
    (tmp_path / "model.safetensors").touch()
    asked = answer(monkeypatch, tmp_path)

    assert checkpoints.folders(ENTRY) == {"": tmp_path}
    assert asked == [("tiny/main", {"revision": COMMIT, "allow_patterns": ["*.json", "*.safetensors"]})]
    keep(hub, MAIN)
    checkpoints.folders(ENTRY)
    assert len(asked) == 1


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (("RevisionNotFoundError", 404), "the hub has no such revision: correct it"),
        (("RepositoryNotFoundError", 401), "no such repository or keeps it private"),
        (("GatedRepoError", 403), "accept them on the repository's page, then log in"),
        (("HfHubHTTPError", 500), r"cannot be fetched \(no\): check the network"),
        (ConnectionError("reset by peer"), r"cannot be fetched \(reset by peer\): check the network"),
        (OSError(errno.ENOSPC, "No space left on device"), "disk of .*hub is full: make room"),
        (RuntimeError("xet: No space left on device (os error 28)"), "disk of .*hub is full: make room"),
    ],
)
def test_every_way_to_fail_is_one_sentence(hub, monkeypatch, error, said):
    answer(monkeypatch, error if isinstance(error, Exception) else refusal(*error))

    with pytest.raises(InputError, match=said) as caught:
        checkpoints.folders(ENTRY)
    assert f"'tiny' (repository tiny/main, revision {COMMIT})" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_hub_that_cannot_be_reached_is_not_called_offline(hub, monkeypatch):
    from huggingface_hub.errors import LocalEntryNotFoundError

    answer(monkeypatch, LocalEntryNotFoundError("Got: ConnectError"))

    with pytest.raises(InputError, match=r"are not in the cache .*, and the hub cannot be reached: fetch it with"):
        checkpoints.folders(ENTRY)


def test_what_the_hub_logs_does_not_come_before_the_sentence(hub, monkeypatch, capfd, caplog):
    import logging

    import huggingface_hub

    def download(*arguments, **settings):
        logging.getLogger("huggingface_hub._snapshot_download").warning("Returning existing folder")
        raise ConnectionError("reset by peer")

    log = logging.getLogger("huggingface_hub")
    level = log.level
    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    with pytest.raises(InputError, match="reset by peer"):
        checkpoints._fetch(ENTRY, "", MAIN)
    assert capfd.readouterr() == ("", "")
    assert not caplog.records
    assert log.level == level


# Fetching ahead.


def test_the_command_prints_repository_commit_size_and_folder(hub, monkeypatch, capsys):
    monkeypatch.setattr(models, "MODELS", [BOTH])
    folder = keep(hub, MAIN, files=("config.json", "model.safetensors"))
    large = folder.parents[1] / "blobs" / sha256(bytes(2_500_000)).hexdigest()
    large.write_bytes(bytes(2_500_000))
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors").symlink_to(large)
    keep(hub, IMAGE)

    assert command_line.main(["fetch", "tiny"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first == f"tiny: tiny/main at {COMMIT}, 2.5 MB in {folder}"
    assert second.startswith(f"tiny (image): tiny/image at {OTHER}, 0.0 MB in ")


@pytest.mark.parametrize(
    ("name", "said"), [("opnai-b32", "did you mean openai-b32"), ("picto-en", "run `make book`, which trains it")]
)
def test_the_command_says_in_a_sentence_what_it_cannot_fetch(name, said, capsys):
    assert command_line.main(["fetch", name]) == 1
    assert said in capsys.readouterr().err


# Consent, weights and files.


def test_code_of_a_repository_runs_only_where_the_user_names_it():
    code = models.Source("tiny/code", OTHER)
    entry = replace(ENTRY, remote_code=True, companions={"text": IMAGE, "text_code": code})

    with pytest.raises(InputError) as caught:
        checkpoints.check_consent(entry, "")
    assert str(caught.value) == (
        f"The model 'tiny' runs code from the repository tiny/main (revision {COMMIT}) and tiny/code (revision "
        f"{OTHER}) on this machine, and nobody allowed that: read the code there, then set remote_code to 'tiny/main'."
    )
    for wrong in ("yes", "tiny/code", "True"):
        with pytest.raises(InputError, match=f"and remote_code is '{wrong}'"):
            checkpoints.check_consent(entry, wrong)
    assert checkpoints.check_consent(entry, "tiny/main") == entry
    assert checkpoints.check_consent(entry, f"tiny/main@{COMMIT}") == entry
    assert checkpoints.check_consent(ENTRY, "") == ENTRY
    with pytest.raises(InputError, match=f"and remote_code is 'tiny/main@{OTHER}'"):
        checkpoints.check_consent(entry, f"tiny/main@{OTHER}")


def test_code_at_no_known_commit_runs_only_at_the_one_that_the_user_names():
    entry = replace(ENTRY, remote_code=True, source=replace(MAIN, revision=""))

    for wrong in ("", "tiny/main", "tiny/main@", "tiny/main@main", f"tiny/other@{OTHER}", f"tiny/main@{OTHER[1:]}"):
        with pytest.raises(InputError, match=r"set remote_code to 'tiny/main@' and the full commit that you read\.$"):
            checkpoints.check_consent(entry, wrong)
    assert checkpoints.check_consent(entry, f"tiny/main@{OTHER}").source == replace(MAIN, revision=OTHER)


@pytest.mark.parametrize("given", ["tiny/main", "some/where", f"tiny/main@{COMMIT}"])
def test_consent_to_a_model_without_code_of_its_own_is_refused(given):
    with pytest.raises(InputError, match=f"'tiny' runs no code of a repository, and remote_code is '{given}': leave"):
        checkpoints.check_consent(ENTRY, given)


def test_a_file_of_json_that_holds_no_object_is_named(tmp_path):
    for content in ("[1]", "{", "", "\ud800"):
        (tmp_path / "config.json").write_bytes(content.encode("utf-8", "surrogatepass"))
        with pytest.raises(InputError, match=r"'tiny' cannot be loaded, .*config\.json is no JSON object"):
            CHECKPOINT.read_json(tmp_path / "config.json")
    (tmp_path / "config.json").write_text(json.dumps({"a": 1}), encoding="utf-8")
    assert CHECKPOINT.read_json(tmp_path / "config.json") == {"a": 1}


@pytest.mark.parametrize("name", ["a.safetensors", "a.bin"])
def test_weights_are_read_whole_or_not_at_all(tmp_path, name):
    torch = pytest.importorskip("torch")
    from safetensors.torch import save_file

    file, weights = tmp_path / name, {"w": torch.arange(600.0)}
    (save_file if name.endswith("safetensors") else torch.save)(weights, file)
    assert torch.equal(CHECKPOINT.read_weights(file)["w"], weights["w"])
    file.write_bytes(file.read_bytes()[:1000])
    with pytest.raises(InputError, match=rf"'tiny' cannot be loaded, .*{name} cannot be read \("):
        CHECKPOINT.read_weights(file)


def test_a_file_of_something_else_than_tensors_is_refused(tmp_path):
    torch = pytest.importorskip("torch")
    torch.save([1, 2], tmp_path / "a.bin")

    with pytest.raises(InputError, match="something else than tensors by name"):
        CHECKPOINT.read_weights(tmp_path / "a.bin")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_weight_that_is_no_number_is_named(value):
    torch = pytest.importorskip("torch")
    module = torch.nn.Linear(2, 2)
    check_weights(module, "tiny", "somewhere")
    with torch.no_grad():
        module.bias[1] = value

    with pytest.raises(InputError, match=r"The weights of 'tiny' in somewhere hold numbers .* \(in bias\)"):
        check_weights(module, "tiny", "somewhere")


def test_code_for_another_version_of_a_package_is_refused_before_anything_is_fetched():
    jina = models.get_model("jina-clip-v2")
    with pytest.raises(InputError, match=r"needs transformers<4\.52, and 5\S* is installed: leave the model out"):
        checkpoints.check_consent(jina, jina.source.repository)
    absent = replace(jina, requires=("no-such-package>=1",))
    with pytest.raises(InputError, match=r"needs no-such-package>=1, and none is installed"):
        checkpoints.check_consent(absent, jina.source.repository)


def test_the_terms_of_a_gated_model_are_named_before_any_work(monkeypatch, tmp_path):
    entry = translators.get_translator("paligemma-3b-mix-448")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.get_token", lambda: None)
    with pytest.raises(InputError, match=r"accept them at https://huggingface.co/google/paligemma-3b-mix-448, log in"):
        checkpoints.check_agreement(entry)
    with pytest.raises(InputError, match="given only to those who accept the terms"):
        config.check_paths({"models": ["picto-en"], "translators": [entry.name]})
    checkpoints.check_agreement(entry, tmp_path)  # the user has the files
    config.check_paths({"models": [], "translators": [entry.name], "checkpoints": {entry.name: str(tmp_path)}})
    monkeypatch.setattr("huggingface_hub.get_token", lambda: "a token")
    checkpoints.check_agreement(entry)
    checkpoints.check_agreement(models.find("msiglip-b16"))  # not gated
