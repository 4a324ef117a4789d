"""A file of the user's own, as tests write it."""


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def checked(frame, keep=(), categorical=()):
    """The schema of columns that can be used."""
    from pacbayes.data.leakage import reject_columns
    from pacbayes.data.rejections import format_option
    from pacbayes.data.schema import Schema

    schema = Schema.infer(frame, categorical=categorical)
    reject_columns(frame, schema, (*keep, *categorical), format_option)
    return schema
