"""Compare what two harnesses report for the same weights, and reproduce on text alone why some of them differ.

A harness chooses captions, prompts and tokenizers, so that its number is of the model and of its choices. `paired` puts
the numbers of two harnesses side by side; the others say which differences exceed sampling error, whether models rank
alike in a language, and how much of the differences goes by language.

`pieces` and `unknown_letters` reproduce one such choice: a sentencepiece vocabulary with byte fallback spells a letter
that it lacks in bytes, while the same vocabulary in the library `tokenizers` without byte fallback replaces a run of
such letters by one unknown piece, whatever the letters are (Kudo & Richardson 2018; transformers' `SpmConverter`).
"""

import unicodedata
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from scipy import stats as scipy_stats

from babelatlas.analysis import ranking
from babelatlas.base.errors import InputError
from babelatlas.stats import bootstrap, checks, tests

CASE = ["model", "dataset", "lang", "variant", "direction", "metric"]
UNKNOWN = "<unk>"
WORD_START = "▁"


def paired(table: pd.DataFrame, first: str, second: str) -> pd.DataFrame:
    """Return what two harnesses report for the same weights: one row for each case that both have.

    `table`: released results of one run for each model and harness (`released.one_run`). Columns: those of `CASE`,
    value_first, value_second (fractions), n_first, n_second, and value, the first minus the second. Raises InputError
    where they share no case, or one harness has a case twice.
    """
    sides = [table[table["harness"] == name].set_index(CASE)[["value", "n"]] for name in (first, second)]
    for name, side in zip((first, second), sides, strict=True):
        if side.index.duplicated().any():
            model = side.index[side.index.duplicated()][0][0]
            raise InputError(f"{name} has a case of {model} twice: keep one run of each model (`released.one_run`).")
    both = sides[0].add_suffix("_first").join(sides[1].add_suffix("_second"), how="inner").reset_index()
    if both.empty:
        known = ", ".join(sorted(table["harness"].unique())) or "none"
        raise InputError(f"{first} and {second} have no case in common; the harnesses of the table are {known}.")
    return both.assign(value=both["value_first"] - both["value_second"])


def sampling_error(pairs: pd.DataFrame) -> pd.DataFrame:
    """Return pairs of `paired` with what sampling error explains of each difference.

    Added columns: ci_low, ci_high (Newcombe's interval of a difference of two shares, 1998, method 10), p (Fisher's
    exact test, twice the smaller tail), p_holm (Holm's correction over all rows that have p); NaN where the number of
    queries is not known (n = 0). They take the two sets of queries for independent. Where one contains the other, as
    all captions contain the first ones, intervals are too wide and p too large: with two captions an image the variance
    of the difference is at most a third of that assumed.
    """
    checks.check_numbers(pairs, ["value_first", "value_second", "n_first", "n_second"], "A difference of harnesses")
    known = pairs[(pairs["n_first"] > 0) & (pairs["n_second"] > 0)]
    found = pd.DataFrame(np.nan, index=pairs.index, columns=["ci_low", "ci_high", "p", "p_holm"])
    if len(known):
        one, other = known["value_first"].to_numpy(), known["value_second"].to_numpy()
        ends = [bootstrap.wilson(known[f"value_{side}"], known[f"n_{side}"]) for side in ("first", "second")]
        (low, high), (low_other, high_other) = ends
        found.loc[known.index, "ci_low"] = one - other - np.hypot(one - low, high_other - other)
        found.loc[known.index, "ci_high"] = one - other + np.hypot(high - one, other - low_other)
        n = known[["n_first", "n_second"]].to_numpy(int)
        right = np.rint(known[["value_first", "value_second"]].to_numpy() * n).astype(int)
        exact = scipy_stats.hypergeom(n.sum(axis=1), right.sum(axis=1), n[:, 0])
        tails = [exact.cdf(right[:, 0]), exact.sf(right[:, 0] - 1)]
        found.loc[known.index, "p"] = np.clip(2 * np.minimum(*tails), 0, 1)
        found.loc[known.index, "p_holm"] = tests.holm(found.loc[known.index, "p"])
    return pairs.assign(**found)


def by_model(pairs: pd.DataFrame, families: Mapping[str, str], n_resamples: int = 2000, seed: int = 0) -> pd.DataFrame:
    """Return each model's mean difference over languages, tested by language and by family of languages.

    `pairs`: one dataset, direction and metric of `paired`. Columns: model, value, ci_low, ci_high (bootstrap over
    families), size (mean absolute difference), p_lang, p_family (sign-flip tests, not yet corrected for their number),
    n (languages), n_clusters. Raises InputError for two rows of one model and language, or models that do not share
    their languages.
    """
    wide = ranking.by_language(pairs)
    if len(wide) * wide.shape[1] != len(pairs):
        raise InputError("The models must share their languages: compare them dataset by dataset, pair by pair.")
    kin = pd.Series(wide.index, index=wide.index).map(families)
    parts = [bootstrap.mean_interval(wide[model], kin, n_resamples, seed=seed).assign(model=model) for model in wide]
    member = ranking.members(wide.index, families)
    p = [ranking.sign_flip_test(wide.to_numpy(), seed=seed, member=each) for each in (None, member)]
    table = pd.concat(parts, ignore_index=True).assign(size=wide.abs().mean().to_numpy(), p_lang=p[0], p_family=p[1])
    return table[["model", "value", "ci_low", "ci_high", "size", "p_lang", "p_family", "n", "n_clusters"]]


