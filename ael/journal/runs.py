"""The transactions of a durable store, written once for every database: work for a `Writer`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from ael.journal import accounts, form
from ael.journal.durable import Damaged, Fenced, RunRow, RunState, StoreError
from ael.journal.entry import VERSION, Entry, Header, State
from ael.journal.journal import COLUMNS, PUT, kept, number, to_row
from ael.journal.schema import BITS, MOST
from ael.journal.writer import Connection
from ael.project.tenants import EVERYBODY

Kept = list[tuple[int, Entry]]
Claimed = tuple[RunRow, object, Mapping[str, object], Kept]

_HEAD = "run, program, entry, digest, tenant, caller, started, deadline, version"
_REST = "state, owner, epoch, lease, wake, waits, attempts, cancel, ending, outcome, ended, active"
_ROW = f"SELECT {_HEAD}, {_REST} FROM ael_run"
_FREE = (
    "(state = 'ready' OR (state = 'parked' AND wake <= ?) OR (state = 'running' AND lease < ?))"
    " AND run IN (SELECT run FROM ael_run WHERE state = 'ready'"
    " UNION ALL SELECT run FROM ael_run WHERE state = 'parked' AND wake <= ?"
    " UNION ALL SELECT run FROM ael_run WHERE state = 'running' AND lease < ?)"
)
"""Whether a worker may claim a run: by the time and the ticks, twice. The second part is found by an index, whatever else is parked; the
first still holds when another transaction has changed the row meanwhile."""
DEAD_AFTER = 5
"""Claims in a row, each without a new record, after which a run is put aside as dead: it ends its workers (feature A12.11)."""


FIRST_EPOCH = 1
"""The epoch of the first claim of a run."""


def create(
    db: Connection, header: Header, input: bytes, pinned: bytes, delay: float = 0.0, holder: tuple[str, float] | None = None
) -> bool:
    """Add a run, which an owner may hold from the beginning, for so many seconds; False when its id is known."""
    if db.rows("SELECT 1 FROM ael_run WHERE run = ?", header.run):
        return False
    wake = db.now() + delay if delay > 0 else None
    head = (header.run, header.program, header.entry, header.input, header.tenant, header.caller, header.started, header.deadline)
    state = RunState.PARKED if wake is not None else RunState.READY
    owner, epoch, lease = "", 0, 0.0
    if holder is not None:
        state, owner, epoch, lease = RunState.RUNNING, holder[0], FIRST_EPOCH, db.ticks() + holder[1]
    db.change(
        f"INSERT INTO ael_run ({_HEAD}, input, pinned, {_REST}, reached, number) VALUES ({', '.join('?' * 24)}, {db.number})",
        *head,
        header.version,
        input,
        pinned,
        *(state.value, owner, epoch, lease, wake, "its time" if wake is not None else "", epoch, None, "", None, None, 0.0, 0),
    )
    return True


def hold(db: Connection, run: str, owner: str, lease: float) -> Claimed | None:
    """Claim one run, when nobody has it and it does not wait."""
    now, ticks = db.now(), db.ticks()
    free = "state = 'ready' OR (state = 'parked' AND wake <= ?) OR (state = 'running' AND (lease < ? OR owner = ?))"
    found = db.rows(f"SELECT epoch, version FROM ael_run WHERE run = ? AND ({free}){db.skip}", run, now, ticks, owner)
    if not found:
        return None
    epoch, version = int(found[0][0]), int(found[0][1])
    if version > VERSION:
        known = f"this one goes on with records of version {VERSION}: update `ael`"
        raise StoreError(f"the run {run} was begun by a newer release (records of version {version}); {known}")
    return _take(db, run, epoch, owner, ticks + lease)


def claim(
    db: Connection, owner: str, programs: Collection[str], slots: int, lease: float, tenants: Mapping[str, int]
) -> list[Claimed]:
    """Claim runs for the free slots of a worker: tenants take turns, none above its limit."""
    if slots <= 0 or not programs:
        return []
    now, ticks = db.now(), db.ticks()
    if tenants:
        # A plain count lets two workers pass the limit together: they count one after the other.
        db.alone("ael tenants")
    names = ", ".join("?" * len(programs))
    where = f"program IN ({names}) AND version <= {VERSION} AND {_FREE}"
    when = (now, ticks, now, ticks)
    waiting = {str(tenant) for (tenant,) in db.rows(f"SELECT DISTINCT tenant FROM ael_run WHERE {where}", *programs, *when)}
    running: dict[str, int] = {}
    if waiting:
        counted = "SELECT tenant, COUNT(*) FROM ael_run WHERE state = 'running' AND lease >= ? GROUP BY tenant"
        running = {tenant: int(count) for tenant, count in db.rows(counted, ticks)}
    query = f"SELECT run, epoch FROM ael_run WHERE {where} AND tenant = ? ORDER BY started LIMIT ?{db.skip}"
    queues: dict[str, list[tuple[str, int]]] = {}
    claimed: list[Claimed] = []
    while waiting and len(claimed) < slots:
        # The tenant with the fewest runs under way is next, so that a long queue of one does not hold up the others.
        tenant = min(waiting, key=lambda name: (running.get(name, 0), name))
        most = tenants.get(tenant, tenants.get(EVERYBODY))
        if most is not None and running.get(tenant, 0) >= most:
            waiting.discard(tenant)
            continue
        if tenant not in queues:
            queues[tenant] = [(str(run), int(epoch)) for run, epoch in db.rows(query, *programs, *when, tenant, slots)]
        if not queues[tenant]:
            waiting.discard(tenant)
            continue
        run, epoch = queues[tenant].pop(0)
        try:
            taken = _take(db, run, epoch, owner, ticks + lease)
        except Damaged as error:
            # Put aside, so that it does not keep every worker from the runs that come after it.
            _bury(db, run, str(error))
            taken = None
        if taken is not None:
            claimed.append(taken)
            running[tenant] = running.get(tenant, 0) + 1
        elif not queues[tenant]:
            del queues[tenant]  # it was put aside: there may be others behind it
    return claimed


def _take(db: Connection, run: str, epoch: int, owner: str, until: float) -> Claimed | None:
    attempts, reached = db.rows("SELECT attempts, reached FROM ael_run WHERE run = ?", run)[0]
    written = int(db.rows("SELECT COUNT(*) FROM ael_entry WHERE run = ?", run)[0][0])
    attempts = 1 if written > reached else int(attempts) + 1
    if attempts > DEAD_AFTER:
        _bury(db, run, f"{DEAD_AFTER} workers that took it, one after the other, stopped before it got any further")
        return None
    taken = db.change(
        "UPDATE ael_run SET state = 'running', owner = ?, epoch = ?, lease = ?, wake = NULL, attempts = ?, reached = ?"
        " WHERE run = ? AND epoch = ?",
        *(owner, epoch + 1, until, attempts, written, run, epoch),
    )
    if not taken:
        return None
    _take_in(db, run, epoch + 1)
    return _whole(db, run)


def _whole(db: Connection, run: str) -> Claimed:
    row, found = find(db, run), given(db, run)
    if row is None or found is None:
        raise Damaged(f"the run {run} is damaged")
    return row, *found, kept(db, run)


def regain(db: Connection, owner: str, epochs: Mapping[str, int]) -> list[Claimed]:
    """Those of these claims that hold: for a worker that did not hear of their commit."""
    query = "SELECT 1 FROM ael_run WHERE run = ? AND epoch = ? AND owner = ? AND state = 'running'"
    return [_whole(db, run) for run, epoch in epochs.items() if db.rows(query, run, epoch, owner)]


def _bury(db: Connection, run: str, why: str) -> None:
    """Put a run aside that nobody can go on with."""
    db.change("UPDATE ael_run SET state = 'dead', owner = '', lease = 0, waits = ?, ended = ? WHERE run = ?", why, db.now(), run)


def unclaimed(db: Connection, programs: Collection[str], limit: int) -> list[RunRow]:
    """Runs that could go on, of other programs or of a newer release, which no worker works on at the moment; the oldest first."""
    now, ticks = db.now(), db.ticks()
    other = f"program NOT IN ({', '.join('?' * len(programs))})" if programs else "1 = 1"
    worked = "SELECT 1 FROM ael_run r WHERE r.program = ael_run.program AND r.state = 'running' AND r.lease >= ?"
    nobody = f"(version > {VERSION} OR ({other} AND NOT EXISTS ({worked})))"
    query = f"{_ROW} WHERE {nobody} AND {_FREE} ORDER BY started, run LIMIT ?"
    return [to_run(row) for row in db.rows(query, *programs, ticks, now, ticks, now, ticks, limit)]


def pulse(db: Connection, owner: str, runs: Mapping[str, int], lease: float) -> tuple[frozenset[str], dict[str, str]]:
    """Extend leases; the runs that are somebody else's by now, and those to cancel."""
    until = db.ticks() + lease
    lost: set[str] = set()
    cancel: dict[str, str] = {}
    for run, epoch in runs.items():
        query = "UPDATE ael_run SET lease = ? WHERE run = ? AND epoch = ? AND owner = ? AND state = 'running'"
        if not db.change(query, until, run, epoch, owner):
            lost.add(run)
            continue
        reason = db.rows("SELECT cancel FROM ael_run WHERE run = ?", run)[0][0]
        if reason is not None:
            cancel[run] = str(reason)
    return frozenset(lost), cancel


