"""What holds for all tests: an interrupt reaches the programs that they start, also where a shell started the tests in the background."""

from __future__ import annotations

import signal
import threading

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)
