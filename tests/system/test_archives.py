"""A zip of unknown origin: what a malicious or a damaged one may try is refused, and nothing is written for it."""

import random
import stat
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from dragoman.errors import ModelError
from dragoman.system import archives as archive
from dragoman.system.archives import open_archive

CONTENT = random.Random(1).randbytes(2_500_000)
Members = list[tuple[str | zipfile.ZipInfo, bytes]]


def zipped(path: Path, members: Members) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members:
            file.writestr(name, content, zipfile.ZIP_DEFLATED)
    return path


def raw_name(name: str) -> zipfile.ZipInfo:
    """A member with a name that zipfile itself would change."""
    info = zipfile.ZipInfo("x")
    info.filename = name
    return info


def linked(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return info


def read_all(path: Path) -> None:
    with open_archive(path) as opened:
        for name in opened.members:
            opened.read(name, 1 << 20)


def refused(path: Path) -> str:
    with pytest.raises(ModelError) as error:
        read_all(path)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)
    return str(error.value)


CASES: dict[str, tuple[Members, str]] = {
    "the folder above": ([("../evil", b"x")], "'../evil' leaves its folder; do not trust this archive"),
    "above from inside": ([("a/../../evil", b"x")], "leaves its folder"),
    "absolute": ([("/etc/evil", b"x")], "leaves its folder"),
    "a drive": ([("C:evil", b"x")], "leaves its folder"),
    "backslashes": ([(raw_name("a\\..\\evil"), b"x")], "has a backslash or a null character in its name"),
    "a link": ([(linked("a/model.bin"), b"/etc/passwd")], "is a link or a device"),
    "twice": ([("a/x", b"1"), ("a/./x", b"2")], "is there twice"),
    "twice but for case": ([("a/x", b"1"), ("A/X", b"2")], "is there twice"),
    "a bomb": ([("a/x", bytes(2 << 20))], "unpacks to more than 200 times its size"),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_malicious_member_is_refused(case: str, tmp_path: Path) -> None:
    members, message = CASES[case]
    assert message in refused(zipped(tmp_path / "a.zip", members))


def test_large_archives_are_refused_by_their_sum(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = zipped(tmp_path / "a.zip", [(f"a/{number}", bytes(1 << 20)) for number in range(3)])
    monkeypatch.setattr(archive, "LARGEST", 2 << 20)
    assert "unpacks to more than 0 GiB" in refused(path)


def test_archives_of_too_many_members_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MOST_MEMBERS", 3)
    assert "4 members, more than 3" in refused(zipped(tmp_path / "a.zip", [(str(n), b"x") for n in range(4)]))


def lying(size: int) -> Callable[[bytes], bytes]:
    """The central directory with another size for its first member."""

    def change(content: bytes) -> bytes:
        at = content.rindex(b"PK\x01\x02")
        return content[: at + 24] + struct.pack("<I", size) + content[at + 28 :]

    return change


@pytest.mark.parametrize("size", [7, 1000], ids=["less", "more"])
def test_a_size_that_lies_is_refused(size: int, tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.zip", [("a/x", b"0123456789" * 10)])
    path.write_bytes(lying(size)(path.read_bytes()))
    message = refused(path)
    assert "a/x cannot be read: Bad CRC-32" in message or "not of the size that the archive says" in message


@pytest.mark.parametrize(
    "damage",
    [lambda b: b[:40], lambda b: b"", lambda b: b.replace(b"0123", b"9999"), lambda b: b"no archive" * 9],
    ids=["cut", "empty", "changed", "text"],
)
def test_a_damaged_archive_is_one_line(damage: Callable[[bytes], bytes], tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("a/x", b"0123456789")
    path.write_bytes(damage(path.read_bytes()))
    assert "fetch the file again" in refused(path)


def test_an_encrypted_member_is_refused(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.zip", [("a/x", b"secret")])
    content = bytearray(path.read_bytes())
    content[content.rindex(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(content)
    assert "is encrypted" in refused(path)


def test_a_member_larger_than_its_purpose_is_refused(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.zip", [("metadata.json", b"0123456789")])
    with open_archive(path) as opened, pytest.raises(ModelError, match="more than such a file has"):
        opened.read("metadata.json", 9)


def test_members_are_read_and_written_where_the_caller_says(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.zip", [("a/", b""), ("a/x", b"one"), ("a/b/y", CONTENT)])
    with open_archive(path) as opened:
        assert sorted(opened.members) == ["a/b/y", "a/x"]
        assert opened.read("a/x", 3) == b"one"
        opened.extract("a/b/y", tmp_path / "chosen" / "name")
    assert (tmp_path / "chosen" / "name").read_bytes() == CONTENT
    assert sorted(one.name for one in tmp_path.iterdir()) == ["a.zip", "chosen"]
