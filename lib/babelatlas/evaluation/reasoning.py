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
# share of the statements that choose the epoch, as NLVR2's validation set does in the
# paper
HELD_OUT = 0.1


def scores(
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

    >>> answers = pd.DataFrame({"lang": "sw", "statement": list("aabb"), "truth": True, "answer": [True] * 3 + [False]})
    >>> scores(answers, ["lang"])["value"].tolist()
    [0.75, 0.5]
    """
    by, rows = list(by), answers.assign(correct=answers["truth"] == answers["answer"])
    keys = list(dict.fromkeys([*by, "lang", "statement"]))
    counts = rows.groupby(keys, sort=False)["correct"].agg(
        n_correct="sum", n="size", consistent="all"
    )
    counts = (
        counts.assign(one=1).groupby([*by, "statement"], sort=False).sum().reset_index()
    )
    shares = {"accuracy": ("n_correct", "n"), "consistency": ("consistent", "one")}
    parts = [
        bootstrap.accuracy_interval(
            counts, by, "statement", *shares[metric], n_resamples, seed=seed
        ).assign(metric=metric)
        for metric in METRICS
    ]
    return pd.concat(parts, ignore_index=True)[
        [*by, "metric", "value", "ci_low", "ci_high", "n"]
    ]


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
    from statsmodels.stats.contingency_tables import mcnemar

    by, rows = list(by), []
    for key, part in answers.assign(
        correct=(answers["truth"] == answers["answer"]) * 1.0
    ).groupby(by, sort=False):
        wide = part.pivot(index=PAIR, columns=of, values="correct")
        for first, second in [pair for pair in pairs if set(pair) <= set(wide)]:
            both = wide[[first, second]].dropna()
            if both.empty:
                continue
            statements = both.index.get_level_values(
                "statement"
            )  # of all languages: their pairs are the same
            gap = (both[first] - both[second]).to_numpy()
            interval, flips = (
                permutation.paired_mean(gap, statements, n_resamples, seed)[:3],
                np.nan,
            )
            if len(set(statements)) > 1:
                flips = permutation.paired_permutation_test(
                    gap, n_permutations, seed, statements
                )
            alone = [int((gap > 0).sum()), int((gap < 0).sum())]
            p = float(mcnemar([[0, alone[0]], [alone[1], 0]], exact=True).pvalue)
            rows.append([*key, first, second, *interval, *alone, len(gap), p, flips])
    columns = [
        *by,
        "first",
        "second",
        "value",
        "ci_low",
        "ci_high",
        "only_first",
        "only_second",
        "n",
    ]
    table = pd.DataFrame(rows, columns=[*columns, "p", "p_statements"])
    return table.assign(
        p_holm=multiple_comparisons.holm(table["p"]),
        p_statements_holm=multiple_comparisons.holm(table["p_statements"]),
    )


def shown(
    training: pd.DataFrame, pairs: pd.DataFrame
) -> tuple[pd.DataFrame, list[str]]:
    """Return what is to be encoded of two tables `pairs`: texts (lang, label), and
    paths of images, each once.

    The language of a translation is what it is written in, English: models are told it.
    """
    words, both = _words(training, pairs), pd.concat([training, pairs])
    return (
        words.drop_duplicates(ignore_index=True),
        pd.unique(pd.concat([both["left"], both["right"]])).tolist(),
    )


def _words(training: pd.DataFrame, pairs: pd.DataFrame) -> pd.DataFrame:
    both = pd.concat([training, pairs], ignore_index=True)
    english = both["variant"].str.endswith("translate-test")
    return pd.DataFrame(
        {"lang": both["lang"].mask(english, "en"), "label": both["text"]}
    )


def fit_head(
    texts: np.ndarray,
    images: np.ndarray,
    rows: np.ndarray,
    truth: Sequence[bool],
    statements: Sequence[str],
    epochs: int = 20,
    rate: float = 1e-3,
    weight_decay: float = 0.01,
    seed: int = 0,
):
    """Return a head trained on pairs of images, and what its training was like: epoch,
    validation, losses.

    `texts` (t, d) and `images` (i, d): vectors, of any length. `rows` (n, 3): of each
    pair the row of its text, of its left and of its right image. `truth` (n,);
    `statements` (n,): what each pair belongs to. The weights of the epoch with the best
    accuracy on the statements held out are kept. AdamW with a linearly falling rate, on
    the CPU.
    """
    import torch
    from torch import nn

    rows, truth, names = (
        np.asarray(rows),
        np.asarray(truth, bool),
        np.asarray(statements).astype(str),
    )
    different = np.unique(names)
    rng = np.random.default_rng(seed)
    held = rng.permutation(different)[: max(1, round(HELD_OUT * len(different)))]
    test = np.isin(names, held)
    texts, images, rows = (
        _scaled(texts),
        _scaled(images),
        torch.from_numpy(rows.astype(np.int64)),
    )
    truth = torch.from_numpy(truth.astype(np.int64))
    width = 2 * texts.shape[1]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        head = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Linear(width, 2))
    optimiser = torch.optim.AdamW(head.parameters(), lr=rate, weight_decay=weight_decay)
    train, inputs_of_test = np.flatnonzero(~test), _inputs(texts, images, rows[test])
    per_epoch = -(-len(train) // BATCH)
    schedule = torch.optim.lr_scheduler.LinearLR(
        optimiser, 1.0, 0.05, epochs * per_epoch
    )
    best, kept, losses = (-1.0, 0), {}, []
    for epoch in range(epochs):
        for batch in np.array_split(rng.permutation(train), per_epoch):
            loss = nn.functional.cross_entropy(
                head(_inputs(texts, images, rows[batch])), truth[batch]
            )
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
            losses.append(loss.item())
        with torch.inference_mode():
            accuracy = (
                (head(inputs_of_test).argmax(1) == truth[test]).float().mean().item()
            )
        if accuracy > best[0]:
            best, kept = (
                (accuracy, epoch + 1),
                {name: value.clone() for name, value in head.state_dict().items()},
            )
    head.load_state_dict(kept)
    return head.eval(), {"epoch": best[1], "validation": best[0], "losses": losses}


def probabilities(
    head, texts: np.ndarray, images: np.ndarray, rows: np.ndarray
) -> np.ndarray:
    """Return for each pair of images (n,) the probability that its statement is true;
    arguments as of `fit_head`.
    """
    import torch

    texts, images, parts = _scaled(texts), _scaled(images), []
    with torch.inference_mode():
        for part in torch.from_numpy(np.asarray(rows).astype(np.int64)).split(4096):
            parts.append(torch.softmax(head(_inputs(texts, images, part)), 1)[:, 1])
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
    **recipe,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the answers of a dual encoder under the paper's head, and the heads that
    were trained.

    `training` and `pairs`: schema `pairs`. `texts` (t, d) and `images` (i, d): vectors
    of what `shown` returns for them. A head is trained on the English statements of
    `training` and answers all of `pairs`. Where `training` has statements translated
    into a language (variant "translate-train"), another head is trained on these and
    answers the originals in that language; its answers have the same variant. `recipe`:
    further arguments of `fit_head`. Answers: schema `answers`, less model, data set and
    protocol; heads: variant, lang, pairs, epoch, validation, loss.
    """
    training, pairs = training.reset_index(drop=True), pairs.reset_index(drop=True)
    words, (once, paths) = _words(training, pairs), shown(training, pairs)
    both, row_of = pd.concat([training, pairs]), pd.Series(range(len(paths)), paths)
    of_text = pd.MultiIndex.from_frame(once).get_indexer(
        pd.MultiIndex.from_frame(words)
    )
    rows = np.stack([of_text, row_of[both["left"]], row_of[both["right"]]], axis=1)
    of_training, of_pairs = rows[: len(training)], rows[len(training) :]
    original = (training["variant"] == "original") & (training["lang"] == "en")
    runs = [
        ("", "en", original, np.ones(len(pairs), bool))
    ]  # variant, language, what it trains on and answers
    for lang in sorted(training.loc[training["variant"] == TRAINED, "lang"].unique()):
        own = (pairs["lang"] == lang) & (pairs["variant"] == "original")
        runs += [
            (
                TRAINED,
                lang,
                (training["variant"] == TRAINED) & (training["lang"] == lang),
                own,
            )
        ] * bool(own.any())
    answers, heads = [], []
    for variant, lang, trained, own in runs:
        part = training[trained]
        head, facts = fit_head(
            texts,
            images,
            of_training[trained],
            part["truth"],
            part["statement"],
            **recipe,
        )
        likely = probabilities(head, texts, images, of_pairs[own])
        part_answers = pairs[own].assign(probability=likely, method="head")
        answers.append(part_answers.assign(variant=variant or part_answers["variant"]))
        per_epoch = len(facts["losses"]) // recipe.get("epochs", 20)
        last = float(np.mean(facts["losses"][-per_epoch:]))
        heads.append(
            (
                variant or "original",
                lang,
                len(part),
                facts["epoch"],
                facts["validation"],
                last,
            )
        )
    return _answers(answers), pd.DataFrame(
        heads, columns=["variant", "lang", "pairs", "epoch", "validation", "loss"]
    )


def by_likelihood(
    scorer: Scorer, pairs: pd.DataFrame, words: tuple[str, str] = ("true", "false")
) -> pd.DataFrame:
    """Return the answers of an image-text-to-text model that is asked whether a
    statement is true of two images.

    The probability is that of the first of `words` against that of the second, as the
    model's answer (its end is not counted). `pairs`: schema `pairs`; the model's
    question is that of its entry. Returns answers as `by_head` does.
    """
    shown = list(zip(pairs["left"], pairs["right"], strict=True))
    answers = [word for word in words for _ in shown]
    scored = scorer.score(
        shown * 2, [*pairs["text"]] * 2, answers, ["en"] * len(answers)
    )
    sums = np.array([one[0, :-1].sum() for one in scored]).reshape(2, len(shown))
    likely = special.expit(sums[0] - sums[1])
    return _answers([pairs.assign(probability=likely, method="likelihood")])


def _answers(parts: list[pd.DataFrame]) -> pd.DataFrame:
    table = pd.concat(parts, ignore_index=True)
    table = table.assign(answer=table["probability"] > 0.5)
    return table[
        [
            "method",
            "variant",
            "lang",
            "statement",
            "number",
            "truth",
            "answer",
            "probability",
        ]
    ]


def agreement(
    labels: pd.DataFrame, n_resamples: int = 500, seed: int = 0
) -> pd.DataFrame:
    """Return how people label pairs of images: metric ("accuracy", "kappa"), value,
    ci_low, ci_high, n (pairs).

    `labels`: truth (bool), n_true, n_false (how many people say so), n (how many pairs
    are alike in these). Accuracy is the mean share of people who give the right label,
    kappa that of Fleiss (1971; statsmodels), for which every pair needs as many labels.
    Intervals resample pairs.
    """
    from statsmodels.stats.inter_rater import fleiss_kappa

    votes, n = labels[["n_true", "n_false"]].to_numpy(int), labels["n"].to_numpy(int)
    right = np.where(labels["truth"], votes[:, 0], votes[:, 1]) / votes.sum(axis=1)
    drawn = np.random.default_rng(seed).multinomial(
        n.sum(), n / n.sum(), size=n_resamples
    )
    statistics = {
        "accuracy": lambda each: each @ right / each.sum(),
        "kappa": lambda each: fleiss_kappa(np.repeat(votes, each, axis=0)),
    }
    rows = []
    for metric, statistic in statistics.items():
        low, high = bootstrap.percentile_interval(
            np.array([statistic(each) for each in drawn]), 0.95, int(n.sum())
        )
        rows.append(
            (metric, float(statistic(n)), float(low), float(high), int(n.sum()))
        )
    return pd.DataFrame(rows, columns=["metric", "value", "ci_low", "ci_high", "n"])
