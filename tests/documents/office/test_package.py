"""Zip formats: damage and tricks are refused before anything is read; what is not changed keeps its bytes."""

import io
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("lxml")

from documents.packages import archive, members
from dragoman.documents.office.package import Package, check_whole, open_package, write_package
from dragoman.errors import DataError


def refused(path: Path) -> str:
    with pytest.raises(DataError) as error, open_package(path, "a document") as package:
        check_whole(package)
    assert "\n" not in str(error.value)
    assert str(error.value).startswith(f"{path}: ")
    return str(error.value)


def test_order_compression_dates_and_bytes_stay(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.zip", {"mimetype": "x", "b/": "", "b/b.bin": b"\0" * 9999, "a.xml": "<a/>"})
    written = io.BytesIO()
    with open_package(path, "a document") as package:
        write_package(package, {"a.xml": b"<changed/>"}, written)
    before, after = members(path), members(written.getvalue())
    assert after[:3] == before[:3]
    assert after[3] == (*before[3][:4], b"<changed/>")
    assert written.getvalue()[30:39] == b"mimetypex"  # first, stored and without an extra field, as readers look for it


@pytest.mark.parametrize("name", ["../a", "/a", "C:/a", "a/../../b", "a\\b"])
def test_a_name_that_leaves_the_archive_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as file:
        info = zipfile.ZipInfo("x")
        info.filename = name
        file.writestr(info, "")
    assert "refused" in refused(path)


def test_a_part_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.zip", {"a": "1"})
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(path, "a") as file:
        file.writestr("a", "2")
    assert "twice" in refused(path)


def test_a_bomb_is_refused_by_its_ratio(tmp_path: Path) -> None:
    assert "times its size" in refused(archive(tmp_path / "a.zip", {"a": b" " * (11 << 20)}))


def test_a_part_that_hides_its_size_is_refused(tmp_path: Path) -> None:
    content = bytearray(archive(tmp_path / "a.zip", {"a": b"secret" * 999}).read_bytes())
    directory = content.rindex(b"PK\1\2")
    content[directory + 24 : directory + 28] = (10).to_bytes(4, "little")  # says 10 bytes
    (tmp_path / "b.zip").write_bytes(content)
    assert "damaged" in refused(tmp_path / "b.zip")


def test_damage_anywhere_is_refused_or_changes_nothing(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.zip", {"mimetype": "x", "a.xml": "<a>words of a document</a>", "b.bin": b"\0\1" * 50})
    content = path.read_bytes()
    expected = [member[0::4] for member in members(path)]
    for at in range(0, len(content), 11):
        broken = tmp_path / "broken.zip"
        broken.write_bytes(content[:at] + bytes([content[at] ^ 0xFF]) + content[at + 1 :])
        try:
            with open_package(broken, "a document") as package:
                check_whole(package)
                found = [(name, b"".join(package.blocks(name))) for name in package.parts]
        except DataError:
            continue
        assert [content for _, content in found] == [content for _, content in expected][: len(found)]
    for end in range(0, len(content), 29):
        (tmp_path / "cut.zip").write_bytes(content[:end])
        refused(tmp_path / "cut.zip")


def test_an_encrypted_part_is_refused(tmp_path: Path) -> None:
    content = bytearray(archive(tmp_path / "a.zip", {"a": "1"}).read_bytes())
    content[content.rindex(b"PK\1\2") + 8] |= 1
    (tmp_path / "b.zip").write_bytes(content)
    assert "encrypted" in refused(tmp_path / "b.zip")


def test_a_part_too_large_to_be_parsed_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.documents.office.package.LARGEST_XML", 3)
    with open_package(archive(tmp_path / "a.zip", {"a": "<a/>"}), "a document") as package:
        assert isinstance(package, Package)
        with pytest.raises(DataError, match="split the document"):
            package.xml("a")
