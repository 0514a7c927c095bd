"""Exports: what other tools read back is what the tables hold."""

import ast
import csv
import gc
import importlib.util
import json
import os
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import yaml

from analysis.test_leaderboard import counts, queries
from babelatlas.analysis import leaderboard
from babelatlas.base import languages, tables
from babelatlas.base.errors import InputError
from babelatlas.base.synsets import class_list
from babelatlas.lexicon import labels
from babelatlas.models import registry as models
from babelatlas.report import exports

MODELS, DATASETS = ["openai-b32", "my-model"], ["toy", "toy-captions"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of a public model and one of the user's own, in classification (2 languages) and retrieval (1)."""
    tmp_path = tmp_path_factory.mktemp("run")
    for model in MODELS:
        zeroshot = counts(model, {"de": 0.5, "zh-Hant": 0.3})
        short = (zeroshot["lang"] == "de") & (zeroshot["wnid"] > "n00000003")  # German has four classes
        zeroshot = zeroshot[~short].assign(
            n_correct_top5=4.0, n_images=lambda table: 4 + (table["wnid"] == "n00000001")
        )
        tables.write(zeroshot, tmp_path / f"zeroshot/{model}_toy.parquet", "zeroshot")
        found = queries(model, [(1, 7, 1), (4, 1, 3), (2, 2, 9)])
        tables.write(found, tmp_path / f"retrieval/{model}_toy-captions.parquet", "retrieval")
    return tmp_path


@pytest.fixture(scope="module")
def found(run):
    """The `languages` table of the run."""
    return leaderboard.by_language(str(run), MODELS, DATASETS, 20)


@pytest.fixture(scope="module")
def scores(found):
    """What models are compared by, as the pages of models show it."""
    main = leaderboard.main(found)
    return main[main["metric"].isin(["accuracy@1", "t2i recall@1", "i2t recall@1"])]


def test_the_csv_of_all_scores_is_read_back_as_it_was(found, tmp_path):
    table = exports.scores(found)
    path = exports.write_csv(table, tmp_path / "all" / "scores.csv")
    back = pd.read_csv(path, keep_default_na=False)
    assert list(back) == [*tables.SCORE, *leaderboard.PROTOCOL]
    pd.testing.assert_frame_equal(back, table, check_dtype=False)
    assert back[list(tables.SCORE_KEY)].drop_duplicates().shape[0] == len(back) == len(found)
    assert set(back["lang"]) == {"de", "zh-Hant"}
    back[list(tables.SCORE)].to_csv(tmp_path / "plain.csv", index=False)
    assert len(tables.read(tmp_path / "plain.csv", "scores")) == len(back)


def test_sets_of_captions_are_told_apart_in_the_csv_of_all_scores(found):
    other = found[found["task"] == "retrieval"].assign(captions="machine")
    table = exports.scores(pd.concat([found, other]))
    assert set(table.loc[table["task"] == "retrieval", "variant"]) == {"captions people", "captions machine"}
    assert set(table.loc[table["task"] == "zeroshot", "variant"]) == {""}
    assert not table.duplicated(list(tables.SCORE_KEY)).any()


def test_a_file_with_another_ending_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"let the name end in .csv"):
        exports.write_csv(pd.DataFrame(), tmp_path / "scores.txt")


def test_clip_benchmarks_layout_has_its_columns_and_names(found):
    table = exports.clip_benchmark(leaderboard.main(found))
    assert list(table)[:9] == [
        "dataset", "model", "pretrained", "model_fullname", "task", "language", "acc1", "acc5", "mean_per_class_recall",
    ]  # fmt: skip
    assert {"image_retrieval_recall@5", "text_retrieval_recall@5"} < set(table)
    assert set(table["task"]) == {"zeroshot_classification", "zeroshot_retrieval"}
    public = table[table["model"] == "openai-b32"].iloc[0]
    source = models.get_model("openai-b32").source
    assert public["pretrained"] == f"{source.repository}@{source.revision}"
    assert public["model_fullname"] == f"openai-b32 {public['pretrained']}"
    own = table[(table["model"] == "my-model") & (table["task"] == "zeroshot_retrieval")].iloc[0]
    assert (own["pretrained"], own["model_fullname"]) == ("", "my-model")
    assert own["image_retrieval_recall@1"] == pytest.approx(1 / 3)
    assert own["text_retrieval_recall@5"] == pytest.approx(2 / 3)
    assert np.isnan(own["acc1"])
    assert (own["choice"], own["captions"]) == ("all", "people")


