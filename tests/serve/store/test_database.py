"""The database of the service: shared by processes, named in errors without its password, back after a minute."""

import os
import signal
import threading
import time
from pathlib import Path

import pytest
from sqlalchemy import Column, Integer, MetaData, Table, func, insert, select
from sqlalchemy.exc import OperationalError

from dragoman.errors import ConfigError
from dragoman.serve.store import database as database_module
from dragoman.serve.store.database import Database, DatabaseGone, ServiceState
from dragoman.serve.store.rates import SharedRates
from postgresql_server import postgresql_server

METADATA = MetaData()
NUMBERS = Table("numbers", METADATA, Column("number", Integer, primary_key=True))


def test_two_servers_share_a_state(tmp_path):
    states = [ServiceState(tmp_path / "state") for _ in range(2)]
    start = threading.Barrier(2)

    def work(state, numbers):
        start.wait()
        state.database.create(METADATA)
        for number in numbers:
            with state.database.begin() as connection:
                connection.execute(insert(NUMBERS).values(number=number))

    threads = [threading.Thread(target=work, args=(state, range(n, 60, 2))) for n, state in enumerate(states)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with states[0].database.begin() as connection:
        assert connection.scalar(select(func.count()).select_from(NUMBERS)) == 60
    assert (tmp_path / "state").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "state" / "service.db").stat().st_mode & 0o777 == 0o600
    for state in states:
        state.close()


def test_a_transaction_that_fails_changes_nothing(tmp_path):
    state = ServiceState(tmp_path)
    state.database.create(METADATA)

    def fail() -> None:
        with state.database.begin() as connection:
            connection.execute(insert(NUMBERS).values(number=1))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    with state.database.begin() as connection:
        assert connection.scalar(select(func.count()).select_from(NUMBERS)) == 0
    state.close()


def test_without_a_folder_nothing_stays(tmp_path):
    state = ServiceState()
    assert (state.folder / "service.db").exists()
    state.close()
    assert not state.folder.exists()


@pytest.mark.parametrize(
    ("url", "part"),
    [
        ("nonsense", "--database: not a URL"),
        ("oracle9://x/y", "no such kind of database"),
        ("mysql://x/y", "no such kind of database; postgresql"),
        (
            "postgresql://me:secret@127.0.0.1:1/x",
            r"postgresql\+psycopg://me:\*\*\*@127.0.0.1:1/x: the database does not",
        ),
    ],
)
def test_a_database_that_is_none_is_one_line_without_the_password(tmp_path, url, part):
    with pytest.raises(ConfigError, match=part) as error:
        ServiceState(tmp_path, url)
    assert "secret" not in str(error.value)
    assert "\n" not in str(error.value)


def test_a_file_that_is_no_database_is_named(tmp_path):
    (tmp_path / "service.db").write_bytes(b"text, not a database" * 100)
    with pytest.raises(ConfigError, match=r"service\.db: file is not a database; give another"):
        ServiceState(tmp_path)
    (tmp_path / "file").write_text("a", encoding="utf-8")
    with pytest.raises(ConfigError, match="is a file"):
        ServiceState(tmp_path / "file")


def test_a_database_that_is_gone_comes_back(tmp_path):
    database = ServiceState(tmp_path).database
    database.create(METADATA)
    blocker = Database(database.url).engine.connect()
    blocker.exec_driver_sql("BEGIN EXCLUSIVE")  # as another process that holds it

    def write() -> None:
        with database.begin() as connection:
            connection.exec_driver_sql("PRAGMA busy_timeout=10")
            connection.execute(insert(NUMBERS).values(number=1))

    with pytest.raises(DatabaseGone, match="locked"):
        write()
    blocker.close()
    write()
    database.close()


def test_a_server_that_is_silent_is_left_after_seconds_and_asked_by_one_at_a_time(monkeypatch):
    now = 100.0
    monkeypatch.setattr(database_module.time, "monotonic", lambda: now)
    database = Database("sqlite://")

    class AnswerTimeout(Exception):
        pass

    def silent() -> None:
        nonlocal now
        now += database_module.ANSWER
        raise OperationalError("SELECT 1", {}, AnswerTimeout("it did not answer within 5 seconds"))

    def asked() -> float:
        before = now
        with pytest.raises(DatabaseGone), database.begin() as connection:
            connection.exec_driver_sql("SELECT 1")
        return now - before

    begin = database.engine.begin
    monkeypatch.setattr(database.engine, "begin", silent)
    assert [asked() for _ in range(4)] == [database_module.ANSWER, 0, 0, 0]
    now += database_module.REST
    assert [asked() for _ in range(3)] == [database_module.ANSWER, 0, 0]
    now += database_module.REST
    monkeypatch.setattr(database.engine, "begin", begin)
    for _ in range(2):
        with database.begin() as connection:
            assert connection.exec_driver_sql("SELECT 1").scalar() == 1
    database.close()


def test_a_wait_is_ended_where_nothing_comes_in_time(monkeypatch):
    now = 0.0
    monkeypatch.setattr(database_module.time, "monotonic", lambda: now)

    def waiting():
        while (yield "read") != "ready":
            pass
        return "answer"

    def too_late() -> None:
        raise TimeoutError

    wait = database_module.limited(waiting(), 5, too_late)
    assert next(wait) == "read"
    now = 4.0
    assert wait.send(0) == "read"
    with pytest.raises(StopIteration) as done:
        wait.send("ready")
    assert done.value.value == "answer"
    wait = database_module.limited(waiting(), 5, too_late)
    next(wait)
    now = 10.0
    with pytest.raises(TimeoutError):
        wait.send(0)


@pytest.mark.slow
def test_a_server_that_is_frozen_holds_nobody_for_long(tmp_path, monkeypatch):
    """Its processes are stopped: connections stay open, and nothing ever comes."""
    with postgresql_server() as server:
        state = ServiceState(tmp_path, server.url)
        state.database.create(METADATA)

        def count() -> None:
            with state.database.begin() as connection:
                connection.execute(select(NUMBERS))

        count()
        monkeypatch.setattr(database_module, "REST", 600)
        os.kill(server.process.pid, signal.SIGSTOP)
        children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text().split()
        for child in children:
            os.kill(int(child), signal.SIGSTOP)
        try:
            began = time.monotonic()
            with pytest.raises(DatabaseGone, match="does not answer: "):
                count()
            assert time.monotonic() - began < 60  # what would be waited for never comes
            began = time.monotonic()
            with pytest.raises(DatabaseGone, match="silent"):
                count()
            assert time.monotonic() - began < database_module.ANSWER  # it is not asked
        finally:
            for child in (*children, server.process.pid):
                os.kill(int(child), signal.SIGCONT)
        state.database._asked_again = 0.0  # as once that time has passed
        count()
        assert SharedRates(state.database).take("a", 2) == 0.0
        state.close()
