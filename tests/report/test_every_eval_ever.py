"""Records of Every Eval Ever: what its schema asks for is there, and the scores are those of the table."""

import importlib.util
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from babelatlas.analysis import leaderboard
from babelatlas.base.errors import InputError
from babelatlas.models import registry as models
from babelatlas.report.sharing import every_eval_ever

HOW = {"similarity": "cosine", "precision": "float32", "preprocessing": "model"}
# task, dataset, model, lang, metric, value, ci_low, ci_high, n
ROWS = [
    ("zeroshot", "imagenet-1k", "msiglip-b16", "de", "accuracy@1", 0.625, 0.5, 0.75, 800),
    ("zeroshot", "imagenet-1k", "msiglip-b16", "de", "accuracy@5", 0.875, 0.8, 0.9, 800),
    ("zeroshot", "imagenet-1k", "msiglip-b16", "de", "mean per class", 0.5, 0.4, 0.6, 800),
    ("zeroshot", "pictograms", "my-model", "sw", "accuracy@1", 0.25, np.nan, np.nan, 4),
    ("retrieval", "xm3600", "my-model", "sw", "t2i recall@10", 0.75, 0.5, 1.0, 40),
    ("retrieval", "xm3600", "my-model", "sw", "i2t ndcg@20", 0.5, 0.25, 0.75, 40),
    ("retrieval", "xm3600", "my-model", "sw", "t2i median rank", 12.0, 8.0, 15.0, 40),
]


@pytest.fixture
def found():
    table = pd.DataFrame(
        ROWS, columns=["task", "dataset", "model", "lang", "metric", "value", "ci_low", "ci_high", "n"]
    )
    return table.assign(items=4, labels="imagenet-1k", prompts="nllb-80", captions="", choice="", **HOW)


@pytest.fixture
def records(found):
    return every_eval_ever.records(found, "mine", "My Lab", 1767225600)


def test_there_is_one_record_a_model_at_its_place_in_the_datastore(records):
    uuid4 = "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
    repository = models.get_model("msiglip-b16").source.repository
    public, own = (re.sub(f"{uuid4}\\.json$", "UUID", path) for path in sorted(records, reverse=True))
    assert {public, own} == {f"data/babelatlas/{repository}/UUID", "data/babelatlas/My-Lab/my-model/UUID"}


def test_a_record_is_what_a_person_would_write(records):
    (record,) = [one for one in records.values() if one["model_info"]["name"] == "msiglip-b16"]
    entry = models.get_model("msiglip-b16")
    assert record["schema_version"] == "0.3.0"
    assert record["evaluation_id"] == f"babelatlas-mine/{entry.source.repository}/1767225600"
    assert record["retrieved_timestamp"] == "1767225600"
    assert record["source_metadata"]["source_organization_name"] == "My Lab"
    assert record["source_metadata"]["evaluator_relationship"] == "third_party"
    assert record["source_metadata"]["additional_details"] == {"run": "mine"}
    assert record["model_info"]["additional_details"]["revision"] == entry.source.revision
    first = record["evaluation_results"][0]
    assert first["evaluation_name"] == "imagenet-1k.de"
    assert first["source_data"] == {
        "dataset_name": "imagenet-1k",
        "source_type": "url",
        "url": ["https://www.image-net.org/download.php"],
    }
    config = first["metric_config"]
    assert (config["metric_id"], config["metric_parameters"], config["lower_is_better"]) == (
        "accuracy",
        {"k": 1},
        False,
    )
    assert config["additional_details"] == {"language": "de", "labels": "imagenet-1k", "prompts": "nllb-80", **HOW}
    assert first["score_details"]["score"] == 0.625
    interval = first["score_details"]["uncertainty"]["confidence_interval"]
    assert (interval["lower"], interval["upper"], interval["confidence_level"]) == (0.5, 0.75, 0.95)


def test_every_metric_has_its_range_and_direction(records):
    found = {}
    for record in records.values():
        for one in record["evaluation_results"]:
            config = one["metric_config"]
            found[config["metric_id"]] = (config["min_score"], config["max_score"], config["lower_is_better"])
            assert config["min_score"] <= one["score_details"]["score"] <= float(config["max_score"])
    shares = ["accuracy", "accuracy_at_5", "mean_per_class_accuracy", "text_to_image_recall_at_10"]
    shares.append("image_to_text_ndcg_at_20")
    assert found == dict.fromkeys(shares, (0.0, 1.0, False)) | {"text_to_image_median_rank": (1.0, "Infinity", True)}


