"""Keys: who may use the service, how much, and how often. A table of hashes, and what each key has translated per day.

A key is `dg_ID_SECRET`. The id finds its row, and the row has the argon2 hash of the secret, so that the table alone
lets nobody in. A checked key is known for a moment by a keyed digest in memory: a hash is computed once, and a key that
is revoked, here or by another process, stops within RECHECK seconds.
"""

import hashlib
import hmac
import json
import math
import re
import secrets
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime

from argon2 import PasswordHasher
from argon2.exceptions import Argon2Error
from sqlalchemy import BigInteger, Column, Float, MetaData, RowMapping, String, Table, Text, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import IntegrityError

from dragoman.errors import ConfigError, DragomanError
from dragoman.serve.store.database import Database, DatabaseGone

METADATA = MetaData()
KEYS = Table(
    "keys",
    METADATA,
    Column("id", String(16), primary_key=True),
    Column("name", String(100), nullable=False, unique=True),
    Column("hash", String(200), nullable=False),
    Column("created", Float, nullable=False),
    Column("expires", Float),
    Column("revoked", Float),
    Column("per_minute", BigInteger),
    Column("characters_per_day", BigInteger),
    Column("characters", BigInteger),
    Column("models", Text, nullable=False),
)
USAGE = Table(
    "usage",
    METADATA,
    Column("key", String(16), primary_key=True),
    Column("day", String(10), primary_key=True),
    Column("characters", BigInteger, nullable=False),
)
# Seconds after which a known key is looked up again, and for which it is accepted while the database is gone.
RECHECK, WITHOUT_DATABASE = 2.0, 600.0
# Keys that are known at a time, and seconds between two records of what was translated.
KNOWN, RECORD = 4096, 1.0
FORM = re.compile(r"dg_([0-9a-f]{12})_([\w-]{43})")
NAME = re.compile(r"[\w][\w .@-]{0,99}")
# The secret is random and long: the hash need not be slow to guess, only impossible to reverse.
HASHER = PasswordHasher(time_cost=2, memory_cost=8192, parallelism=1)


class BadKey(DragomanError):
    """No key, or one that is not accepted."""


