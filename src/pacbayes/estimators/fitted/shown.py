"""How a fitted estimator shows itself: a report, a line of text, a card in a notebook."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sklearn.base import BaseEstimator

# Characters of a text about an estimator, more or less: its parameters may be lists of a thousand numbers.
_LONGEST = 300


class Shown(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """The methods of an estimator that show it, beside scikit-learn's own."""

    voting: str

    def report(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        title: str | None = None,
        test: Any = None,
        data: Any = None,
        notes: Sequence[str] = (),
    ) -> Path:
        """Write a report on this model as one HTML file, with the parameters of `pacbayes.write_report`.

        Parameters
        ----------
        path : str or path
            Replaced in one step if it exists.  It must be given.
        title, test, data, notes
            As for `write_report`.

        Returns
        -------
        Path
            Where it was written.
        """
        if path is None:
            raise TypeError("report() needs the path of the page to write, as in report('report.html')")
        # The report looks at estimators and is below them; only the root knows both.
        from pacbayes import write_report

        model: Any = self
        return write_report(model, path, title=title, test=test, data=data, notes=notes)

    def __repr__(self, N_CHAR_MAX: int = _LONGEST) -> str:
        text: str = super().__repr__(N_CHAR_MAX)
        return text

    def _repr_html_inner(self) -> str:
        """Return what a notebook shows: the certificate, if there is one, above scikit-learn's diagram."""
        diagram: str = super()._repr_html_inner()
        return self._shown_certificate() + diagram

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] = self._shown_certificate() + bundle["text/html"]
        return bundle

    def _shown_certificate(self) -> str:
        # A wrong voting is said when predicting, not when looking.
        found = self.__dict__.get("certificates_", {}).get(self.voting)
        return "" if found is None else found._repr_html_()
