"""Save and load models; loading runs no code that skops does not trust, within a memory limit."""

from __future__ import annotations

import hashlib
import hmac
import json
import math
import os
import re
import warnings
import zipfile
from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

import pacbayes
from pacbayes._utils.checks import check_choice, require, require_array, require_int, warn_caller
from pacbayes.certificates.levels import divide_delta
from pacbayes.certificates.plan import Plan
from pacbayes.certificates.posteriors import Posteriors, restore_posterior
from pacbayes.certificates.rules import Refit
from pacbayes.certificates.voting import float_weights, integer_weights
from pacbayes.ensemble.members import CompositeMembers, Estimators
from pacbayes.ensemble.svm_members import KernelSVMs
from pacbayes.ensemble.validation import ValidationPredictions
from pacbayes.estimators.base import CertifiedModel
from pacbayes.estimators.classifier import CertifiedClassifier
from pacbayes.estimators.fitted import Fitted
from pacbayes.estimators.svc import StochasticSVC
from pacbayes.files.archive import (
    ARRAY,
    OBJECTS,
    VALUES,
    encode_npy,
    read_manifest,
    read_npy,
    read_parts,
    write_archive,
)
from pacbayes.files.checks import check_fitted
from pacbayes.files.objects import dump_objects, load_objects, sanitize_objects, untrusted_types
from pacbayes.files.values import ModelDecoder, ModelEncoder
from pacbayes.posteriors.posterior import Posterior

# The format that this version writes, and the only one it reads; incremented when the contents change.
FORMAT = 18
# Attributes that scikit-learn sets from X in fit.
INPUT_ATTRIBUTES = ("n_features_in_", "feature_names_in_")
# Entries of values.json.
STATE = ("class", "params", "input_attributes", "members", "plan", "predictions", "posterior", "refit", "date")
ESTIMATORS: dict[str, type[CertifiedModel]] = {kind.__name__: kind for kind in (StochasticSVC, CertifiedClassifier)}
# Votes take memory for every row and label.
_MAX_LABELS = 100_000
# Errors that objects with invalid parts raise during construction and checks.
_INVALID_FILE_ERRORS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    IndexError,
    KeyError,
    RecursionError,
    TypeError,
    ValueError,
)


def save(model: CertifiedModel, path: str | os.PathLike[str]) -> str:
    """Save a fitted model; no code is stored, and none runs when it is loaded.

    The file is a zip archive: a manifest (format, version, SHA-256), values of this package as JSON and arrays, and
    estimators of other libraries in the format of skops.  It contains support vectors, hence rows of the training data,
    and the labels of the validation rows with the predictions of every classifier.  A callable `prior` is replaced by
    its weights, a `random_state` that is not an integer by None; draws stay the same.  Certificates, bounds, texts and
    `n_jobs` are not stored: `load` computes the certificates from predictions and weights.  Equal models of
    one day make equal files: the date of the fit is stored.  A warning tells if `load` will need `trusted`.

    Parameters
    ----------
    model : StochasticSVC or CertifiedClassifier
        Fitted.
    path : str or path
        An existing file is replaced atomically.

    Returns
    -------
    str
        The SHA-256 of the contents.  Store it separately, and pass it to `load` to detect changes to the file.

    See Also
    --------
    load : Load a model.

    Examples
    --------
    >>> import tempfile
    >>> from pacbayes import StochasticSVC, load, save
    >>> clf = StochasticSVC([0.1, 1.0], random_state=0).fit([[i % 5, i % 3] for i in range(60)], [0, 1] * 30)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     digest = save(clf, folder + "/model.pacbayes")
    ...     loaded = load(folder + "/model.pacbayes", sha256=digest)
    >>> loaded.certificate_ == clf.certificate_
    True
    """
    if type(model).__name__ not in ESTIMATORS or type(model) is not ESTIMATORS[type(model).__name__]:
        raise TypeError(f"model must be one of {', '.join(ESTIMATORS)}, got {type(model).__name__}")
    check_is_fitted(model)
    encoder = ModelEncoder()
    values = json.dumps(encoder.encode(_collect_state(model)))
    parts = {VALUES: values.encode()} | {ARRAY.format(i): encode_npy(array) for i, array in enumerate(encoder.arrays)}
    if encoder.objects:
        parts[OBJECTS] = dump_objects(encoder.objects)
        needed = sorted(untrusted_types(parts[OBJECTS]))
        if needed:
            option = " (pacbayes predict: --trust)" if all(name.startswith("sklearn.") for name in needed) else ""
            warn_caller(f"to load this model, load will need trusted={needed!r}{option}: these types may run code")
    manifest = {"format": FORMAT, "version": pacbayes.__version__}
    digest = _compute_digest(manifest, parts)
    write_archive(path, manifest | {"sha256": digest}, parts)
    return digest


