"""How tests start a program on two processes: `accelerate launch --cpu` starts one only, unless MPI is installed."""

from __future__ import annotations

import sys

TWO_PROCESSES = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
"The command, before `-m MODULE`: what `accelerate launch` calls for several devices."
