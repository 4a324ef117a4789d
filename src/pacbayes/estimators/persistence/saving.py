"""Models in files that cannot run code when they are loaded."""

from __future__ import annotations

import hashlib
import hmac
import io
import json
import math
import os
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

import pacbayes
from pacbayes.certificates.certificate import Certificate
from pacbayes.estimators.certified_classifier import CertifiedClassifier
from pacbayes.estimators.classifier import StochasticClassifier
from pacbayes.estimators.persistence.encoding import check_names, decode, encode
from pacbayes.estimators.svc import StochasticSVC
from pacbayes.runtime.file_write import write_file

# What this version writes, and the latest it reads; raised whenever the fields of a saved class change.
FORMAT = 2
MANIFEST, MODEL = "manifest.json", "model.skops"
_LARGEST_MANIFEST = 10_000
_DATE = (1980, 1, 1, 0, 0, 0)
# Types that skops does not list as trusted and that can do no harm: encoders remember what type their categories had,
# and our own machines, which may stand at the end of a pipeline, are arrays.
HARMLESS = (
    "numpy.dtype",
    "pacbayes.classifiers.svm.kernels.kernel.Kernel",
    "pacbayes.classifiers.svm.kernels.kernel.Scaling",
    "pacbayes.classifiers.svm.machines.OneMachine",
    "pacbayes.classifiers.svm.svm_classifier.SVMClassifier",
)
ESTIMATORS: dict[str, type[CertifiedClassifier]] = {
    kind.__name__: kind for kind in (StochasticSVC, StochasticClassifier)
}


class UntrustedTypesError(ValueError):
    """A file holds types that may run code when they are made."""


def save(model: CertifiedClassifier, path: str | os.PathLike[str]) -> str:
    """Save a fitted model; no code is stored, and none runs when it is loaded.

    The file is a zip archive of a manifest (format, version, SHA-256) and the model in the format of skops: support
    vector machines as arrays, other classifiers as skops writes them.  It holds support vectors, hence rows of
    the training data.  A callable `prior` is replaced by its weights, a `random_state` that is no integer by
    None; draws stay.

    Parameters
    ----------
    model : StochasticSVC or StochasticClassifier
        Fitted.
    path : str or path
        Replaced in one step if it exists.

    Returns
    -------
    str
        The SHA-256 of the contents.  Keep it elsewhere and give it to `load` to be sure that nobody changed the file.

    See Also
    --------
    load : Read it again.

    Examples
    --------
    >>> import tempfile
    >>> from pacbayes import StochasticSVC, load, save
    >>> clf = StochasticSVC([0.1, 1.0], random_state=0).fit([[i % 5, i % 3] for i in range(60)], [0, 1] * 30)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     digest = save(clf, folder + "/model.pacbayes")
    ...     again = load(folder + "/model.pacbayes", sha256=digest)
    >>> again.certificate_ == clf.certificate_
    True
    """
    if type(model).__name__ not in ESTIMATORS or type(model) is not ESTIMATORS[type(model).__name__]:
        raise TypeError(f"model must be one of {', '.join(ESTIMATORS)}, got {type(model).__name__}")
    check_is_fitted(model)
    params = model.get_params(deep=False)
    if callable(params["prior"]):
        params["prior"] = model.prior_
    params["checkpoint"] = None
    if not isinstance(params["random_state"], int | np.integer):
        params["random_state"] = None
    fitted = {name: value for name, value in vars(model).items() if name not in params}
    state = {"class": type(model).__name__, "params": encode(params), "fitted": encode(fitted)}
    contents = _dumped(state)
    manifest = {"format": FORMAT, "version": pacbayes.__version__}
    digest = _digest(manifest, contents)
    _write(Path(path), {MANIFEST: json.dumps(manifest | {"sha256": digest}).encode(), MODEL: contents})
    return digest


def load(
    path: str | os.PathLike[str], *, sha256: str | None = None, trusted: Iterable[str] = ()
) -> CertifiedClassifier:
    """Load a model that `save` wrote.

    Nothing in the file is run.  Refused are files of a later format, files whose contents do not match their own
    SHA-256, files with types that skops does not trust, and certificates that do not follow from the stored errors.

    Parameters
    ----------
    path : str or path
    sha256 : str, optional
        What `save` returned.  Without it a file is protected against damage, but not against somebody who changes the
        contents and their SHA-256 together.
    trusted : iterable of str
        Names of further types to trust: these may run code.  A name that ends in a dot stands for everything under it:
        ``["sklearn."]`` for classifiers with parts that skops does not trust, such as trees.

    Returns
    -------
    StochasticSVC or StochasticClassifier

    See Also
    --------
    save : Write a model.

    Examples
    --------
    >>> from pacbayes import load
    >>> load("no such file")
    Traceback (most recent call last):
    FileNotFoundError: [Errno 2] No such file or directory: 'no such file'
    """
    manifest, contents = _read(path)
    found = manifest.get("format")
    if not isinstance(found, int) or isinstance(found, bool) or found < 1:
        raise ValueError(f"{path} is not a model saved by pacbayes: its manifest has the format {found!r}")
    if found > FORMAT:
        raise ValueError(
            f"{path} was saved by pacbayes {manifest.get('version')} in format {found}; this is pacbayes "
            f"{pacbayes.__version__}, which reads formats up to {FORMAT}. Install a later version."
        )
    digest = _digest({"format": found, "version": manifest.get("version")}, contents)
    for expected in (manifest.get("sha256"), sha256):
        if expected is not None and not hmac.compare_digest(digest, str(expected)):
            raise ValueError(f"{path} was changed after it was saved: its SHA-256 is {digest}, not {expected}")
    if "sha256" not in manifest:
        raise ValueError(f"{path} is not a model saved by pacbayes: its manifest has no sha256")
    return _model(path, _loaded(path, contents, list(trusted)))


