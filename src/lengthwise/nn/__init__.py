"""Position encodings as torch modules with plain arguments; each works in any model, without the rest of this package.

Ids are whole-number tensors of shape ``[B, T]``, or ``[B, T, L]`` where a token has an id on each of L levels. B is
the batch, T the number of tokens (Q that of the queries), D the width of the model, H the number of heads and d the
width of a head. Calling a module does the one thing that it is for; beside that, every module has the same hooks
(`PositionEncoding.embed`, `rotate` and `bias`), so that one model can be written for all of them.
"""

from lengthwise.nn.alibi import ALiBi as ALiBi
from lengthwise.nn.alibi_learned import LearnedALiBi as LearnedALiBi
from lengthwise.nn.base import PositionEncoding as PositionEncoding
from lengthwise.nn.cope import CoPE as CoPE
from lengthwise.nn.coupled import CoupledEmbedding as CoupledEmbedding
from lengthwise.nn.coupled_bias import CoupledBias as CoupledBias
from lengthwise.nn.dynamic_bias import DynamicBias as DynamicBias
from lengthwise.nn.dynamic_ntk import DynamicNTK as DynamicNTK
from lengthwise.nn.fire import FIRE as FIRE
from lengthwise.nn.forgetting import ForgettingBias as ForgettingBias
from lengthwise.nn.hard_alibi import HardALiBi as HardALiBi
from lengthwise.nn.kerple import Kerple as Kerple
from lengthwise.nn.layer_encodings import LayerEncodings as LayerEncodings
from lengthwise.nn.learned import LearnedEmbedding as LearnedEmbedding
from lengthwise.nn.llama3 import Llama3Rotary as Llama3Rotary
from lengthwise.nn.local_bias import LocalBias as LocalBias
from lengthwise.nn.longrope import LongRoPE as LongRoPE
from lengthwise.nn.nope import NoPE as NoPE
from lengthwise.nn.ntk import NTKAware as NTKAware
from lengthwise.nn.path import PaTH as PaTH
from lengthwise.nn.pi import PositionInterpolation as PositionInterpolation
from lengthwise.nn.rerope import ReRoPE as ReRoPE
from lengthwise.nn.rope import Rotary as Rotary
from lengthwise.nn.rope_partial import PartialRotary as PartialRotary
from lengthwise.nn.scalable_softmax import ScalableSoftmax as ScalableSoftmax
from lengthwise.nn.score_context import ScoreContext as ScoreContext
from lengthwise.nn.selective import SelectiveAttention as SelectiveAttention
from lengthwise.nn.self_extend import SelfExtend as SelfExtend
from lengthwise.nn.shaw import Shaw as Shaw
from lengthwise.nn.sinusoidal import Sinusoidal as Sinusoidal
from lengthwise.nn.slots import Slots as Slots
from lengthwise.nn.t5 import T5Bias as T5Bias
from lengthwise.nn.transformer_xl import TransformerXL as TransformerXL
from lengthwise.nn.xpos import XPos as XPos
from lengthwise.nn.yarn import YaRN as YaRN
