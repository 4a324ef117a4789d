"""One thread of linear algebra: for all who ask, until the last has left, with libraries that come later too."""

import sys
import threading
import types

from sklearn.ensemble import HistGradientBoostingClassifier  # noqa: F401  (loads OpenMP)
from threadpoolctl import ThreadpoolController, threadpool_limits

from pacbayes.runtime.threads import one_thread


def threads(kind):
    """Return the numbers of threads in use; libraries built without threads, such as Ipopt's, have always one."""
    libraries = ThreadpoolController().select(user_api=kind).info()
    return {one["num_threads"] for one in libraries if one.get("threading_layer") != "disabled"}


def test_limits_hold_until_the_last_has_left():
    with threadpool_limits(2):
        inside, leave, seen = threading.Event(), threading.Event(), []

        def other():
            with one_thread():
                inside.set()
                leave.wait(30)
                seen.append((threads("blas"), threads("openmp")))

        thread = threading.Thread(target=other)
        with one_thread():
            assert threads("blas") == threads("openmp") == {1}
            thread.start()
            assert inside.wait(30)
        # The first has left, the other has not: BLAS is still limited, OpenMP here no more.
        assert (threads("blas"), threads("openmp")) == ({1}, {2})
        leave.set()
        thread.join()
        assert seen == [({1}, {1})]
        assert (threads("blas"), threads("openmp")) == ({2}, {2})


def test_inside_itself_and_after_an_import(monkeypatch):
    with threadpool_limits(2), one_thread():
        with one_thread():
            assert threads("blas") == threads("openmp") == {1}
        monkeypatch.setitem(sys.modules, "a_new_module", types.ModuleType("a_new_module"))
        with one_thread():
            assert threads("blas") == threads("openmp") == {1}
        assert threads("blas") == threads("openmp") == {1}
    assert len(threads("blas")) == 1
