"""Each kind of stored file with each damage: noticed and named in one sentence, or the same content as before.

Not guarded, since nothing says what they held: a user's own files, among them filled-in sheets and photographs, and a
.tar archive without compression, which has no checksum of what is in it (a damaged header in it is noticed).
"""

import hashlib
import io
import json
import random
import shutil
import tarfile
import zipfile
from unittest import mock

import nbformat
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from babelatlas.base import checksums, download, tables
from babelatlas.base.errors import InputError
from babelatlas.base.paths import DATA
from babelatlas.datasets import registry as datasets
from babelatlas.evaluation import embedding, zeroshot
from babelatlas.models import registry as models
from babelatlas.models.checkpoint import Checkpoint
from babelatlas.models.tokens import Tokenizer
from babelatlas.report import pages
from babelatlas.workflow import notebooks, run_notebook
from conftest import ROOT

FLIPS = 40
RNG = np.random.default_rng(0)
EYE = RNG.normal(size=(4, 3)).astype(np.float32)
WNIDS = ["n1", "n2", "n1", "n2"]
LABELS = pd.DataFrame(
    {
        "lang": ["de", "fr"],
        "wnid": ["n1", "n1"],
        "label": ["Katze", "chat"],
        "alternatives": [["Kater"], []],
        "source": ["a", "b"],
        "licence": ["x", "x"],
        "confirmed_by": [["c"], []],
        "ambiguous": [False, True],
    }
)
OUTCOMES = pd.DataFrame(
    {column: ["x"] for column in [*tables.EVALUATION, "wnid"]}
    | {"model": ["m"], "dataset": ["d"], "n_correct": [1.0], "n_correct_top5": [1.0], "n_ties": [0], "n_images": [2]}
)


class Toy:
    """An encoder of pictures: their mean colour."""

    name, key = "toy", "1"
    tokenizer = Tokenizer(lambda texts, lang: [[1] for _ in texts], 5, pad=0, trim=True, tail=0)

    def transform(self, image):
        return np.asarray(image, np.float32).transpose(2, 0, 1)

    def encode_images(self, images):
        return images.mean((2, 3))


def plain(content):
    """Return content in a form that == compares."""
    if isinstance(content, np.ndarray):
        return content.tolist()
    if isinstance(content, pd.DataFrame):
        return plain(content.to_dict("list"))
    if isinstance(content, dict):
        return {key: plain(value) for key, value in content.items()}
    return [plain(value) for value in content] if isinstance(content, list | tuple) else content


