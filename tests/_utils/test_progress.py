"""One line on a terminal shows what is going on, early enough, and nowhere else."""

import io
import pickle
import sys
import time

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from pacbayes import CertifiedClassifier, Grid, StochasticSVC, svm_path, svm_set
from pacbayes._utils import progress as module
from pacbayes._utils.progress import Stage, current_stage, progress, quiet


class Terminal(io.StringIO):
    def isatty(self):
        return True


def on_a_terminal(monkeypatch):
    """Put a terminal on stderr; not as a fixture, since pytest puts its own stream there before a test begins."""
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    return stream


def labels(monkeypatch, delay=0.0):
    """Return a list to which everything the line says is added."""
    said = []
    show = module._Line.show
    monkeypatch.setattr(module._Line, "show", lambda self, stage: (said.append(stage.label()), show(self, stage))[1])
    monkeypatch.setattr(module, "_new_line", lambda _: module._Line(delay))
    return said


def test_nothing_without_a_terminal(capsys):
    with progress("work", 2, delay=0.0) as advance:
        advance(2)
    assert capsys.readouterr() == ("", "")


def test_words_without_a_terminal_for_what_lasts(monkeypatch, capsys):
    clock = iter(range(0, 1000, 6))
    monkeypatch.setattr("pacbayes._utils.progress.time.monotonic", lambda: float(next(clock)))
    with progress("fitting", None), progress("forest", 4) as advance:
        for _ in range(4):
            advance(1)
    # Every second look, for the clock moves by six seconds.
    assert capsys.readouterr().err.splitlines() == [
        "pacbayes: forest, 0 of 4; 12 s so far",
        "pacbayes: forest, 2 of 4; 24 s so far",
        "pacbayes: forest, 4 of 4; 36 s so far",
    ]


def test_no_words_where_somebody_asked_for_quiet(monkeypatch, capsys):
    monkeypatch.setattr("pacbayes._utils.progress.WORDS_SECONDS", 0.0)
    with quiet(), progress("fitting", None), progress("forest", 4) as advance:
        advance(1)
    assert capsys.readouterr().err == ""


def test_bar_on_a_terminal_after_the_delay(monkeypatch):
    terminal = on_a_terminal(monkeypatch)
    with progress("long", 3, delay=60.0) as advance:
        advance(3)
    assert terminal.getvalue() == ""
    with progress("classifiers", 3, delay=0.0) as advance:
        advance(1)
        advance(2)
    assert "classifiers" in terminal.getvalue()
    assert sys.stderr is terminal


def test_the_line_is_there_in_the_first_second_though_the_first_step_takes_longer(monkeypatch):
    terminal = on_a_terminal(monkeypatch)
    assert module.DELAY_SECONDS < 1.0
    with progress("one long step", 1, delay=0.01):
        # No sign of life from the work: the line has a clock of its own.
        for _ in range(1000):
            if "one long step" in terminal.getvalue():
                break
            time.sleep(0.01)
    assert "one long step" in terminal.getvalue()


def test_work_inside_other_work_takes_the_line_over_and_gives_it_back(monkeypatch):
    on_a_terminal(monkeypatch)
    said = labels(monkeypatch)
    with progress("fitting", None):
        outer = current_stage()
        with progress("fold 1 of 2", 5) as advance, progress("machines", 3), progress("kernel", 9):
            advance(1)
        assert current_stage() is outer
    assert current_stage() is None
    assert said == ["fitting", "fold 1 of 2", "fold 1 of 2: machines", "fold 1 of 2: kernel"]


def test_another_process_gets_a_stage_of_its_own():
    with progress("work", 3):
        stage = pickle.loads(pickle.dumps(current_stage()))
    stage.advance(1)
    assert (stage.name, stage.done, stage.line) == ("work", 1, None)


def two_bands(n):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    return X, rng.integers(0, 2, n)


def test_a_path_moves_the_line_before_its_first_machine_is_trained(monkeypatch):
    """One lambda is one step, however long: the solver comes back several times a second all the same."""
    X, y = two_bands(60)
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(-1))
    steps = []
    monkeypatch.setattr(Stage, "advance", lambda self, number: steps.append(number))
    monkeypatch.setattr(sys.modules["pacbayes.svm.path"], "_ENTRIES_PER_CALL", 1)
    path = svm_path(K, np.where(y, 1, -1), [1e-4], tol=1e-9)
    assert path.n_iter[0] > 1000
    # 64 iterations at a time, and the last call trains the machine.
    assert len(steps) >= path.n_iter[0] / 64
    assert steps == [0] * (len(steps) - 1) + [1]


def test_predictions_of_independent_machines_have_the_line(monkeypatch):
    X, y = two_bands(40)
    classifiers = svm_set(X, y, [0.1, 1.0, 10.0], split="independent", random_state=0)
    on_a_terminal(monkeypatch)
    said, steps = labels(monkeypatch), []
    monkeypatch.setattr(Stage, "advance", lambda self, number: steps.append(number))
    predicted = classifiers.predict(X)
    assert (said, steps) == (["predictions"], [1, 1, 1])
    assert predicted.tolist() == [classifiers[i].predict(X).tolist() for i in range(3)]


def test_every_stage_of_a_fit_has_the_line(monkeypatch):
    on_a_terminal(monkeypatch)
    X, y = two_bands(40)
    said = labels(monkeypatch)
    StochasticSVC([0.1, 1.0], cv=2, random_state=0).fit(X, y)
    found = list(dict.fromkeys(said))
    assert found[:3] == ["fitting", "support vector machines", "support vector machines: kernel matrix"]
    assert found[-1] == "predictions"
    assert found[3:-1] == [
        "cross-validation",
        "cross-validation: kernel matrix",
        "cross-validation: support vector machines",
    ]
    said.clear()
    CertifiedClassifier(
        Grid(DecisionTreeClassifier(), {"max_depth": [1, 2]}),
        cv=2,
        random_state=0,
        voting="stochastic",
        validation_size=0.5,
    ).fit(X, y)
    assert list(dict.fromkeys(said)) == [
        "fitting",
        "classifiers of the grid",
        "cross-validation",
        "cross-validation: classifiers",
        "predictions",
        "probabilities",
    ]
