"""Translations scored by any image-text-to-text model that transformers has a class for: PaliGemma, Qwen-VL, LLaVA ...

The model is asked to translate a source in view of an image, and the translation's tokens are appended to
the question as its answer: one pass gives the probability of each, given all before it. Loads torch only when called.
The rule of the score: Futeral et al. (2023); Kashani Motlagh et al. (2024), Eq. 1.
"""

import inspect
import os
import time
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from functools import lru_cache
from itertools import takewhile

import numpy as np
from PIL import Image

from babelatlas.base import languages
from babelatlas.base.errors import InputError, near
from babelatlas.datasets import registry as datasets
from babelatlas.models import hub
from babelatlas.models.checkpoint import Checkpoint, check_weights, first_line
from babelatlas.models.encoder import find_device, find_precision, short_of_memory
from babelatlas.models.loaders.huggingface import check_loaded, find_weights, reading, silent
from babelatlas.models.translators import Translator, check_trials

BATCH = 8
# Types of the tokens of an answer where they are others than that of the question's last token: PaliGemma's question is
# read as a whole, its answer from left to right.
ANSWER = {"paligemma": {"token_type_ids": 1}}
# Seconds before a run first says how far it is, and between two such lines.
QUIET, BETWEEN = 15, 30


class ImageTextScorer:
    """A `Scorer` of an image-text-to-text model on a device."""

    uses_images = True
    # Whether several images of a trial are shown as one picture, the first left of the second.
    joined = False

    def __init__(self, entry: Translator, model, processor, key: str, device: str, precision: str, batch_size: int):
        self.name, self.key, self.device, self.precision = entry.name, key, device, precision
        self.entry, self.model, self.processor, self.batch_size = entry, model, processor, batch_size or BATCH
        self.tokenizer = processor.tokenizer
        self.end = self.tokenizer.convert_tokens_to_ids(entry.end) if entry.end else self.tokenizer.eos_token_id
        if self.end is None or (entry.end and self.end == self.tokenizer.unk_token_id):
            raise InputError(
                f"The tokenizer of {entry.name!r} has no token {entry.end or 'that ends a text'!r}: name the token "
                "that ends an answer as `end` of its entry in translators.py."
            )
        self.types = ANSWER.get(model.config.model_type, {})
        self.keeps = "logits_to_keep" in inspect.signature(model.forward).parameters
        text = model.config.get_text_config()
        self.longest = getattr(text, "max_position_embeddings", None) or 0
        self.prompt = lru_cache(maxsize=4 * self.batch_size)(self._prompt)

    def tokenize(self, translations: Sequence[str], langs: Sequence[str]) -> list[list[int]]:
        """Return the ids of each translation's tokens, the end token included; see `Scorer`."""
        with silent():
            found = self.tokenizer(list(translations), add_special_tokens=False, padding=False, truncation=False)
        return [[*ids, self.end] for ids in found["input_ids"]]

    def score(
        self,
        images: Sequence[str],
        sources: Sequence[str],
        translations: Sequence[str],
        langs: Sequence[str],
        temperatures: Sequence[float] = (1.0,),
    ) -> list[np.ndarray]:
        """Return for each trial an array (temperatures, tokens) of log-probabilities; see `Scorer`.

        An image may be a tuple of paths: several images, in order (`joined`: as one picture).
        Raises InputError for a trial without an image, or too long for the model or too large for the device, and for
        probabilities that are not numbers.
        """
        check_trials(images, sources, translations, langs, temperatures)
        without = next((row for row, image in enumerate(images) if not image), None)
        if without is not None:
            raise InputError(
                f"The model {self.name!r} needs an image for each source, and {sources[without]!r} has none: give one."
            )
        tokens = self.tokenize(translations, langs)
        # Trials of one image and source side by side, so that both are prepared once; the longest first, so that memory
        # runs out at the beginning where it does.
        order = sorted(range(len(images)), key=lambda row: (-len(sources[row]), sources[row], images[row], langs[row]))
        scores: list = [None] * len(images)
        started = told = time.monotonic()
        place = 0
        while place < len(order):
            rows = self._batch(order[place : place + self.batch_size], images, sources, langs)
            prompts = [self.prompt(images[row], sources[row], langs[row]) for row in rows]
            try:
                found = self._pass(prompts, [tokens[row] for row in rows], temperatures)
            except MemoryError as error:
                if len(rows) == 1:
                    raise InputError(
                        f"The memory of {self.device} is too small for one translation by {self.name!r} (source "
                        f"{sources[rows[0]]!r}): take a smaller precision or a larger device."
                    ) from error
                self.batch_size = len(rows) // 2
                told_size = f"{self.batch_size} translations in a batch from here on"
                print(f"  {self.name}: memory is short, {told_size}", flush=True)
                continue
            for row, one in zip(rows, found, strict=True):
                if not np.isfinite(one).all():
                    raise InputError(
                        f"The model {self.name!r} gives probabilities that are not numbers in {self.precision} (source "
                        f"{sources[row]!r}, translation {translations[row]!r}): take the precision 'float32'."
                    )
                scores[row] = one
            place += len(rows)
            now = time.monotonic()
            if now - started > QUIET and now - told > BETWEEN:
                told = now
                print(f"  {self.name}: {place:,} of {len(order):,} translations scored", flush=True)
        return scores

    def write(
        self, images: Sequence[str], langs: Sequence[str], question: str = "", most_tokens: int = 64
    ) -> list[str]:
        """Return the caption that the model writes for each image in each language: the likeliest token at each step.

        `images`, `langs`: a path and a code for each caption. `question`: what is asked, with {language} or {lang}, ""
        for that of the entry. A caption ends at the model's end token, or after `most_tokens`; spaces at its ends are
        cut off, and it may be empty. Raises InputError where the entry has no question, and where it cannot be put.
        """
        question = question or self.entry.caption
        if not question or "{source}" in question:
            raise InputError(
                f"The model {self.name!r} is asked for a caption by {question!r}: give its entry a `caption`, a "
                "question with {language} or {lang} and without {source}."
            )
        import torch

        asked, found = copy(self), []
        asked.entry = replace(self.entry, question=question)
        dtype, started = getattr(torch, self.precision), time.monotonic()
        told = started
        for place, (image, lang) in enumerate(zip(images, langs, strict=True), start=1):
            inputs = {
                name: value.to(self.device, dtype if value.is_floating_point() else value.dtype)
                for name, value in asked._prompt(image, "", lang).items()
            }
            with short_of_memory(), torch.inference_mode(), silent():
                ids = self.model.generate(
                    **inputs, max_new_tokens=most_tokens, do_sample=False, num_beams=1, eos_token_id=self.end,
                    pad_token_id=self.end,
                )  # fmt: skip
            new = ids[0, inputs["input_ids"].shape[1] :]
            found.append(self.tokenizer.decode(new, skip_special_tokens=True).strip())
            now = time.monotonic()
            if now - started > QUIET and now - told > BETWEEN:
                told = now
                print(f"  {self.name}: {place:,} of {len(images):,} captions written", flush=True)
        return found

    def _prompt(self, image: str | tuple[str, ...], source: str, lang: str) -> dict:
        """Return what the model is given for an image, or several, and a source, as tensors of a batch of one."""
        entry, paths = self.entry, [image] if isinstance(image, str) else image
        pictures = [datasets.open_image(path) for path in paths]
        pictures = [_joined(pictures)] if self.joined and len(pictures) > 1 else pictures
        question = entry.question.format(source=source, language=languages.name(lang), lang=lang)
        try:
            with silent():
                if entry.chat:
                    parts = [{"type": "image", "image": one} for one in pictures] + [{"type": "text", "text": question}]
                    inputs = self.processor.apply_chat_template(
                        [{"role": "user", "content": parts}],
                        add_generation_prompt=True, tokenize=True, return_dict=True, return_tensors="pt",
                    )  # fmt: skip
                else:
                    mark = getattr(self.processor, "image_token", "<image>")
                    text = entry.plain.format(image=mark * len(pictures), question=question)
                    inputs = self.processor(images=[pictures], text=text, return_tensors="pt")
        except Exception as error:  # of the processor, its template and the tokenizer
            raise InputError(
                f"The model {self.name!r} cannot be asked about the source {source!r} with {image} "
                f"({type(error).__name__}: {first_line(error)}): see the question of its entry in "
                "translators.py and the chat template of its files."
            ) from error
        return {name: value for name, value in inputs.items() if name != "labels"}

    def _batch(self, rows: list[int], images, sources, langs) -> list[int]:
        """Return the first of `rows` whose images have the shape of the first one's: others cannot be stacked."""
        prompts = [self.prompt(images[row], sources[row], langs[row]) for row in rows]
        shapes = [{name: value.shape[1:] for name, value in one.items() if not _along(value, one)} for one in prompts]
        return [row for row, _ in takewhile(lambda pair: pair[1] == shapes[0], zip(rows, shapes, strict=True))]

    def _pass(self, prompts: list[dict], answers: list[list[int]], temperatures: Sequence[float]) -> list[np.ndarray]:
        """Return the log-probabilities of the answers to prompts, all in one batch, padded on the right."""
        import torch

        starts = [inputs["input_ids"].shape[1] for inputs in prompts]
        length = max(start + len(answer) for start, answer in zip(starts, answers, strict=True))
        if self.longest and length > self.longest:
            raise InputError(
                f"A question with its translation has {length} tokens, and the model {self.name!r} has places for "
                f"{self.longest}: leave the item out."
            )
        inputs = {}
        for name, value in prompts[0].items():
            parts = [one[name] for one in prompts]
            if _along(value, prompts[0]):
                pairs = zip(parts, answers, strict=True)
                parts = [self._extended(name, part, answer, length) for part, answer in pairs]
            inputs[name] = torch.cat(parts)
        keep = length - min(starts) + 1
        dtype = getattr(torch, self.precision)
        with short_of_memory(), torch.inference_mode():
            for name, value in inputs.items():
                inputs[name] = value.to(self.device, dtype if value.is_floating_point() else value.dtype)
            only = {"logits_to_keep": keep} if self.keeps else {}
            logits = self.model(**inputs, use_cache=False, **only).logits[:, -keep:]
            scores = []
            for row, (start, answer) in enumerate(zip(starts, answers, strict=True)):
                first = start - 1 - (length - keep)  # the place whose logits are of the answer's first token
                own = logits[row, first : first + len(answer)].float()
                ids = torch.tensor(answer, device=own.device)[:, None]
                found = [torch.log_softmax(own / temperature, -1).gather(1, ids)[:, 0] for temperature in temperatures]
                scores.append(torch.stack(found).double().cpu().numpy())
        return scores

    def _extended(self, name: str, value, answer: list[int], length: int):
        """Return a prompt's tensor (1, tokens, ...) with the answer's part behind it, filled up to `length`."""
        import torch

        last = value[:, -1:]
        if name == "input_ids":
            added = torch.tensor([answer], dtype=value.dtype)
        else:
            kind = torch.full_like(last, self.types[name]) if name in self.types else last
            added = kind.repeat_interleave(len(answer), 1)
        rest = length - value.shape[1] - len(answer)
        fill = torch.zeros_like(last) if name == "attention_mask" else added[:, -1:]
        return torch.cat([value, added, fill.repeat_interleave(rest, 1)], 1)