def leave(db: Connection, run: str, epoch: int, changes: Mapping[str, object]) -> None:
    """Give a run up: it is parked, ready again, or has ended, as `changes` say. Raises `Fenced`. Done twice it changes nothing."""
    sets = ", ".join(f"{column} = ?" for column in changes)
    query = f"UPDATE ael_run SET {sets}, owner = '', lease = 0 WHERE run = ? AND epoch = ? AND state = 'running'"
    if db.change(query, *changes.values(), run, epoch):
        if changes.get("state") == RunState.PARKED.value:
            answered = (
                "state = 'parked' AND (cancel IS NOT NULL OR EXISTS (SELECT 1 FROM ael_signal s WHERE s.run = ael_run.run))"
            )
            db.change(f"UPDATE ael_run SET state = 'ready', wake = NULL WHERE run = ? AND {answered}", run)
        return
    if not db.rows("SELECT 1 FROM ael_run WHERE run = ? AND epoch = ? AND owner = ''", run, epoch):
        raise Fenced(run)


def answer(db: Connection, run: str, entry: Entry, wake: bool, again: bool = False) -> bool:
    """Leave an answer from outside for a call that waits for it, and let the run go on: it is in the journal with the next claim.

    The holder of a running run numbers its records by itself, so nobody else writes among them. `again`: this was tried before, and
    nobody knows if it was committed.
    """
    # Two who answer at once come one after the other.
    db.alone(f"ael answer {run}")
    found = db.rows("SELECT state FROM ael_run WHERE run = ?" + db.share, run)
    row = to_row(entry)
    known = db.rows(f"SELECT {COLUMNS} FROM ael_signal WHERE run = ? AND path = ?", run, entry.path)
    known += db.rows(f"SELECT {COLUMNS} FROM ael_entry WHERE run = ? AND path = ? AND state = 'answered'", run, entry.path)
    if known:
        return again and tuple(known[0]) == row
    if not found or found[0][0] in ("ended", "dead") or not _waits(db, run, entry.path):
        return False
    db.change(f"INSERT INTO ael_signal (run, {COLUMNS}) VALUES ({', '.join('?' * 13)})", run, *row)
    if wake:
        # `waits` stays until the run parks anew: what else it waits for can be answered meanwhile.
        db.change("UPDATE ael_run SET state = 'ready', wake = NULL, attempts = 0 WHERE run = ? AND state = 'parked'", run)
    return True


