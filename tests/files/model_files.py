"""Model files as somebody with bad intentions would write them: anything inside, and every digest right."""

import copy
import json
import zipfile

from pacbayes.files import model_file
from pacbayes.files.archive import MANIFEST, MODEL, write_archive


def read(path):
    """Return the manifest and the skops file."""
    with zipfile.ZipFile(path) as archive:
        return json.loads(archive.read(MANIFEST)), archive.read(MODEL)


def rewrite(path, change_manifest=lambda manifest: None, change=lambda contents: contents):
    """Change the contents of a file and make its digest right again."""
    manifest, contents = read(path)
    contents = change(contents)
    change_manifest(manifest)
    manifest["sha256"] = model_file._digest(manifest, contents)
    write_archive(path, manifest, contents)


def state_of(model):
    """Return what is stored of a model, as a copy that can be changed."""
    return copy.deepcopy(model_file._state(model))


def write_state(path, state):
    """Write any state as a model file of this format."""
    contents = model_file._dumped(state)
    manifest = {"format": model_file.FORMAT, "version": "0"}
    write_archive(path, manifest | {"sha256": model_file._digest(manifest, contents)}, contents)