def load(
    path: str | os.PathLike[str],
    *,
    sha256: str | None = None,
    trusted: Iterable[str] = (),
    max_bytes: int | None = None,
) -> CertifiedModel:
    """Load a model that `save` wrote.

    No code runs that skops does not trust, and nothing is read that can be computed: certificates, bounds, baselines
    and texts are computed from the stored predictions and weights, and weights that are computed from the stored
    cross-validation must agree with it to 1e-9.  A `ValueError` is raised for other formats, contents that do not match
    their SHA-256, files that would unpack to more than `max_bytes`, invalid indices, shapes or numbers, and types that
    skops does not trust.  A forged scikit-learn object may still crash the process or exhaust its memory: pass `sha256`
    if a file may have been changed.  Loaded classifiers start no processes: `n_jobs` of all of them is None.

    Parameters
    ----------
    path : str or path
    sha256 : str, optional
        The return value of `save`.  Without it, a file is protected against damage, but not against someone who changes
        the contents and their SHA-256 together.
    trusted : iterable of str
        Names of further types to trust: these may run code.  A name that ends in a dot stands for everything under it:
        ``["sklearn."]`` for all scikit-learn types that skops does not trust.
    max_bytes : int, optional
        Reject a file that requires more memory to unpack; by default half of the free memory.

    Returns
    -------
    StochasticSVC or CertifiedClassifier

    See Also
    --------
    save : Save a model.

    Examples
    --------
    >>> from pacbayes import load
    >>> load("no such file")
    Traceback (most recent call last):
    FileNotFoundError: [Errno 2] No such file or directory: 'no such file'
    """
    manifest, parts = _read_file(path, max_bytes)
    digest = _compute_digest(manifest, parts)
    for expected in (str(manifest.get("sha256")), sha256):
        if expected is not None and not hmac.compare_digest(digest.encode(), str(expected).encode()):
            raise ValueError(f"{path} was changed after it was saved: its SHA-256 is {digest}, not {expected}")
    objects = load_objects(path, parts[OBJECTS], list(trusted), max_bytes) if OBJECTS in parts else []
    try:
        arrays = [read_npy(parts[ARRAY.format(number)]) for number in range(len(parts) - 1 - (OBJECTS in parts))]
        sanitize_objects(objects)
        return _restore_model(ModelDecoder(arrays, objects).decode(json.loads(parts[VALUES])))
    except _INVALID_FILE_ERRORS as error:
        raise ValueError(f"{path} is not a model saved by pacbayes: {type(error).__name__}: {error}") from error


def _collect_state(model: CertifiedModel) -> dict[str, Any]:
    """Collect the stored state of a model: parameters, attributes set by scikit-learn, and fitted values."""
    params, fitted = model.get_params(deep=False), model._fitted
    if callable(params["prior"]):
        params["prior"] = model.prior_
    params |= {"checkpoint": None, "n_jobs": None}
    if not isinstance(params["random_state"], int | np.integer):
        params["random_state"] = None
    posterior = fitted.posteriors.posterior
    return {
        "class": type(model).__name__,
        "params": params,
        "input_attributes": {name: getattr(model, name) for name in INPUT_ATTRIBUTES if hasattr(model, name)},
        "members": fitted.members,
        "plan": fitted.plan,
        "predictions": fitted.predictions,
        "posterior": None if posterior is None else (posterior.weights, posterior.distance),
        "refit": fitted.refit,
        "date": fitted.date,
    }


