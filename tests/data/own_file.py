"""A file of the user's own, as tests write it."""


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path
