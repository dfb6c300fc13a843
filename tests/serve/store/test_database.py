"""The database of the service: shared by processes, named in errors without its password, back after a minute."""

import threading

import pytest
from sqlalchemy import Column, Integer, MetaData, Table, func, insert, select

from dragoman.errors import ConfigError
from dragoman.serve.store.database import Database, DatabaseGone, ServiceState

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
