"""Models in files: loading one runs no code that skops does not trust, and unpacks no more than it may."""

from __future__ import annotations

import hashlib
import hmac
import json
import math
import os
import warnings
import zipfile
from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

import pacbayes
from pacbayes._utils.checks import check_choice, need, need_array, need_whole, warn_caller
from pacbayes.certificates.levels import divide_delta
from pacbayes.certificates.plan import Plan
from pacbayes.certificates.posteriors import Posteriors, restored_posterior
from pacbayes.certificates.refit import Refit
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
    npy_bytes,
    read_manifest,
    read_npy,
    read_parts,
    write_archive,
)
from pacbayes.files.checks import check_fitted
from pacbayes.files.objects import dump_objects, load_objects, settle_objects, untrusted_types
from pacbayes.files.values import ModelDecoder, ModelEncoder
from pacbayes.posteriors.posterior import Posterior

# What this version writes, and all it reads; raised whenever what is stored changes.
FORMAT = 17
# What scikit-learn notes of the rows of a fit.
NOTED = ("n_features_in_", "feature_names_in_")
# What is stored of a model.
STATE = ("class", "params", "noted", "members", "plan", "predictions", "posterior", "refit")
ESTIMATORS: dict[str, type[CertifiedModel]] = {kind.__name__: kind for kind in (StochasticSVC, CertifiedClassifier)}
# Votes take room for every row and label.
_MOST_LABELS = 100_000
# What objects made of wrong parts raise when they are put together and looked at.
_WRONG = (ArithmeticError, AssertionError, AttributeError, IndexError, KeyError, RecursionError, TypeError, ValueError)


