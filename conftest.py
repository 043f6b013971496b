"""Settings that must stand before any library is loaded."""

from __future__ import annotations

import os

# The workers of pytest-xdist share the cores already: threads of torch that wait for each other took nine tenths of
# the time. Programs that tests start inherit this; `make test-everywhere` also runs everything with two.
for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"):
    os.environ.setdefault(name, "1")
