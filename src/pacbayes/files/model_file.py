"""Models in files: loading one runs no code that skops does not trust, and unpacks no more than it may."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import zipfile
from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

import pacbayes
from pacbayes.estimators.certified_classifier import CertifiedClassifier
from pacbayes.estimators.classifier import StochasticClassifier
from pacbayes.estimators.svc import StochasticSVC
from pacbayes.files.archive import SCHEMA, check_parts, packed, read_archive, write_archive
from pacbayes.files.checking import check_model, settle_objects
from pacbayes.files.rule_checks import check_follows, check_posterior
from pacbayes.files.values import check_names, decode, encode
from pacbayes.numeric.caller import warn_caller

# What this version writes, and all it reads; raised whenever what is stored changes.
FORMAT = 7
# Types that skops does not list as trusted and that run no code of a file: encoders remember what type their
# categories had, our own machines, which may stand at the end of a pipeline, are arrays, and so are scikit-learn's
# trees.  Ours are checked.  A forged tree may crash the process, as forged objects of types that skops trusts may.
HARMLESS = (
    "numpy.dtype",
    "pacbayes.classifiers.svm.kernel.Kernel",
    "pacbayes.classifiers.svm.kernel.Scaling",
    "pacbayes.classifiers.svm.machines.OneMachine",
    "pacbayes.classifiers.svm.svm_classifier.SVMClassifier",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.tree._tree.Tree",
)
# What follows from the rest, and is therefore not stored.
DERIVED = ("best_index_", "certificates_", "posterior_", "_distances")
ESTIMATORS: dict[str, type[CertifiedClassifier]] = {
    kind.__name__: kind for kind in (StochasticSVC, StochasticClassifier)
}
# What objects made of wrong parts raise when they are put together and looked at.
_WRONG = (ArithmeticError, AssertionError, AttributeError, IndexError, KeyError, RecursionError, TypeError, ValueError)


class UntrustedTypesError(ValueError):
    """A file holds types, `names`, that may run code when they are made.

    Examples
    --------
    >>> UntrustedTypesError("the model holds types that are not trusted", ["sklearn.neighbors._kd_tree.KDTree"]).names
    ('sklearn.neighbors._kd_tree.KDTree',)
    """

    def __init__(self, message: str, names: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.names = tuple(names)


def save(model: CertifiedClassifier, path: str | os.PathLike[str]) -> str:
    """Save a fitted model; no code is stored, and none runs when it is loaded.

    The file is a zip archive of a manifest (format, version, SHA-256) and the model in the format of skops: support
    vector machines as arrays, other classifiers as skops writes them.  It holds support vectors, hence rows of the
    training data.  A callable `prior` is replaced by its weights, a `random_state` that is no integer by None; draws
    stay.  Certificates, bounds and words are not stored: `load` computes them from errors and weights.  A warning says
    at once if `load` will need `trusted`.

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
    contents = _dumped(_state(model))
    needed = sorted(_untrusted(contents))
    if needed:
        at_prompt = " (pacbayes predict: --trust)" if all(name.startswith("sklearn.") for name in needed) else ""
        warn_caller(f"to load this model, load will need trusted={needed!r}{at_prompt}: these types may run code")
    manifest = {"format": FORMAT, "version": pacbayes.__version__}
    digest = _digest(manifest, contents)
    write_archive(path, manifest | {"sha256": digest}, contents)
    return digest


