"""A packed model: the same bytes every time, and whatever is damaged in it is named or changes nothing."""

import json
import random
import shutil
import stat
import zipfile
from pathlib import Path

import pytest

from dragoman.bundle import WEIGHTS, Bundle, open_bundle
from dragoman.bundled import HOME
from dragoman.errors import ConfigError, DragomanError, ModelError
from dragoman.installed.packed import unpack
from dragoman.system.files import fingerprint
from dragoman.workflows.models.models import install_model, pack_model

CASES = 80


@pytest.fixture(scope="module")
def packed(written: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The toy model as one file, to be read and never written."""
    return pack_model(written, tmp_path_factory.mktemp("packed") / "toy.dragoman").path


def listed(folder: Path) -> dict[str, bytes]:
    """The files of a bundle, without others in its folder."""
    names = ["bundle.json", *open_bundle(folder).manifest["files"]]
    return {name: (folder / name).read_bytes() for name in names}


def rewrite(packed: Path, path: Path, **changes: bytes) -> Path:
    """A copy of an archive with other members: added, or in place of those that it has."""
    with zipfile.ZipFile(packed) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            if name not in changes:
                new.writestr(name, old.read(name))
        for name, content in changes.items():
            new.writestr(name, content)
    return path


def fault_of(path: Path) -> str | None:
    """Why an archive is not installed; None if it is, as `damaged`."""
    try:
        install_model(path, name="damaged", force=True)
    except DragomanError as error:
        return str(error)
    return None


def refusal(path: Path) -> str:
    """Why an archive is not installed; nothing is left of it."""
    with pytest.raises(DragomanError) as at:
        install_model(path)
    message = str(at.value)
    assert "\n" not in message
    assert ".partial" not in message
    return message


def test_what_is_packed_is_unpacked_and_the_users_own_files_are_not_in_it(
    written: Path, packed: Path, tmp_path: Path
) -> None:
    assert (written / "notes.txt").exists()
    unpack(packed, tmp_path)
    assert {path.relative_to(tmp_path).as_posix(): path.read_bytes() for path in tmp_path.rglob("*.*")} == listed(
        written
    )


def test_the_same_model_gives_the_same_bytes_wherever_and_whenever(written: Path, packed: Path, tmp_path: Path) -> None:
    copy = tmp_path / "elsewhere"
    shutil.copytree(written, copy, copy_function=shutil.copyfile)  # other dates
    for path in copy.rglob("*"):
        path.chmod(0o700)
    result = pack_model(copy, tmp_path / "again.zip")
    assert result.path.read_bytes() == packed.read_bytes()
    with zipfile.ZipFile(packed) as archive:
        names = archive.namelist()
        assert names[0] == "bundle.json"
        assert names[1:] == sorted(names[1:])
        assert {member.date_time for member in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_a_packed_model_says_nothing_of_the_machine(tmp_path: Path) -> None:
    assert pack_model("en-ko", tmp_path / "a").sha256 == pack_model(HOME / "en-ko", tmp_path / "b").sha256
    with zipfile.ZipFile(tmp_path / "a") as archive:
        assert all(member.compress_type == zipfile.ZIP_STORED for member in archive.infolist())
        assert {(member.create_system, member.external_attr >> 16) for member in archive.infolist()} == {(3, 0o100644)}


@pytest.mark.slow
def test_without_weights_the_exports_are_left(toy: Bundle, home: Path, tmp_path: Path) -> None:
    shutil.copytree(HOME / "en-ko", tmp_path / "both")
    (tmp_path / "both" / WEIGHTS).write_bytes(b"weights")
    manifest = json.loads((tmp_path / "both/bundle.json").read_text(encoding="utf-8"))
    manifest["files"][WEIGHTS] = fingerprint(tmp_path / "both" / WEIGHTS)
    (tmp_path / "both/bundle.json").write_text(json.dumps(manifest), encoding="utf-8")
    pack_model(tmp_path / "both", tmp_path / "x.dragoman", weights=False)
    installed = install_model(tmp_path / "x.dragoman", name="light")
    assert installed.engines == ("ct2-int8",)
    assert not (home / "light" / WEIGHTS).exists()
    with pytest.raises(ModelError, match=r"has no export, so without its weights nothing translates; `dragoman export"):
        pack_model(toy.folder, tmp_path / "y.dragoman", weights=False)
    assert not (tmp_path / "y.dragoman").exists()


def test_a_file_that_exists_is_replaced_only_by_force(written: Path, packed: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    with pytest.raises(ConfigError, match=r"mine: already exists; --force replaces it"):
        pack_model(written, tmp_path / "mine")
    assert (tmp_path / "mine").read_text() == "mine"
    assert pack_model(written, tmp_path / "mine", force=True).path.read_bytes() == packed.read_bytes()
    with pytest.raises(DragomanError, match=r"Is a directory"):
        pack_model(written, tmp_path)
    with pytest.raises(ConfigError, match=r"^-: a packed model is a file; give its name, e\.g\. toy\.dragoman$"):
        pack_model(written, "-")


def test_a_model_that_does_not_verify_is_not_packed(toy: Bundle, tmp_path: Path) -> None:
    (toy.folder / WEIGHTS).write_bytes((toy.folder / WEIGHTS).read_bytes()[:-1] + b"\xff")
    with pytest.raises(ModelError, match=r"model\.safetensors: its sha256 differs"):
        pack_model(toy.folder, tmp_path / "x.dragoman")
    assert not (tmp_path / "x.dragoman").exists()


# --- damage ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(8))
def test_any_damaged_byte_is_named_or_harmless(
    seed: int, written: Path, packed: Path, home: Path, tmp_path: Path
) -> None:
    rng, content, expected = random.Random(seed), packed.read_bytes(), listed(written)
    size = len(content)
    header = size - content.rindex(b"PK\x01\x02")
    for case in range(CASES // 8):
        damaged = bytearray(content)
        # Half of the faults anywhere, half in the list of members at the end; the last of each kind cuts the file.
        at = rng.randrange(size) if case % 2 else size - 1 - rng.randrange(12 * header)
        damaged[at] ^= 1 << rng.randrange(8)
        path = tmp_path / "damaged.dragoman"
        path.write_bytes(damaged if case >= 2 else content[: rng.randrange(size)])
        fault = fault_of(path)
        if fault:
            assert str(path) in fault, f"byte {at}: {fault}"
            assert "\n" not in fault
            assert ".partial" not in fault
        else:
            assert listed(home / "damaged") == expected, f"byte {at}"
    assert [path.name for path in home.iterdir() if path.name != "damaged"] == []


def test_something_else(tmp_path: Path, home: Path, packed: Path) -> None:
    (tmp_path / "text").write_text("hello")
    assert "not a zip archive" in refusal(tmp_path / "text")
    (tmp_path / "empty").write_text("")
    assert "not a zip archive" in refusal(tmp_path / "empty")
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("readme.txt", "hello")
    assert "no bundle.json, so not a packed model; `dragoman import` reads" in refusal(tmp_path / "other.zip")
    with zipfile.ZipFile(tmp_path / "folder.zip", "w") as archive:
        archive.writestr("models/toy/bundle.json", "{}")
    assert refusal(tmp_path / "folder.zip").endswith("unpack it and install the folder models/toy")
    assert "no such file or folder; give a packed model" in refusal(tmp_path / "nothing.dragoman")
    assert "bundle.json is not a bundle's manifest" in refusal(
        rewrite(packed, tmp_path / "a.zip", **{"bundle.json": b"[]"})
    )
    assert "bundle.json cannot be read: not JSON" in refusal(
        rewrite(packed, tmp_path / "b.zip", **{"bundle.json": b"{"})
    )
    assert list(home.iterdir()) == []


def test_members_that_are_missing_unlisted_or_of_another_size(tmp_path: Path, home: Path, packed: Path) -> None:
    assert "extra.txt is not listed in its bundle.json" in refusal(
        rewrite(packed, tmp_path / "a.zip", **{"extra.txt": b""})
    )
    assert "README.md: its size, 5 bytes, differs" in refusal(
        rewrite(packed, tmp_path / "b.zip", **{"README.md": b"short"})
    )
    assert "README.md: its sha256 differs" in refusal(rewrite(packed, tmp_path / "c.zip", **{"README.md": b"# tox\n"}))
    with zipfile.ZipFile(packed) as old, zipfile.ZipFile(tmp_path / "d.zip", "w") as new:
        for name in old.namelist():
            if name != "config.toml":
                new.writestr(name, old.read(name))
    assert "config.toml is missing" in refusal(tmp_path / "d.zip")
    assert list(home.iterdir()) == []


@pytest.mark.parametrize("name", ["../evil", "/evil", "a/../../evil", "C:/evil", "a\\..\\evil"])
def test_no_member_leaves_the_folder(name: str, tmp_path: Path, home: Path, packed: Path) -> None:
    path = tmp_path / "evil.zip"
    manifest = json.loads(zipfile.ZipFile(packed).read("bundle.json"))
    manifest["files"][name] = {"bytes": 1, "sha256": "x"}
    rewrite(packed, path, **{"bundle.json": json.dumps(manifest).encode(), name: b"x"})
    assert "do not trust this archive" in refusal(path)
    assert not list(tmp_path.rglob("evil"))
    assert not Path("/evil").exists()
    assert list(home.iterdir()) == []


def test_links_bombs_and_lying_sizes_are_refused(tmp_path: Path, home: Path, packed: Path) -> None:
    link = zipfile.ZipInfo("tokenizer/link")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    shutil.copy(packed, tmp_path / "link.zip")
    with zipfile.ZipFile(tmp_path / "link.zip", "a") as archive:
        archive.writestr(link, "/etc/passwd")
    assert "is a link or a device" in refusal(tmp_path / "link.zip")
    shutil.copy(packed, tmp_path / "bomb.zip")
    with zipfile.ZipFile(tmp_path / "bomb.zip", "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros", bytes(30_000_000))
    assert "unpacks to more than 200 times its size" in refusal(tmp_path / "bomb.zip")
    lying = bytearray(packed.read_bytes())
    last = lying.rindex(b"PK\x01\x02")
    lying[last + 24 : last + 28] = (10**6).to_bytes(4, "little")  # its uncompressed size
    (tmp_path / "lying.zip").write_bytes(lying)
    assert "its size, 1,000,000 bytes, differs from bundle.json" in refusal(tmp_path / "lying.zip")
    assert list(home.iterdir()) == []
