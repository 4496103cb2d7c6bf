"""What the guard lets a source include, and the pragmas, attributes, macros and assembly that it refuses."""

from __future__ import annotations

import re

_CXX = (
    "algorithm any array atomic bit bitset cassert cctype cerrno cfenv cfloat charconv cinttypes ciso646 climits cmath complex concepts"
    " cstdarg cstddef cstdint cstdio cstdlib cstring deque exception forward_list functional initializer_list iomanip ios"
    " iosfwd iostream istream iterator limits list map memory mutex new numbers numeric optional ostream queue ranges ratio"
    " set shared_mutex span sstream stack stdexcept streambuf string string_view system_error tuple type_traits typeindex"
    " typeinfo unordered_map unordered_set utility valarray variant vector version"
    " assert.h complex.h ctype.h errno.h fenv.h float.h inttypes.h limits.h math.h stdalign.h stdarg.h stdbool.h stddef.h"
    " stdint.h stdio.h stdlib.h string.h"
)
_CUDA = (
    "cuda.h cuda_runtime.h cuda_runtime_api.h cuda_fp16.h cuda_fp16.hpp cuda_bf16.h cuda_bf16.hpp cuda_fp8.h cuda_fp6.h cuda_fp4.h"
    " cuda_pipeline.h cuda_pipeline_primitives.h cuda_awbarrier.h cuda_awbarrier_primitives.h cuda_occupancy.h cuComplex.h"
    " cooperative_groups.h device_launch_parameters.h device_functions.h device_atomic_functions.h driver_types.h"
    " vector_types.h vector_functions.h math_constants.h math_functions.h mma.h sm_20_intrinsics.h sm_30_intrinsics.h"
    " sm_32_intrinsics.h sm_35_intrinsics.h sm_60_atomic_functions.h sm_61_intrinsics.h builtin_types.h texture_types.h"
    " surface_types.h library_types.h host_defines.h texture_indirect_functions.h immintrin.h"
    " cuda/annotated_ptr cuda/atomic cuda/barrier cuda/bit cuda/cmath cuda/functional cuda/latch cuda/memory cuda/numeric"
    " cuda/pipeline cuda/ptx cuda/semaphore cuda/type_traits cuda/utility cuda/version cuda/warp cuda/access_property"
)
HEADERS = frozenset([*_CXX.split(), *_CUDA.split()])
FOLDERS = re.compile(
    r"(?:cute|cutlass|cooperative_groups|cuda/std|cuda/__\w+|cub/(?:block|warp|thread|util_\w+|config))[/.].*|cub/util_\w+\.cuh"
)
REFUSED_HEADERS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), why)
    for pattern, why in (
        (r"cuda/std/chrono|chrono|ctime|time\.h|sys/time\.h|x86intrin\.h", "a kernel does not read clocks"),
        (r"thread|future|condition_variable|barrier|latch|semaphore|stop_token|pthread\.h|threads\.h|execution|coroutine", "a kernel starts no threads; launch() only enqueues work"),
        (r"fstream|filesystem|fcntl\.h|sys/stat\.h|sys/mman\.h|dirent\.h", "a kernel reads and writes no files"),
        (r"(?:unistd|dlfcn|signal|spawn|sched|link|ucontext|setjmp)\.h|csignal|csetjmp|sys/.*|linux/.*|asm/.*", "a kernel asks nothing of the operating system"),
        (r"(?:cublas|cudnn|cusparse|cusolver|cufft|curand|nvrtc|nvml|nccl|cutensor|cublasLt|cublasXt)\w*(?:/.*|\.h|\.hpp)?|(?:torch|ATen|c10|pybind11|thrust|Python)(?:/.*|\.h)|cub/(?:cub\.cuh|device/.*|agent/.*|grid/.*)|cutlass/(?:library|profiler)/.*", "no library does a kernel's work; write it with CuTe"),
        (r"random", "the result may depend on nothing but the inputs"),
    )
)  # fmt: skip

PRAGMAS: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(r"\bSTDC\b|float_control|fenv_access|\bfp\b|fp_contract|fast.?math|\bfmad\b|\bftz\b|prec.?(?:div|sqrt)|nv_\w*fp\w*", re.IGNORECASE),
        "arithmetic is compiled as the task says; no pragma changes it",
    ),
    (re.compile(r"\bGCC\s+(?:optimize|target|push_options|pop_options|reset_options|poison|system_header|dependency|visibility)\b|\bclang\s+(?:optimize|attribute|section|fp)\b"), "build flags belong to the task; no pragma changes them"),
    (re.compile(r"\bomp\b|\bacc\b"), "a kernel starts no threads"),
    (re.compile(r"\bredefine_extname\b|\bweak\b|\binit\b|\bpush_macro\b|\bpop_macro\b|\bcomment\b|\bsection\b"), "no pragma renames or places what is linked"),
)  # fmt: skip

ATTRIBUTES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"constructor|destructor|init_priority"), "nothing runs before or after the entry points; one-time work belongs in setup()"),
    (re.compile(r"ifunc|alias|weakref|section|symver|target_clones|noplt|copy|retain"), "no attribute renames or places what is linked"),
    (re.compile(r"optimize|target"), "build flags belong to the task; no attribute changes them"),
)  # fmt: skip

_KEYWORDS = (
    "alignas alignof and asm auto bool break case catch char class const const_cast constexpr continue decltype default delete do"
    " double dynamic_cast else enum explicit extern false float for friend goto if inline int long mutable namespace new noexcept"
    " not nullptr operator or private protected public reinterpret_cast return short signed sizeof static static_assert static_cast"
    " struct switch template this throw true try typedef typename union unsigned using virtual void volatile while xor"
    " int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t size_t"
)
_ABI = "Args launch setup prepare workspace_bytes cudaError_t cudaStream_t CUTEGEN_ABI"
_COMPILER = (
    "__global__ __device__ __host__ __shared__ __constant__ __managed__ __launch_bounds__ __asm__ __volatile__ __attribute__"
    " __CUDA_ARCH__ __CUDACC__ __NVCC__ __CUDACC_VER_MAJOR__ __CUDACC_VER_MINOR__ __cplusplus __FAST_MATH__ __USE_FAST_MATH__"
    " __CUDA_FTZ __CUDA_PREC_DIV __CUDA_PREC_SQRT __CUDA_FMAD __has_include __syncthreads __syncwarp defined"
    " threadIdx blockIdx blockDim gridDim warpSize"
)
DEFINED = frozenset([*_KEYWORDS.split(), *_ABI.split(), *_COMPILER.split()])
DEFINED_CUDA = re.compile(r"__cuda\w+")
OF_THE_BUILD = frozenset(["__DATE__", "__TIME__", "__TIMESTAMP__"])

ASSEMBLY: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), why)
    for pattern, why in (
        (r"clock(?:64|_hi)?\b|globaltimer|\brdtscp?\b|\brdpmc\b|%pm\d|\brdpru\b", "a kernel does not read clocks"),
        (r"L2::evict_last|createpolicy[\w.:]*evict_last|evict_last[\w.:]*L2|applypriority|persist|prefetch[\w.:]*evict_last", "the L2 cache is measured as every program finds it: nothing is kept there with evict_last"),
        (r"\bsyscall\b|\bsysenter\b|\bint\s+\$?0x80\b|\bsvc\b", "a kernel asks nothing of the operating system"),
        (r"\.(?:byte|word|long|quad|octa|ascii|asciz|string|section|pushsection|popsection|previous|globl|symver|macro|include|incbin|org|text|init_array)\b", "assembly may hold PTX instructions only"),
    )
)  # fmt: skip
