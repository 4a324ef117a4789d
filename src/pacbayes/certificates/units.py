"""What was drawn, and what a share of errors is therefore of: examples, examples without their copies, or groups."""

#: What a certificate says the share of errors is of, by unit.
OF_NEW = {
    "example": "new examples",
    "distinct example": "new examples, each counted once however often it is copied",
    "group": "the rows of a new group, on average over groups",
}
#: The unit in few words, for tables.
PLURAL = {"example": "rows", "distinct example": "distinct rows", "group": "groups"}


def counted_once(unit: str) -> str:
    """Return what is to be added where examples were named, and copies of them do not count.

    Examples
    --------
    >>> counted_once("example"), counted_once("distinct example")
    ('', ', each counted once however often it is copied')
    """
    return OF_NEW["distinct example"].removeprefix(OF_NEW["example"]) if unit == "distinct example" else ""
