import pytest

from babelatlas.models import half_precision

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_products_in_float32_are_those_of_half_precision_up_to_the_last_digit(precision):
    dtype, generator = getattr(torch, precision), torch.Generator().manual_seed(0)
    rows, weights = (torch.randn(size, generator=generator).to(dtype) for size in ((64, 128), (32, 128)))
    plain = torch.nn.functional.linear(rows, weights)
    with torch.inference_mode(), half_precision.products("cpu", precision):
        found = torch.nn.functional.linear(rows, weights)
    assert found.dtype == dtype
    steps = (found.float() - plain.float()).abs() / plain.float().abs().clamp(min=1)
    assert steps.max() <= torch.finfo(dtype).eps
    assert (steps > 0).float().mean() < 0.02


def test_single_precision_and_other_devices_are_left_alone():
    for device, precision in (("cpu", "float32"), ("cuda", "float16"), ("cpu", "auto")):
        assert type(half_precision.products(device, precision)).__name__ == "nullcontext"
