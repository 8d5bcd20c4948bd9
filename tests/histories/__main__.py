"""`python -m tests.histories`: write the journals of a new version, `vN`. What older versions wrote stays as it is."""

from __future__ import annotations

from tests.histories.keep import FOLDER, versions, written
from tests.histories.programs import told

number = max((int(path.name[1:]) for path in versions()), default=0) + 1
folder = FOLDER / f"v{number}"
folder.mkdir()
for name, one in told().items():
    (folder / f"{name}.ael").write_text(one.program.text, encoding="utf-8")
    (folder / f"{name}.jsonl").write_text("\n".join(written(one)) + "\n", encoding="utf-8")
print(f"wrote {folder}")