def load(
    entry: Translator,
    folder: str | os.PathLike = "",
    device: str = "auto",
    precision: str = "auto",
    remote_code: str = "",
    batch_size: int = 0,
) -> ImageTextScorer:
    """Return the scorer of an image-text-to-text model; arguments and errors as of `loading.load_translator`.

    Weights are read from safetensors alone. Raises InputError also where the question of the entry cannot be put.
    """
    entry = hub.check_consent(entry, remote_code)
    _check_question(entry)
    device = find_device(device)
    precision = find_precision(precision, device)
    checkpoint = Checkpoint(entry, hub.folders(entry, folder))
    place = checkpoint.folder
    configuration = checkpoint.find_file("config.json")
    checkpoint.find_file("model.safetensors", "model.safetensors.index.json")
    weights = find_weights(checkpoint)
    with reading(checkpoint, weights, configuration):
        import torch
        from transformers import AutoModelForImageTextToText, AutoProcessor

        settings = {"local_files_only": True, "trust_remote_code": entry.remote_code}
        processor = AutoProcessor.from_pretrained(place, **settings)
        model, info = AutoModelForImageTextToText.from_pretrained(
            place, dtype=getattr(torch, precision), output_loading_info=True, use_safetensors=True,
            ignore_mismatched_sizes=True, **settings,
        )  # fmt: skip
    check_loaded(checkpoint, weights, info)
    check_weights(model, entry.name, place)
    if not hasattr(processor, "tokenizer"):
        raise checkpoint.error(
            f"{place} does not say how images and texts are prepared together (there is no processor for both)"
        )
    if entry.chat and not (getattr(processor, "chat_template", None) or processor.tokenizer.chat_template):
        raise InputError(
            f"The model {entry.name!r} is asked through a chat template, and {place} has none: {checkpoint.hint}"
        )
    key = hub.key(entry, {"": place})
    return ImageTextScorer(entry, model.to(device).eval(), processor, key, device, precision, batch_size)


