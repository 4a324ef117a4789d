"""The archive a model is kept in: written the same whatever the clock says, and unpacked only as far as it may be.

::

    manifest.json    format, version, SHA-256, and how many bytes are unpacked in all
    model.skops      the model, itself an archive: a schema and the arrays it names, none of them compressed
"""

import io
import json
import os
import zipfile
from pathlib import Path
from typing import Any, BinaryIO

from pacbayes.runtime.file_write import write_file
from pacbayes.runtime.memory import memory_limit, readable

MANIFEST, MODEL = "manifest.json", "model.skops"
_LARGEST_MANIFEST = 10_000
# Archives know no date before 1980, and clocks may stand at 1970; the same date in all makes equal models equal files.
_DATE = (1980, 1, 1, 0, 0, 0)


class DatelessZip(zipfile.ZipFile):
    """An archive that does not say when it was written."""

    def writestr(self, zinfo_or_arcname: Any, data: Any, *args: Any, **options: Any) -> None:
        """Add a member under a name, or as a `ZipInfo` says."""
        member = zinfo_or_arcname
        if not isinstance(member, zipfile.ZipInfo):
            member = zipfile.ZipInfo(str(member), date_time=_DATE)
            member.compress_type, member.external_attr = self.compression, 0o644 << 16
        super().writestr(member, data, *args, **options)


def write_archive(path: str | os.PathLike[str], manifest: dict[str, Any], contents: bytes) -> None:
    """Write manifest and model; no reader ever sees half of them."""
    archive = io.BytesIO()
    with DatelessZip(archive, "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr(MANIFEST, json.dumps(manifest).encode())
        out.writestr(MODEL, contents)
    write_file(Path(path), archive.getvalue())


def read_archive(file: BinaryIO, max_bytes: int | None) -> tuple[dict[str, Any], bytes]:
    """Return manifest and model, or raise `ValueError`; what would unpack to too much is refused before it is."""
    with zipfile.ZipFile(file) as archive:
        manifest = json.loads(_member(archive, MANIFEST, _LARGEST_MANIFEST))
        if not isinstance(manifest, dict):
            raise ValueError(f"its manifest is {type(manifest).__name__}")
        size = archive.getinfo(MODEL).file_size
        check_said(size, manifest)
        check_room(size, max_bytes)
        return manifest, _member(archive, MODEL, size)


def said_bytes(manifest: dict[str, Any]) -> int | None:
    """Return to how many bytes a file unpacks by its own account; None where it does not say, as in format 1."""
    said = manifest.get("bytes")
    if said is not None and (isinstance(said, bool) or not isinstance(said, int)):
        raise ValueError(f"its manifest says {said!r} for the number of bytes")
    return said


def check_said(found: int, manifest: dict[str, Any]) -> None:
    """Raise if a file unpacks to more than its manifest says."""
    said = said_bytes(manifest)
    if said is not None and found > said:
        raise ValueError(f"it unpacks to {readable(found)}, more than the {readable(said)} its manifest says")


def check_room(needed: int, max_bytes: int | None) -> None:
    """Raise if loading would need more than `max_bytes`, or than half of the free memory for None."""
    limit, name = memory_limit(max_bytes)
    if limit is not None and needed > limit:
        raise ValueError(
            f"loading it needs {readable(needed)}, more than {name} {readable(limit)}; if you know where it comes "
            "from, give a larger max_bytes"
        )


def _member(archive: zipfile.ZipFile, name: str, most: int) -> bytes:
    """Return a member of at most so many bytes, whatever it unpacks to."""
    info = archive.getinfo(name)
    # Others cannot be unpacked a bit at a time: a few bytes could become gigabytes before anybody counts them.
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError(f"its {name} is packed by a method that pacbayes does not use")
    if info.file_size > most:
        raise ValueError(f"its {name} is too long")
    with archive.open(info) as stream:
        # With a number of bytes the stream is unpacked no further, even where the size in the archive is a lie.
        return stream.read(info.file_size)
