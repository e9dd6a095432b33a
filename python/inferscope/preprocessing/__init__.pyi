from inferscope.preprocessing.cache import ContentCache as ContentCache
from inferscope.preprocessing.profile import Interval as Interval
from inferscope.preprocessing.profile import PreprocessingBottleneck as PreprocessingBottleneck
from inferscope.preprocessing.profile import PreprocessingProfile as PreprocessingProfile
from inferscope.preprocessing.profile import PreprocessingProfilerConfig as PreprocessingProfilerConfig
from inferscope.preprocessing.profile import Scaling as Scaling
from inferscope.preprocessing.profile import Step as Step
from inferscope.preprocessing.profile import Suggestion as Suggestion
from inferscope.preprocessing.profiler import PreprocessingProfiler as PreprocessingProfiler

__all__: list[str]
