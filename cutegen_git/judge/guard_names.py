"""What a kernel may not call, in sources and in the built library, each with a sentence for the model.

Sources are held against the families that are known to do harm, so that a helper called `cudaCheck` passes. The
library is held against a list of what may be imported: what is not on it is refused.
"""

from __future__ import annotations

import re

_MEMORY = "the caller owns all memory; ask for scratch with workspace_bytes() and use a.workspace"
_STREAM = "all work goes on the stream that launch() is given"
_SYNC = "launch() only enqueues work and never waits for it"
_EVENT = "events belong to the judge; order kernels by launching them on the one stream"
_L2 = "the L2 cache is measured as every program finds it: no persisting lines, no access windows, no limits"
_GRAPH = "launch() itself may be captured into a graph; it makes and replays none"
_PLACE = "a kernel may not ask for or change where and how it runs"
_HOST = "no callbacks on the host"
_BLOCKING = "it blocks or uses the default stream; use the Async form with the stream that launch() is given"
_DRIVER = "the driver API is not linked; use the CUDA runtime's launch and attribute functions"
_LIBRARY = "no library does a kernel's work; write it with CuTe"
_CLOCK = "a kernel does not read clocks"
_PROCESS = "a kernel starts no threads or processes and loads no code"
_FILES = "a kernel reads and writes no files"
_NETWORK = "a kernel opens no connections"
_ENVIRONMENT = "a kernel does not look at its environment"
_EXIT = "return a cudaError_t instead of ending the process"

# Identifiers anywhere in the code, (pattern, why). Full matches.
NAMES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), why)
    for pattern, why in (
        (r"cuda(?:Malloc|Free|HostAlloc|HostRegister|HostUnregister|HostGet|MemPool|IpcGet|IpcOpen|IpcClose|Import|ExternalMemory|Destroy(?:External|Texture|Surface))\w*", _MEMORY),
        (r"cudaStream(?:Create|Destroy|WaitEvent|Attach|CopyAttr|GetPriority|GetId|GetFlags)\w*|cudaStream(?:NonBlocking|PerThread|Legacy)|cudaDeviceGetStreamPriorityRange", _STREAM),
        (r"cuda(?:Device|Thread|Stream)Synchronize|cudaStreamQuery", _SYNC),
        (r"cudaEvent[A-Z]\w*", _EVENT),
        (r"cudaStreamSetAttribute|cudaAccess(?:Policy|Property)\w*|cuda(?:Launch|Stream|Kernel)Attribute(?:ID)?AccessPolicyWindow|cudaCtx\w*|cudaLimit\w*|cudaDeviceSetLimit|cudaMemAdvise\w*|cudaMemPrefetch\w*|cudaDevAttrMaxPersistingL2CacheSize|cudaDevAttrMaxAccessPolicyWindowSize|persistingL2CacheMaxSize|accessPolicyMaxWindowSize|accessPolicyWindow", _L2),
        (r"cuda(?:Graph|UserObject)[A-Z]\w*|cudaStream(?:BeginCapture|EndCapture|IsCapturing|GetCaptureInfo|UpdateCapture)\w*|cudaThreadExchangeStreamCaptureMode", _GRAPH),
        (r"cudaDeviceReset|cudaSetDevice\w*|cudaSetValidDevices|cudaInitDevice|cudaChooseDevice|cudaDevice(?:Enable|Disable|Can)\w*Peer\w*|cudaPointerGetAttributes|cudaMemGetInfo|cudaProfiler\w*|cudaGreenCtx\w*|cudaExecutionCtx\w*|cudaDeviceFlushGPUDirect\w*", _PLACE),
        (r"cudaLaunchHostFunc\w*|cudaStreamAddCallback", _HOST),
        (r"cudaMemcpy(?:2D|3D)?(?:FromSymbol|ToArray|FromArray|Peer)?|cudaMemset(?:2D|3D)?|cudaMemcpy\w*From\w+Async|cudaMemcpyDeviceToHost", _BLOCKING),
        (r"cudaGetDriverEntryPoint\w*|cudaLibrary\w+|cuda(?:Get|Export)ExportTable|cuGetProcAddress\w*|cu(?:Ctx|Mem|Stream|Module|Launch|Event|Graph|Device|Library|Func|Init)[A-Z]\w*|cuInit", _DRIVER),
        (r"(?:cublas|cudnn|cusparse|cusolver|cufft|curand|nvrtc|nvml|nccl|nvblas)(?:Lt|Xt)?[A-Z]\w*|cublas\w*_t", _LIBRARY),
        (r"clock64|globaltimer\w*|rdtscp?|__rdtscp?|_rdtsc|clock_gettime|gettimeofday|timespec_get", _CLOCK),
        (r"dlopen|dlsym|dlmopen|pthread_create|vfork|execv\w*|execl[pe]?|posix_spawn\w*|ptrace|waitpid|mprotect|mmap", _PROCESS),
        (r"fopen\w*|freopen\w*|fdopen|popen|opendir|ifstream|ofstream|fstream", _FILES),
        (r"secure_getenv|getenv|setenv|putenv", _ENVIRONMENT),
        (r"quick_exit|_exit|_Exit", _EXIT),
    )
)  # fmt: skip

