"""Other people's objects as skops files: equal objects make equal bytes, and none is made that may run code."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import PurePath
from typing import Any

import numpy as np

from pacbayes.files.archive import SCHEMA, check_parts, npy_bytes, packed, read_npy
from pacbayes.svm.kernel import Kernel, Scaling
from pacbayes.svm.one_vs_one import OneVsOneSVM
from pacbayes.svm.svm_classifier import SVMClassifier

# Types that skops does not list as trusted and that run no code of a file: our own parameters and SVMs, which may stand
# at the end of a pipeline, and what scikit-learn's fitted classifiers hold: categories' types, trees, distances,
# calibrators, optimizers, scorers.  What stands behind a partial function, a scorer or a calibrator must be trusted
# itself.  Our SVMs are checked.  A forged tree may crash the process, as forged objects of types that skops trusts may.
HARMLESS = (
    "functools.partial",
    "numpy.dtype",
    "pacbayes.data.encoder.TableEncoder",
    "pacbayes.data.schema.Column",
    "pacbayes.data.schema.NumberFormat",
    "pacbayes.data.schema.Schema",
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
# Where the state of scikit-learn's trees of neighbours counts the queries: they do not change a prediction.
_QUERY_COUNTS = {"sklearn.neighbors._kd_tree": range(7, 11), "sklearn.neighbors._ball_tree": range(7, 11)}
# How skops writes None and 0.
_NONE, _ZERO = (
    {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode", "content": content, "is_json": True}
    for content in ("null", "0")
)


class UntrustedTypesError(ValueError):
    """A file holds types, `names`, that may run code when they are made.

    Examples
    --------
    >>> UntrustedTypesError("the model holds types that are not trusted", ["some.library.Model"]).names
    ('some.library.Model',)
    """

    def __init__(self, message: str, names: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.names = tuple(names)


def dump_objects(objects: list[Any]) -> bytes:
    """Write some objects as a skops file that depends on their values alone."""
    # skops takes a while to import and is needed nowhere else.
    import skops
    from skops.io._utils import SaveContext, get_state

    parts, named = _Parts(), _Parts()
    try:
        context = SaveContext(parts)
        schema = _canonical(get_state(objects, context), parts, named)
    except Exception as error:  # skops raises many kinds for what it does not know
        raise ValueError(f"model holds something that skops cannot save: {error}") from error
    _number_leaves(schema, {})
    schema |= {"protocol": context.protocol, "_skops_version": skops.__version__}
    # Not by `skops.io.dumps`, which dates the members of the archive.
    return packed(dict(sorted(named.items())) | {SCHEMA: json.dumps(schema).encode()}, zipfile.ZIP_STORED)


def load_objects(path: Any, contents: bytes, trusted: list[str], max_bytes: int | None) -> list[Any]:
    """Make the objects of a skops file, after a look at their types and sizes; `path` is for messages."""
    from skops.io import loads

    prefixes = tuple(name for name in trusted if name.endswith("."))
    try:
        check_parts(contents, max_bytes)
        needed = untrusted_types(contents)
        unknown = sorted(name for name in needed if name not in trusted and not name.startswith(prefixes))
        if not unknown:
            return list(loads(contents, trusted=sorted(needed | set(HARMLESS))))
    except Exception as error:  # any bytes may be in a file, and skops fails on them in many ways
        raise ValueError(f"{path} is not a model saved by pacbayes: {error}") from error
    raise UntrustedTypesError(
        f"{path} holds types that are not trusted: {', '.join(unknown)}. If you know where the file comes from, "
        "load it with trusted=[...] and their names; they may run code.",
        unknown,
    )


def untrusted_types(contents: bytes) -> set[str]:
    """List the types in a skops file that neither skops nor this library trusts."""
    from skops.io import get_untrusted_types

    return set(get_untrusted_types(data=contents)) - set(HARMLESS)


def settle_objects(root: Any) -> None:
    """Check the single machines among all that was made of a file, and let no object in it start processes."""
    seen: set[int] = set()
    left = [root]
    while left:
        value = left.pop()
        if id(value) in seen or isinstance(value, str | bytes | int | float | complex | type | None):
            continue
        seen.add(id(value))
        if isinstance(value, dict):
            left += [*value.keys(), *value.values()]
        elif isinstance(value, list | tuple | set | frozenset):
            left += value
        elif isinstance(value, np.ndarray):
            left += value.ravel().tolist() if value.dtype == object else []
        else:
            own = getattr(value, "__dict__", {})
            if "n_jobs" in own:
                own["n_jobs"] = None
            if isinstance(value, SVMClassifier):
                value.check_state()
            elif isinstance(value, OneVsOneSVM | Scaling | Kernel):
                value.__post_init__()  # no constructor has looked at it
            # A method holds its object.
            left += [*own.values(), getattr(value, "__self__", None)]


class _Parts(dict[str, bytes]):
    """Members of a skops archive by name, with the two methods of an archive that skops calls."""

    def namelist(self) -> list[str]:
        """List the members."""
        return list(self)

    def writestr(self, name: str, data: Any) -> None:
        """Add a member."""
        self[name] = bytes(data)


def _canonical(node: Any, parts: Mapping[str, bytes], named: dict[str, bytes]) -> Any:
    """Replace the addresses in a schema of skops by contents; `named` gets the parts that it names.

    skops numbers objects by their addresses, so that equal models differ where they share other objects: those of a
    checkpoint, of another process or of a file share less than those that were just fitted.  Left out is also what is
    no part of a model: the order within sets, the number of workers, counts of queries.
    """
    if isinstance(node, list | tuple):
        return [_canonical(inner, parts, named) for inner in node]
    if not isinstance(node, dict):
        return node
    loader, content = node.get("__loader__"), node.get("content")
    if loader == "ObjectNode" and isinstance(content, dict):
        node = node | {"content": content | {"content": _without_use(node["__module__"], content.get("content"))}}
    # What has no loader is no node, but nodes by name.
    skipped = ("__id__",) if isinstance(loader, str) else ()
    node = {name: _canonical(inner, parts, named) for name, inner in node.items() if name not in skipped}
    if loader == "SetNode":
        node["content"].sort(key=json.dumps)
    elif loader == "ConstructorFromReduceNode" and node["__class__"] == "frozenset":
        node["content"]["content"][0]["content"].sort(key=json.dumps)
    elif loader == "PartialNode" and not node["content"]["namespace"]["content"]:
        node["content"]["namespace"] = dict(_NONE)  # a namespace that somebody asked for is there, and empty
    elif isinstance(loader, str) and "file" in node:
        data, suffix = parts[node["file"]], PurePath(node["file"]).suffix
        data = _without_padding(data) if suffix == ".npy" else data
        node["file"] = hashlib.sha256(data).hexdigest() + suffix
        named[node["file"]] = data
    return node


def _without_use(module: str, attributes: Any) -> Any:
    """Reset workers and counts of queries among the attributes of an object, which are by name or in order."""
    if isinstance(attributes, dict) and "n_jobs" in attributes:
        return attributes | {"n_jobs": _NONE}
    if isinstance(attributes, list | tuple) and module in _QUERY_COUNTS:
        return [_ZERO if place in _QUERY_COUNTS[module] else one for place, one in enumerate(attributes)]
    return attributes


def _without_padding(data: bytes) -> bytes:
    """Write an array of records with zeros between their fields, where there is whatever was in memory."""
    array = read_npy(data)
    if array.dtype.names is None:
        return data
    clean = np.zeros(array.shape, array.dtype, "F" if array.flags.fnc else "C")
    for name in array.dtype.names:
        clean[name] = array[name]
    return npy_bytes(clean)


def _number_leaves(node: Any, numbers: dict[str, int]) -> None:
    """Give equal leaves of a schema one number, by which skops makes them once: arrays that several classifiers share.

    What has parts gets none: a change to one of two equal objects must not change the other.
    """
    inner = [one for one in (node.values() if isinstance(node, dict) else node) if isinstance(one, dict | list)]
    for one in inner:
        _number_leaves(one, numbers)
    if not inner and isinstance(node, dict) and "__loader__" in node:
        node["__id__"] = numbers.setdefault(json.dumps(node), len(numbers) + 1)
