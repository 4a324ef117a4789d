"""The tool that makes the shipped files."""

import dataclasses
import gzip
import zipfile
from importlib.resources import files

import pytest
from tools import build_datasets

from pacbayes.data.bundled import BUILT_FILES

SHIPPED = {built.file: (files("pacbayes.data") / "shipped" / built.file).read_bytes() for built in BUILT_FILES}


def rows_of(file):
    return [line.split(",") for line in gzip.decompress(SHIPPED[file]).decode("ascii").splitlines()]


def test_every_file_has_a_recipe():
    assert sorted(build_datasets.RECIPES) == sorted(SHIPPED)


def test_recipes_restore_ucis_labels():
    numbers = ",".join("1" * 34)
    assert build_datasets.ionosphere(f"{numbers},0\r\n{numbers},1\r\n".encode())[1:] == [
        [*"1" * 34, "g"],
        [*"1" * 34, "b"],
    ]
    numbers = ",".join("7" * 40)
    kept = build_datasets.waveform(f"{numbers},1\n{numbers},2\n{numbers},3\n".encode())
    assert [row[-1] for row in kept] == ["class", "1", "2"]
    assert build_datasets.haberman(b"38, 59, 2, negative\n52, 66, 4, positive")[1:] == [
        ["38", "59", "2", "1"],
        ["52", "66", "4", "2"],
    ]


@pytest.mark.parametrize("file", SHIPPED)
def test_counts_are_checked(file):
    rows = rows_of(file)
    build_datasets.check_counts(file, rows)
    with pytest.raises(build_datasets.BuildError, match="rows, expected"):
        build_datasets.check_counts(file, rows[:-1])
    with pytest.raises(build_datasets.BuildError, match="fields, expected"):
        build_datasets.check_counts(file, [*rows[:-1], rows[-1][:-1]])
    key = rows[0].index("drinks") if file == "bupa.csv.gz" else -1
    other = next(row for row in rows[1:] if (row[key] != rows[-1][key]) and (key == -1 or float(row[key]) < 2.0))
    with pytest.raises(build_datasets.BuildError, match=r"classes .* expected"):
        build_datasets.check_counts(file, [*rows[:-1], other])


def test_packing_leaves_no_trace_of_time_or_place():
    packed = build_datasets.pack(b"a,b\n")
    assert packed == build_datasets.pack(b"a,b\n")
    # Magic, method, no flags (hence no file name), time 0, best compression, unknown platform.
    assert packed[:10] == b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff"
    assert gzip.decompress(packed) == b"a,b\n"


def fake_wheel(tmp_path, built, content):
    wheel = tmp_path / "fake.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(built.path, content)
    return wheel


def banknote_source():
    """Return the source of banknote: the shipped rows with the source's line endings and no header."""
    built = next(built for built in BUILT_FILES if built.file == "banknote.csv.gz")
    body = "\r\n".join(",".join(row) for row in rows_of(built.file)[1:]).encode()
    return built, body


def test_source_is_checked(tmp_path):
    built, body = banknote_source()
    # The checksum of UCI's data_banknote_authentication.txt: the wheel holds that very file.
    assert built.source_sha256 == "d0539aaed2139ba7a587b3e34fb345ce503ff7d5d33dbf9912d8e195ce425cb9"
    assert build_datasets.read_member(fake_wheel(tmp_path, built, body), built) == body
    with pytest.raises(build_datasets.BuildError, match="recorded is d0539aaed"):
        build_datasets.read_member(fake_wheel(tmp_path, built, body + b"\r\n"), built)


def test_build_writes_once_and_checks_the_text(tmp_path):
    built, body = banknote_source()
    assert "written" in build_datasets.build(built, body, tmp_path)
    path = tmp_path / built.file
    assert gzip.decompress(path.read_bytes()) == gzip.decompress(SHIPPED[built.file])
    path.write_bytes(SHIPPED[built.file])
    assert "unchanged" in build_datasets.build(built, body, tmp_path)
    # Another zlib: the same text in another file is no error, and said.
    path.unlink()
    other = dataclasses.replace(built, sha256="0" * 64)
    assert "compressed differently" in build_datasets.build(other, body, tmp_path)
    # Same counts, one digit changed: only the checksum tells.
    changed = body.replace(b"3.6216", b"3.6217", 1)
    assert changed != body
    with pytest.raises(build_datasets.BuildError, match="the text has sha256"):
        build_datasets.build(built, changed, tmp_path)


@pytest.mark.slow
def test_rebuilding_from_the_wheels_gives_the_shipped_files(tmp_path):
    lines = build_datasets.build_all(tmp_path)
    assert len(lines) == len(BUILT_FILES)
    for file, content in SHIPPED.items():
        assert gzip.decompress((tmp_path / file).read_bytes()) == gzip.decompress(content)