def rank_agreement(pairs: pd.DataFrame, n_draws: int = 200, seed: int = 0) -> pd.DataFrame:
    """Return, for each language, whether two harnesses rank the models alike: lang, tau, expected, models.

    tau: Kendall's tau-b of the models' values. expected: its mean where only sampling error differs, both values being
    drawn from the binomial distributions of their pooled share, independently; real queries overlap, which would make
    it higher. Raises InputError for fewer than two models, or an unknown number of queries.
    """
    sides = [ranking.by_language(pairs, name) for name in ("value_first", "value_second", "n_first", "n_second")]
    one, other, n_one, n_other = (side.to_numpy() for side in sides)
    if one.shape[1] < 2 or (np.minimum(n_one, n_other) < 1).any():
        raise InputError(f"Ranks need two models, got {one.shape[1]}, and the number of queries of every value.")
    share = (one * n_one + other * n_other) / (n_one + n_other)
    checks.check_draws(n_draws, seed, "draws")
    rng, size = np.random.default_rng([seed, *one.shape]), (n_draws, *one.shape)
    drawn = [rng.binomial(n.astype(int), share, size=size) / n for n in (n_one, n_other)]
    expected = np.nanmean(ranking.kendall(*drawn), axis=0)
    columns = {"tau": ranking.kendall(one, other), "expected": expected, "models": one.shape[1]}
    return pd.DataFrame({"lang": sides[0].index, **columns})


def shares_of_variance(pairs: pd.DataFrame) -> pd.Series:
    """Return how the differences of `paired` split between languages and models: language, model, rest (sum 1).

    Two-way analysis of variance without interaction, every model in every language; the mean is taken off. Raises
    InputError where all differences are equal.

    >>> rows = pd.DataFrame({"model": list("aabb"), "lang": ["de", "si"] * 2, "value": [0.1, 0.3, 0.1, 0.3]})
    >>> shares_of_variance(rows).round(2).to_dict()
    {'language': 1.0, 'model': 0.0, 'rest': 0.0}
    """
    values = ranking.by_language(pairs).to_numpy()
    mean = values.mean()
    total = ((values - mean) ** 2).mean()
    if np.ptp(values) < 1e-12:
        raise InputError("The differences are all equal: there is no variance to share out.")
    parts = [((values.mean(axis=axis) - mean) ** 2).mean() / total for axis in (1, 0)]
    return pd.Series([*parts, 1 - sum(parts)], index=["language", "model", "rest"])


def pieces(texts: Sequence[str], letters: str, byte_fallback: bool) -> list[tuple[str, ...]]:
    """Return each text in the pieces of a vocabulary of single `letters`, with or without byte fallback.

    Texts are lower-cased and composed (NFKC) before. Pieces are those of `tokenizers`' Unigram model, the kind of
    SigLIP's; its longer pieces would split the known letters otherwise, and the unknown ones in the same way.

    >>> pieces(["Żaba", "жаба"], "ab", False)
    [('▁', '<unk>', 'a', 'b', 'a'), ('▁', '<unk>')]
    >>> pieces(["Ż"], "ab", True)
    [('▁', '<0xC5>', '<0xBC>')]
    """
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    known = [UNKNOWN, *(f"<0x{byte:02X}>" for byte in range(256)), *dict.fromkeys(WORD_START + letters)]
    model = models.Unigram([(piece, -1.0) for piece in known], unk_id=0, byte_fallback=byte_fallback)
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    encoded = tokenizer.encode_batch(list(texts), add_special_tokens=False)
    return [tuple(known[number] for number in each.ids) for each in encoded]


def unknown_letters(labels: pd.DataFrame, letters: str) -> pd.DataFrame:
    """Return, for each language, what a vocabulary of these letters without byte fallback loses of its words.

    `labels`: lang, label. Columns: lang, words (share of words with an unknown letter), letters (share of letters that
    are unknown), merged (share of labels whose pieces are those of another label too, and that the model so cannot tell
    from it), n (labels). Letters are letters and marks of Unicode; digits and punctuation are not counted.

    >>> table = pd.DataFrame({"lang": "pl", "label": ["żaba", "baba żab", "żab"]})
    >>> unknown_letters(table, "ab").round(2).to_numpy().tolist()
    [['pl', 0.75, 0.21, 0.0, 3]]
    """
    checks.check_numbers(labels, [], "Unknown letters", ["lang", "label"])
    rows = []
    for lang, part in labels.groupby("lang"):
        texts = [unicodedata.normalize("NFKC", text).lower() for text in part["label"]]
        spelt = [[c for c in word if unicodedata.category(c)[0] in "LM"] for text in texts for word in text.split()]
        lost = [sum(letter not in letters for letter in word) for word in spelt if word]
        total = sum(map(len, spelt))
        same = pd.Series(pieces(texts, letters + "0123456789", False)).duplicated(keep=False)
        twice = pd.Series(texts).duplicated(keep=False)
        rows.append([lang, np.mean(np.array(lost) > 0), sum(lost) / total, np.mean(same & ~twice), len(part)])
    return pd.DataFrame(rows, columns=["lang", "words", "letters", "merged", "n"])


def identical_runs(table: pd.DataFrame) -> pd.DataFrame:
    """Return the checkpoints of each harness whose results are equal, every one: harness, checkpoints (a list), n.

    `table`: released results; n: the results of each of them. Checkpoints with one result are left out.
    """
    cases = table.groupby(CASE[1:]).ngroup().rename("case")
    order = table[["harness", "checkpoint", "value"]].join(cases).sort_values("case")
    runs = order.groupby(["harness", "checkpoint"]).agg(tuple).reset_index()
    alike = runs.groupby(["harness", "case", "value"])["checkpoint"].agg(list).reset_index(name="checkpoints")
    alike = alike.assign(n=alike["case"].map(len))[(alike["case"].map(len) > 1) & (alike["checkpoints"].map(len) > 1)]
    return alike[["harness", "checkpoints", "n"]].reset_index(drop=True)