def _waits(db: Connection, run: str, path: str) -> bool:
    """Whether there is a call at `path` that has no answer."""
    states = [state for (state,) in db.rows("SELECT state FROM ael_entry WHERE run = ? AND path = ?", run, path)]
    return bool(states) and State.ANSWERED.value not in states


def _take_in(db: Connection, run: str, epoch: int) -> None:
    """Move the answers from outside into the journal."""
    for row in db.rows(f"SELECT {COLUMNS} FROM ael_signal WHERE run = ? ORDER BY at, path", run):
        if _waits(db, run, str(row[0])):
            end = int(db.rows("SELECT COUNT(*) FROM ael_entry WHERE run = ?", run)[0][0])
            db.change(PUT, (number(db, run) << BITS) | end, epoch, *row)
    db.change("DELETE FROM ael_signal WHERE run = ?", run)


def cancel(db: Connection, run: str, reason: str) -> bool:
    """Ask for a run's end; a parked one is woken for it."""
    if not db.change("UPDATE ael_run SET cancel = ? WHERE run = ? AND state NOT IN ('ended', 'dead')", reason, run):
        return False
    db.change("UPDATE ael_run SET state = 'ready', wake = NULL WHERE run = ? AND state = 'parked'", run)
    return True


def revive(db: Connection, run: str) -> bool:
    """Give a dead run another chance; False when it is none."""
    back = "UPDATE ael_run SET state = 'ready', waits = '', ended = NULL, attempts = 0 WHERE run = ? AND state = 'dead'"
    return db.change(back, run) > 0