def test_every_metric_of_a_leaderboard_can_be_written():
    metrics = ["accuracy@1", "accuracy@5", "mean per class"]
    metrics += [f"{way} {name}" for way in ("t2i", "i2t") for name in ("ndcg@20", "median rank")]
    metrics += [f"{way} recall@{k}" for way in ("t2i", "i2t") for k in leaderboard.KS]
    row = pd.DataFrame(
        ROWS[:1], columns=["task", "dataset", "model", "lang", "metric", "value", "ci_low", "ci_high", "n"]
    )
    table = pd.concat([row.assign(metric=metric, **dict.fromkeys(leaderboard.PROTOCOL, "x")) for metric in metrics])
    (record,) = every_eval_ever.records(table, "mine", "My Lab", 0).values()
    identities = [one["metric_config"]["metric_id"] for one in record["evaluation_results"]]
    assert len(set(identities)) == len(metrics)


def test_a_score_without_an_interval_has_none(records):
    (record,) = [one for one in records.values() if one["model_info"]["name"] == "my-model"]
    alone = record["evaluation_results"][0]
    assert alone["score_details"] == {"score": 0.25, "uncertainty": {"num_samples": 4}}
    assert alone["source_data"]["source_type"] == "other"
    assert record["model_info"]["additional_details"]["model_availability"] == "unknown"


def test_the_same_results_have_the_same_names_and_others_do_not(found, records):
    again = every_eval_ever.records(found.sample(frac=1, random_state=0).sort_index(), "mine", "My Lab", 1767225600)
    assert again == records
    other = every_eval_ever.records(found.assign(value=0.5), "mine", "My Lab", 1767225600)
    assert not set(other) & set(records)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"organization": " "}, "give --organization NAME"),
        ({"relationship": "third-party"}, "did you mean third_party"),
    ],
)
def test_what_cannot_be_written_is_one_sentence(found, given, said):
    with pytest.raises(InputError, match=said):
        every_eval_ever.records(found, "mine", **({"organization": "My Lab", "timestamp": 0} | given))
    with pytest.raises(InputError, match="no scores to write"):
        every_eval_ever.records(found[:0], "mine", "My Lab", 0)


def complaints(record):
    """What version 0.3.0 asks of a record, written down from its text: keys that must be there, values and types."""
    for name in ["schema_version", "evaluation_id", "retrieved_timestamp"]:
        if not isinstance(record.get(name), str):
            yield name
    source, library, model = (record.get(name, {}) for name in ("source_metadata", "eval_library", "model_info"))
    if source.get("source_type") not in ("documentation", "evaluation_run") or "source_organization_name" not in source:
        yield "source_metadata"
    if source.get("evaluator_relationship") not in ("first_party", "third_party", "collaborative", "other"):
        yield "evaluator_relationship"
    if not {"name", "version"} <= set(library) or not {"name", "id", "additional_details"} <= set(model):
        yield "eval_library or model_info"
    facts = model.get("additional_details", {})
    if facts.get("deployment_type") not in ("self_deployed", "externally_managed", "unknown"):
        yield "deployment_type"
    if facts.get("model_availability") not in ("open_weights", "closed_weights", "unknown"):
        yield "model_availability"
    if not all(isinstance(value, str) for value in facts.values()):
        yield "additional_details of the model"
    for one in record["evaluation_results"]:
        config, data = one["metric_config"], one["source_data"]
        if "evaluation_name" not in one or not isinstance(one["score_details"]["score"], float):
            yield "evaluation_results"
        if not isinstance(config["lower_is_better"], bool) or config["score_type"] != "continuous":
            yield "metric_config"
        if not {"min_score", "max_score"} <= set(config) or not all(map(str, config["additional_details"].values())):
            yield "range"
        if "dataset_name" not in data or data["source_type"] not in ("url", "hf_dataset", "other"):
            yield "source_data"
        if data["source_type"] == "url" and not (isinstance(data["url"], list) and data["url"]):
            yield "url"


def test_a_record_has_what_the_schema_asks_for(records):
    for record in records.values():
        assert list(complaints(record)) == []
        broken = json.loads(json.dumps(record))
        del broken["retrieved_timestamp"], broken["evaluation_results"][0]["metric_config"]["min_score"]
        broken["source_metadata"]["evaluator_relationship"] = "self"
        assert list(complaints(broken)) == ["retrieved_timestamp", "evaluator_relationship", "range"]


def test_a_record_keeps_the_schema_itself(records):
    jsonschema = pytest.importorskip("jsonschema")
    package = importlib.util.find_spec("every_eval_ever")
    if package is None:
        pytest.skip("every-eval-ever, whose package has the schema, is not installed")
    path = Path(package.submodule_search_locations[0]) / "schemas" / "eval.schema.json"
    schema = json.loads(path.read_text(encoding="utf-8"))
    assert schema["version"] == every_eval_ever.SCHEMA_VERSION
    for record in records.values():
        jsonschema.validate(json.loads(json.dumps(record)), schema)
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(record | {"model_info": {}}, schema)
