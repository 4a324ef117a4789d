"""Settings for all tests: reproducible hypothesis examples, and tests without coverage."""

import signal

from hypothesis import settings

settings.register_profile("reproducible", derandomize=True, deadline=None, print_blob=True)
settings.load_profile("reproducible")

# Simulations, comparisons with arbitrary precision, pages and examples, which repeat code of other tests, many of them
# thousands of times, run without coverage, because it would double their time.
UNCOUNTED = (
    "README.md",
    "docs/",
    "tests/attack/test_environment.py",
    "tests/attack/test_far_rows.py",
    "tests/attack/test_forged_values.py",
    "tests/attack/test_numbers.py",
    "tests/attack/test_oracle.py",
    "tests/attack/test_validation_rows.py",
    "tests/bounds/test_binary_kl.py::test_roots_are_rounded_outward_and_tight",
    "tests/bounds/test_binomial.py::test_batch_bound_in_all_small_cases",
    "tests/bounds/test_binomial.py::test_bounds_are_rounded_up_and_tight",
    "tests/bounds/test_binomial.py::test_small_levels",
    "tests/bounds/test_bound.py::test_average_and_divergence_are_rounded_up",
    "tests/bounds/test_chi_square.py::test_constants_against_40_digits",
    "tests/bounds/test_chi_square.py::test_exactly_valid",
    "tests/bounds/test_chi_square.py::test_valid_for_posteriors",
    "tests/bounds/test_constants.py",
    "tests/bounds/test_refined_pinsker.py::test_200_problems",
    "tests/certificates/test_abstain.py::test_planted_faults_are_detected",
    "tests/certificates/test_abstain.py::test_the_requirement_holds",
    "tests/cli/test_candidates.py",
    "tests/cli/test_predict_blocks.py",
    "tests/cli/test_terminal.py",
    "tests/estimators/test_sklearn_checks.py",
    "tests/estimators/test_sparse_rows.py",
    "tests/posteriors/test_ccp.py",
    "tests/posteriors/test_chi_square.py::test_against_slsqp",
    "tests/posteriors/test_optimal.py::test_against_a_scan_in_arbitrary_precision",
    "tests/posteriors/test_optimal.py::test_nothing_on_the_simplex_beats_the_certificate",
    "tests/posteriors/test_optimal.py::test_weights_to_the_last_digits",
    "tests/posteriors/test_tandem.py::test_against_a_scan_in_arbitrary_precision",
    "tests/posteriors/test_tandem.py::test_nothing_on_the_simplex_beats_the_certificate",
    "tests/posteriors/test_votes.py::test_never_below_arbitrary_precision",
    "tests/report/test_browser.py",
    "tests/test_examples.py",
    "tests/test_pages.py",
    "tests/test_readme.py",
    "tests/validity/",
)


def pytest_configure():
    # Shells start background jobs with SIGINT ignored, which subprocesses of tests would inherit.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(config, items):
    if config.pluginmanager.hasplugin("pytest_cov"):  # which registers the marker
        for item in items:
            if item.nodeid.startswith(UNCOUNTED):
                item.add_marker("no_cover")
