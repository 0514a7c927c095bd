"""Reasoning over pairs of images, as in NLVR2 and MaRVL (Liu et al. 2021): answers to
scores, and people's labels.

A statement is true or false of each of its pairs of images. *Accuracy* is the share of
pairs that are answered correctly, *consistency* the share of statements of which all
pairs are. Answers to one statement are correlated, so that intervals resample whole
statements.

A dual encoder answers by the head of Liu et al. (2021, Eq. 1): P(C | left, right,
statement) = softmax(MLP( [h_img(left) * h_cls(left) ; h_img(right) * h_cls(right)])),
products number by number, a concatenation, and two layers with GELU between. In the
paper both vectors come from a joint encoder; here h_img is the vector of an image and
h_cls that of the statement, each brought to the length sqrt(d) so that a number of the
product is about 1.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import special

from babelatlas.base import tables
from babelatlas.models.translators import Scorer
from babelatlas.stats import bootstrap, multiple_comparisons, permutation

METRICS = ("accuracy", "consistency")
# Answers with the same values here are of one test.
TEST = ["model", "dataset", *tables.PROTOCOL, "method", "variant", "lang"]
PAIR = ["lang", "statement", "number"]
TRAINED = "translate-train"
BATCH = 64
# Share of the statements that choose the epoch, as NLVR2's validation set does in the
# paper.
HELD_OUT = 0.1


class HeadRecipe(NamedTuple):
    """How a head is trained: AdamW with a linearly falling rate, from seeded weights."""

    epochs: int = 20
    rate: float = 1e-3
    weight_decay: float = 0.01
    seed: int = 0


RECIPE = HeadRecipe()


def accuracy_and_consistency(
    answers: pd.DataFrame,
    by: Sequence[str] = TEST,
    n_resamples: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """Return accuracy and consistency: `by`, metric, value, ci_low, ci_high, n (pairs;
    of consistency statements).

    `answers`: schema `answers`, or with further columns, such as chapter. 95 %
    intervals resample statements, with the same draws for all tests of as many; a
    statement of several languages with the same name, whose pairs are the same, is
    drawn as one. A share near 0 or 1 has the interval of `proportions.share_interval`.

    >>> answers = pd.DataFrame({"lang": "sw", "statement": list("aabb"), "truth": True})
    >>> answers["answer"] = [True, True, True, False]
    >>> accuracy_and_consistency(answers, ["lang"])["value"].tolist()
    [0.75, 0.5]
    """
    by = list(by)
    correct = answers["truth"] == answers["answer"]
    keys = list(dict.fromkeys([*by, "lang", "statement"]))
    counts = (
        answers.assign(correct=correct)
        .groupby(keys, sort=False)["correct"]
        .agg(n_correct="sum", n="size", consistent="all")
        .assign(n_statements=1)
    )
    # Languages that have a statement with the same name are drawn together.
    counts = counts.groupby([*by, "statement"], sort=False).sum().reset_index()
    shares = {
        "accuracy": ("n_correct", "n"),
        "consistency": ("consistent", "n_statements"),
    }
    parts = []
    for metric in METRICS:
        part = bootstrap.accuracy_interval(
            counts, by, "statement", *shares[metric], n_resamples, seed=seed
        )
        parts.append(part.assign(metric=metric))
    columns = [*by, "metric", "value", "ci_low", "ci_high", "n"]
    return pd.concat(parts, ignore_index=True)[columns]


def compare(
    answers: pd.DataFrame,
    of: str,
    pairs: Sequence[tuple[str, str]],
    by: Sequence[str] = ("dataset", "model", "lang"),
    n_resamples: int = 2000,
    n_permutations: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """Compare the answers of two values of column `of` (variants, models) to the same
    pairs, by McNemar's test.

    Returns for each combination of `by` and each of `pairs` that both have: by, first,
    second, value (accuracy of first minus second), ci_low, ci_high (bootstrap over
    statements), only_first, only_second (pairs that it alone answers correctly), n, p
    (McNemar's exact test, as if pairs were independent), p_statements (sign flips of
    whole statements), and both Holm-adjusted over all rows (p_holm, p_statements_holm).
    One statement alone has no interval and no p_statements (NaN).
    """
    by = list(by)
    answers = answers.assign(correct=(answers["truth"] == answers["answer"]) * 1.0)
    rows = []
    for key, part in answers.groupby(by, sort=False):
        correct = part.pivot(index=PAIR, columns=of, values="correct")
        for first, second in pairs:
            if {first, second} <= set(correct):
                both = correct[[first, second]].dropna()
                if len(both):
                    gap = both[first] - both[second]
                    numbers = _paired_numbers(gap, n_resamples, n_permutations, seed)
                    rows.append([*key, first, second, *numbers])
    columns = [*by, "first", "second", "value", "ci_low", "ci_high"]
    columns += ["only_first", "only_second", "n", "p", "p_statements"]
    table = pd.DataFrame(rows, columns=columns)
    return table.assign(
        p_holm=multiple_comparisons.holm(table["p"]),
        p_statements_holm=multiple_comparisons.holm(table["p_statements"]),
    )


def _paired_numbers(
    gap: pd.Series, n_resamples: int, n_permutations: int, seed: int
) -> list[float]:
    """Return value, ci_low, ci_high, only_first, only_second, n, p and p_statements of
    differences between answers (1, 0, -1), whose index has a level statement.
    """
    from statsmodels.stats.contingency_tables import mcnemar

    # Of all languages: their pairs are the same.
    statements = gap.index.get_level_values("statement")
    gap = gap.to_numpy()
    interval = permutation.paired_mean(gap, statements, n_resamples, seed)[:3]
    p_statements = np.nan
    if len(set(statements)) > 1:
        p_statements = permutation.paired_permutation_test(
            gap, n_permutations, seed, statements
        )
    only_first, only_second = int((gap > 0).sum()), int((gap < 0).sum())
    test = mcnemar([[0, only_first], [only_second, 0]], exact=True)
    counts = [only_first, only_second, len(gap)]
    return [*interval, *counts, float(test.pvalue), p_statements]


def shown(
    training: pd.DataFrame, pairs: pd.DataFrame
) -> tuple[pd.DataFrame, list[str]]:
    """Return what is to be encoded of two tables `pairs`: texts (lang, label), and
    paths of images, each once.

    The language of a translation is what it is written in, English: models are told it.
    """
    labels = _labels(training, pairs).drop_duplicates(ignore_index=True)
    both = pd.concat([training, pairs])
    paths = pd.unique(pd.concat([both["left"], both["right"]]))
    return labels, paths.tolist()


def _labels(training: pd.DataFrame, pairs: pd.DataFrame) -> pd.DataFrame:
    """Return the statement of each row of both tables: lang, label."""
    both = pd.concat([training, pairs], ignore_index=True)
    in_english = both["variant"].str.endswith("translate-test")
    lang = both["lang"].mask(in_english, "en")
    return pd.DataFrame({"lang": lang, "label": both["text"]})


def fit_head(
    texts: np.ndarray,
    images: np.ndarray,
    rows: np.ndarray,
    truth: Sequence[bool],
    statements: Sequence[str],
    recipe: HeadRecipe = RECIPE,
):
    """Return a head trained on pairs of images, and what its training was like: epoch,
    validation, losses.

    `texts` (t, d) and `images` (i, d): vectors, of any length. `rows` (n, 3): of each
    pair the row of its text, of its left and of its right image. `truth` (n,);
    `statements` (n,): what each pair belongs to. The weights of the epoch with the best
    accuracy on the statements held out are kept. Trains on the CPU.
    """
    import torch
    from torch import nn

    rng = np.random.default_rng(recipe.seed)
    is_held_out = _held_out(np.asarray(statements).astype(str), rng)
    texts, images = _scaled(texts), _scaled(images)
    rows = torch.from_numpy(np.asarray(rows).astype(np.int64))
    truth = torch.from_numpy(np.asarray(truth, bool).astype(np.int64))
    head = _new_head(2 * texts.shape[1], recipe.seed)
    optimiser = torch.optim.AdamW(
        head.parameters(), lr=recipe.rate, weight_decay=recipe.weight_decay
    )
    train = np.flatnonzero(~is_held_out)
    per_epoch = -(-len(train) // BATCH)
    schedule = torch.optim.lr_scheduler.LinearLR(
        optimiser, 1.0, 0.05, recipe.epochs * per_epoch
    )
    held_out_inputs = _inputs(texts, images, rows[is_held_out])
    held_out_truth = truth[is_held_out]
    best_accuracy, best_epoch, best_weights, losses = -1.0, 0, {}, []
    for epoch in range(1, recipe.epochs + 1):
        for batch in np.array_split(rng.permutation(train), per_epoch):
            answers = head(_inputs(texts, images, rows[batch]))
            loss = nn.functional.cross_entropy(answers, truth[batch])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
            losses.append(loss.item())
        with torch.inference_mode():
            is_right = head(held_out_inputs).argmax(1) == held_out_truth
            accuracy = is_right.float().mean().item()
        if accuracy > best_accuracy:
            best_accuracy, best_epoch = accuracy, epoch
            best_weights = {
                name: value.clone() for name, value in head.state_dict().items()
            }
    head.load_state_dict(best_weights)
    facts = {"epoch": best_epoch, "validation": best_accuracy, "losses": losses}
    return head.eval(), facts


def _held_out(statements: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return which pairs belong to the statements that choose the epoch: (n,) of
    bool.
    """
    different = np.unique(statements)
    n_held_out = max(1, round(HELD_OUT * len(different)))
    return np.isin(statements, rng.permutation(different)[:n_held_out])