# Common words: a call only where `std::` or a leading `::` stands before them.
QUALIFIED: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), why)
    for pattern, why in (
        (r"(?:std)?::(?:thread|jthread|async|this_thread|packaged_task|system|fork|raise|signal)", _PROCESS),
        (r"(?:std)?::(?:atexit|at_quick_exit)", _EXIT),
        (r"(?:std)?::(?:clock|time|chrono)", _CLOCK),
        (r"std::(?:filesystem|basic_\w*fstream)|::(?:open|read|write)", _FILES),
        (r"::(?:socket|connect)", _NETWORK),
        (r"(?:at|torch|c10|thrust)::\w+", _LIBRARY),
        (r"access_property::persisting", _L2),
    )
)

# What only a judge's own machinery would name.
OURS = re.compile(r"EMU_\w+|emu_\w+|CUEMU\w*|CUTEGEN_(?!ABI$)\w+")

CUDART = re.compile(
    r"__cuda(?:RegisterFatBinary(?:End)?|UnregisterFatBinary|RegisterFunction|RegisterVar|RegisterHostVar|RegisterManagedVar"
    r"|InitModule|PushCallConfiguration|PopCallConfiguration|GetKernel|LaunchKernel)(?:_ptsz)?"
    r"|cuda(?:LaunchKernel(?:ExC)?|LaunchCooperativeKernel)(?:_ptsz)?"
    r"|cuda(?:GetLastError|PeekAtLastError|GetErrorString|GetErrorName)"
    r"|cudaFunc(?:SetAttribute|GetAttributes|SetCacheConfig|GetName)|cudaGet(?:FuncBySymbol|Kernel|SymbolAddress|SymbolSize)"
    r"|cudaOccupancy\w+|cuda(?:Runtime|Driver)GetVersion|cudaGetDevice(?:Properties(?:_v2)?|Count)?|cudaDeviceGetAttribute"
    r"|cudaDeviceGetLimit|cudaMem(?:set|set2D|set3D)Async(?:_ptsz)?|cudaMemcpy(?:2D|3D|ToSymbol)?Async(?:_ptsz)?|cudaMemcpyToSymbol"
    r"|cudaKernelSetAttributeForDevice|cudaCreateChannelDesc"
)
_MATH = (
    "acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 exp10 fabs fdim floor fma fmax"
    " fmin fmod frexp hypot ilogb ldexp lgamma llrint llround log log10 log1p log2 logb lrint lround modf nan nearbyint"
    " nextafter pow remainder remquo rint round roundeven scalbln scalbn sin sincos sinh sqrt tan tanh tgamma trunc"
    " j0 j1 jn y0 y1 yn"
)
# exit is what nvcc puts into the host half of every __device__ function; who calls it is seen to crash.
_LIBC = (
    "memcpy memmove memset memcmp memchr strlen strcmp strncmp strcpy strncpy strcat strncat strchr strrchr strstr strnlen"
    " __memcpy_chk __memmove_chk __memset_chk __strcpy_chk __strncpy_chk __strcat_chk"
    " printf fprintf vprintf vfprintf sprintf snprintf vsnprintf puts putchar fputs fputc putc fwrite fflush stdout stderr"
    " __printf_chk __fprintf_chk __sprintf_chk __snprintf_chk __vsnprintf_chk __vfprintf_chk"
    " malloc free calloc realloc aligned_alloc posix_memalign abort exit __assert_fail __stack_chk_fail __errno_location"
    " abs labs llabs div ldiv lldiv qsort bsearch strtol strtoul strtod atoi"
    " pthread_mutex_lock pthread_mutex_unlock pthread_mutex_trylock pthread_mutex_init pthread_mutex_destroy pthread_once"
    " __pthread_key_create pthread_self pthread_getspecific pthread_setspecific pthread_key_create __once_proxy"
    " __tls_get_addr __gmon_start__ __dso_handle _DYNAMIC _GLOBAL_OFFSET_TABLE_ __libc_single_threaded"
)
LIBC = frozenset(
    [*_LIBC.split(), *(name + ending for name in _MATH.split() for ending in ("", "f", "l", "_finite"))]
)
# The C++ runtime by its mangled names, but for what does files, threads, clocks and randomness.
CXX = re.compile(
    r"__cxa_\w+|_Unwind_\w+|__gxx_personality_v0|__dynamic_cast|_ITM_\w+|__(?:mul|div|mod|umod|udiv|ash|lsh|float|fix)\w*[stdx]?i\w*\d?|__\w+(?:hf|sf|df|tf)2?"
    r"|_Z(?:nw|na|dl|da)\w+|_ZN[KVRO]*(?:St|Ss|S[aos])\w+|_ZN(?:K)?9__gnu_cxx\w+|_ZS(?:t|s|a)\w+|_ZT[ISVTW](?:N10__cxxabiv1|N9__gnu_cxx|S|P|N?St)\w+"
)
CXX_REFUSED: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"thread|future|condition_variable|semaphore|latch"), _PROCESS),
    (re.compile(r"filebuf|fstream|filesystem|__basic_file"), _FILES),
    (re.compile(r"6chrono"), _CLOCK),
    (re.compile(r"random_device"), _ENVIRONMENT),
)
LIBRARIES = re.compile(r"lib(?:cudart|stdc\+\+|gcc_s|c|m|pthread|dl|rt)\.so(?:\.[\d.]+)?|ld-linux[\w.-]*")

