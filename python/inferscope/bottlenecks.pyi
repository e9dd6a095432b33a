import enum
from typing import Any, Callable, Mapping, Optional, Sequence, Union

class _Types(enum.EnumMeta):
    def __contains__(cls, value: object) -> bool: ...
    def __getattr__(cls, name: str) -> BottleneckType: ...  # those that were registered

class BottleneckType(enum.Enum, metaclass=_Types):
    DATA_LOADING = "data_loading"
    PREPROCESSING = "preprocessing"
    MEMORY_ALLOCATION = "memory_allocation"
    GPU_TRANSFER = "gpu_transfer"
    CPU_COMPUTATION = "cpu_computation"
    I_O_OPERATION = "i_o_operation"
    NETWORK_LATENCY = "network_latency"
    SYNCHRONIZATION = "synchronization"
    @property
    def description(self) -> str: ...
    @classmethod
    def register(cls, value: str, description: str = "") -> BottleneckType: ...

_Texts = Union[str, Sequence[str]]

def register_bottleneck_type(name: str, description: str = "") -> BottleneckType: ...
def register_optimization_strategy(type: Union[str, BottleneckType],
                                   strategy: Union[_Texts, Callable[[dict[str, Any]], Optional[_Texts]]]) -> None: ...
def optimization_suggestions(type: Union[str, BottleneckType], context: Optional[Mapping[str, Any]] = None) -> list[str]: ...
