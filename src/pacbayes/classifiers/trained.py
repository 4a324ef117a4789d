"""What training returns: classifiers, how the rows were divided, and what trains the classifiers anew."""

from dataclasses import dataclass

from pacbayes.classifiers.classifier_set import ClassifierSet
from pacbayes.classifiers.cross_validation import Folds
from pacbayes.classifiers.evidence import observe
from pacbayes.classifiers.members import Members
from pacbayes.data.division import Division
from pacbayes.data.labelled import Labelled


@dataclass(frozen=True, eq=False)
class Trained:
    """Classifiers that have seen training rows only."""

    members: Members
    #: Which rows train and which validate; those of a forest are drawn while it is trained.
    division: Division
    #: The classifiers with the training rows that all share; None where they share none.
    folds: Folds | None = None

    def as_set(self, data: Labelled, n_jobs: int | None) -> ClassifierSet:
        """Return the classifiers with their answers to the validation rows."""
        return ClassifierSet(self.members, observe(self.members, data, self.division, n_jobs), self.division)
