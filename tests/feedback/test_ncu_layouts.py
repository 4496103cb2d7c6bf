"""Random metrics, written in every layout, locale and unit scaling, come back as the same base-unit numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cutegen_git.core.feedback.ncu import Profile, Trouble, explain
from cutegen_git.core.feedback.ncu_number import decimal_mark, parse, to_base


@dataclass(frozen=True)
class Metric:
    name: str
    number: Decimal  # as printed, two decimals at most
    unit: str  # as printed
    base: Decimal  # printed unit in base units


@dataclass(frozen=True)
class Locale:
    group: str
    mark: str
    lakh: bool = False

    def write(self, number: Decimal) -> str:
        whole, _, tail = f"{number:.2f}".partition(".")
        sign, whole = ("-", whole[1:]) if whole.startswith("-") else ("", whole)
        grouped = sign + self.grouped(whole)
        return grouped if tail == "00" else f"{grouped}{self.mark}{tail}"

    def grouped(self, whole: str) -> str:
        head, parts, size = whole[:-3], [whole[-3:]], 2 if self.lakh else 3
        if not self.group:
            return whole
        while head:
            parts.insert(0, head[-size:])
            head = head[:-size]
        return self.group.join(parts)


LOCALES = (
    Locale("", "."),
    Locale(",", "."),
    Locale(".", ","),
    Locale("\u00a0", ","),
    Locale("\u202f", ","),
    Locale(" ", ","),
    Locale("'", "."),
    Locale("\u2019", "."),
    Locale(",", ".", lakh=True),
)
# Unit as printed and its size, by what ncu versions write; text reports scale, base units do not.
SCALES: dict[str, tuple[tuple[str, int], ...]] = {
    "ns": (("ns", 1), ("nsecond", 1), ("us", 10**3), ("usecond", 10**3), ("ms", 10**6), ("msecond", 10**6))
    + (("s", 10**9), ("second", 10**9)),
    "byte": (("byte", 1), ("Kbyte", 10**3), ("Mbyte", 10**6), ("Gbyte", 10**9), ("Tbyte", 10**12)),
    "byte/block": (("byte/block", 1), ("Kbyte/block", 10**3)),
    "byte/s": (("byte/second", 1), ("Gbyte/s", 10**9), ("Tbyte/second", 10**12), ("byte/ns", 10**9)),
    "hz": (("hz", 1), ("Mhz", 10**6), ("Ghz", 10**9), ("cycle/nsecond", 10**9), ("cycle/usecond", 10**6)),
    "%": (("%", 1),),
    "register/thread": (("register/thread", 1),),
    "warp": (("warp", 1),),
    "": (("", 1),),
}
RELAXED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # shared machines are slow
KERNELS = (
    "gemm_ref(const float *, const float *, float *, int)",
    "void axpy_tile<float, 4>(T1, const T1 *, T1 *, long)",
    "void ns::(anonymous namespace)::k<cute::tuple<cute::C<4>, cute::C<(int)32>>>(int, T2)",
    "softmax_rows(const float *, float *, int, int)",
)
NOISE = (
    "done",
    '"result","ok",1,234',
    '"0","3","4.1e-07"',
    '"ID","seed","err"',
    "==PROF== not from ncu",
    'he said "well',
    "1,2,3",
    "  0.123 ms, Device 0",
    '==PROF== Profiling "k" - 0: 0%....50%seed 3: max abs err 4.1e-07',
    "naïve résumé 測試",
)

hundredths = st.integers(0, 10**11).map(lambda value: Decimal(value) / 100)
share = st.integers(1, 9999).filter(lambda value: value % 100).map(lambda value: Decimal(value) / 100)


@st.composite
def metrics(draw: st.DrawFn) -> list[Metric]:
    names = draw(st.lists(st.sampled_from([f"unit__m{i}.sum" for i in range(9)]), min_size=1, unique=True))
    found = [Metric("sm__throughput.avg.pct", draw(share), "%", Decimal(1))]  # shows the locale
    for name in names:
        unit, size = draw(st.sampled_from(SCALES[draw(st.sampled_from(sorted(SCALES)))]))
        found.append(Metric(name, draw(hundredths), unit, Decimal(size)))
    return found


@st.composite
def launches(draw: st.DrawFn) -> list[tuple[str, list[Metric]]]:
    kernels = draw(st.lists(st.sampled_from(KERNELS), min_size=1, max_size=3, unique=True))
    return [(kernel, draw(metrics())) for kernel in kernels]


def quoted(*cells: str) -> str:
    return ",".join('"' + cell.replace('"', '""') + '"' for cell in cells)


ID = ("ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream")
SHAPE = ("Block Size", "Grid Size", "Device", "CC")
Runs = Sequence[tuple[str, list[Metric]]]


def identity(index: int, kernel: str) -> tuple[str, ...]:
    head = (str(index), "480", "a", "127.0.0.1", kernel, "1", "7")
    return (*head, "(256, 1, 1)", "(1000, 1, 1)", "0", "8.9")


def long_table(runs: Runs, locale: Locale) -> list[str]:
    lines = [quoted(*ID, *SHAPE, "Section Name", "Metric Name", "Metric Unit", "Metric Value")]
    for index, (kernel, found) in enumerate(runs):
        for one in found:
            row = (*identity(index, kernel), "Command line profiler metrics", one.name, one.unit)
            lines.append(quoted(*row, locale.write(one.number)))
    return lines


def details(runs: Runs, locale: Locale) -> list[str]:
    rules = ("Rule Name", "Rule Type", "Rule Description", "Estimated Speedup Type", "Estimated Speedup")
    first, *rows = long_table(runs, locale)
    prose = quoted(
        *identity(0, runs[0][0]), "Occupancy", "", "", "", "Rule", "OPT", "a, b\nand 99.5% c", "", ""
    )
    return [first + "," + quoted(*rules), *(f"{row}," for row in rows), prose]


def wide(runs: Runs, locale: Locale) -> list[str]:
    """One kernel a table, since units are those of a column."""
    lines = []
    for kernel, found in runs:
        lines.append(quoted(*ID, *SHAPE, *(one.name for one in found)))
        lines.append(quoted(*("" for _ in (*ID, *SHAPE)), *(one.unit for one in found)))
        lines.append(quoted(*identity(0, kernel), *(locale.write(one.number) for one in found)))
    return lines


def summary(runs: Runs, locale: Locale) -> list[str]:
    head = ("Process ID", "Process Name", "Host Name", "Kernel Name", *SHAPE, "Invocations", "Section Name")
    lines = [quoted(*head, "Metric Name", "Metric Unit", "Minimum", "Maximum", "Average")]
    for kernel, found in runs:
        for one in found:
            number = locale.write(one.number)
            shape = ("(256, 1, 1)", "(1000, 1, 1)", "0", "8.9")
            row = ("480", "a", "127.0.0.1", kernel, *shape, "3", "x", one.name, one.unit)
            lines.append(quoted(*row, locale.write(Decimal("1.5")), number, number))
    return lines


def text_report(runs: Runs, locale: Locale) -> list[str]:
    lines = ["[480] a@127.0.0.1"]
    for kernel, found in runs:
        lines += [
            f"  {kernel} (1000, 1, 1)x(256, 1, 1), Context 1, Stream 7, Device 0, CC 8.9",
            "    Section: X",
        ]
        lines += [
            *table(("Metric Name", "Metric Unit", "Metric Value"), found, locale),
            "    OPT   Est. 19.03%",
            "",
        ]
    return lines


def old_text_report(runs: Runs, locale: Locale) -> list[str]:
    lines = []
    for kernel, found in runs:
        lines += [f"  {kernel}, 2021-Jan-02 10:11:12, Context 1, Stream 7", "    Section: X"]
        lines += table((), found, locale)
    return lines


def summary_report(runs: Runs, locale: Locale) -> list[str]:
    lines = []
    for kernel, found in runs:
        lines += [f"  {kernel} (1000, 1, 1)x(256, 1, 1), Device 0, CC 8.9, Invocations 3", "    Section: X"]
        names = ("Metric Name", "Metric Unit", "Minimum", "Maximum", "Average")
        lines += table(names, found, locale)
    return lines


def table(names: Sequence[str], found: list[Metric], locale: Locale) -> list[str]:
    count = len(names) or 3
    rows = [(one.name, one.unit, *[locale.write(one.number)] * (count - 2)) for one in found]
    shown = [tuple(names), *rows] if names else rows
    widths = [max(3, *(len(row[i]) for row in shown)) for i in range(count)]
    rule = "    " + " ".join("-" * width for width in widths)

    def line(row: Sequence[str]) -> str:
        return "    " + " ".join(
            [row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))]
        )

    return [rule, *([line(names), rule] if names else []), *(line(row) for row in rows), rule, ""]


CSV_LAYOUTS = (long_table, details, wide, summary)
LAYOUTS = (*CSV_LAYOUTS, text_report, old_text_report, summary_report)
Layout = Callable[[Runs, Locale], list[str]]


def assert_read(text: str, runs: Runs) -> None:
    for kernel, found in runs:
        result = explain(text, exit_code=0, target=kernel)
        assert isinstance(result, Profile), result
        assert result.kernel == kernel
        assert {name: one.value for name, one in result.metrics.items()} == {
            one.name: float(one.number * one.base) for one in found
        }


@pytest.mark.parametrize("layout", LAYOUTS)
@RELAXED
@given(runs=launches(), locale=st.sampled_from(LOCALES))
def test_numbers_come_back_in_base_units(layout: Layout, runs: Runs, locale: Locale) -> None:
    assert_read("\n".join(layout(runs, locale)) + "\n", runs)


@pytest.mark.parametrize("layout", CSV_LAYOUTS)
@RELAXED
@given(runs=launches(), locale=st.sampled_from(LOCALES), data=st.data())
def test_program_output_between_the_rows_is_passed_over(
    layout: Layout, runs: Runs, locale: Locale, data: st.DataObject
) -> None:
    lines = ["==PROF== Connected to process 480 (/opt/a)"]
    for line in layout(runs, locale):
        lines += [*data.draw(st.lists(st.sampled_from(NOISE), max_size=2)), line]
    lines += data.draw(st.lists(st.sampled_from(NOISE), max_size=2))
    assert_read("\n".join(lines) + "\n", runs)


@pytest.mark.parametrize("layout", [long_table, wide, text_report])
@RELAXED
@given(
    values=st.lists(st.integers(1, 10**12), min_size=1, max_size=6),
    locale=st.sampled_from([one for one in LOCALES if one.group or one.mark == "."]),
)
def test_whole_nanoseconds_alone_are_read_in_any_locale(
    layout: Layout, values: list[int], locale: Locale
) -> None:
    found = [Metric(f"m__{i}.sum", Decimal(value), "ns", Decimal(1)) for i, value in enumerate(values)]
    assert_read("\n".join(layout([(KERNELS[0], found)], locale)) + "\n", [(KERNELS[0], found)])


@pytest.mark.parametrize("layout", LAYOUTS)
@RELAXED
@given(runs=launches(), locale=st.sampled_from(LOCALES), data=st.data())
def test_cut_report_never_gives_another_number(
    layout: Layout, runs: Runs, locale: Locale, data: st.DataObject
) -> None:
    text = "\n".join(layout(runs, locale)) + "\n"
    cut = text[: data.draw(st.integers(0, len(text) - 1))]
    for kernel, found in runs:
        result = explain(cut, exit_code=0, target=kernel)
        if isinstance(result, Profile):
            true = {one.name: float(one.number * one.base) for one in found}
            assert {name: one.value for name, one in result.metrics.items()}.items() <= true.items()
        stopped = explain(cut, exit_code=124, target=kernel)
        assert isinstance(stopped, Trouble)
        assert stopped.problem.value in ("truncated", "no-output")


@RELAXED
@given(st.text())
def test_no_text_breaks_the_reader(text: str) -> None:
    assert isinstance(explain(text, exit_code=0), Trouble)


@RELAXED
@given(st.text(alphabet="0123456789.,-+eE \u00a0'naif%/()", max_size=12), st.sampled_from(".,"))
def test_number_is_finite_or_missing(text: str, mark: str) -> None:
    number = parse(text, mark)
    assert number is None or number.is_finite()


@pytest.mark.parametrize(
    "text", ["n/a", "nan", "inf", "-inf", "no data", "", "PolicySpread", "(256, 1, 1)", "all"]
)
def test_words_are_missing(text: str) -> None:
    assert parse(text, ".") is None


@pytest.mark.parametrize(
    ("text", "mark"), [("71,44", "."), ("61.38", ","), ("1,2,3", "."), ("12345,678", "."), ("1.234,567", ".")]
)
def test_digits_grouped_as_in_no_locale_are_missing(text: str, mark: str) -> None:
    assert parse(text, mark) is None


def test_instances_behind_a_number_are_left_out() -> None:
    assert parse("1,234 (600; 634)", ".") == 1234


def test_one_percent_decides_for_the_whole_report() -> None:
    assert decimal_mark([("151.938", "ns"), ("71,44", "%")]) == ","
    assert decimal_mark([("151,938", "ns"), ("71.44", "%")]) == "."
    assert decimal_mark([("16", ""), ("2", "ns")]) == "."


def test_unknown_unit_is_kept_as_it_is() -> None:
    assert to_base(Decimal("1.5"), "furlong/pass") == (1.5, "furlong/pass")
    assert to_base(Decimal("2"), "KiB") == (2048.0, "byte")
