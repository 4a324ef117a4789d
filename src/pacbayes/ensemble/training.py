"""Training of several families on common training rows, possibly within a time limit."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from pacbayes._utils.progress import print_notice
from pacbayes._utils.units import resolve_n_jobs
from pacbayes.ensemble.candidates import GridFamily, plan_candidates
from pacbayes.ensemble.classifier_set import TrainedMembers, TrainingJob
from pacbayes.ensemble.cost import estimate_total_cost
from pacbayes.ensemble.cross_validation import CompositeFolds
from pacbayes.ensemble.families import Family
from pacbayes.ensemble.grid import train_grids
from pacbayes.ensemble.members import CompositeMembers
from pacbayes.ensemble.portfolio import PORTFOLIO, PROMISING, Size
from pacbayes.ensemble.svm_members import KernelSVMs
from pacbayes.ensemble.svm_pilot import choose_svms
from pacbayes.ensemble.svm_set import SvmFamily

# Name and members of a part; the name is empty if the parameters of the members include the candidate.
_Part = tuple[str, TrainedMembers]


def train_families(families: Sequence[Family], job: TrainingJob) -> TrainedMembers:
    """Train families on the training rows and concatenate them, SVMs first."""
    grids = [family for family in families if isinstance(family, GridFamily)]
    parts = [part for family in families if isinstance(family, SvmFamily) for part in _train_svms(family, job)]
    if grids:
        name = grids[0].name if len(grids) == 1 else ""
        parts.append((name, train_grids(plan_candidates(grids, job.split.seed), job)))
    return _concatenate(parts, job)


def train_in_time(
    families: Sequence[Family], job: TrainingJob, size: Size, refits: float, deadline: float
) -> TrainedMembers:
    """Train families one by one, the most promising first, while time is left until `deadline`.

    Cross-validation of a family will take `refits` times as long as its training.  The first family is always trained;
    another one only if its expected time is left.

    Parameters
    ----------
    deadline : float
        Time of `time.monotonic`.
    """
    parts: list[_Part] = []
    left_out, later = [], 0.0
    order = PROMISING[size.few] if {family.name for family in families} <= set(PORTFOLIO) else ()
    ordered = sorted(families, key=lambda family: order.index(family.name) if order else 0)
    for family in ordered:
        start = time.monotonic()
        expected = estimate_total_cost([family], size, refits, resolve_n_jobs(job.n_jobs)).seconds
        if parts and start + later + expected > deadline:
            left_out.append(family.name)
            continue
        if isinstance(family, SvmFamily):
            parts += _train_svms(family, job)
        else:
            parts.append((family.name, train_grids(plan_candidates([family], job.split.seed), job)))
        later += (time.monotonic() - start) * refits
    if left_out:
        print_notice(f"no time for {', '.join(left_out)}")
    return _concatenate(parts, job)


def _train_svms(family: SvmFamily, job: TrainingJob) -> list[_Part]:
    chosen = choose_svms(family, job) if family.subsample else family
    return [] if chosen is None else [(family.name, chosen.train(job))]


def _concatenate(named_parts: Sequence[_Part], job: TrainingJob) -> TrainedMembers:
    if len(named_parts) == 1:
        return named_parts[0][1]
    names, parts = zip(*named_parts, strict=True)
    by_part, number = [], 0
    for part in parts:
        # The SVMs of a part form a family: the soft vote gives weight to one of them.
        families = np.zeros(len(part.members)) if isinstance(part.members, KernelSVMs) else part.folds.families
        by_part.append(number + families.astype(np.int64))
        number += int(families.max()) + 1
    members = tuple(part.members for part in parts)
    folds = CompositeFolds(tuple(part.folds for part in parts), tuple(map(len, members)), np.concatenate(by_part))
    return TrainedMembers(CompositeMembers(members, names), job.split, folds)
