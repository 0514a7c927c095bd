"""Translations scored by any image-text-to-text model that transformers has a class
for: PaliGemma, Qwen-VL, LLaVA ...

The translation's tokens are appended to the question as its answer: one pass gives the
probability of each, given all before it (Futeral et al. 2023; Kashani Motlagh et al.
2024, Eq. 1). Loads torch only when called.
"""

import inspect
import os
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from babelatlas.base import languages
from babelatlas.base.errors import InputError
from babelatlas.base.pictures import open_image
from babelatlas.models import hub, opening
from babelatlas.models.checkpoint import first_line
from babelatlas.models.clamping import check_precision
from babelatlas.models.loaders import huggingface
from babelatlas.models.loaders.openclip import quiet
from babelatlas.models.translators import Translator

# Types of the tokens of an answer where they are others than that of the question's
# last token: PaliGemma's question is read as a whole, its answer from left to right.
ANSWER = {"paligemma": {"token_type_ids": 1}}
# A long run says how far it is each time that so many translations are done.
OFTEN = 1000


class ImageTextScorer:
    """A `Scorer` of an image-text-to-text model on a device."""

    uses_images = True
    languages = ()

    def __init__(
        self, entry: Translator, model, processor, key: str, device: str, precision: str
    ):
        self.name, self.key, self.device, self.precision = (
            entry.name,
            key,
            device,
            precision,
        )
        self.entry, self.model, self.processor, self.tokenizer = (
            entry,
            model,
            processor,
            processor.tokenizer,
        )
        self.end = (
            self.tokenizer.convert_tokens_to_ids(entry.end)
            if entry.end
            else self.tokenizer.eos_token_id
        )
        self.types = ANSWER.get(model.config.model_type, {})
        self.keeps = "logits_to_keep" in inspect.signature(model.forward).parameters
        self.prompt = lru_cache(8)(self._prompt)

    def tokenize(
        self, translations: Sequence[str], langs: Sequence[str]
    ) -> list[list[int]]:
        """Return the ids of each translation's tokens, the end token included; see
        `Scorer`.
        """
        with quiet():
            rows = self.tokenizer(
                list(translations),
                add_special_tokens=False,
                padding=False,
                truncation=False,
            )
        return [[*ids, self.end] for ids in rows["input_ids"]]

    def score(
        self,
        images: Sequence[str],
        sources: Sequence[str],
        translations: Sequence[str],
        langs: Sequence[str],
        temperatures: Sequence[float] = (1.0,),
    ) -> list[np.ndarray]:
        """Return for each trial an array (temperatures, tokens) of log-probabilities;
        see `Scorer`.

        An image may be a tuple of paths: several images, in order.
        """
        import torch

        scores = []
        answers = self.tokenize(translations, langs)
        for image, source, lang, answer in zip(
            images, sources, langs, answers, strict=True
        ):
            inputs = self.prompt(image, source, self.entry.question, lang)
            inputs = {
                name: self._extended(name, value, inputs, answer)
                for name, value in inputs.items()
            }
            only = {"logits_to_keep": len(answer) + 1} if self.keeps else {}
            with torch.inference_mode():
                logits = (
                    self.model(**inputs, use_cache=False, **only)
                    .logits[0, -len(answer) - 1 : -1]
                    .float()
                )
                ids = torch.tensor(answer, device=logits.device)[:, None]
                rows = [
                    torch.log_softmax(logits / heat, -1).gather(1, ids)[:, 0]
                    for heat in temperatures
                ]
            scores.append(torch.stack(rows).double().cpu().numpy())
            if not np.isfinite(scores[-1]).all():
                raise InputError(
                    f"The model {self.name!r} gives NaN in {self.precision}: take"
                    " 'float32'."
                )
            if len(scores) % OFTEN == 0:
                print(
                    f"  {self.name}: {len(scores):,} of {len(images):,} translations"
                    " scored",
                    flush=True,
                )
        return scores

    def _prompt(
        self, image: str | tuple[str, ...], source: str, question: str, lang: str
    ) -> dict:
        """Return what the model is given for an image, or several, and a question, as
        tensors of a batch of one.
        """
        import torch

        paths = [image] if isinstance(image, str) else image
        pictures = [open_image(path) for path in paths]
        try:
            question = question.format(
                source=source, language=languages.name(lang), lang=lang
            )
            with quiet():
                if self.entry.chat:
                    parts = [{"type": "image", "image": image} for image in pictures]
                    parts.append({"type": "text", "text": question})
                    inputs = self.processor.apply_chat_template(
                        [{"role": "user", "content": parts}],
                        add_generation_prompt=True,
                        tokenize=True,
                        return_dict=True,
                        return_tensors="pt",
                    )
                else:
                    mark = getattr(self.processor, "image_token", "<image>")
                    text = self.entry.plain.format(
                        image=mark * len(pictures), question=question
                    )
                    inputs = self.processor(
                        images=[pictures], text=text, return_tensors="pt"
                    )
        except Exception as error:  # of the processor, its template and the tokenizer
            raise InputError(
                f"The model {self.name!r} cannot be asked {question!r} with {image}"
                f" ({type(error).__name__}: {first_line(error)}): see its entry in"
                " translators.toml and the chat template of its files."
            ) from error
        dtype = getattr(torch, self.precision)
        return {
            name: value.to(
                self.device, dtype if value.is_floating_point() else value.dtype
            )
            for name, value in inputs.items()
            if name != "labels"
        }

    def _extended(self, name: str, value, inputs: dict, answer: list[int]):
        """Return a prompt's tensor, with the answer's part behind it where it has one
        value for each token.
        """
        import torch

        if value.ndim < 2 or value.shape[:2] != inputs["input_ids"].shape:
            return value
        if name == "input_ids":
            return torch.cat(
                [value, torch.tensor([answer], dtype=value.dtype, device=value.device)],
                1,
            )
        last = value[:, -1:]
        kind = torch.full_like(last, self.types[name]) if name in self.types else last
        return torch.cat([value, kind.repeat_interleave(len(answer), 1)], 1)


def load(
    entry: Translator,
    folder: str | os.PathLike = "",
    device: str = "auto",
    precision: str = "auto",
    remote_code: str = "",
) -> ImageTextScorer:
    """Return the scorer of an image-text-to-text model; arguments and errors as of
    `loading.load`.

    Weights are read from safetensors alone.
    """
    opened = opening.open_checkpoint(entry, folder, device, precision, remote_code)
    entry, checkpoint, device, precision = opened
    settings = {"trust_remote_code": entry.remote_code, "local_files_only": True}
    with huggingface.reading(checkpoint, checkpoint.find_file("config.json")):
        import torch
        from transformers import AutoProcessor

        processor = AutoProcessor.from_pretrained(checkpoint.folder, **settings)
    settings |= {"dtype": getattr(torch, precision), "use_safetensors": True}
    model = huggingface.model(checkpoint, "AutoModelForImageTextToText", **settings)
    checkpoint.check_weights(model)
    check_precision(entry.name, model, precision)
    if (
        getattr(processor, "patch_size", 0) is None
    ):  # of older files, which leave it to the model's configuration
        processor.patch_size = model.config.vision_config.patch_size
    key = hub.key(entry, {"": checkpoint.folder})
    return ImageTextScorer(entry, model.to(device), processor, key, device, precision)