def given(db: Connection, run: str) -> tuple[object, Mapping[str, object]] | None:
    """The input of a run, and what it is pinned to."""
    found = db.rows("SELECT input, pinned FROM ael_run WHERE run = ?", run)
    if not found:
        return None
    try:
        input, pinned = (form.read(bytes(data)) for data in found[0])
    except (form.FormError, TypeError) as error:
        raise Damaged(f"the run {run} is damaged: {error}") from None
    if not isinstance(pinned, dict):
        raise Damaged(f"the run {run} is damaged")
    return input, pinned


def find(db: Connection, run: str) -> RunRow | None:
    """The row of a run."""
    found = db.rows(f"{_ROW} WHERE run = ?", run)
    return to_run(found[0]) if found else None


def rows(db: Connection, states: Collection[RunState], tenant: str | None, limit: int) -> list[RunRow]:
    """Rows, the newest first."""
    where: list[str] = []
    parameters: list[object] = []
    if states:
        where.append(f"state IN ({', '.join('?' * len(states))})")
        parameters += [state.value for state in states]
    if tenant is not None:
        where.append("tenant = ?")
        parameters.append(tenant)
    chosen = f" WHERE {' AND '.join(where)}" if where else ""
    return [to_run(row) for row in db.rows(f"{_ROW}{chosen} ORDER BY started DESC, run LIMIT ?", *parameters, limit)]


def prune(db: Connection, before: float, keep: int) -> int:
    """Forget runs that ended before a time, but the newest `keep`."""
    ended = "SELECT run FROM ael_run WHERE state IN ('ended', 'dead') ORDER BY ended DESC, run"
    spared = {run for (run,) in db.rows(f"{ended} LIMIT ?", keep)} if keep else set()
    old = [run for (run,) in db.rows("SELECT run FROM ael_run WHERE state IN ('ended', 'dead') AND ended < ?", before)]
    gone = [run for run in old if run not in spared]
    for run in gone:
        first = number(db, run) << BITS
        db.change("DELETE FROM ael_record WHERE place BETWEEN ? AND ?", first, first | (MOST - 1))
        db.change("DELETE FROM ael_signal WHERE run = ?", run)
        db.change("DELETE FROM ael_run WHERE run = ?", run)
        accounts.forget(db, run)
    return len(gone)


def to_run(row: tuple[Any, ...]) -> RunRow:
    """A row of `ael_run`. Raises `Damaged` for what no store wrote."""
    run, program, entry, digest, tenant, caller, started, deadline, version, *rest = row
    state, owner, epoch, lease, wake, waits, attempts, reason, ending, outcome, ended, active = rest
    header = Header(run, program, entry, digest, tenant, caller, float(started), deadline, int(version))
    try:
        kept_outcome = None if outcome is None else form.read(bytes(outcome))
        state = RunState(state)
    except (ValueError, TypeError) as error:
        raise Damaged(f"the run {run} is damaged: {error}") from None
    return RunRow(
        header,
        state,
        owner,
        int(epoch),
        float(lease),
        wake,
        waits,
        int(attempts),
        reason,
        ending,
        kept_outcome,
        ended,
        active,
    )
