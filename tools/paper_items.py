"""List the items of the paper's TeX source: `python tools/paper_items.py paper.tex > docs/paper-items.csv`.

An item is a label, or a theorem, lemma, corollary, remark, algorithm, table, figure or numbered display without one.
"""

import csv
import re
import sys
from dataclasses import dataclass
from pathlib import Path

_KINDS = {
    "theorem": "theorem", "lem": "lemma", "cor": "corollary", "rem": "remark", "algorithm2e": "algorithm",
    "table": "table", "sidewaystable": "table", "figure": "figure", "equation": "equation", "align": "equation",
    "multline": "equation", "eqnarray": "equation", "subequations": "equation",
}  # fmt: skip
# What the prefix of a label stands for.
_PREFIXES = {
    "thm": "theorem", "eqn": "equation", "tab": "table", "fig": "figure", "algo": "algorithm", "step": "step",
    "secn": "section", "chap": "section",
}  # fmt: skip
_TOKEN = re.compile(r"\\(begin|end|label)\{([^}]*)\}")


@dataclass
class _Environment:
    kind: str
    line: int
    labelled: bool = False


def items(source: str) -> list[tuple[int, str, str]]:
    r"""List line, kind and label (empty if there is none) of every item, in the order of the source.

    Examples
    --------
    >>> items("%\\label{eqn:no}\n\\begin{equation} x \\label{eqn:a}\n\\end{equation}\n\\begin{lem}\\end{lem}")
    [(2, 'equation', 'eqn:a'), (4, 'lemma', '')]
    """
    rows: list[tuple[int, str, str]] = []
    opened: list[_Environment] = []
    for number, line in enumerate(source.splitlines(), 1):
        for command, name in _TOKEN.findall(re.sub(r"(?<!\\)%.*", "", line)):
            if command == "label":
                kind = _PREFIXES[name.partition(":")[0]]
                rows.append((number, kind, name))
                for environment in opened:
                    environment.labelled |= environment.kind == kind
            elif name in _KINDS and command == "begin":
                opened.append(_Environment(_KINDS[name], number))
            elif name in _KINDS:
                done = opened.pop()
                nested = done.kind == "equation" and any(outer.kind == "equation" for outer in opened)
                if not done.labelled and not nested:
                    rows.append((done.line, done.kind, ""))
    return sorted(rows)


if __name__ == "__main__":
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(["line", "kind", "label"])
    writer.writerows(items(Path(sys.argv[1]).read_text(encoding="utf-8")))
