"""Serves weights on loopback until its input ends, and prints its address.

It runs in an environment of its own: `python serve_small_model.py WEIGHTS`.
"""

import sys

import xllamacpp  # type: ignore[import-not-found]

settings = xllamacpp.CommonParams()
settings.model.path = sys.argv[1]
settings.n_ctx = 4096
settings.n_parallel = 2
# a second one waits for the first in a loop, which takes minutes on a busy machine
settings.cpuparams.n_threads = 1
settings.port = 0
server = xllamacpp.Server(settings)
print(server.listening_address, flush=True)
sys.stdin.read()
