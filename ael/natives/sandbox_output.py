"""What is kept of an output: its beginning and its end, whatever its length, in a bounded buffer."""

from __future__ import annotations


class Kept:
    """At most `limit` bytes of what is fed to it."""

    def __init__(self, limit: int) -> None:
        self._first = limit // 2
        self._last = limit - self._first
        self._head = bytearray()
        self._tail = bytearray()
        self.total = 0

    def feed(self, data: bytes) -> None:
        """Take more of the output."""
        self.total += len(data)
        room = self._first - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        self._tail += data[-self._last :] if self._last else b""
        if len(self._tail) > 2 * self._last + 65_536:
            del self._tail[: -self._last]

    @property
    def cut(self) -> bool:
        """Whether something is missing."""
        return self.total > self._first + self._last

    def text(self) -> str:
        """The output as text, with a line that says what is missing. What is no UTF-8, and a zero byte, becomes `�`."""
        if not self.cut:
            return _text(self._head + self._tail)
        tail = self._tail[-self._last :] if self._last else b""
        missing = self.total - len(self._head) - len(tail)
        # A character that the cut went through is left out, not shown as two broken ones.
        head, end = _text(self._head).rstrip("�"), _text(tail).lstrip("�")
        return f"{head}\n[… {missing:,} bytes left out …]\n{end}"


def _text(data: bytes | bytearray) -> str:
    return data.decode("utf-8", "replace").replace("\0", "�")
