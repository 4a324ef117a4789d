"""Settings for all tests: the same examples on every run, and lines counted where they are run for the first time."""

import signal

from hypothesis import settings

settings.register_profile("reproducible", derandomize=True, deadline=None, print_blob=True)
settings.load_profile("reproducible")

# Simulations and comparisons with arbitrary precision repeat, thousands of times, what other tests run too: to count
# lines while they do takes as long again as they do.  They run without coverage.
UNCOUNTED = (
    "tests/attack/test_far_rows.py",
    "tests/attack/test_numbers.py",
    "tests/attack/test_validation_rows.py",
    "tests/bounds/test_constants.py::test_supremum",
    "tests/bounds/test_binary_kl.py::test_roots_are_rounded_outward_and_tight",
    "tests/bounds/test_bound.py::test_average_and_divergence_are_rounded_up",
    "tests/certificates/test_abstain.py::test_planted_faults_are_detected",
    "tests/certificates/test_abstain.py::test_the_requirement_holds",
    "tests/estimators/test_sklearn_checks.py",
    "tests/posteriors/test_ccp.py",
    "tests/posteriors/test_optimal.py::test_against_a_scan_in_arbitrary_precision",
    "tests/posteriors/test_optimal.py::test_nothing_on_the_simplex_beats_the_certificate",
    "tests/posteriors/test_tandem.py::test_against_a_scan_in_arbitrary_precision",
    "tests/posteriors/test_tandem.py::test_nothing_on_the_simplex_beats_the_certificate",
    "tests/posteriors/test_votes.py::test_never_below_arbitrary_precision",
    "tests/validity/",
)


def pytest_configure():
    # A shell starts what runs in its background with interrupts ignored, and so would everything that tests interrupt.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(config, items):
    if config.pluginmanager.hasplugin("pytest_cov"):  # which knows the mark
        for item in items:
            if item.nodeid.startswith(UNCOUNTED):
                item.add_marker("no_cover")