def below(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


# Each kind: what writes it into a folder and returns the files to damage, and what reads it from there.


def write_table(folder):
    parameters = {"limit": 5, "partial": "20_zeroshot with limit = 5"}
    return [tables.write(LABELS, folder / "labels.parquet", "labels", parameters)]


def read_table(folder):
    path = folder / "labels.parquet"
    return tables.read(path, "labels", partial=True), tables.made_from(path), tables.partial(path)


def write_vectors(folder):
    protocol = {"de": {"similarity": "cosine", "precision": "float32", "preprocessing": "crop"}}
    source = {"model": "m", "dataset": "d", "labels": "l"}
    path, classes = folder / "v.npz", {"de": (["n1", "n2"], EYE[:2])}
    return [zeroshot.write_vectors(path, EYE, WNIDS, classes, {"de": "p"}, protocol, "limit", list("abab"), source)]


def read_vectors(folder):
    path = folder / "v.npz"
    found = zeroshot.read_vectors(path, model="m", dataset="d", labels="l")
    said = zeroshot.read_prompts(path), zeroshot.read_protocol(path), zeroshot.read_regions(path)
    return *found, *said, tables.partial(path)


def write_shard(folder):
    for number, colour in enumerate(("red", "blue")):
        Image.new("RGB", (3, 3), colour).save(folder / f"{number}.png")
    read_shard(folder)
    return list(folder.rglob("*.npz"))


def read_shard(folder):
    paths = [str(folder / f"{number}.png") for number in range(2)]
    return embedding.embed_images(Toy(), paths, folder / "cache", progress=False)


def write_answers(folder):
    download.write_json(folder / "a.json", {"hund": ["犬", 1]})
    return [folder / "a.json"]


def read_answers(folder):
    found = download.read_json(folder / "a.json")
    if found is None:  # it is asked for again
        raise InputError("a.json")
    return found


def write_notebook(folder):
    output = nbformat.v4.new_output("display_data", {"text/plain": "12.5 %"})
    cells = [nbformat.v4.new_markdown_cell("# Title"), nbformat.v4.new_code_cell("1", outputs=[output])]
    page = run_notebook.finish(nbformat.v4.new_notebook(cells=cells), "20_zeroshot", {"seed": 1}, 2.0)
    nbformat.write(page, folder / "page.ipynb")
    checksums.stamp(folder / "page.ipynb")
    return [folder / "page.ipynb"]


def read_notebook(folder):
    notes = run_notebook.history(folder)
    page = json.loads((folder / "page.ipynb").read_text(encoding="utf-8"))
    return notes, page["cells"], page["metadata"]["babelatlas"]


def write_pages(folder):
    made = pages.write_pages({"language-de.md": "# German\n", "explorer.js": "x = 1;\n"}, folder)
    return [*made, folder / "SHA256SUMS"]


def read_listed(folder):
    if damage := checksums.check_list(folder):
        raise InputError(damage)
    return {name: content for name, content in below(folder).items() if name != "SHA256SUMS"}


def write_checkpoint(folder):
    for name in ("open_clip_config.json", "tokenizer.json", "open_clip_model.safetensors"):
        (folder / name).write_bytes(RNG.bytes(90))
    checksums.write_list(folder, below(folder))
    return [folder / name for name in below(folder)]


def read_checkpoint(folder):
    Checkpoint(models.get_model("picto-en"), {"": folder}).check_list()
    return {name: content for name, content in below(folder).items() if name != "SHA256SUMS"}


def tower():
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    torch.manual_seed(0)
    return transformers.XLMRobertaModel(transformers.XLMRobertaConfig(vocab_size=11, pad_token_id=1, **sizes))


def write_adapter(folder):
    from babelatlas.models.training import adapters

    settings = {"name": "m+sw.mse", "base": "m", "lang": "sw", "reduction": 4}
    adapters.save(adapters.attach(tower(), reduction=4), folder, settings)
    return [folder / name for name in (adapters.WEIGHTS, adapters.SETTINGS, "SHA256SUMS")]


def read_adapter(folder):
    from babelatlas.models.training import adapters

    settings = adapters.read_settings(folder, "m+sw.mse")
    return settings, {name: value.detach().numpy() for name, value in adapters.load(tower(), folder, settings).items()}


def write_translator(folder):
    torch = pytest.importorskip("torch")
    from babelatlas.models import gated_fusion, tokens

    torch.manual_seed(0)
    sizes = gated_fusion.Sizes(width=8, feed_forward=8, heads=2, encoder_layers=1, decoder_layers=1, dropout=0.0)
    vocabulary = gated_fusion.Pieces(tokens.train_bpe(["bank", "seal"], 258, strip=True), ["de"])
    network = gated_fusion.GatedFusion(vocabulary.size, vocabulary.pad, 0, "text", sizes)
    gated_fusion.save(network, vocabulary, folder, "text", 0, sizes)
    return [folder / name for name in (gated_fusion.TOKENIZER, gated_fusion.WEIGHTS, gated_fusion.SETTINGS)]


def read_translator(folder):
    from babelatlas.models import gated_translator

    found = gated_translator.load(folder)
    weights = {name: value.numpy() for name, value in found.network.state_dict().items()}
    return weights, found.tokenize(["bank", "die Bänke"], ["de", "de"]), found.languages


MIRRORED = b'{"n1": "Q1", "n2": "Q20"}'


def write_mirrored(folder):
    (folder / "mapping.json").write_bytes(MIRRORED)
    return [folder / "mapping.json"]


def read_mirrored(folder):
    known = {"mapping": {"mirror": "mapping.json", "url": "", "sha256": hashlib.sha256(MIRRORED).hexdigest()}}
    place = mock.patch.dict("os.environ", BABELATLAS_MIRROR=str(folder))
    with place, mock.patch.object(download, "files", return_value=known):
        return download.file("mapping").read_bytes()


PICTURES = {f"n{k}/{j}.jpg": RNG.integers(0, 64, 300).astype(np.uint8).tobytes() for k in range(2) for j in range(2)}


def write_zip(folder):
    with zipfile.ZipFile(folder / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in PICTURES.items():
            archive.writestr(name, content)
    return [folder / "a.zip"]


def write_tar(folder):
    with tarfile.open(folder / "a.tar.gz", "w:gz") as archive:
        for name, content in PICTURES.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return [folder / "a.tar.gz"]


def read_archive(folder):
    return below(download.unpack(next(folder.glob("a.*")), lambda name: name, "pictures"))


def write_picture(folder):
    Image.fromarray(RNG.integers(0, 4, (12, 12, 3)).astype(np.uint8) * 60).save(folder / "a.png")
    return [folder / "a.png"]


def read_picture(folder):
    return np.asarray(datasets.open_image(folder / "a.png"))


KINDS = {
    "a table": (write_table, read_table),
    "vectors": (write_vectors, read_vectors),
    "a shard of embeddings": (write_shard, read_shard),
    "answers of a service": (write_answers, read_answers),
    "an executed notebook": (write_notebook, read_notebook),
    "pages of languages": (write_pages, read_listed),
    "a trained model": (write_checkpoint, read_checkpoint),
    "an adapter": (write_adapter, read_adapter),
    "a gated translator": (write_translator, read_translator),
    "a mirrored file": (write_mirrored, read_mirrored),
    "a zip archive": (write_zip, read_archive),
    "a compressed tar archive": (write_tar, read_archive),
    "a picture that a run drew": (write_picture, read_picture),
}


def damaged(content, damage):
    """Yield copies of some bytes with one damage each."""
    if damage == "flipped":
        draw = random.Random(len(content))
        for place in [draw.randrange(8 * len(content)) for _ in range(FLIPS)]:
            changed = bytearray(content)
            changed[place // 8] ^= 1 << place % 8
            yield bytes(changed)
    elif damage == "truncated":
        yield from (content[: len(content) // 3], content[: len(content) // 2], content[:-1])
    elif damage == "half zero":
        half = len(content) // 2
        yield from (content[:half] + bytes(len(content) - half), bytes(half) + content[half:])
    else:
        yield b""


@pytest.mark.parametrize("damage", ["flipped", "truncated", "half zero", "empty"])
@pytest.mark.parametrize("kind", KINDS)
def test_damage_is_noticed_and_named_or_changes_nothing(kind, damage, tmp_path, capsys):
    write, read = KINDS[kind]
    whole = tmp_path / "whole"
    whole.mkdir()
    files = [path.relative_to(whole) for path in write(whole)]
    # Reading may leave files, such as an unpacked archive: it reads a copy.
    shutil.copytree(whole, tmp_path / "good")
    good, noticed, number = plain(read(tmp_path / "good")), 0, 0
    for file in files:
        for content in damaged((whole / file).read_bytes(), damage):
            number += 1
            copy = tmp_path / str(number)
            shutil.copytree(whole, copy)
            (copy / file).write_bytes(content)
            said = ""
            try:
                found = read(copy)
            except InputError as error:
                said = str(error)
            else:
                assert plain(found) == good, f"{file} is read with other content"
            told = said or capsys.readouterr().out  # of what is made again
            named = file.name in told or "SHA256SUMS" in told
            assert "\n" not in said
            assert named or not said, said
            noticed += named
            shutil.rmtree(copy)
    assert noticed >= (number if damage == "empty" else number / 2), "hardly any damage is noticed"


# --- what a whole file may be instead ---------------------------------------------------------------------------------


def stored(folder, table, name="mine.parquet"):
    """Write a table as other programs do, without a word of the study."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table if isinstance(table, pa.Table) else pa.Table.from_pandas(table), path)
    return path


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"ambiguous": ["no", "yes"]}, "another type in the column 'ambiguous' .large_string, not bool"),
        ({"wnid": [1.0, 2.0]}, "another type in the column 'wnid' .double, not string"),
        ({"alternatives": ["Kater", ""]}, "another type in the column 'alternatives'"),
        ({"ambiguous": [True, None]}, r"1 row\(s\) without a value in the column 'ambiguous'"),
        ({"label": ["Katze", None]}, r"1 row\(s\) without a value in the column 'label'"),
        ({"lang": ["de", None]}, r"1 row\(s\) without a value in the column 'lang'"),
    ],
)
def test_a_table_of_other_types_or_with_gaps_is_told_with_its_file(changes, sentence, tmp_path):
    path = stored(tmp_path, LABELS.assign(**changes))
    with pytest.raises(InputError, match=f"The table {path} has .*{sentence}") as error:
        tables.read(path, "labels")
    assert "delete" not in str(error.value)  # it is the user's


def test_numbers_that_are_texts_or_not_whole_are_refused_and_other_widths_are_read(tmp_path):
    images = pd.DataFrame({"path": ["a.png", "b.png"], "wnid": ["n1", "n2"], "number": [0, 1]})
    for name, numbers in {"text": ["0", "1"], "half": [0.5, 1.0], "nan": [0.0, np.nan]}.items():
        with pytest.raises(InputError, match=rf"{name}\.parquet has .*'number'"):
            tables.read(stored(tmp_path, images.assign(number=numbers), f"{name}.parquet"), "images")
    wide = pa.table(
        {
            "path": pa.array(images["path"], pa.large_string()),
            "wnid": pa.array(images["wnid"]).dictionary_encode(),
            "number": pa.array([0.0, 1.0], pa.float32()),
        }
    )
    found = tables.read(stored(tmp_path, wide), "images")
    assert found.to_dict("list") == images.to_dict("list")
    assert found.dtypes.equals(tables.typed(images, "images").dtypes)


def test_a_count_that_is_no_number_is_neither_written_nor_read(tmp_path):
    with pytest.raises(InputError, match=r"1 row.s. without a value in the column 'n_correct'"):
        tables.write(OUTCOMES.assign(n_correct=[np.nan]), tmp_path / "a.parquet", "zeroshot")
    with pytest.raises(InputError, match=r"mine\.parquet has 1 row.s. without a value in the column 'n_correct'"):
        tables.read(stored(tmp_path, OUTCOMES.assign(n_correct=[np.nan])), "zeroshot")


def test_a_table_of_an_older_schema_or_of_another_kind_is_told_with_its_file_and_the_fix(tmp_path, monkeypatch):
    (tmp_path / "Snakefile").touch()
    monkeypatch.chdir(tmp_path)
    made = tables.write(LABELS, "results/demo/labels/a.parquet", "labels")
    with pytest.raises(
        InputError, match=f"The table {made} should have .* it is a table 'labels', give one of 'images'"
    ):
        tables.read(made, "images")
    monkeypatch.setitem(tables.SCHEMAS, "labels", (tables.SCHEMAS["labels"][0] | {"new": pa.string()}, ["lang"]))
    with pytest.raises(InputError, match=rf"The table {made} should .*missing \['new'\].* delete it and run again\."):
        tables.read(made, "labels")
    own = stored(tmp_path, LABELS)
    with pytest.raises(InputError, match=rf"The table {own} .*correct it there, `babelatlas tables labels` says"):
        tables.read(own, "labels")


def test_only_what_a_run_made_is_to_be_deleted(tmp_path, monkeypatch):
    (tmp_path / "Snakefile").touch()
    monkeypatch.chdir(tmp_path)
    for name, fix in {
        "results/demo/labels/a.parquet": "delete it and run again",
        "a.parquet": "put a whole copy",
    }.items():
        path = tables.write(LABELS, name, "labels")
        path.write_bytes(path.read_bytes()[:-40])
        with pytest.raises(InputError, match=rf"a\.parquet cannot be read as a table \(.*\): {fix}"):
            tables.read(name, "labels")
    assert "install the library again" in checksums.fix(DATA / "labels.parquet")


def test_a_run_s_table_with_rows_of_another_model_or_data_set_is_refused(tmp_path, monkeypatch):
    (tmp_path / "Snakefile").touch()
    monkeypatch.chdir(tmp_path)
    tables.write(OUTCOMES, "results/demo/zeroshot/m_d.parquet", "zeroshot")
    assert len(tables.read("results/demo/zeroshot/m_d.parquet", "zeroshot")) == 1
    for name in ("m_e", "n_d"):
        tables.write(OUTCOMES, f"results/demo/zeroshot/{name}.parquet", "zeroshot")
        with pytest.raises(
            InputError, match=rf"{name}\.parquet has rows of m on d, and its name says otherwise: delete"
        ):
            tables.read(f"results/demo/zeroshot/{name}.parquet", "zeroshot")
    assert len(tables.read(tables.write(OUTCOMES, "mine.parquet", "zeroshot"), "zeroshot")) == 1


def test_vectors_of_another_model_data_set_or_label_set_are_refused(tmp_path):
    write_vectors(tmp_path)
    asked = {"model": "m", "dataset": "d", "labels": "l"}
    for name, words in {"model": "model 'm'", "dataset": "data set 'd'", "labels": "label set 'l'"}.items():
        with pytest.raises(InputError, match=rf"v\.npz are of the {words}, and those of 'other' are needed"):
            zeroshot.read_vectors(tmp_path / "v.npz", **asked | {name: "other"})


def test_vectors_that_are_not_whole_or_not_vectors_are_one_sentence(tmp_path):
    whole = {"images": EYE, "image_wnids": np.array(WNIDS), "de wnids": np.array(["n1"]), "de classes": EYE[:1]}
    wrong = {
        "no-classes": {name: whole[name] for name in whole if name != "de classes"},
        "no-images": {name: whole[name] for name in whole if name != "images"},
        "fewer": whole | {"image_wnids": np.array(WNIDS[:2])},
        "narrow": whole | {"de classes": EYE[:1, :2]},
        "nan": whole | {"de classes": EYE[:1] * np.nan},
        "objects": whole | {"images": np.array([{}, None], dtype=object)},
    }
    for name, arrays in wrong.items():
        np.savez(tmp_path / f"{name}.npz", **arrays)
    np.save(tmp_path / "single.npy", EYE)
    (tmp_path / "single.npy").rename(tmp_path / "single.npz")
    (tmp_path / "folder.npz").mkdir()
    (tmp_path / "empty.npz").touch()
    np.savez(tmp_path / "old.npz", **whole)  # as earlier versions wrote them
    assert plain(zeroshot.read_vectors(tmp_path / "old.npz", model="m")[0]) == plain(EYE)
    for name in (*wrong, "single", "folder", "empty", "absent"):
        with pytest.raises(InputError, match=rf"{name}\.npz cannot be read \(.*\): run notebook 20") as error:
            zeroshot.read_vectors(tmp_path / f"{name}.npz")
        assert "\n" not in str(error.value)


def test_an_output_that_is_a_folder_or_of_another_kind_is_told_before_the_work(tmp_path):
    stage = ROOT / "notebooks" / "stages" / "20_zeroshot.ipynb"
    for vectors in (str(tmp_path), str(tmp_path / "v.parquet")):
        with pytest.raises(InputError, match=r"'vectors' of the notebook 20_zeroshot is a file, got .* ends in \.npz"):
            notebooks.check_parameters(stage, {"vectors": vectors})
    notebooks.check_parameters(stage, {"vectors": str(tmp_path / "v.npz")})
    with pytest.raises(InputError, match=r"give one that ends in \.npz"):
        zeroshot.write_vectors(tmp_path, EYE, WNIDS, {})


def test_shipped_tables_hold_their_checksums():
    for path in DATA.rglob("*.parquet"):
        assert checksums.MARK.encode() in path.read_bytes(), path
        assert checksums.problem(path) == "", path


def test_a_list_of_checksums_is_that_of_sha256sum(tmp_path):
    (tmp_path / "a.txt").write_text("abc")
    known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"  # FIPS 180-2, appendix B.1
    assert checksums.write_list(tmp_path, ["a.txt"]).read_text() == f"{known}  a.txt\n"
    assert checksums.check_list(tmp_path) == ""
    (tmp_path / "a.txt").unlink()
    assert checksums.check_list(tmp_path) == "a.txt is in its SHA256SUMS but not in the folder"
