"""Captions by any model of transformers that writes a text of an image: BLIP, GIT,
BLIP-2, PaliGemma, encoder-decoders of two models ... Loads torch only when called.
"""

import inspect
import os
from collections.abc import Sequence

from PIL import Image

from babelatlas.base import languages
from babelatlas.base.errors import InputError
from babelatlas.base.pictures import open_image
from babelatlas.models import hub, opening
from babelatlas.models.captioners import Captioner
from babelatlas.models.checkpoint import Checkpoint, first_line
from babelatlas.models.clamping import check_precision
from babelatlas.models.loaders import huggingface
from babelatlas.models.loaders.openclip import quiet

# A long run says how far it is each time that so many captions are written.
OFTEN = 1000
# Kinds whose processor puts an end after the prompt that `generate` does not take off.
ENDED = ("git",)


class CaptionWriter:
    """A captioner on a device. `key` identifies the weights."""

    def __init__(
        self, entry: Captioner, model, processor, key: str, device: str, precision: str
    ):
        self.entry, self.model, self.processor = entry, model, processor
        self.name, self.key = entry.name, key
        self.device, self.precision = device, precision
        self.accepted = inspect.signature(model.forward).parameters
        # The processor of an encoder-decoder of two models is a pair.
        self.images, self.tokenizer = (
            processor
            if isinstance(processor, tuple)
            else (processor.image_processor, processor.tokenizer)
        )

    def write(
        self,
        paths: Sequence[str],
        lang: str,
        prompt: str = "",
        most_tokens: int = 40,
        batch_size: int = 8,
        beams: int = 1,
    ) -> list[str]:
        """Return a caption of each image in a language, as the model writes it.

        `prompt` as of `Captioner`, "" for that of the entry. The most likely token is
        taken at each step, or of `beams` texts the most likely one: two runs write the
        same. What a model repeats of the prompt is cut off, and line ends are spaces.
        Raises InputError for a picture or prompt that the model cannot take.
        """
        captions: list[str] = []
        for start in range(0, len(paths), batch_size):
            pictures = [open_image(path) for path in paths[start : start + batch_size]]
            captions += self._write_batch(
                pictures,
                (prompt or self.entry.prompt).format(
                    image="{image}", language=languages.name(lang), lang=lang
                ),
                {"max_new_tokens": most_tokens, "num_beams": beams},
            )
            if len(captions) // OFTEN > start // OFTEN:
                done = f"{len(captions):,} of {len(paths):,}"
                print(f"  {self.name}, {lang}: {done} captions written", flush=True)
        return captions

    def _write_batch(
        self, pictures: list[Image.Image], prompt: str, settings: dict
    ) -> list[str]:
        import torch

        inputs = self._inputs(pictures, prompt)
        with torch.inference_mode(), quiet():
            ids = self.model.generate(**inputs, do_sample=False, **settings)
        asked = inputs.get("input_ids", inputs.get("decoder_input_ids"))
        if asked is None:
            return self._decode(ids)
        length = asked.shape[1]
        if ids.shape[1] >= length and torch.equal(ids[:, :length], asked):
            return self._decode(ids[:, length:])
        # Marks at the ends of the prompt are others in the answer.
        return [
            text.removeprefix(start).strip()
            for text, start in zip(self._decode(ids), self._decode(asked), strict=True)
        ]

    def _decode(self, ids) -> list[str]:
        texts = self.tokenizer.batch_decode(ids, skip_special_tokens=True)
        return [" ".join(text.split()) for text in texts]

    def _inputs(self, pictures: list[Image.Image], prompt: str) -> dict:
        """Return what the model is given for a batch, as tensors on its device."""
        try:
            with quiet():
                inputs = self._prepared(pictures, prompt)
        except Exception as error:  # of the processor, its template and the tokenizer
            raise InputError(
                f"The captioner {self.name!r} cannot be asked {prompt!r}"
                f" ({type(error).__name__}: {first_line(error)}): see its entry in"
                " captioners.toml, or give another prompt."
            ) from error
        return {
            name: value.to(
                self.device,
                self.model.dtype if value.is_floating_point() else value.dtype,
            )
            for name, value in inputs.items()
            if name in self.accepted
        }

    def _prepared(self, pictures: list[Image.Image], prompt: str) -> dict:
        if not prompt:
            inputs = self.images(images=pictures, return_tensors="pt")
            return {"pixel_values": inputs["pixel_values"]}
        if isinstance(self.processor, tuple):
            return self._prefixed(pictures, prompt)
        if self.entry.chat:
            turns = [
                [
                    {
                        "role": "user",
                        "content": [
                            {"type": "image", "image": picture},
                            {"type": "text", "text": prompt},
                        ],
                    }
                ]
                for picture in pictures
            ]
            return self.processor.apply_chat_template(
                turns,
                add_generation_prompt=True,
                tokenize=True,
                return_dict=True,
                return_tensors="pt",
                processor_kwargs={"padding": True},
            )
        mark = getattr(self.processor, "image_token", "<image>")
        text = prompt.replace("{image}", str(mark))
        inputs = self.processor(
            images=pictures,
            text=[text] * len(pictures),
            padding=True,
            return_tensors="pt",
        )
        if self.model.config.model_type in ENDED:
            return {
                name: value if name == "pixel_values" else value[:, :-1]
                for name, value in inputs.items()
            }
        return inputs

    def _prefixed(self, pictures: list[Image.Image], prompt: str) -> dict:
        """Return the inputs of an encoder-decoder whose text begins with the prompt."""
        import torch

        pixels = self.images(images=pictures, return_tensors="pt")["pixel_values"]
        ids = self.tokenizer(prompt, add_special_tokens=False)["input_ids"]
        start = self.model.generation_config.decoder_start_token_id
        begun = torch.tensor([[start, *ids]]).repeat(len(pictures), 1)
        return {"pixel_values": pixels, "decoder_input_ids": begun}


def load(
    entry: Captioner,
    folder: str | os.PathLike = "",
    device: str = "auto",
    precision: str = "auto",
    remote_code: str = "",
) -> CaptionWriter:
    """Return the writer of a captioner; arguments and errors as of `loading.load`."""
    opened = opening.open_checkpoint(entry, folder, device, precision, remote_code)
    entry, checkpoint, device, precision = opened
    import torch

    settings = {"trust_remote_code": entry.remote_code, "local_files_only": True}
    processor = _processor(checkpoint, settings)
    settings |= {"dtype": getattr(torch, precision)}
    model = huggingface.model(checkpoint, "AutoModelForImageTextToText", **settings)
    checkpoint.check_weights(model)
    check_precision(entry.name, model, precision)
    key = hub.key(entry, {"": checkpoint.folder})
    return CaptionWriter(entry, model.to(device), processor, key, device, precision)


def _processor(checkpoint: Checkpoint, settings: dict):
    """Return what prepares pictures and texts: one processor, or the pair of an
    encoder-decoder of two models. Texts of a batch are padded on the left.
    """
    kind = checkpoint.read_json("config.json").get("model_type")
    with huggingface.reading(checkpoint, checkpoint.find_file("config.json")):
        from transformers import AutoProcessor, AutoTokenizer

        if kind == "vision-encoder-decoder":
            tokenizer = AutoTokenizer.from_pretrained(checkpoint.folder, **settings)
            processor = (huggingface.image_processor(checkpoint), tokenizer)
        else:
            processor = AutoProcessor.from_pretrained(checkpoint.folder, **settings)
            tokenizer = processor.tokenizer
    tokenizer.padding_side = "left"
    return processor
