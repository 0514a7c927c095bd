"""Half precision on a CPU without instructions for it: products of matrices in float32, rounded to 16 bits.

torch multiplies matrices of bfloat16 and float16 there number by number, seven to eight times as slowly as float32. A
product of two such numbers is exact in float32; torch adds the products up in float32 too, in another order: the last
digit differs in about 1 of 10,000 results in bfloat16 and 1 of 1,000 in float16.
"""

from contextlib import AbstractContextManager, nullcontext


def products(device: str, precision: str) -> AbstractContextManager:
    """Return the context in which a model in `precision` runs on `device`; where torch is fast it does nothing."""
    if device != "cpu" or precision not in ("bfloat16", "float16"):
        return nullcontext()
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    ops = torch.ops.mkldnn
    if (ops._is_mkldnn_bf16_supported if precision == "bfloat16" else ops._is_mkldnn_fp16_supported)():
        return nullcontext()
    half, aten = getattr(torch, precision), torch.ops.aten
    slow = (aten.linear, aten.matmul, aten.mm, aten.addmm, aten.bmm, aten.baddbmm, aten.conv2d, aten.convolution)

    class InFloat32(TorchDispatchMode):
        def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
            if operation.overloadpacket not in slow or args[0].dtype != half:
                return operation(*args, **(kwargs or {}))
            wide = [part.float() if isinstance(part, torch.Tensor) else part for part in args]
            return operation(*wide, **(kwargs or {})).to(half)

    return InFloat32()