def save(model: CertifiedModel, path: str | os.PathLike[str]) -> str:
    """Save a fitted model; no code is stored, and none runs when it is loaded.

    The file is a zip archive: a manifest (format, version, SHA-256), our own values as JSON and arrays, and other
    people's estimators as skops writes them.  It holds support vectors, hence rows of the training data, and the labels
    of the validation rows with what every classifier answered.  A callable `prior` is replaced by its weights, a
    `random_state` that is no integer by None; draws stay.  Certificates, bounds, words and `n_jobs` are not stored:
    `load` computes the former from answers and weights.  Equal models make equal files.  A warning says at once if
    `load` will need `trusted`.

    Parameters
    ----------
    model : StochasticSVC or CertifiedClassifier
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
    encoder = ModelEncoder()
    values = json.dumps(encoder.encode(_state(model)))
    parts = {VALUES: values.encode()} | {ARRAY.format(i): npy_bytes(one) for i, one in enumerate(encoder.arrays)}
    if encoder.objects:
        parts[OBJECTS] = dump_objects(encoder.objects)
        needed = sorted(untrusted_types(parts[OBJECTS]))
        if needed:
            at_prompt = " (pacbayes predict: --trust)" if all(name.startswith("sklearn.") for name in needed) else ""
            warn_caller(f"to load this model, load will need trusted={needed!r}{at_prompt}: these types may run code")
    manifest = {"format": FORMAT, "version": pacbayes.__version__}
    digest = _digest(manifest, parts)
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

    No code runs that skops does not trust, and nothing in the file is believed that can be computed: certificates,
    bounds, baselines and words follow from the stored answers and weights, and weights that follow from the stored
    cross-validation must do so to 1e-9.  Refused, with a `ValueError`, are files of another format, files whose
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
        ``["sklearn."]`` for what skops does not know of scikit-learn.
    max_bytes : int, optional
        Refuse a file that needs more memory than this to be unpacked; by default half of what is free.

    Returns
    -------
    StochasticSVC or CertifiedClassifier

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
    manifest, parts = _read(path, max_bytes)
    digest = _digest(manifest, parts)
    for expected in (str(manifest.get("sha256")), sha256):
        if expected is not None and not hmac.compare_digest(digest.encode(), str(expected).encode()):
            raise ValueError(f"{path} was changed after it was saved: its SHA-256 is {digest}, not {expected}")
    objects = load_objects(path, parts[OBJECTS], list(trusted), max_bytes) if OBJECTS in parts else []
    try:
        arrays = [read_npy(parts[ARRAY.format(number)]) for number in range(len(parts) - 1 - (OBJECTS in parts))]
        settle_objects(objects)
        return _model(ModelDecoder(arrays, objects).decode(json.loads(parts[VALUES])))
    except _WRONG as error:
        raise ValueError(f"{path} is not a model saved by pacbayes: {type(error).__name__}: {error}") from error


def _state(model: CertifiedModel) -> dict[str, Any]:
    """Return what is stored of a model: parameters, what scikit-learn notes of the rows, and the values of the fit."""
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
        "noted": {name: getattr(model, name) for name in NOTED if hasattr(model, name)},
        "members": fitted.members,
        "plan": fitted.plan,
        "predictions": fitted.predictions,
        "posterior": None if posterior is None else (posterior.weights, posterior.distance),
        "refit": fitted.refit,
    }


def _model(state: dict[str, Any]) -> CertifiedModel:
    """Make the estimator from values that their constructors have checked; all that follows is computed anew."""
    need(isinstance(state, dict) and set(state) == set(STATE), "model", f"must be of {', '.join(STATE)}")
    plan, predictions = state["plan"], state["predictions"]
    right = isinstance(plan, Plan) and isinstance(predictions, ValidationPredictions)
    need(
        right and isinstance(state["members"], KernelSVMs | Estimators | CompositeMembers),
        "model",
        "must have the values of a fit",
    )
    model = ESTIMATORS[state["class"]](**state["params"] | {"n_jobs": None})
    need(type(model.voting) is str, "voting", "must be text")
    for name, value in _check_noted(state["noted"]).items():
        setattr(model, name, value)
    plain = predictions.labels.dtype.kind in "biufUO" and predictions.labels.size <= _MOST_LABELS
    need(plain, "ValidationPredictions.labels", f"must be at most {_MOST_LABELS} numbers or texts")
    found = Posteriors(_posterior(state["posterior"], plan, predictions))
    need(state["refit"] is None or isinstance(state["refit"], Refit), "refit", "must be a Refit")
    fitted = Fitted(state["members"], plan, predictions, found, state["refit"])
    check_fitted(fitted)
    return model._set_fitted(fitted)


def _posterior(stored: Any, plan: Plan, predictions: ValidationPredictions) -> Posterior | None:
    if stored is None:
        return None
    weights, distance = stored
    need_array(weights, "weights", "f", (len(predictions),))
    whole = bool((weights >= 0.0).all()) and math.fsum(weights.tolist()) == 1.0
    need(whole, "weights", "must have the sum one")
    need(np.array_equal(float_weights(integer_weights(weights)), weights), "weights", "must be multiples of 2^-52")
    among = {one.name: one for one in plan.distances}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an invalid constant was warned of when it was asked for
        return restored_posterior(
            weights,
            predictions.count_errors(plan.split).risks,
            plan.split.m,
            distance=among[check_choice("distance", distance, among)],
            delta=divide_delta(plan.hedged_level, len(plan.distances)),
            prior=plan.prior,
            constant=plan.constant,
        )


def _check_noted(noted: dict[str, Any]) -> dict[str, Any]:
    """Return what scikit-learn noted of the rows, or raise unless it is that; rows of another width are refused."""
    need(isinstance(noted, dict) and set(noted) <= set(NOTED), "noted", f"must be of {', '.join(NOTED)}")
    number = noted.get("n_features_in_")
    if "n_features_in_" in noted:
        need_whole(number, "n_features_in_", 1)
    if "feature_names_in_" in noted:
        names = noted["feature_names_in_"]
        need_array(names, "feature_names_in_", "O", (number,))
        need(all(type(name) is str for name in names.tolist()), "feature_names_in_", "must be text")
    return noted


def _digest(manifest: dict[str, Any], parts: dict[str, bytes]) -> str:
    """Return the SHA-256 of format, version and all parts, in the order of their names."""
    found = hashlib.sha256(json.dumps([manifest.get("format"), manifest.get("version")]).encode())
    for name in sorted(parts):
        found.update(json.dumps([name, len(parts[name])]).encode() + parts[name])
    return found.hexdigest()


def _read(path: Any, max_bytes: int | None) -> tuple[dict[str, Any], dict[str, bytes]]:
    # A file that cannot be opened is no damaged one; one that is open, and leads nowhere, is.
    with open(path, "rb") as file:
        try:
            with zipfile.ZipFile(file) as archive:
                manifest = read_manifest(archive)
                found, version = manifest.get("format"), manifest.get("version")
                parts = read_parts(archive, max_bytes) if type(found) is int and found == FORMAT else None
        except Exception as error:  # zipfile, zlib and json have many ways to say it
            raise ValueError(f"{path} is not a model saved by pacbayes, or is damaged: {error}") from error
    if parts is None:
        raise ValueError(
            f"{path} is a model of format {found!r}, saved by pacbayes {version}; this is pacbayes "
            f"{pacbayes.__version__}, which reads format {FORMAT} only"
        )
    return manifest, parts
