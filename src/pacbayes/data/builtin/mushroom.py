"""The letters of the Mushroom data and their one-hot encoding."""

from collections.abc import Sequence

import numpy as np

from pacbayes.numeric.arrays import FloatArray

# The letters of each attribute that occur in UCI's full file of 8124 rows, '?' (a missing stalk root) left out: 116.
# UCI's documentation lists nine more that occur nowhere.  The shipped file holds the complete rows only, in which 98 of
# the 116 are left; so the full vocabulary has to stand here.
VOCABULARY: dict[str, str] = {
    "cap-shape": "bcfksx",
    "cap-surface": "fgsy",
    "cap-color": "bcegnpruwy",
    "bruises": "ft",
    "odor": "acflmnpsy",
    "gill-attachment": "af",
    "gill-spacing": "cw",
    "gill-size": "bn",
    "gill-color": "beghknopruwy",
    "stalk-shape": "et",
    "stalk-root": "bcer",
    "stalk-surface-above-ring": "fksy",
    "stalk-surface-below-ring": "fksy",
    "stalk-color-above-ring": "bcegnopwy",
    "stalk-color-below-ring": "bcegnopwy",
    "veil-type": "p",
    "veil-color": "nowy",
    "ring-number": "not",
    "ring-type": "eflnp",
    "spore-print-color": "bhknoruwy",
    "population": "acnsvy",
    "habitat": "dglmpuw",
}


def one_hot(letters: Sequence[Sequence[str]]) -> tuple[FloatArray, list[str]]:
    """Return the 0/1 columns of rows of 22 letters, and their names ``attribute=letter``.

    Examples
    --------
    >>> row = "x s n t p f c n k e e s s w w p w o p k s u".split()
    >>> columns, names = one_hot([row])
    >>> columns.shape, float(columns.sum()), names[5]
    ((1, 116), 22.0, 'cap-shape=x')
    """
    table = np.array(letters)
    columns, names = [], []
    for attribute, values in zip(table.T, VOCABULARY.items(), strict=True):
        name, alphabet = values
        columns += [attribute == letter for letter in alphabet]
        names += [f"{name}={letter}" for letter in alphabet]
    return np.column_stack(columns).astype(np.float64), names