class OverQuota(DragomanError):
    """More characters than a key has left today."""


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key without its secret. None: no limit."""

    id: str
    name: str
    created: float
    expires: float | None = None
    revoked: float | None = None
    per_minute: int | None = None
    """Requests."""
    characters_per_day: int | None = None
    """Of texts to translate, in UTC."""
    characters: int | None = None
    """Of a request."""
    models: tuple[str, ...] = ()
    """Names of the models that it may use; empty: all."""

    @property
    def fault(self) -> str | None:
        """Why the key is not accepted now; None if it is."""
        if self.revoked is not None:
            return "the key was revoked"
        return "the key has expired" if self.expires is not None and time.time() >= self.expires else None


class KeyStore:
    """The keys of a database. Threads and processes share it."""

    def __init__(self, database: Database) -> None:
        self.database = database
        database.create(METADATA)
        self._pepper = secrets.token_bytes(32)
        self._known: OrderedDict[bytes, tuple[ApiKey, float]] = OrderedDict()
        self._used = Counter[tuple[str, str]]()
        self._lock, self._hashing, self._closing = threading.Lock(), threading.Lock(), threading.Event()
        self._required, self._asked = False, -RECHECK
        self._gone = -math.inf
        """When the database did not answer last."""
        self._last = dict[str, tuple[str, int]]()
        """What was recorded for a key on a day, when it was last read."""
        self._records, self._recording = 0, False
        """How often what was used has been recorded, and whether it is being recorded."""
        self._rest = threading.Condition(self._lock)
        self._recorder: threading.Thread | None = None

    def create(
        self,
        name: str,
        *,
        per_minute: int | None = None,
        characters_per_day: int | None = None,
        characters: int | None = None,
        models: Sequence[str] = (),
        expires: float | None = None,
    ) -> tuple[ApiKey, str]:
        """A new key, and its text, which is shown once. Raises ConfigError for a name that is taken or none."""
        if not NAME.fullmatch(name):
            raise ConfigError(f"{name!r:.60}: no name for a key; use up to 100 letters, digits, spaces and .@-_")
        id, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
        key = ApiKey(id, name, time.time(), expires, None, per_minute, characters_per_day, characters, tuple(models))
        row = {**asdict(key), "hash": HASHER.hash(secret), "models": json.dumps(key.models)}
        try:
            with self.database.begin() as connection:
                connection.execute(insert(KEYS).values(row))
        except IntegrityError:
            raise ConfigError(f"{name}: there is a key with this name; choose another") from None
        return key, f"dg_{key.id}_{secret}"

    def list(self) -> Sequence[ApiKey]:
        """All keys, revoked ones too, the oldest first."""
        with self.database.begin() as connection:
            return [_key(row) for row in connection.execute(select(KEYS).order_by(KEYS.c.created)).mappings()]

    def revoke(self, name: str) -> ApiKey:
        """Revoke the key of this name or id; one that is revoked stays so. Raises ConfigError if there is none."""
        for key in self.list():
            if name in (key.name, key.id):
                if key.revoked is None:
                    key = replace(key, revoked=time.time())
                    with self.database.begin() as connection:
                        connection.execute(update(KEYS).where(KEYS.c.id == key.id).values(revoked=key.revoked))
                return key
        raise ConfigError(f"{name}: no key has this name; `dragoman keys list` shows them")

    def are_required(self) -> bool:
        """Whether there is a key, even if it is revoked: then a request needs one. Blocks. Raises DatabaseGone."""
        if (known := self.known_to_be_required()) is not None:
            return known
        now = time.monotonic()
        with self.database.begin() as connection:
            self._required = connection.execute(select(KEYS.c.id).limit(1)).first() is not None
        self._asked = now
        return self._required

    def known_to_be_required(self) -> bool | None:
        """What `are_required` found a moment ago, None if that is too old; never blocks."""
        return self._required if self._required or time.monotonic() - self._asked < RECHECK else None

    def known(self, text: str) -> ApiKey | None:
        """The key of this text if it was checked a moment ago; never blocks."""
        with self._lock:
            key, checked = self._known.get(self._digest(text), (None, 0.0))
        if key is None or key.fault:
            return None
        now = time.monotonic()
        waits = now - self._gone < RECHECK and now - checked < WITHOUT_DATABASE  # nobody else asks what does not answer
        return key if now - checked < RECHECK or waits else None

    def check(self, text: str) -> ApiKey:
        """The key of this text. Blocks. Raises BadKey, or DatabaseGone for one that was not known before."""
        form = FORM.fullmatch(text)
        if not form:
            raise BadKey("the key is not one of this service")
        digest = self._digest(text)
        with self._lock:
            before, checked = self._known.get(digest, (None, 0.0))
        try:
            with self.database.begin() as connection:
                row = connection.execute(select(KEYS).where(KEYS.c.id == form[1])).mappings().first()
        except DatabaseGone:
            self._gone = time.monotonic()
            if before is None or before.fault or time.monotonic() - checked > WITHOUT_DATABASE:
                raise
            return before
        if row is None or not (before or self._is_secret(row["hash"], form[2])):
            raise BadKey("the key is not one of this service")
        key = _key(row)
        with self._lock:
            self._known[digest] = key, time.monotonic()
            self._known.move_to_end(digest)
            while len(self._known) > KNOWN:
                self._known.popitem(last=False)
        if key.fault:
            raise BadKey(key.fault)
        return key

    def use(self, key: str, characters: int, limit: int | None = None) -> str:
        """Count characters for a key, and return the day; blocks where there is a limit. Raises OverQuota.

        A thread records them within RECORD seconds, or when the store is closed.
        """
        day = _today()
        if limit is None:
            with self._lock:
                self._add(key, day, characters)
            return day
        with self._recorded(lambda: self._recorded_on(key, day)) as recorded:
            used = recorded + self._used[key, day]
            if used + characters > limit:
                raise OverQuota(
                    f"the key has {limit:,} characters per day and {used:,} are used; "
                    "send less, or wait until 00:00 UTC"
                )
            self._add(key, day, characters)
            return day

    def _add(self, key: str, day: str, characters: int) -> None:
        self._used[key, day] += characters
        if self._recorder is None:
            self._recorder = threading.Thread(target=self._record_now_and_then, daemon=True)
            self._recorder.start()

    def give_back(self, key: str, characters: int, day: str) -> None:
        """Characters that `use` counted on this day were not translated."""
        with self._lock:
            self._used[key, day] -= characters

    def used(self, key: str) -> int:
        """The characters of a key on all days."""

        def on_all_days() -> int:
            with self.database.begin() as connection:
                return sum(row[0] for row in connection.execute(select(USAGE.c.characters).where(USAGE.c.key == key)))

        with self._recorded(on_all_days) as recorded:
            return recorded + sum(count for (counted, _), count in self._used.items() if counted == key)

    def used_today(self, key: str) -> int:
        """The characters of a key today; while the database does not answer, those that this process knows of."""
        day = _today()
        with self._recorded(lambda: self._recorded_on(key, day)) as recorded:
            return recorded + self._used[key, day]

    @contextmanager
    def _recorded(self, read: Callable[[], int]) -> Iterator[int]:
        """What `read` finds in the table, with the lock held and no count both there and in `_used`, or in neither.

        Between the end of a transaction and its subtraction from `_used` a count is in both: the sum waits for it. Of a
        database that is slower than it is written to, the sum of a second reading counts, though it may be too large.
        """
        for may_repeat in (True, False):
            records = self._records
            recorded = read()
            with self._rest:
                self._rest.wait_for(lambda: not self._recording)
                if records == self._records or not may_repeat:
                    yield recorded
                    return

    def _recorded_on(self, key: str, day: str) -> int:
        """What is recorded for a key; while the database does not answer, what was when it answered last."""
        try:
            query = select(USAGE.c.characters).where(USAGE.c.key == key, USAGE.c.day == day)
            with self.database.begin() as connection:
                self._last[key] = day, connection.execute(query).scalar() or 0
        except DatabaseGone:
            pass
        before, recorded = self._last.get(key, (day, 0))
        return recorded if before == day else 0

    def close(self) -> None:
        """Record what was used."""
        self._closing.set()
        if self._recorder:
            self._recorder.join()

    def _digest(self, text: str) -> bytes:
        return hmac.digest(self._pepper, text.encode("utf-8", "surrogatepass"), hashlib.sha256)

    def _is_secret(self, hashed: str, secret: str) -> bool:
        with self._hashing:  # guesses take turns: they cannot occupy all processors
            try:
                return HASHER.verify(hashed, secret)
            except Argon2Error:
                return False

    def _record_now_and_then(self) -> None:
        closing = False
        while not closing:
            closing = self._closing.wait(RECORD)
            try:
                self._record()
            except DatabaseGone:
                continue  # kept until it answers

    def _record(self) -> None:
        with self._lock:
            used = dict(self._used)
            if not used:
                return
            self._recording = True
        try:
            dialect = postgresql if self.database.url.get_backend_name() == "postgresql" else sqlite
            with self.database.begin() as connection:
                for (key, day), characters in sorted(used.items()):
                    row = {"key": key, "day": day, "characters": characters}
                    adding, more = dialect.insert(USAGE).values(row), {"characters": USAGE.c.characters + characters}
                    connection.execute(adding.on_conflict_do_update(index_elements=["key", "day"], set_=more))
            with self._lock:
                self._records += 1
                self._used.subtract(used)
                self._used = Counter({counted: number for counted, number in self._used.items() if number})
        finally:
            with self._rest:
                self._recording = False
                self._rest.notify_all()


def _today() -> str:
    return datetime.now(UTC).date().isoformat()


def _key(row: RowMapping) -> ApiKey:
    fields = {name: value for name, value in row.items() if name != "hash"}
    return ApiKey(**{**fields, "models": tuple(json.loads(row["models"]))})