def test_every_metric_of_the_layout_is_what_the_counts_say(run, found):
    table = exports.clip_benchmark(leaderboard.main(found)).set_index(["model", "task", "language"]).loc["my-model"]
    counted = tables.read(run / "zeroshot/my-model_toy.parquet", "zeroshot")
    chinese = counted[counted["lang"] == "zh-Hant"]
    shares = chinese["n_correct"] / chinese["n_images"]
    row = table.loc[("zeroshot_classification", "zh-Hant")]
    assert row["acc1"] == pytest.approx(chinese["n_correct"].sum() / chinese["n_images"].sum())
    assert row["mean_per_class_recall"] == pytest.approx(shares.mean())
    assert row["acc1"] != pytest.approx(shares.mean())  # one class has more images than the others
    assert row["acc5"] == pytest.approx(48 / 49)
    assert np.isnan(table.loc[("zeroshot_classification", "de"), "acc5"])  # of four classes five are always all
    expected = {
        "image_retrieval_recall@1": 2 / 6,
        "image_retrieval_recall@5": 5 / 6,
        "image_retrieval_recall@10": 1,
        "text_retrieval_recall@1": 1 / 3,
        "text_retrieval_recall@5": 2 / 3,
    }
    for metric, value in expected.items():
        assert table.loc[("zeroshot_retrieval", "de"), metric] == pytest.approx(value), metric


@pytest.mark.parametrize(
    ("dataset", "lang", "theirs"),
    [
        ("imagenet-1k", "en", ("imagenet1k", "en")),
        ("imagenet-1k", "de", ("babel_imagenet", "de")),
        ("imagenet-v2", "de", ("imagenetv2", "de")),
        ("xm3600", "tl", ("crossmodal3600", "fil")),
        ("xm3600", "quz", ("crossmodal3600", "quz")),
        ("xtd", "ja", ("xtd10", "jp")),
        ("xm3600", "ja", ("crossmodal3600", "ja")),
        ("pictograms", "tl", ("pictograms", "tl")),
    ],
)
def test_data_sets_and_languages_have_clip_benchmarks_names(found, dataset, lang, theirs):
    rows = leaderboard.main(found)
    rows = rows[(rows["model"] == "my-model") & (rows["task"] == "zeroshot") & (rows["lang"] == "de")]
    table = exports.clip_benchmark(rows.assign(dataset=dataset, lang=lang))
    assert table[["dataset", "language"]].to_numpy().tolist() == [[*theirs]]


def theirs(name):
    """A file of the installed clip_benchmark, without importing the package; skips where there is none."""
    source = importlib.util.find_spec("clip_benchmark")
    if source is None:
        pytest.skip("clip_benchmark is not installed")
    return (Path(source.submodule_search_locations[0]) / name).read_text()


def test_clip_benchmark_knows_the_names_that_it_is_given():
    text = theirs("datasets/builder.py")
    for name in [*exports.CLIP_BENCHMARK_NAMES.values(), *exports.CLIP_BENCHMARK_TRANSLATED.values()]:
        assert f'dataset_name == "{name}"' in text or f"dataset_name == '{name}'" in text


@pytest.mark.parametrize(("ours", "name"), [("xm3600", "crossmodal3600"), ("xtd", "xtd10")])
def test_clip_benchmark_knows_all_its_languages_by_the_codes_that_it_is_given(ours, name):
    (codes,) = [
        ast.literal_eval(node.value)
        for node in ast.parse(theirs(f"datasets/{name}.py")).body
        if isinstance(node, ast.Assign) and node.targets[0].id == "SUPPORTED_LANGUAGES"
    ]
    given = exports.CLIP_BENCHMARK_LANGUAGES[name]
    assert exports.CLIP_BENCHMARK_NAMES[ours] == name
    assert [given.get(languages.canonical(code), languages.canonical(code)) for code in codes] == codes


def test_clip_benchmarks_partial_class_lists_have_our_codes():
    codes = json.loads(theirs("datasets/babel_imagenet.json"))
    assert [languages.canonical(code.lower()).upper() for code in codes] == list(codes)


def files_of(table):
    """The rows of `clip_benchmark` as that tool's result files hold them."""
    measures = list(exports.CLIP_BENCHMARK_METRICS.values())
    for row in table.drop(columns="model_fullname").to_dict("records"):
        found = {name: row.pop(name) for name in measures if name in row}
        yield row | {"metrics": {name: value for name, value in found.items() if not pd.isna(value)}}