def _new_head(width: int, seed: int):
    """Return an untrained head of `width` inputs; torch's own random numbers stay as
    they are.
    """
    import torch
    from torch import nn

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Linear(width, 2))


def probabilities(
    head, texts: np.ndarray, images: np.ndarray, rows: np.ndarray
) -> np.ndarray:
    """Return for each pair of images (n,) the probability that its statement is true;
    arguments as of `fit_head`.
    """
    import torch

    texts, images = _scaled(texts), _scaled(images)
    rows = torch.from_numpy(np.asarray(rows).astype(np.int64))
    parts = []
    with torch.inference_mode():
        for part in rows.split(4096):
            answers = torch.softmax(head(_inputs(texts, images, part)), 1)
            parts.append(answers[:, 1])
    return torch.cat(parts).double().numpy()


def _scaled(vectors: np.ndarray):
    """Return vectors as a tensor of rows of the length sqrt(d)."""
    import torch

    vectors = torch.from_numpy(np.asarray(vectors, np.float32))
    return torch.nn.functional.normalize(vectors, dim=1) * vectors.shape[1] ** 0.5


def _inputs(texts, images, rows):
    """Return what the MLP of Eq. 1 is given (n, 2 d)."""
    import torch

    statement = texts[rows[:, 0]]
    return torch.cat(
        [images[rows[:, 1]] * statement, images[rows[:, 2]] * statement], 1
    )


