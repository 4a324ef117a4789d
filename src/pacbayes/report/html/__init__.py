"""The HTML report: one page that loads nothing."""