def test_clip_benchmarks_own_build_makes_the_same_table(found, tmp_path):
    # Its command `build` alone: importing the whole module takes half a minute.
    tree = ast.parse(theirs("cli.py"))
    build = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "main_build"]
    space = {"json": json, "os": os, "csv": csv}
    exec(compile(ast.Module(build, []), "cli.py", "exec"), space)
    table = exports.clip_benchmark(leaderboard.main(found))
    (tmp_path / "json").mkdir()
    for number, content in enumerate(files_of(table)):
        (tmp_path / "json" / f"{number:03d}.json").write_text(json.dumps(content))

    given = SimpleNamespace(files=[os.fspath(tmp_path / "json")], output=os.fspath(tmp_path / "benchmark.csv"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # it leaves its files open
        space["main_build"](given)
        gc.collect()
    key = ["dataset", "model", "language", "task"]
    built = pd.read_csv(tmp_path / "benchmark.csv", keep_default_na=False, na_values={"acc1": [""]}).sort_values(key)
    built["model_fullname"] = built["model_fullname"].str.strip()  # "model pretrained", where there may be none
    path = exports.write_csv(table, tmp_path / "ours.csv")
    ours = pd.read_csv(path, keep_default_na=False, na_values={"acc1": [""]}).sort_values(key)
    pd.testing.assert_frame_equal(built[list(ours)].reset_index(drop=True), ours.reset_index(drop=True))


def test_metrics_that_clip_benchmark_has_not_are_left_out(found):
    assert {"t2i median rank", "i2t median rank"} < set(found["metric"])
    assert not [name for name in exports.clip_benchmark(leaderboard.main(found)) if "median" in name]
    with pytest.raises(InputError, match="none of these metrics: expected accuracy@1"):
        exports.clip_benchmark(found[found["metric"] == "t2i median rank"])


def test_the_hubs_library_reads_a_models_results_back(scores, tmp_path):
    from huggingface_hub.repocard_data import model_index_to_eval_results

    path = exports.write_yaml(exports.model_index(scores, "my-model"), tmp_path / "my-model.yaml")
    name, results = model_index_to_eval_results(yaml.safe_load(path.read_text(encoding="utf-8"))["model-index"])
    own = scores[scores["model"] == "my-model"]
    assert name == "my-model"
    assert len(results) == len(own)
    back = {(one.dataset_type, one.dataset_config, one.metric_name): one for one in results}
    for row in own.itertuples():
        one = back[row.dataset, row.lang, row.metric]
        assert one.metric_value == row.value
        assert (one.metric_args["ci_low"], one.metric_args["n"]) == (row.ci_low, row.n)
        assert one.metric_args["similarity"] == "cosine"
    assert {one.task_type for one in results} == {"zero-shot-image-classification", "retrieval"}


def test_the_block_fits_into_a_model_card(scores):
    from huggingface_hub import ModelCard

    card = ModelCard(f"---\n{exports.model_index(scores, 'openai-b32')}---\n\n# A model\n")
    assert len(card.data.eval_results) == len(scores[scores["model"] == "openai-b32"])


def test_a_model_without_scores_has_no_block(scores):
    with pytest.raises(InputError, match="no scores of 'absent'"):
        exports.model_index(scores, "absent")


def test_results_of_benchmarks_on_the_hub_are_read_back_by_its_library(scores):
    from huggingface_hub import parse_eval_result_entries

    one = scores[(scores["lang"] == "zh-Hant") & (scores["dataset"] == "toy")]
    entries = exports.benchmark_entries(one, "my-model", {"toy": ("people/toy", "zh")})
    (back,) = parse_eval_result_entries(yaml.safe_load(yaml.safe_dump(entries)))
    assert (back.dataset_id, back.task_id) == ("people/toy", "zh")
    assert back.value == one.loc[one["model"] == "my-model", "value"].iloc[0]
    assert back.notes.startswith("zh-Hant; accuracy@1; labels: toy")
    with pytest.raises(InputError, match="one score of a model, got 2"):
        exports.benchmark_entries(scores, "my-model", {"toy": ("people/toy", "zh")})


# --- class names ------------------------------------------------------------------------------------

WNIDS = ["n00000001", "n00000002", "n00000003"]


def named(words):
    """A label set: language -> the labels of the first, second and third class, "" for none."""
    rows = [(lang, wnid, word) for lang, each in words.items() for wnid, word in zip(WNIDS, each, strict=True) if word]
    return pd.DataFrame(rows, columns=["lang", "wnid", "label"])


SOME = named({"en": ["tench", "shark", "hen"], "de": ["Schleie", "", "Henne"], "ja": ["コイ", "サメ", "鶏"]})


def test_class_names_are_numbered_lists_and_whole_ones_are_files_of_a_language():
    files = exports.class_names(SOME, WNIDS)
    assert files == {
        "babel_imagenet.json": {
            "DE": [[0, 2], ["Schleie", "Henne"]],
            "EN": [[0, 1, 2], ["tench", "shark", "hen"]],
            "JA": [[0, 1, 2], ["コイ", "サメ", "鶏"]],
        },
        "en_classnames.json": {"imagenet1k": ["tench", "shark", "hen"]},
        "jp_classnames.json": {"imagenet1k": ["コイ", "サメ", "鶏"]},
    }
    filled = exports.class_names(SOME, WNIDS, fill=True)
    assert filled["de_classnames.json"] == {"imagenet1k": ["Schleie", "shark", "Henne"]}
    with pytest.raises(InputError, match="English has no label for n00000002"):
        exports.class_names(SOME[SOME["label"] != "shark"], WNIDS, fill=True)


def read_as_clip_benchmark(folder, dataset, language, custom=""):
    """What its `build_dataset` makes of files of class names, line for line: the numbers of classes, and the names."""
    if dataset == "babel_imagenet":
        with open(f"{folder}/babel_imagenet.json", encoding="ascii") as file:
            classnames = json.load(file)
        assert language.upper() in classnames
        idxs, names = classnames[language.upper()]
    else:
        with open(f"{folder}/{language}_classnames.json", encoding="ascii") as file:
            default_classnames = json.load(file)
        idxs, names = None, default_classnames["imagenet1k"]
    if custom:
        with open(custom, encoding="ascii") as file:
            custom_classnames = json.load(file)
        names = next(custom_classnames[key] for key in [dataset] if key in custom_classnames)
    return idxs, names


def test_what_clip_benchmark_reads_is_the_label_set(tmp_path):
    shipped, wnids = labels.shipped(), list(class_list("imagenet-1k")["wnid"])
    some = shipped[shipped["lang"].isin(["en", "sw", "zh", "zh-Hant"])]
    for name, content in exports.class_names(some, wnids, fill=True).items():
        exports.write_json(content, tmp_path / name)
    for lang in ("sw", "zh-Hant", "en"):
        numbers, names = read_as_clip_benchmark(tmp_path, "babel_imagenet", lang)
        back = {wnids[number]: name for number, name in zip(numbers, names, strict=True)}
        assert back == some[some["lang"] == lang].set_index("wnid")["label"].to_dict()
    _, names = read_as_clip_benchmark(tmp_path, "imagenet1k", "en", tmp_path / "cn_classnames.json")
    chinese = some[some["lang"] == "zh"].set_index("wnid")["label"]
    english = some[some["lang"] == "en"].set_index("wnid")["label"]
    assert len(names) == 1000
    assert names == [chinese.get(wnid, english[wnid]) for wnid in wnids]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_clip_benchmarks_own_code_builds_its_data_sets_with_our_class_names(tmp_path, monkeypatch):
    builder = pytest.importorskip("clip_benchmark.datasets.builder")
    import torch

    shipped, wnids = labels.shipped(), list(class_list("imagenet-1k")["wnid"])
    some = shipped[shipped["lang"].isin(["en", "de", "it"])]
    files = exports.class_names(some, wnids, fill=True)
    package = Path(builder.__file__).parent
    (tmp_path / "package").mkdir()
    for name in ("nllb_dist13b_prompts.json", "en_classnames.json", "en_zeroshot_classification_templates.json"):
        (tmp_path / "package" / name).write_bytes((package / name).read_bytes())
    for name, content in files.items():
        exports.write_json(content, tmp_path / "package" / name)
    root = tmp_path / "imagenet"
    for wnid in wnids:  # one image of each class, as torchvision finds them
        (root / "val" / wnid).mkdir(parents=True)
        (root / "val" / wnid / "a.JPEG").touch()
    torch.save(({wnid: (wnid,) for wnid in wnids}, wnids), root / "meta.bin")

    monkeypatch.setattr(builder, "__file__", str(tmp_path / "package" / "builder.py"))
    german = builder.build_dataset("babel_imagenet", root=str(root), language="de", task="zeroshot_classification")
    own = some[some["lang"] == "de"].set_index("wnid")["label"]
    assert {wnids[number]: name for number, name in zip(german.idxs, german.classes, strict=True)} == own.to_dict()
    assert len(german) == len(own)
    custom = str(tmp_path / "package" / "it_classnames.json")
    italian = builder.build_dataset("imagenet1k", root=str(root), custom_classname_file=custom)
    assert list(italian.classes) == files["it_classnames.json"]["imagenet1k"]
