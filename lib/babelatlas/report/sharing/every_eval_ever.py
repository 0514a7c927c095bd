"""The results of a run as records of Every Eval Ever, the schema that harnesses and leaderboards share.

Schema: github.com/evaleval/every_eval_ever, `eval.schema.json`, version 0.3.0 (MIT; also in the package every-eval-ever
of that version). One record, a JSON file, holds all scores of a model: which data set, metric and language, the score
with its interval, and in texts how it was obtained. `babelatlas export results` writes them.
"""

import hashlib
import json
import re
import uuid

import pandas as pd

import babelatlas
from babelatlas.analysis import leaderboard
from babelatlas.base.errors import InputError, near
from babelatlas.datasets import registry as datasets
from babelatlas.models import registry as models

SCHEMA_VERSION = "0.3.0"
RELATIONSHIPS = ("third_party", "first_party", "collaborative", "other")
DIRECTIONS = {"t2i": "text_to_image", "i2t": "image_to_text"}
KINDS = {"accuracy": "accuracy", "recall": "recall", "ndcg": "ndcg", "mean": "mean_per_class_accuracy"}


def _metric(name: str) -> dict:
    """Return what the schema says of a metric: identifier, name, family, range and direction.

    >>> _metric("t2i recall@5")["metric_id"], _metric("t2i median rank")["max_score"]
    ('text_to_image_recall_at_5', 'Infinity')
    """
    way, rest = (name[:3], name[4:]) if name[:3] in DIRECTIONS else ("", name)
    ranked = "rank" in rest
    short, _, places = rest.partition("@")
    plain = {"accuracy@1": "accuracy", "mean per class": "mean_per_class_accuracy", "median rank": "median_rank"}
    said = plain.get(rest, f"{short}_at_{places}")
    return {
        "metric_id": "_".join(filter(None, (DIRECTIONS.get(way), said))),
        "metric_name": name,
        "metric_kind": "median_rank" if ranked else KINDS[re.split("[ @]", rest)[0]],
        "metric_unit": "rank" if ranked else "proportion",
        "lower_is_better": ranked,
        "score_type": "continuous",
        "min_score": 1.0 if ranked else 0.0,
        "max_score": "Infinity" if ranked else 1.0,
        **({"metric_parameters": {"k": int(places)}} if places else {}),
    }


def _data(name: str) -> dict:
    entry = datasets.get_dataset(name) if name in {each.name for each in datasets.known()} else None
    if entry is not None and entry.url:
        return {"dataset_name": name, "source_type": "url", "url": [entry.url]}
    made = f"made by the run ({entry.made_by})" if entry is not None and entry.made_by else "the user's own"
    return {"dataset_name": name, "source_type": "other", "additional_details": {"origin": made}}


def _model(name: str, organization: str) -> dict:
    known = models.get_model(name) if (models.base_of(name) or name) in models.names() else None
    source = known.source if known is not None else None
    identity = source.repository if source else f"{re.sub('[^A-Za-z0-9.-]+', '-', organization)}/{name}"
    facts = {"deployment_type": "self_deployed", "model_availability": "open_weights" if source else "unknown"}
    if source:
        facts |= {"revision": source.revision or "newest", "licence": known.licence}
    return {
        "name": name,
        "id": identity,
        "developer": identity.partition("/")[0],
        "inference_engine": {"name": "babelatlas", "version": babelatlas.__version__},
        "additional_details": facts,
    }


def _result(row) -> dict:
    said = {column: str(getattr(row, column)) for column in leaderboard.PROTOCOL if getattr(row, column)}
    interval = {}
    if not pd.isna(row.ci_low):
        method = "bootstrap over classes or images, and binomial near 0 and 1"
        ends = {"lower": float(row.ci_low), "upper": float(row.ci_high), "confidence_level": 0.95, "method": method}
        interval = {"confidence_interval": ends}
    return {
        "evaluation_result_id": "/".join([row.dataset, row.lang, row.metric, *said.values()]),
        "evaluation_name": f"{row.dataset}.{row.lang}",
        "source_data": _data(row.dataset),
        "metric_config": _metric(row.metric) | {"additional_details": {"language": row.lang, **said}},
        "score_details": {"score": float(row.value), "uncertainty": interval | {"num_samples": int(row.n)}},
    }


def records(
    found: pd.DataFrame,
    run: str,
    organization: str,
    timestamp: int,
    relationship: str = "third_party",
) -> dict[str, dict]:
    """Return the scores of a `languages` table as records, one for each model: path in the datastore -> record.

    `run` names the run; `organization` who evaluated; `timestamp` when the table was made, in seconds since 1970;
    `relationship` of who evaluated to who made the models, one of `RELATIONSHIPS`. Names of files are UUIDs made from
    the record, so that the same results have the same name. Raises InputError for another relationship, an empty
    organization, and a table without rows.
    """
    if relationship not in RELATIONSHIPS:
        raise InputError(
            f"There is no relationship {relationship!r} to a model's makers: {near(relationship, RELATIONSHIPS)}"
        )
    if found.empty:
        raise InputError("There are no scores to write: run chapter 35, which makes them, or name another run.")
    if not organization.strip():
        raise InputError("A record says who evaluated, and no name is given: give --organization NAME.")
    written = {}
    for model, rows in found.groupby("model", sort=True):
        about = _model(model, organization)
        record = {
            "schema_version": SCHEMA_VERSION,
            "evaluation_id": f"babelatlas-{run}/{about['id']}/{timestamp}",
            "retrieved_timestamp": str(timestamp),
            "source_metadata": {
                "source_name": "Babel Atlas",
                "source_type": "evaluation_run",
                "source_organization_name": organization,
                "evaluator_relationship": relationship,
                "additional_details": {"run": run},
            },
            "eval_library": {"name": "babelatlas", "version": babelatlas.__version__},
            "model_info": about,
            "evaluation_results": [_result(row) for row in rows.itertuples()],
        }
        digest = hashlib.sha256(json.dumps(record, sort_keys=True).encode()).digest()
        name = uuid.UUID(bytes=digest[:16], version=4)
        written[f"data/babelatlas/{about['id']}/{name}.json"] = record
    return written