def by_head(
    training: pd.DataFrame,
    pairs: pd.DataFrame,
    texts: np.ndarray,
    images: np.ndarray,
    recipe: HeadRecipe = RECIPE,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the answers of a dual encoder under the paper's head, and the heads that
    were trained.

    `training` and `pairs`: schema `pairs`. `texts` (t, d) and `images` (i, d): vectors
    of what `shown` returns for them. A head is trained on the English statements of
    `training` and answers all of `pairs`. Where `training` has statements translated
    into a language (variant "translate-train"), another head is trained on these and
    answers the originals in that language; its answers have the same variant. Answers:
    schema `answers`, less model, data set and protocol; heads: variant, lang, pairs,
    epoch, validation, loss.
    """
    training, pairs = training.reset_index(drop=True), pairs.reset_index(drop=True)
    rows = _vector_rows(training, pairs)
    rows_of_training, rows_of_pairs = rows[: len(training)], rows[len(training) :]
    answers, heads = [], []
    for variant, lang, is_trained, is_asked in _head_tasks(training, pairs):
        examples = training[is_trained]
        head, facts = fit_head(
            texts,
            images,
            rows_of_training[is_trained],
            examples["truth"],
            examples["statement"],
            recipe,
        )
        likely = probabilities(head, texts, images, rows_of_pairs[is_asked])
        asked = pairs[is_asked].assign(probability=likely, method="head")
        answers.append(asked.assign(variant=variant) if variant else asked)
        per_epoch = len(facts["losses"]) // recipe.epochs
        heads.append(
            {
                "variant": variant or "original",
                "lang": lang,
                "pairs": len(examples),
                "epoch": facts["epoch"],
                "validation": facts["validation"],
                "loss": float(np.mean(facts["losses"][-per_epoch:])),
            }
        )
    return _answers(answers), pd.DataFrame(heads)


def _vector_rows(training: pd.DataFrame, pairs: pd.DataFrame) -> np.ndarray:
    """Return the rows of the text, the left and the right image (rows of both tables,
    3) among what `shown` returns.
    """
    labels, paths = shown(training, pairs)
    label_index = pd.MultiIndex.from_frame(labels)
    text_rows = label_index.get_indexer(
        pd.MultiIndex.from_frame(_labels(training, pairs))
    )
    both, row_of_path = (
        pd.concat([training, pairs]),
        pd.Series(range(len(paths)), paths),
    )
    images = [row_of_path[both["left"]], row_of_path[both["right"]]]
    return np.stack([text_rows, *images], axis=1)


def _head_tasks(
    training: pd.DataFrame, pairs: pd.DataFrame
) -> list[tuple[str, str, np.ndarray, np.ndarray]]:
    """Return for each head its variant ("": that of the pairs), its language, and which
    rows of `training` it learns from and which of `pairs` it answers.
    """
    in_english = (training["variant"] == "original") & (training["lang"] == "en")
    tasks = [("", "en", in_english.to_numpy(), np.ones(len(pairs), bool))]
    translated = training["variant"] == TRAINED
    for lang in sorted(training.loc[translated, "lang"].unique()):
        is_asked = (pairs["lang"] == lang) & (pairs["variant"] == "original")
        if is_asked.any():
            is_trained = translated & (training["lang"] == lang)
            task = (TRAINED, lang, is_trained.to_numpy(), is_asked.to_numpy())
            tasks.append(task)
    return tasks


def by_likelihood(
    scorer: Scorer, pairs: pd.DataFrame, words: tuple[str, str] = ("true", "false")
) -> pd.DataFrame:
    """Return the answers of an image-text-to-text model that is asked whether a
    statement is true of two images.

    The probability is that of the first of `words` against that of the second, as the
    model's answer (its end is not counted). `pairs`: schema `pairs`; the model's
    question is that of its entry. Returns answers as `by_head` does.
    """
    images = list(zip(pairs["left"], pairs["right"], strict=True))
    answers = [word for word in words for _ in images]
    log_probabilities = scorer.score(
        images * 2, [*pairs["text"]] * 2, answers, ["en"] * len(answers)
    )
    sums = [tokens[0, :-1].sum() for tokens in log_probabilities]
    first, second = np.array(sums).reshape(2, len(images))
    likely = special.expit(first - second)
    return _answers([pairs.assign(probability=likely, method="likelihood")])


def _answers(parts: list[pd.DataFrame]) -> pd.DataFrame:
    table = pd.concat(parts, ignore_index=True)
    table["answer"] = table["probability"] > 0.5
    columns = ["method", "variant", "lang", "statement", "number"]
    return table[[*columns, "truth", "answer", "probability"]]


def annotator_agreement(
    labels: pd.DataFrame,
    n_resamples: int = 500,
    seed: int = 0,
    with_writer: bool = False,
) -> pd.DataFrame:
    """Return how people label pairs of images: metric ("accuracy", "kappa"), value,
    ci_low, ci_high, n (pairs).

    `labels`: truth (bool), n_true, n_false (how many people say so), n (how many pairs
    are alike in these). Accuracy is the mean share of people who give the right label,
    kappa that of Fleiss (1971; statsmodels), for which every pair needs as many labels.
    `with_writer`: for kappa the writer of the statement is a further person, as in
    MaRVL's Table 1. Intervals resample pairs.
    """
    from statsmodels.stats.inter_rater import fleiss_kappa

    votes, n = labels[["n_true", "n_false"]].to_numpy(int), labels["n"].to_numpy(int)
    truth = labels["truth"].to_numpy(bool)
    right = np.where(truth, votes[:, 0], votes[:, 1]) / votes.sum(axis=1)
    if with_writer:
        votes = votes + np.stack([truth, ~truth], axis=1)
    n_pairs = int(n.sum())
    rng = np.random.default_rng(seed)
    resamples = rng.multinomial(n_pairs, n / n_pairs, size=n_resamples)
    # Each is a function of how often every kind of pair was drawn.
    statistics = {
        "accuracy": lambda counts: counts @ right / counts.sum(),
        "kappa": lambda counts: fleiss_kappa(np.repeat(votes, counts, axis=0)),
    }
    rows = []
    for metric, statistic in statistics.items():
        resampled = np.array([statistic(counts) for counts in resamples])
        low, high = bootstrap.percentile_interval(resampled, 0.95, n_pairs)
        numbers = (float(statistic(n)), float(low), float(high))
        rows.append((metric, *numbers, n_pairs))
    return pd.DataFrame(rows, columns=["metric", "value", "ci_low", "ci_high", "n"])
