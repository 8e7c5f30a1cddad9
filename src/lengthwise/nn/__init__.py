"""Position encodings and mixers as torch modules with plain arguments; each works in any model, without the rest here.

Ids are whole-number tensors of shape ``[B, T]``, or ``[B, T, L]`` where a token has an id on each of L levels. B is
the batch, T the number of tokens (Q that of the queries), D the width of the model, H the number of heads and d the
width of a head. Calling a module does the one thing that it is for; beside that, every module has the same hooks
(`PositionEncoding.embed`, `rotate` and `bias`), so that one model can be written for all of them. Mixers (`LSTM`,
`Mamba2`, `DeltaNet`, `RWKV7`) take and return ``[B, T, D]`` in place of attention, with a state. The examples assume
``import torch`` and ``from lengthwise.nn import *``.
"""

from lengthwise.nn.absolute import CoupledEmbedding as CoupledEmbedding
from lengthwise.nn.absolute import LearnedEmbedding as LearnedEmbedding
from lengthwise.nn.absolute import NoPE as NoPE
from lengthwise.nn.absolute import Sinusoidal as Sinusoidal
from lengthwise.nn.base import PositionEncoding as PositionEncoding
from lengthwise.nn.base import ScoreContext as ScoreContext
from lengthwise.nn.base import Slots as Slots
from lengthwise.nn.bias import FIRE as FIRE
from lengthwise.nn.bias import ALiBi as ALiBi
from lengthwise.nn.bias import CoupledBias as CoupledBias
from lengthwise.nn.bias import DynamicBias as DynamicBias
from lengthwise.nn.bias import HardALiBi as HardALiBi
from lengthwise.nn.bias import Kerple as Kerple
from lengthwise.nn.bias import LearnedALiBi as LearnedALiBi
from lengthwise.nn.bias import LocalBias as LocalBias
from lengthwise.nn.bias import Shaw as Shaw
from lengthwise.nn.bias import T5Bias as T5Bias
from lengthwise.nn.bias import TransformerXL as TransformerXL
from lengthwise.nn.content import ASEntmax as ASEntmax
from lengthwise.nn.content import CoPE as CoPE
from lengthwise.nn.content import ForgettingBias as ForgettingBias
from lengthwise.nn.content import PaTH as PaTH
from lengthwise.nn.content import ScalableSoftmax as ScalableSoftmax
from lengthwise.nn.content import SelectiveAttention as SelectiveAttention
from lengthwise.nn.context_extension import DynamicNTK as DynamicNTK
from lengthwise.nn.context_extension import Llama3Rotary as Llama3Rotary
from lengthwise.nn.context_extension import LongRoPE as LongRoPE
from lengthwise.nn.context_extension import NTKAware as NTKAware
from lengthwise.nn.context_extension import PositionInterpolation as PositionInterpolation
from lengthwise.nn.context_extension import ReRoPE as ReRoPE
from lengthwise.nn.context_extension import SelfExtend as SelfExtend
from lengthwise.nn.context_extension import YaRN as YaRN
from lengthwise.nn.delta import DeltaNet as DeltaNet
from lengthwise.nn.layers import LayerEncodings as LayerEncodings
from lengthwise.nn.lstm import LSTM as LSTM
from lengthwise.nn.mamba import Mamba2 as Mamba2
from lengthwise.nn.recurrence import Learned as Learned
from lengthwise.nn.recurrence import Mixer as Mixer
from lengthwise.nn.recurrence import ShortConvolution as ShortConvolution
from lengthwise.nn.rotary import PartialRotary as PartialRotary
from lengthwise.nn.rotary import PoPE as PoPE
from lengthwise.nn.rotary import RePo as RePo
from lengthwise.nn.rotary import Rotary as Rotary
from lengthwise.nn.rotary import XPos as XPos
from lengthwise.nn.rwkv import RWKV7 as RWKV7
