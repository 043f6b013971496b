import threading
import time
from concurrent.futures import ThreadPoolExecutor

from tagwright.encoders.once import once


class Model:
    def __init__(self) -> None:
        self.loaded = 0
        self.started = threading.Barrier(8)

    @once
    def weights(self) -> list[int]:
        """Takes a while, so that all threads ask before it is there."""
        time.sleep(0.05)
        self.loaded += 1
        return [self.loaded]


def test_threads_that_ask_at_the_same_time_get_the_same() -> None:
    model = Model()

    def ask(_: int) -> list[int]:
        model.started.wait(timeout=60)
        return model.weights

    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(ask, range(8)))
    assert model.loaded == 1
    assert all(each is found[0] for each in found)
    assert Model().weights == [1]
    assert isinstance(Model.weights, once)
