"""The paper's table of data sets beside what is shipped."""

from pacbayes.data import DATASETS
from pacbayes.paper.output import Output, Row, markdown_table
from pacbayes.paper.protocol import NINE, describe
from pacbayes.paper.workspace import Workspace

NAME = "datasets"


def reproduce(space: Workspace) -> Output:
    """Return the table; it is the same for every workspace."""
    rows: list[Row] = []
    for name in NINE:
        facts, theirs = DATASETS[name], DATASETS[name].paper
        assert theirs is not None
        rows.append({
            "dataset": name, "features": facts.features, "paper_features": theirs.features, "examples": facts.rows,
            "paper_examples": theirs.rows, "classes": "/".join(str(n) for n in sorted(facts.classes.values())),
            "paper_classes": "/".join(str(n) for n in sorted((theirs.positive, theirs.negative))),
            "training": theirs.split_sizes.training, "validation": theirs.split_sizes.validation,
            "test": theirs.split_sizes.test, "agrees": facts.rows == theirs.rows,
        })  # fmt: skip
    lines = [
        [describe(r["dataset"]), f"`{r['dataset']}`", f"{r['features']} ({r['paper_features']})",
         f"{r['examples']} ({r['paper_examples']})", f"{r['classes']} ({r['paper_classes']})",
         f"{r['training']}/{r['validation']}/{r['test']}"]
        for r in rows
    ]  # fmt: skip
    columns = ["data set", "name here", "features (paper)", "examples (paper)", "classes (paper)", "train/val/test"]
    text = (
        "# The data sets\n\nWhat is shipped, and in parentheses what the paper's table prints. Mushroom's 22 "
        "attributes are 116 columns after one-hot encoding, as the paper notes; its 5643 rows are UCI's 5644 complete "
        "ones without the first. Bupa's class sizes are those of drinks > 2; the paper's error rates need the drinks "
        "column among the features (`bupa-leaky`), `bupa` is without that leak.\n\n" + markdown_table(columns, lines)
    )
    return Output(NAME, text, rows)
