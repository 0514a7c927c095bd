"""Adapters inside text towers: sizes, values, what is saved and what is refused."""

import pytest
import torch
from torch import nn
from transformers import (
    CLIPTextConfig,
    CLIPTextModel,
    XLMRobertaConfig,
    XLMRobertaModel,
)

from babelatlas.base.errors import InputError
from babelatlas.models.training import adapters

SIZES = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
}
SIZES |= {"vocab_size": 11, "max_position_embeddings": 12, "pad_token_id": 1}
# First six numbers of the first token of two texts, and last four of the first text's
# last token, of a tower with the weights of `fill` and adapters of a quarter of the
# width with those of `fill_adapters`: what adapters 1.3.0 with transformers 4.57.6 and
# torch 2.15.0 returned, in an environment of their own, after `adapters.init(model)`,
# `model.add_adapter("x", config=SeqBnConfig(reduction_factor=4))` and
# `model.set_active_adapters("x")`.
POST_NORM = [
    [1.206655, 0.544711, -1.527452, 0.632488, -0.590936, -0.375125],
    [0.892804, 0.807199, -1.764677, 0.742778, -0.564611, -0.528868],
]
POST_NORM_LAST = [-0.783846, 0.29522, 0.204608, -1.488328]
# The same for CLIP's text tower: the first six numbers of the last token, and the last
# four of the second.
PRE_NORM = [-1.368236, 0.718201, 0.045354, -1.607943, 1.264612, -0.849466]
PRE_NORM_LAST = [0.227387, -0.382897, -0.645566, 1.206214]
IDS = torch.tensor([[0, 5, 6, 2], [0, 7, 2, 1]])


def wave(size, step, shift):
    return torch.sin(
        torch.arange(size.numel(), dtype=torch.float64) * step + shift
    ).reshape(size)


def fill(tower):
    """Give a tower weights that arithmetic writes out: a sine of the place, shifted by
    the number of the weight.
    """
    with torch.no_grad():
        for number, (name, weight) in enumerate(sorted(tower.named_parameters())):
            scale = "norm" in name.lower() and name.endswith("weight")
            value = wave(weight.shape, 0.7, number)
            weight.copy_(1 + 0.1 * value if scale else 0.3 * value)
    return tower.eval()


def fill_adapters(tower):
    with torch.no_grad():
        for layer, one in enumerate(tower.adapters):
            for number, weight in enumerate(one.parameters()):
                weight.copy_(0.4 * wave(weight.shape, 1.3, number + 10 * layer))


def bottleneck(tower, reduction=4, seed=0):
    return adapters.attach(tower, {"reduction": reduction, "seed": seed})


def xlm_roberta(**sizes):
    return fill(
        XLMRobertaModel(XLMRobertaConfig(**SIZES | sizes), add_pooling_layer=False)
    )


def states(tower, ids=IDS):
    with torch.no_grad():
        return tower(ids, attention_mask=ids.ne(1).long()).last_hidden_state


@pytest.mark.parametrize(
    ("width", "layers", "expected"), [(768, 12, 894_528), (1024, 24, 3_171_840)]
)
def test_adapters_of_xlm_r_have_as_many_parameters_as_in_the_paper_s_setup(
    width, layers, expected
):
    sizes = {
        "hidden_size": width,
        "num_hidden_layers": layers,
        "intermediate_size": 4 * width,
    }
    with torch.device("meta"):
        tower = XLMRobertaModel(
            XLMRobertaConfig(num_attention_heads=16, **sizes), add_pooling_layer=False
        )
        assert (
            sum(weight.numel() for weight in bottleneck(tower, 16).values()) == expected
        )


def test_a_tower_that_normalises_after_its_parts_returns_what_the_package_adapters_does():
    tower = xlm_roberta()
    bottleneck(tower)
    fill_adapters(tower)

    found = states(tower)

    torch.testing.assert_close(
        found[:, 0, :6], torch.tensor(POST_NORM), rtol=0, atol=2e-6
    )
    torch.testing.assert_close(
        found[0, 3, -4:], torch.tensor(POST_NORM_LAST), rtol=0, atol=2e-6
    )


def test_a_tower_that_normalises_before_its_parts_returns_what_the_package_adapters_does():
    tower = fill(CLIPTextModel(CLIPTextConfig(**SIZES, eos_token_id=2, bos_token_id=0)))
    bottleneck(tower)
    fill_adapters(tower)

    with torch.no_grad():
        found = tower(IDS[:1]).last_hidden_state[0]

    torch.testing.assert_close(found[3, :6], torch.tensor(PRE_NORM), rtol=0, atol=2e-6)
    torch.testing.assert_close(
        found[1, -4:], torch.tensor(PRE_NORM_LAST), rtol=0, atol=2e-6
    )


def joint_attention(**sizes):
    """A text tower of open_clip's kind: one weight makes queries, keys and values."""
    from open_clip.transformer import TextTransformer

    tower = TextTransformer(
        context_length=4, vocab_size=11, width=32, heads=4, layers=2, output_dim=8
    )
    return fill(tower)