def load(
    path: str | os.PathLike[str],
    *,
    sha256: str | None = None,
    trusted: Iterable[str] = (),
    max_bytes: int | None = None,
) -> CertifiedClassifier:
    """Load a model that `save` wrote.

    No code runs that skops does not trust, and nothing in the file is believed that can be computed: certificates,
    bounds, baselines and words follow from the stored errors, weights and sizes, and weights that follow from the
    stored cross-validation must do so to 1e-9.  Refused, with a `ValueError`, are files of another format, files whose
    contents do not match their own SHA-256, files that would unpack to more than `max_bytes`, models with an index,
    shape or number that cannot be, and types that skops does not trust.  A forged object of scikit-learn may crash the
    process or fill its memory all the same: give `sha256` where a file may have been changed.  No loaded classifier
    starts processes: `n_jobs` of all of them is None.

    Parameters
    ----------
    path : str or path
    sha256 : str, optional
        What `save` returned.  Without it a file is protected against damage, but not against somebody who changes the
        contents and their SHA-256 together.
    trusted : iterable of str
        Names of further types to trust: these may run code.  A name that ends in a dot stands for everything under it:
        ``["sklearn."]`` for what skops does not know of scikit-learn, such as the search trees of nearest neighbours.
    max_bytes : int, optional
        Refuse a file that needs more memory than this to be unpacked; by default half of what is free.

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
    manifest, contents = _read(path, max_bytes)
    found, version = manifest.get("format"), manifest.get("version")
    if type(found) is not int or found != FORMAT:
        raise ValueError(
            f"{path} is a model of format {found!r}, saved by pacbayes {version}; this is pacbayes "
            f"{pacbayes.__version__}, which reads format {FORMAT} only"
        )
    digest = _digest({"format": found, "version": version}, contents)
    for expected in (str(manifest.get("sha256")), sha256):
        if expected is not None and not hmac.compare_digest(digest.encode(), str(expected).encode()):
            raise ValueError(f"{path} was changed after it was saved: its SHA-256 is {digest}, not {expected}")
    state = _loaded(path, contents, list(trusted), max_bytes)
    try:
        return _model(state)
    except _WRONG as error:
        raise ValueError(f"{path} is not a model saved by pacbayes: {type(error).__name__}: {error}") from error


def _state(model: CertifiedClassifier) -> dict[str, Any]:
    """Return what is stored of a model, as plain values and the classifiers of others."""
    params = model.get_params(deep=False)
    fitted = {name: value for name, value in vars(model).items() if name not in params and name not in DERIVED}
    if callable(params["prior"]):
        params["prior"] = model.prior_
    params["checkpoint"] = None
    if not isinstance(params["random_state"], int | np.integer):
        params["random_state"] = None
    found = vars(model).get("posterior_")
    facts = ("weights", "distance", "constant")
    posterior = None if found is None else {name: getattr(found, name) for name in facts}
    return {
        "class": type(model).__name__,
        "params": encode(params),
        "fitted": encode(fitted),
        "posterior": encode(posterior),
    }


def _model(state: Any) -> CertifiedClassifier:
    """Make the estimator from a state that was loaded: check its parts, then compute what follows from them."""
    settle_objects(state)
    kind = ESTIMATORS[state["class"]]
    model = kind(**decode(state["params"]) | {"n_jobs": None})
    model.__dict__.update(check_names(kind, decode(state["fitted"])))
    for name in DERIVED:
        model.__dict__.pop(name, None)
    posterior = decode(state["posterior"])
    check_model(model)
    check_posterior(posterior, model)
    check_follows(model)
    model._restore(posterior)
    return model


class _Parts(dict[str, bytes]):
    """What skops writes beside its schema, by name: of an archive it uses these two methods."""

    def namelist(self) -> list[str]:
        """Return the names."""
        return list(self)

    def writestr(self, name: str, data: Any) -> None:
        """Add a part."""
        self[name] = bytes(data)


def _dumped(state: dict[str, Any]) -> bytes:
    # skops takes a while to import and is needed nowhere else.
    import skops
    from skops.io._utils import SaveContext, get_state

    class Numbered(SaveContext):  # type: ignore[misc]  # skops has no types
        """Objects by number, not by their address, which differs from process to process."""

        def memoize(self, obj: Any) -> int:
            number, _ = self.memo.setdefault(id(obj), (len(self.memo) + 1, obj))
            return int(number)

    # As `skops.io.dumps`, but for the dates of an archive's members: it takes them from the clock, which may be wrong.
    parts = _Parts()
    try:
        context = Numbered(parts)
        schema = get_state(state, context) | {"protocol": context.protocol, "_skops_version": skops.__version__}
        parts.writestr(SCHEMA, json.dumps(schema).encode())
    except Exception as error:  # skops raises many kinds for what it does not know
        raise ValueError(f"model holds something that skops cannot save: {error}") from error
    return packed(parts, zipfile.ZIP_STORED)


def _loaded(path: Any, contents: bytes, trusted: list[str], max_bytes: int | None) -> Any:
    """Return the state in a skops file, which is looked at before it is made."""
    from skops.io import loads

    prefixes = tuple(name for name in trusted if name.endswith("."))
    try:
        check_parts(contents, max_bytes)
        found = _untrusted(contents)
    except Exception as error:  # any bytes may be in a file, and skops fails on them in many ways
        raise ValueError(f"{path} is not a model saved by pacbayes: {error}") from error
    unknown = sorted(name for name in found if name not in trusted and not name.startswith(prefixes))
    if unknown:
        raise UntrustedTypesError(
            f"{path} holds types that are not trusted: {', '.join(unknown)}. If you know where the file comes from, "
            "load it with trusted=[...] and their names; they may run code.",
            unknown,
        )
    try:
        return loads(contents, trusted=sorted(found | set(HARMLESS)))
    except Exception as error:  # as above
        raise ValueError(f"{path} is not a model saved by pacbayes: {error}") from error


def _untrusted(contents: bytes) -> set[str]:
    """Return the types in a skops file that neither skops nor this library trusts."""
    from skops.io import get_untrusted_types

    return set(get_untrusted_types(data=contents)) - set(HARMLESS)


def _digest(manifest: dict[str, Any], contents: bytes) -> str:
    head = json.dumps([manifest["format"], manifest["version"]]).encode()
    return hashlib.sha256(head + b"\0" + contents).hexdigest()


def _read(path: Any, max_bytes: int | None) -> tuple[dict[str, Any], bytes]:
    # A file that cannot be opened is no damaged one; one that is open, and leads nowhere, is.
    with open(path, "rb") as file:
        try:
            return read_archive(file, max_bytes)
        except Exception as error:  # zipfile, zlib and json have many ways to say it
            raise ValueError(f"{path} is not a model saved by pacbayes, or is damaged: {error}") from error