def _model(path: Any, state: Any) -> CertifiedClassifier:
    """Make the estimator, and see whether its certificates follow from what it stores."""
    try:
        kind = ESTIMATORS[state["class"]]
        model = kind(**decode(state["params"]))
        model.__dict__.update({"vote_errors_": None} | check_names(kind, decode(state["fitted"])))
        stored, computed = model.certificates_, model._certificates()
        follow = set(stored) == set(computed) and all(_agree(stored[name], computed[name]) for name in computed)
    except (AttributeError, AssertionError, IndexError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} is not a model saved by pacbayes: {type(error).__name__}: {error}") from error
    if not follow:
        raise ValueError(f"{path} was changed after it was saved: its certificates do not follow from its errors")
    return model


def _agree(stored: Certificate, computed: Certificate) -> bool:
    """Return whether two certificates are equally valid and have the same numbers, but for what SciPy may round."""
    exact = ("not_valid", "unit", "copies")
    return all(getattr(stored, name) == getattr(computed, name) for name in exact) and all(
        left == right or (left is not None and right is not None and math.isclose(left, right, rel_tol=1e-9))
        for name in ("bound", "lower", "delta", "m", "empirical_risk", "kl")
        for left, right in [(getattr(stored, name), getattr(computed, name))]
    )


def _dumped(state: dict[str, Any]) -> bytes:
    # skops takes a while to import and is needed nowhere else.
    from skops.io import dumps

    try:
        contents: bytes = dumps(state)
    except Exception as error:  # skops raises many kinds for what it does not know
        raise ValueError(f"model holds something that skops cannot save: {error}") from error
    return contents


def _loaded(path: Any, contents: bytes, trusted: list[str]) -> Any:
    from skops.io import get_untrusted_types, loads

    try:
        found = sorted(get_untrusted_types(data=contents))
    except Exception as error:  # any bytes may be in a file, and skops fails on them in many ways
        raise ValueError(f"{path} is not a model saved by pacbayes: {error}") from error
    prefixes = tuple(name for name in trusted if name.endswith("."))
    known = [name for name in found if name in HARMLESS or name in trusted or name.startswith(prefixes)]
    unknown = [name for name in found if name not in known]
    if unknown:
        raise UntrustedTypesError(
            f"{path} holds types that are not trusted: {', '.join(unknown)}. If you know where the file comes from, "
            "load it with trusted=[...] and their names; they may run code."
        )
    try:
        return loads(contents, trusted=known)
    except Exception as error:  # as above
        raise ValueError(f"{path} is not a model saved by pacbayes: {error}") from error


def _digest(manifest: dict[str, Any], contents: bytes) -> str:
    head = json.dumps([manifest["format"], manifest["version"]]).encode()
    return hashlib.sha256(head + b"\0" + contents).hexdigest()


def _write(path: Path, files: dict[str, bytes]) -> None:
    """Write an archive; no reader ever sees half of it."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as out:
        for name, contents in files.items():
            # The date is the same whatever the clock says: an archive knows none before 1980.
            member = zipfile.ZipInfo(name, date_time=_DATE)
            member.compress_type, member.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            out.writestr(member, contents)
    write_file(path, archive.getvalue())


def _read(path: Any) -> tuple[dict[str, Any], bytes]:
    # A file that cannot be opened is no damaged one; one that is open, and leads nowhere, is.
    with open(path, "rb") as file:
        try:
            with zipfile.ZipFile(file) as archive:
                if archive.getinfo(MANIFEST).file_size > _LARGEST_MANIFEST:
                    raise ValueError("its manifest is too long")
                manifest = json.loads(archive.read(MANIFEST))
                contents = archive.read(MODEL)
        except Exception as error:  # zipfile, zlib and json have many ways to say it
            raise ValueError(f"{path} is not a model saved by pacbayes, or is damaged: {error}") from error
    if not isinstance(manifest, dict):
        raise ValueError(f"{path} is not a model saved by pacbayes: its manifest is {type(manifest).__name__}")
    return manifest, contents
