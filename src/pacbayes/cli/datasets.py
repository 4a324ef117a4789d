"""`pacbayes datasets`: what `load_dataset` knows by name."""


def datasets() -> None:
    """List the data sets that come with pacbayes, with the split sizes of the paper's table."""
    from pacbayes.data.builtin.catalogue import DATASETS

    header = ("name", "examples", "features", "classes", "train/val/test", "title")
    rows = [
        (
            facts.name,
            str(facts.rows),
            str(facts.features),
            "/".join(str(count) for count in facts.classes.values()),
            "–" if facts.split_sizes is None else "/".join(str(size) for size in facts.split_sizes),
            facts.title,
        )
        for facts in DATASETS.values()
    ]
    widths = [max(len(row[i]) for row in (header, *rows)) for i in range(len(header))]
    for row in (header, *rows):
        print("  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip())