# Symbols that a refusal can explain; the rest are refused as unknown.
SYMBOLS: tuple[tuple[re.Pattern[str], str], ...] = (
    *NAMES,
    *((re.compile(pattern), why) for pattern, why in (
        (r"fork|clone3?|system|kill|raise|signal|sigaction|sched_\w+|pthread_\w+|thrd_\w+|syscall|prctl|dl\w+|sem_\w+|usleep|nanosleep|sleep|clock_nanosleep|sigsetjmp|personality|wait\w*", _PROCESS),
        (r"open(?:at|64)?|creat|read|write|pread\w*|pwrite\w*|fread|fclose|close|unlink\w*|rename|ioctl|stat\w*|fstat\w*|lseek\w*|readlink\w*|shm_\w+|memfd_\w+|process_vm_\w+|dup[23]?|pipe2?|fcntl\w*|fseek\w*|std(?:in)", _FILES),
        (r"socket\w*|connect|bind|listen|accept4?|send\w*|recv\w*|getaddrinfo|gethostby\w+", _NETWORK),
        (r"clock|time|times|ftime|getrusage", _CLOCK),
        (r"environ|__environ|uname|getpid|getppid|gethostname|sysconf|getauxval|rand\w*|srand\w*|getrandom|getentropy|dl_iterate_phdr", _ENVIRONMENT),
        (r"atexit|on_exit", _EXIT),
        (r"Py_?[A-Z]\w*|_ZN(?:K)?(?:2at|5torch|3c10|6thrust)\w+", _LIBRARY),
    )),
)  # fmt: skip


def why_refused(name: str) -> str:
    """Why an identifier may not stand in a source; "" if it may."""
    return next((why for pattern, why in NAMES if pattern.fullmatch(name)), "")


def why_qualified(name: str) -> str:
    """As `why_refused`, of a name with its qualification: "std::thread", "::open"."""
    return next((why for pattern, why in QUALIFIED if pattern.fullmatch(name)), "")


def why_not_imported(symbol: str) -> str:
    """Why a library may not import a symbol; "" if it may."""
    if CUDART.fullmatch(symbol) or symbol in LIBC:
        return ""
    if CXX.fullmatch(symbol):
        return next((why for pattern, why in CXX_REFUSED if pattern.search(symbol)), "")
    known = next((why for pattern, why in SYMBOLS if pattern.fullmatch(symbol)), "")
    return known or "it is not among the functions that a kernel's library may use"


def is_others(symbol: str) -> bool:
    """True for a name of the C library or the CUDA runtime, which a candidate may not define itself."""
    known = any(pattern.fullmatch(symbol) for pattern, _ in SYMBOLS)
    return known or symbol in LIBC or bool(CUDART.fullmatch(symbol)) or symbol.startswith("__cuda")