def _joined(pictures: list[Image.Image]) -> Image.Image:
    """Return pictures side by side, as high as the highest, each whole and in its shape."""
    height = max(picture.height for picture in pictures)
    scaled = [picture.resize((max(1, round(picture.width * height / picture.height)), height)) for picture in pictures]
    both, left = Image.new("RGB", (sum(picture.width for picture in scaled), height)), 0
    for picture in scaled:
        both.paste(picture, (left, 0))
        left += picture.width
    return both


def _check_question(entry: Translator) -> None:
    """Raise InputError where an entry's question or prompt has holes that nothing is put into."""
    for where, text, holes, wanted in (
        ("question", entry.question, ("source", "language", "lang"), "source"),
        ("plain", entry.plain or "{question}", ("image", "question"), "question"),
    ):
        try:
            text.format(**dict.fromkeys(holes, ""))
        except (KeyError, IndexError, ValueError) as error:
            hole = str(error.args[0]) if isinstance(error, KeyError) else ""
            hint = near(hole, holes) if hole else f"expected one of {', '.join(holes)}."
            raise InputError(
                f"The translator {entry.name!r} has a {where} that cannot be filled in ({text!r}): {hint}"
            ) from error
        if "{" + wanted + "}" not in text:
            raise InputError(f"The translator {entry.name!r} has a {where} without {{{wanted}}}, got {text!r}: add it.")


def _along(value, inputs: dict) -> bool:
    """Return whether a tensor of a prompt has one value for each of its tokens."""
    return value.ndim > 1 and value.shape[:2] == inputs["input_ids"].shape
