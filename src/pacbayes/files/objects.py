"""Serialisation of objects of other libraries as reproducible skops files, without creating untrusted types."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import PurePath
from typing import Any

import numpy as np

from pacbayes.files.archive import SCHEMA, check_parts, encode_npy, pack_archive, read_npy
from pacbayes.svm.kernel import Kernel, Scaling
from pacbayes.svm.one_vs_one import OneVsOneSVM
from pacbayes.svm.svm_classifier import SVMClassifier

# Types that skops does not trust by default, and that cannot run code from a file: our families and SVMs, which may be
# the last step of a pipeline, and parts of scikit-learn's fitted classifiers: dtypes of categories, trees, distances,
# calibrators, optimizers, scorers.  The function of a partial or a scorer, and the estimator of a calibrator, must be
# trusted too.  Our SVMs are checked.  A forged tree may crash the process, like forged objects that skops trusts.
TRUSTED_TYPES = (
    "functools.partial",
    "numpy.dtype",
    "pacbayes.data.encoder.TableEncoder",
    "pacbayes.data.schema.Column",
    "pacbayes.data.schema.NumberFormat",
    "pacbayes.data.schema.Schema",
    "pacbayes.ensemble.by_name.EncodedLabels",
    "pacbayes.ensemble.families.Grid",
    "pacbayes.ensemble.families.SVMs",
    "pacbayes.svm.kernel.Kernel",
    "pacbayes.svm.kernel.Scaling",
    "pacbayes.svm.one_vs_one.OneVsOneSVM",
    "pacbayes.svm.svm_classifier.SVMClassifier",
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    "sklearn.calibration._TemperatureScaling",
    "sklearn.compose._column_transformer._RemainderColsList",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.feature_selection._univariate_selection.f_classif",
    "sklearn.metrics._dist_metrics.EuclideanDistance64",
    "sklearn.metrics._dist_metrics.ManhattanDistance64",
    "sklearn.metrics._dist_metrics.MinkowskiDistance64",
    "sklearn.metrics._scorer._PassthroughScorer",
    "sklearn.model_selection._split.StratifiedKFold",
    "sklearn.neighbors._ball_tree.BallTree",
    "sklearn.neighbors._kd_tree.KDTree",
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
    "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
    "sklearn.tree._tree.Tree",
    "sklearn.utils._bunch.Bunch",
    "sklearn.utils.validation.check_array",
)
# Indices of query counts in the state of scikit-learn's neighbour trees; they do not affect predictions.
_QUERY_COUNTS = {"sklearn.neighbors._kd_tree": range(7, 11), "sklearn.neighbors._ball_tree": range(7, 11)}
# None and 0 in a skops schema.
_NONE, _ZERO = (
    {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode", "content": content, "is_json": True}
    for content in ("null", "0")
)


class UntrustedTypesError(ValueError):
    """Error for a file with types, `names`, that may run code when they are created.

    Examples
    --------
    >>> UntrustedTypesError("the model contains untrusted types", ["some.library.Model"]).names
    ('some.library.Model',)
    """

    def __init__(self, message: str, names: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.names = tuple(names)


def dump_objects(objects: list[Any]) -> bytes:
    """Serialise objects as a skops file that depends only on their values."""
    # Imported lazily, because the import is slow.
    import skops
    from skops.io._utils import SaveContext, get_state

    parts, named = _MemoryArchive(), _MemoryArchive()
    try:
        context = SaveContext(parts)
        schema = _canonicalize(get_state(objects, context), parts, named)
    except Exception as error:  # skops raises many types of errors
        raise ValueError(f"skops cannot save a part of the model: {error}") from error
    _number_leaves(schema, {})
    schema |= {"protocol": context.protocol, "_skops_version": skops.__version__}
    # Not with `skops.io.dumps`, which stores the date.
    return pack_archive(dict(sorted(named.items())) | {SCHEMA: json.dumps(schema).encode()}, zipfile.ZIP_STORED)


def load_objects(path: Any, contents: bytes, trusted: list[str], max_bytes: int | None) -> list[Any]:
    """Load the objects of a skops file after checks of types and sizes; `path` is for messages."""
    from skops.io import loads

    prefixes = tuple(name for name in trusted if name.endswith("."))
    try:
        check_parts(contents, max_bytes)
        needed = untrusted_types(contents)
        unknown = sorted(name for name in needed if name not in trusted and not name.startswith(prefixes))
        if not unknown:
            return list(loads(contents, trusted=sorted(needed | set(TRUSTED_TYPES))))
    except Exception as error:  # a file may contain any bytes, on which skops fails in many ways
        raise ValueError(f"{path} is not a model saved by pacbayes: {error}") from error
    raise UntrustedTypesError(
        f"{path} contains untrusted types: {', '.join(unknown)}. If you trust the origin of the file, load it with "
        "trusted=[...] and these names; they may run code.",
        unknown,
    )


def untrusted_types(contents: bytes) -> set[str]:
    """List the types in a skops file that neither skops nor this library trusts."""
    from skops.io import get_untrusted_types

    return set(get_untrusted_types(data=contents)) - set(TRUSTED_TYPES)


def sanitize_objects(root: Any) -> None:
    """Check every SVM in loaded objects, and reset `n_jobs` of all objects, so that none starts processes."""
    seen: set[int] = set()
    stack = [root]
    while stack:
        value = stack.pop()
        if id(value) in seen or isinstance(value, str | bytes | int | float | complex | type | None):
            continue
        seen.add(id(value))
        if isinstance(value, dict):
            stack += [*value.keys(), *value.values()]
        elif isinstance(value, list | tuple | set | frozenset):
            stack += value
        elif isinstance(value, np.ndarray):
            stack += value.ravel().tolist() if value.dtype == object else []
        else:
            attributes = getattr(value, "__dict__", {})
            if "n_jobs" in attributes:
                attributes["n_jobs"] = None
            if isinstance(value, SVMClassifier):
                value.check_state()
            elif isinstance(value, OneVsOneSVM | Scaling | Kernel):
                value.__post_init__()  # skops does not call constructors
            # A bound method refers to its object.
            stack += [*attributes.values(), getattr(value, "__self__", None)]


class _MemoryArchive(dict[str, bytes]):
    """In-memory archive with the two methods that skops calls."""

    def namelist(self) -> list[str]:
        """List the members."""
        return list(self)

    def writestr(self, name: str, data: Any) -> None:
        """Add a member."""
        self[name] = bytes(data)


def _canonicalize(node: Any, parts: Mapping[str, bytes], named: dict[str, bytes]) -> Any:
    """Replace addresses in a skops schema by hashes of contents, and collect the parts it refers to in `named`.

    skops numbers objects by their addresses, so that equal models differ if they share different objects: models from
    a checkpoint, another process or a file share fewer than freshly fitted ones.  State that is not part of a model is
    removed: the order within sets, the number of workers, query counts.
    """
    if isinstance(node, list | tuple):
        return [_canonicalize(inner, parts, named) for inner in node]
    if not isinstance(node, dict):
        return node
    loader, content = node.get("__loader__"), node.get("content")
    if loader == "ObjectNode" and isinstance(content, dict):
        node = node | {"content": content | {"content": _reset_usage(node["__module__"], content.get("content"))}}
    # A dict without a loader maps names to nodes.
    skipped = ("__id__",) if isinstance(loader, str) else ()
    node = {name: _canonicalize(inner, parts, named) for name, inner in node.items() if name not in skipped}
    if loader == "SetNode":
        node["content"].sort(key=json.dumps)
    elif loader == "ConstructorFromReduceNode" and node["__class__"] == "frozenset":
        node["content"]["content"][0]["content"].sort(key=json.dumps)
    elif loader == "PartialNode" and not node["content"]["namespace"]["content"]:
        node["content"]["namespace"] = dict(_NONE)  # skops creates an empty namespace when it is read
    elif isinstance(loader, str) and "file" in node:
        data, suffix = parts[node["file"]], PurePath(node["file"]).suffix
        data = _zero_padding(data) if suffix == ".npy" else data
        node["file"] = hashlib.sha256(data).hexdigest() + suffix
        named[node["file"]] = data
    return node


def _reset_usage(module: str, attributes: Any) -> Any:
    """Reset workers and query counts in the state of an object, a dict or a sequence."""
    if isinstance(attributes, dict) and "n_jobs" in attributes:
        return attributes | {"n_jobs": _NONE}
    if isinstance(attributes, list | tuple) and module in _QUERY_COUNTS:
        return [_ZERO if i in _QUERY_COUNTS[module] else value for i, value in enumerate(attributes)]
    return attributes


def _zero_padding(data: bytes) -> bytes:
    """Set the padding bytes of a structured array to zero; they are uninitialised memory."""
    array = read_npy(data)
    if array.dtype.names is None:
        return data
    clean = np.zeros(array.shape, array.dtype, "F" if array.flags.fnc else "C")
    for name in array.dtype.names:
        clean[name] = array[name]
    return encode_npy(clean)


def _number_leaves(node: Any, numbers: dict[str, int]) -> None:
    """Give equal leaves of a schema one number, so that skops loads them once: arrays that several classifiers share.

    Inner nodes get none: a change to one of two equal objects must not change the other.
    """
    children = [
        child for child in (node.values() if isinstance(node, dict) else node) if isinstance(child, dict | list)
    ]
    for child in children:
        _number_leaves(child, numbers)
    if not children and isinstance(node, dict) and "__loader__" in node:
        node["__id__"] = numbers.setdefault(json.dumps(node), len(numbers) + 1)
