"""Agreement of harnesses: by hand, against scipy, statsmodels and slow transcriptions, and on the released results."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy import stats as scipy_stats

from babelatlas.analysis.released import harness_agreement as agreement
from babelatlas.base import languages, released
from babelatlas.base.errors import InputError

A_TO_Z = "abcdefghijklmnopqrstuvwxyz"


def results(values, n=(100, 200)):
    """Results of models a, b ... (rows) in languages (columns) under the harnesses one and other."""
    rows = [
        (harness, "abc"[m], ["de", "ru", "tr", "fi"][lang], float(side[m][lang]), size)
        for harness, side, size in zip(("one", "other"), values, n, strict=True)
        for m, lang in np.ndindex(np.shape(side))
    ]
    table = pd.DataFrame(rows, columns=["harness", "model", "lang", "value", "n"])
    table["checkpoint"] = table["model"]
    return table.assign(dataset="xm3600", variant="", direction="t2i", metric="recall@1")


@pytest.fixture
def pairs():
    one = [[0.5, 0.3, 0.1, 0.2], [0.4, 0.2, 0.3, 0.6], [0.9, 0.8, 0.7, 0.5]]
    other = [[0.45, 0.1, 0.1, 0.2], [0.4, 0.25, 0.2, 0.4], [0.8, 0.7, 0.75, 0.55]]
    return agreement.paired(results([one, other]), "one", "other")


@pytest.fixture(scope="module")
def real():
    table = released.one_run(released.read(dataset="xm3600", metric="recall@1", direction="t2i"))
    return agreement.paired(table, "mteb", "clip_benchmark")


# --- pairs -----------------------------------------------------------------------------------------


def test_only_cases_that_both_harnesses_have_are_paired():
    table = results([[[0.5, 0.3]], [[0.4, 0.1]]])
    table = table[~((table["harness"] == "other") & (table["lang"] == "ru"))]
    found = agreement.paired(table, "one", "other")
    assert found[["model", "lang", "n_first", "n_second"]].to_numpy().tolist() == [["a", "de", 100, 200]]
    assert found["value"].tolist() == pytest.approx([0.1])


def test_harnesses_without_a_common_case_and_a_case_given_twice_are_named():
    table = results([[[0.5, 0.3]], [[0.4, 0.1]]])
    with pytest.raises(InputError, match="no case in common; the harnesses of the table are one, other"):
        agreement.paired(table, "one", "iglue")
    with pytest.raises(InputError, match="one has a case of a twice"):
        agreement.paired(pd.concat([table, table]), "one", "other")


def test_the_released_english_siglips_differ_and_the_others_do_not(real):
    english = real["model"].str.startswith("siglip-")
    assert real["model"].nunique() == 23
    assert real.loc[english, "value"].mean() == pytest.approx(0.0863, abs=1e-3)
    assert real.loc[~english, "value"].abs().median() < 0.005
    russian = real.query("model == 'siglip-b16-224' and lang == 'ru'").iloc[0]
    assert russian[["value_first", "value_second"]].round(2).tolist() == [0.47, 0.09]


# --- sampling error --------------------------------------------------------------------------------


def test_p_is_twice_the_smaller_tail_of_fishers_test(pairs):
    found = agreement.sampling_error(pairs)
    for row in found.itertuples():
        counts = [[round(v * n), n - round(v * n)] for v, n in ((row.value_first, 100), (row.value_second, 200))]
        tails = [scipy_stats.fisher_exact(counts, side).pvalue for side in ("less", "greater")]
        assert row.p == pytest.approx(min(1, 2 * min(tails)))
    assert (found["p_holm"] >= found["p"]).all()


def test_intervals_are_newcombes():
    proportion = pytest.importorskip("statsmodels.stats.proportion")
    found = agreement.sampling_error(agreement.paired(results([[[0.5]], [[0.3]]]), "one", "other")).iloc[0]
    low, high = proportion.confint_proportions_2indep(50, 100, 60, 200, method="newcomb")
    assert (found["ci_low"], found["ci_high"]) == pytest.approx((low, high))


def test_an_unknown_number_of_queries_gives_no_test():
    table = results([[[0.5, 0.3]], [[0.4, 0.1]]])
    table.loc[(table["lang"] == "ru") & (table["harness"] == "one"), "n"] = 0
    found = agreement.sampling_error(agreement.paired(table, "one", "other")).set_index("lang")
    assert found.loc["ru", ["ci_low", "ci_high", "p", "p_holm"]].isna().all()
    assert found.loc["de", "p_holm"] == found.loc["de", "p"]


def test_two_captions_an_image_have_at_most_a_third_of_the_variance_assumed():
    rng = np.random.default_rng(0)
    first, second = rng.random((2, 4000, 300)) < 0.4  # draws, images
    gap = (first.mean(axis=1) + second.mean(axis=1)) / 2 - first.mean(axis=1)
    assumed = 0.24 / 300 + 0.24 / 600
    assert gap.var() / assumed == pytest.approx(1 / 3, rel=0.1)


# --- models and languages --------------------------------------------------------------------------


def test_means_by_model_and_their_tests_are_by_language_and_family(pairs):
    family = {"de": "x", "ru": "x", "tr": "y", "fi": "z"}
    found = agreement.by_model(pairs, family, n_resamples=50).set_index("model")
    for model, part in pairs.groupby("model"):
        gaps = part.set_index("lang")["value"]
        sums = [gaps["de"] + gaps["ru"], gaps["tr"], gaps["fi"]]
        for column, each in (("p_lang", gaps.to_numpy()), ("p_family", np.array(sums))):
            signs = np.array(np.meshgrid(*[[1, -1]] * len(each))).reshape(len(each), -1)
            flipped = np.abs(each @ signs)
            assert found.loc[model, column] == pytest.approx((flipped >= abs(each.sum()) - 1e-9).mean())
        assert found.loc[model, "value"] == pytest.approx(gaps.mean())
        assert found.loc[model, "size"] == pytest.approx(gaps.abs().mean())
    assert (found[["n", "n_clusters"]] == [4, 3]).all(axis=None)


def test_models_that_do_not_share_their_languages_are_refused(pairs):
    with pytest.raises(InputError, match="must share their languages"):
        agreement.by_model(pairs.iloc[1:], dict.fromkeys(["de", "ru", "tr", "fi"], "x"))


def test_ranks_within_a_language_are_compared_by_kendalls_tau(pairs):
    found = agreement.rank_agreement(pairs, n_draws=5).set_index("lang")
    for lang, part in pairs.groupby("lang"):
        tau = scipy_stats.kendalltau(part["value_first"], part["value_second"]).statistic
        assert found.loc[lang, "tau"] == pytest.approx(tau)
    assert (found["models"] == 3).all()


def test_with_many_queries_sampling_error_leaves_clear_ranks_alone_and_equal_models_without_order():
    clear = agreement.paired(results([[[0.1], [0.5], [0.9]]] * 2, (1000, 1000)), "one", "other")
    assert agreement.rank_agreement(clear)["expected"].item() == pytest.approx(1)
    equal = agreement.paired(results([[[0.5], [0.5], [0.5]]] * 2, (1000, 1000)), "one", "other")
    assert abs(agreement.rank_agreement(equal, n_draws=1000)["expected"].item()) < 0.1
    with pytest.raises(InputError, match="Ranks need two models"):
        agreement.rank_agreement(clear.iloc[:1])


def test_variance_shares_are_those_of_a_two_way_analysis(pairs):
    found = agreement.shares_of_variance(pairs)
    gap = pairs["value"]
    total = ((gap - gap.mean()) ** 2).sum()
    for name, column in (("language", "lang"), ("model", "model")):
        means = gap.groupby(pairs[column]).transform("mean")
        assert found[name] == pytest.approx(((means - gap.mean()) ** 2).sum() / total)
    assert found.sum() == pytest.approx(1)
    with pytest.raises(InputError, match="all equal"):
        agreement.shares_of_variance(pairs.assign(value=0.1))


# --- letters ---------------------------------------------------------------------------------------


def test_bytes_keep_what_an_unknown_piece_loses():
    texts = ["собака", "кошка", "dąb", "dób", "dab"]
    assert len(set(agreement.pieces(texts, A_TO_Z, byte_fallback=True))) == 5
    bare = agreement.pieces(texts, A_TO_Z, byte_fallback=False)
    assert bare[0] == bare[1] == ("▁", "<unk>")
    assert bare[2] == bare[3] == ("▁", "d", "<unk>", "b")
    spelt = agreement.pieces(["ж"], A_TO_Z, byte_fallback=True)[0]
    assert bytes(int(piece[3:5], 16) for piece in spelt[1:]).decode() == "ж"


def test_sentencepiece_itself_spells_in_bytes_what_its_pieces_without_fallback_lose(tmp_path):
    sentencepiece = pytest.importorskip("sentencepiece")
    tokenizers = pytest.importorskip("tokenizers")
    (tmp_path / "text").write_text("\n".join(map("".join, combinations("abcdefg", 3))) * 20)
    options = {"vocab_size": 280, "byte_fallback": True, "hard_vocab_limit": False, "minloglevel": 3}
    path = str(tmp_path / "model")
    sentencepiece.SentencePieceTrainer.train(input=str(tmp_path / "text"), model_prefix=path, **options)
    model = sentencepiece.SentencePieceProcessor(model_file=path + ".model")
    assert model.encode("ж", out_type=str)[-2:] == ["<0xD0>", "<0xB6>"]
    known = [(model.id_to_piece(each), model.get_score(each)) for each in range(model.get_piece_size())]
    converted = tokenizers.Tokenizer(tokenizers.models.Unigram(known, model.unk_id()))
    assert converted.encode("▁abcжж").ids[-1] == model.unk_id()


def test_unknown_letters_are_counted_by_word_and_by_letter():
    table = pd.DataFrame({"lang": ["de", "de", "ru", "ru"], "label": ["rote Füße", "Igel 2", "кот", "пёс"]})
    found = agreement.unknown_letters(table, A_TO_Z).set_index("lang")
    assert found.loc["de", ["words", "letters", "merged"]].tolist() == pytest.approx([1 / 3, 2 / 12, 0])
    assert found.loc["ru", ["words", "letters", "merged"]].tolist() == [1, 1, 1]


def test_labels_that_were_alike_before_are_not_counted_as_merged():
    table = pd.DataFrame({"lang": "de", "label": ["Maus", "Maus", "Igel"]})
    assert agreement.unknown_letters(table, A_TO_Z)["merged"].item() == 0


# --- identical runs --------------------------------------------------------------------------------


def test_checkpoints_are_identical_only_if_every_result_is():
    table = results([[[0.5, 0.3], [0.5, 0.3], [0.5, 0.2]], [[0.5, 0.3], [0.4, 0.3], [0.5, 0.2]]])
    found = agreement.identical_runs(table)
    assert found.to_numpy().tolist() == [["one", ["a", "b"], 2]]


def test_the_released_commonpool_s_by_images_equals_datacomp_s():
    found = agreement.identical_runs(released.read(harness="clip_benchmark"))["checkpoints"].map(set).tolist()
    assert {"ViT-B-32, commonpool_s_image_s13m_b4k", "ViT-B-32, datacomp_s_s13m_b4k"} in found


def test_the_languages_of_the_comparison_have_families(real):
    assert len(set(languages.families(real["lang"].unique()).values())) == 13
