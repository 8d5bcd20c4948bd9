"""What holds for all tests: an interrupt reaches the programs that they start, a failure is always reported, the Python modules of a pack
that a test wrote go with it, and examples of properties may take their time."""

from __future__ import annotations

import gc
import signal
import sys
import threading
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# A machine may be busy with other things: how long an example takes says nothing.
settings.register_profile("busy", parent=settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A report without garbage collection: until 3.11.8 and 3.12.2 a finalizer that shows a traceback while the report's `ast.parse` is at
    work breaks that (CPython issue 106905), and the whole run of the tests ended there instead of with one failure."""
    if sys.version_info >= (3, 12, 2) or not gc.isenabled():
        return (yield)
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.fixture(autouse=True)
def _modules_of_packs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A module of the same name that another test writes is another one, which the run time would refuse beside the first."""
    before, path = set(sys.modules), list(sys.path)
    yield
    folder = tmp_path_factory.getbasetemp()
    for name in sys.modules.keys() - before:
        file = getattr(sys.modules[name], "__file__", None)
        if file is not None and Path(file).is_relative_to(folder):
            del sys.modules[name]
    sys.path[:] = path