def clip():
    return fill(CLIPTextModel(CLIPTextConfig(**SIZES, eos_token_id=2, bos_token_id=0)))


LORA = {"objective": "lora-mse", "rank": 3, "alpha": 8.0, "seed": 0}


def fill_low_rank(tower):
    with torch.no_grad():
        for number, weight in enumerate(tower.adapters.parameters()):
            weight.copy_(2 * wave(weight.shape, 1.1, number))


def vectors(tower):
    with torch.no_grad():
        found = tower(IDS)
    return found if torch.is_tensor(found) else found.last_hidden_state


@pytest.mark.parametrize("make", [xlm_roberta, clip, joint_attention])
def test_lora_adds_a_product_of_low_rank_to_queries_and_values(make):
    tower, by_hand = make(), make()
    before = vectors(tower)
    adapters.attach(tower, LORA)
    fill_low_rank(tower)

    products = [
        8 / 3 * part.up.detach() @ part.down.detach() for part in tower.adapters
    ]
    places = ("query.weight", "value.weight", "q_proj.weight", "v_proj.weight")
    with torch.no_grad():
        for name, weight in by_hand.named_parameters():
            if name.endswith(places):
                weight += products.pop(0)
            elif name.endswith("in_proj_weight"):
                weight[:32] += products.pop(0)
                weight[64:] += products.pop(0)
    assert products == []
    torch.testing.assert_close(vectors(tower), vectors(by_hand), rtol=0, atol=1e-5)
    assert not torch.allclose(vectors(tower), before, atol=1e-3)


@pytest.mark.parametrize("make", [xlm_roberta, clip, joint_attention])
def test_untrained_lora_changes_nothing_and_is_taken_out_again(make):
    tower = make()
    before = {name: weight.clone() for name, weight in tower.state_dict().items()}
    trained = adapters.attach(tower, LORA)
    assert all(weight.requires_grad for weight in trained.values())
    n_trained = sum(weight.requires_grad for weight in tower.parameters())
    assert n_trained == len(trained) == 2 * 2 * 2  # layers, places, matrices

    adapters.detach(tower)

    after = tower.state_dict()
    assert set(after) == set(before)
    assert all(torch.equal(after[name], before[name]) for name in before)


def test_lora_of_xlm_r_has_as_many_parameters_as_in_the_paper_s_setup():
    sizes = {"hidden_size": 768, "num_hidden_layers": 12, "intermediate_size": 3072}
    with torch.device("meta"):
        tower = XLMRobertaModel(
            XLMRobertaConfig(num_attention_heads=12, **sizes), add_pooling_layer=False
        )
    settings = LORA | {"rank": 16}
    weights = adapters.attach(tower, settings)
    assert sum(weight.numel() for weight in weights.values()) == 12 * 2 * 2 * 16 * 768


def test_adapters_whose_second_matrix_is_zero_change_nothing_at_all():
    tower = xlm_roberta()
    before = states(tower)
    bottleneck(tower)
    assert not torch.equal(states(tower), before)
    for one in tower.adapters:
        nn.init.zeros_(one[2].weight)

    assert torch.equal(states(tower), before)


def test_only_the_adapters_are_trained_and_their_seed_decides_their_weights():
    towers = [xlm_roberta() for _ in range(3)]
    first, again, third = (
        bottleneck(tower, seed=seed)
        for tower, seed in zip(towers, (3, 3, 4), strict=True)
    )
    name = next(iter(first))

    assert all(torch.equal(first[one], again[one]) for one in first)
    assert not torch.equal(first[name], third[name])
    trained = [weight for weight in towers[0].parameters() if weight.requires_grad]
    assert {id(weight) for weight in trained} == {
        id(weight) for weight in first.values()
    }


def test_a_saved_adapter_gives_the_same_vectors_when_it_is_loaded_again_and_fits_no_other(
    tmp_path,
):
    tower, other = xlm_roberta(), xlm_roberta()
    settings = {
        "reduction": 4,
        "seed": 0,
        "name": "m+sw.mse",
        "base": "m",
        "lang": "sw",
    }
    weights = adapters.attach(tower, settings)
    for weight in weights.values():
        nn.init.constant_(weight, 0.1)
    adapters.save(weights, tmp_path, settings)

    adapters.load(other, tmp_path, adapters.read_settings(tmp_path, "m+sw.mse"))

    assert torch.equal(states(other), states(tower))
    for sizes in ({"hidden_size": 48}, {"num_hidden_layers": 3}):
        with pytest.raises(InputError, match="does not fit the model 'm'"):
            adapters.load(xlm_roberta(**sizes), tmp_path, settings)
    with pytest.raises(InputError, match="was trained for 'm', not for 'n'"):
        adapters.read_settings(tmp_path, "n+sw.mse")
    (tmp_path / "adapter.safetensors").write_bytes(b"other")
    with pytest.raises(InputError, match=r"cannot be read .*SHA-256"):
        adapters.read_settings(tmp_path, "m+sw.mse")
