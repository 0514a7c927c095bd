"""Models in which an overflow of float16 leaves no trace.

Numbers above 65,504 are infinite in float16, and the vectors that come of them are not
numbers, which is refused when they are made. Some layers of transformers bring infinite
numbers back to 64,504: the vectors are finite then, and wrong. In autocast these layers
compute in 32 bits, and an overflow shows.
"""

from babelatlas.base.errors import InputError

# Packages of transformers.models whose text layers do so.
KINDS = frozenset(
    (
        "bart",
        "bigbird_pegasus",
        "blenderbot",
        "blenderbot_small",
        "led",
        "longt5",
        "m2m_100",
        "marian",
        "mbart",
        "mt5",
        "mvp",
        "nllb_moe",
        "pegasus",
        "pix2struct",
        "plbart",
        "pop2piano",
        "switch_transformers",
        "t5",
        "udop",
        "umt5",
    )
)


def clamping_kind(module) -> str:
    """Return the package of transformers of the first layer in a `torch.nn.Module` that
    clamps float16, "" where none does.
    """
    for layer in module.modules():
        package, _, name = type(layer).__module__.partition(".models.")
        kind = name.partition(".")[0]
        if package == "transformers" and kind in KINDS:
            return kind
    return ""


def check_precision(model: str, module, precision: str) -> None:
    """Raise InputError where a loaded model would hide an overflow in this precision."""
    kind = clamping_kind(module) if precision == "float16" else ""
    if kind:
        raise InputError(
            f"The model {model!r} cannot be computed in 'float16', in which its layers"
            f" ({kind}) hide an overflow: set precision to 'bfloat16' or 'float32'."
        )