def _restore_model(state: dict[str, Any]) -> CertifiedModel:
    """Create the estimator from checked values; everything else is computed."""
    require(isinstance(state, dict) and set(state) == set(STATE), "model", f"must have the entries {', '.join(STATE)}")
    plan, predictions = state["plan"], state["predictions"]
    valid = isinstance(plan, Plan) and isinstance(predictions, ValidationPredictions)
    require(
        valid and isinstance(state["members"], KernelSVMs | Estimators | CompositeMembers),
        "model",
        "must have members, a plan and validation predictions",
    )
    model = ESTIMATORS[state["class"]](**state["params"] | {"n_jobs": None})
    require(type(model.voting) is str, "voting", "must be a string")
    for name, value in _check_input_attributes(state["input_attributes"]).items():
        setattr(model, name, value)
    valid_labels = predictions.labels.dtype.kind in "biufUO" and predictions.labels.size <= _MAX_LABELS
    require(valid_labels, "ValidationPredictions.labels", f"must be at most {_MAX_LABELS} numbers or strings")
    posteriors = Posteriors(_restore_posterior(state["posterior"], plan, predictions))
    require(state["refit"] is None or isinstance(state["refit"], Refit), "refit", "must be a Refit")
    require(re.fullmatch(r"\d{4}-\d\d-\d\d", state["date"]) is not None, "date", "must be a date")
    fitted = Fitted(state["members"], plan, predictions, posteriors, state["refit"], state["date"])
    check_fitted(fitted)
    return model._set_fitted(fitted)


def _restore_posterior(stored: Any, plan: Plan, predictions: ValidationPredictions) -> Posterior | None:
    if stored is None:
        return None
    weights, distance = stored
    require_array(weights, "weights", "f", (len(predictions),))
    is_distribution = bool((weights >= 0.0).all()) and math.fsum(weights.tolist()) == 1.0
    require(is_distribution, "weights", "must sum to one")
    require(np.array_equal(float_weights(integer_weights(weights)), weights), "weights", "must be multiples of 2^-52")
    distances = {planned.name: planned for planned in plan.distances}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # fit has warned about an invalid constant
        return restore_posterior(
            weights,
            predictions.count_errors(plan.split).risks,
            plan.split.m,
            distance=distances[check_choice("distance", distance, distances)],
            delta=divide_delta(plan.hedged_level, len(plan.distances)),
            prior=plan.prior,
            constant=plan.constant,
        )


def _check_input_attributes(attributes: dict[str, Any]) -> dict[str, Any]:
    """Check the number and names of features, by which scikit-learn rejects X with other columns."""
    is_known = isinstance(attributes, dict) and set(attributes) <= set(INPUT_ATTRIBUTES)
    require(is_known, "input_attributes", f"must be among {', '.join(INPUT_ATTRIBUTES)}")
    n_features = attributes.get("n_features_in_")
    if "n_features_in_" in attributes:
        require_int(n_features, "n_features_in_", 1)
    if "feature_names_in_" in attributes:
        names = attributes["feature_names_in_"]
        require_array(names, "feature_names_in_", "O", (n_features,))
        require(all(type(name) is str for name in names.tolist()), "feature_names_in_", "must be strings")
    return attributes


def _compute_digest(manifest: dict[str, Any], parts: dict[str, bytes]) -> str:
    """Compute the SHA-256 of format, version and all parts, in the order of their names."""
    digest = hashlib.sha256(json.dumps([manifest.get("format"), manifest.get("version")]).encode())
    for name in sorted(parts):
        digest.update(json.dumps([name, len(parts[name])]).encode() + parts[name])
    return digest.hexdigest()


def _read_file(path: Any, max_bytes: int | None) -> tuple[dict[str, Any], dict[str, bytes]]:
    # Errors from opening the file are raised as they are; all later ones mean that it is damaged.
    with open(path, "rb") as file:
        try:
            with zipfile.ZipFile(file) as archive:
                manifest = read_manifest(archive)
                stored_format, version = manifest.get("format"), manifest.get("version")
                is_current = type(stored_format) is int and stored_format == FORMAT
                parts = read_parts(archive, max_bytes) if is_current else None
        except Exception as error:  # zipfile, zlib and json raise many types of errors
            raise ValueError(f"{path} is not a model saved by pacbayes, or is damaged: {error}") from error
    if parts is None:
        raise ValueError(
            f"{path} is a model of format {stored_format!r}, saved by pacbayes {version}; this is pacbayes "
            f"{pacbayes.__version__}, which reads format {FORMAT} only"
        )
    return manifest, parts
