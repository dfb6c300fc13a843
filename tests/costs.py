"""What tests cost in processor time, their children's included: wall time says how busy a machine is.

`--costs` prints the dearest ten, and the quick tests that cost more than LIMIT. It fails no run: how long a
calculation takes is no property of the code alone.
"""

import resource
import time
from collections.abc import Generator
from typing import Any

import pytest

LIMIT = 3.0  # seconds of a processor that ends `calculation` in YARDSTICK seconds; of a slower one accordingly more
YARDSTICK = 0.02


def spent() -> float:
    """Processor seconds of this process and of its children that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def slowness() -> float:
    """How many times YARDSTICK a fixed calculation takes here and now, at least 1: neighbours slow a processor too."""

    def calculation() -> float:
        start = time.process_time()
        sum(number * number for number in range(500_000))
        return time.process_time() - start

    return max(1.0, min(calculation() for _ in range(3)) / YARDSTICK)


class Costs:
    """Measures where tests run, and sums up where their reports arrive: with xdist, in different processes."""

    def __init__(self) -> None:
        self.start = self.end = self.shared = 0.0
        self.is_in_shared_fixture = False
        self.costs: dict[str, float] = {}
        self.too_dear: dict[str, float] = {}

    def pytest_runtest_logstart(self) -> None:
        self.start, self.shared = spent(), 0.0

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Generator[None, Any, Any]:
        """What a module or a session shares is not the cost of the test that happens to come first."""
        if fixturedef.scope == "function" or self.is_in_shared_fixture:
            return (yield)
        self.is_in_shared_fixture, start = True, spent()
        try:
            return (yield)
        finally:
            self.is_in_shared_fixture = False
            self.shared += spent() - start

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
        report = yield
        if call.when != "teardown":  # the last test of a module ends what the module shares
            self.end = spent()
        else:
            cost = self.end - self.start - self.shared
            quick = item.get_closest_marker("slow") is None
            limit = LIMIT * slowness() if quick and cost > LIMIT else None
            report.user_properties.append(("cost", (cost, self.shared, limit)))
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        cost, shared, limit = dict(report.user_properties).get("cost", (0.0, 0.0, None))
        if report.when == "teardown":
            self.costs[report.nodeid] = cost
            self.costs[f"shared by the module or the session of {report.nodeid}"] = shared
            if limit is not None and cost > limit:
                self.too_dear[report.nodeid] = cost

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        dearest = sorted(self.costs.items(), key=lambda pair: -pair[1])[:10]
        terminalreporter.section(f"{sum(self.costs.values()):.0f} s of processors; the dearest ten")
        for name, cost in dearest:
            terminalreporter.line(f"{cost:6.2f} s  {name}")
        for name, cost in self.too_dear.items():
            terminalreporter.line(f"{name}: {cost:.1f} s is more than a quick test may cost; mark it slow", red=True)
