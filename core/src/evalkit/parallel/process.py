"""The program that a worker process runs; see `evalkit.parallel.workers`.

It takes nothing from the parent's memory or main module. Before it imports anything
of evalkit it keeps the two pipes to the parent for itself, so that nothing a plugin
reads or prints gets into them, and takes over the parent's import path. On Linux the
kernel ends it with the thread that started it, also while it is in C code; elsewhere it
ends when it next looks at its pipe.
"""

import os
import pickle
import signal
import sys

_DIE_WITH_PARENT = 1
"""The option of `prctl` that has the kernel kill a child with its parent."""


def main() -> None:
    """Serve the parent until it closes the pipe."""
    if sys.platform == "linux":
        import ctypes

        # if the parent ended before, the pipe is closed, which is seen below
        ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
    # an interrupt reaches the whole process group; the parent ends its workers
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    requests = os.fdopen(os.dup(0), "rb")
    replies = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    sys.path[:] = pickle.load(requests)

    from evalkit.parallel.service import serve

    serve(requests, replies)


if __name__ == "__main__":
    main()
