"""A GPU in pretence: tensors stay where they are, and what a real one would wait for is
written down.
"""

import threading
from types import SimpleNamespace

import torch
from torch.utils._python_dispatch import TorchDispatchMode

# The operations by which the processor asks a device for a number, and waits.
LOOKS = ("_local_scalar_dense", "is_nonzero", "equal", "nonzero")
PATIENCE = 20  # seconds


class Card(TorchDispatchMode):
    """What an encoder does with the device "cuda" (`takes`).

    `copies`: of each copy to it, shape, type, and whether the processor goes on meanwhile;
    `looks`: operations that wait for a number; `waits`: the threads that waited for
    vectors; `pins`: those that made pinned memory. `n_batches`: how many there will
    be; the vectors of one arrive only when the next has been started.
    """

    def __init__(self, monkeypatch, n_batches=1, gib=8):
        super().__init__()
        self.copies, self.looks, self.waits, self.pins = [], [], [], []
        self.pinned, self.kept = set(), []  # kept, so that none takes another's place
        self.started = [threading.Event() for _ in range(n_batches)]
        self.n_started = 0
        card = self

        class Done:
            """An event of CUDA."""

            def __init__(self, blocking):
                assert blocking, "else a waiting thread keeps a processor busy"

            def record(self, stream):
                self.number, card.n_started = card.n_started, card.n_started + 1
                card.started[self.number].set()

            def synchronize(self):
                card.waits.append(threading.current_thread())
                following = min(self.number + 1, n_batches - 1)
                assert card.started[following].wait(PATIENCE), "it was never started"

        def pin(tensor):
            copy = tensor.clone()
            card.pins.append(threading.current_thread())
            card.pinned.add(copy.untyped_storage().data_ptr())
            card.kept.append(copy)
            return copy

        properties = SimpleNamespace(total_memory=gib * 2**30)
        monkeypatch.setattr(torch.Tensor, "pin_memory", pin)
        monkeypatch.setattr(torch.cuda, "Event", Done)
        monkeypatch.setattr(torch.cuda, "_lazy_init", lambda: None)
        monkeypatch.setattr(torch.cuda, "current_stream", lambda device: None)
        monkeypatch.setattr(
            torch.cuda, "get_device_properties", lambda device: properties
        )

    def takes(self, encoder):
        """Let an encoder of the CPU believe that it is on this card."""
        start = encoder.start

        def started(batch):
            with self:
                return start(batch)

        encoder.device, encoder.start = "cuda", started

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        named = dict(kwargs or {})
        name = operation.overloadpacket.__name__
        if str(named.get("device", "")).startswith("cuda"):
            named["device"] = torch.device("cpu")
            if isinstance(args[0], torch.Tensor):
                is_pinned = args[0].untyped_storage().data_ptr() in self.pinned
                goes_on = is_pinned and bool(named.get("non_blocking"))
                shape, kind = tuple(args[0].shape), args[0].dtype
                self.copies.append((shape, kind, goes_on))
        if name in LOOKS:
            self.looks.append(name)
        return operation(*args, **named)
