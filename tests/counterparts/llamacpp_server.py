"""Runs llama.cpp's HTTP server until it is ended: `llamacpp_server.py MODEL WINDOW REPLY`, the window
and the longest reply in tokens. Prints its address."""

import signal
import sys

import xllamacpp

parameters = xllamacpp.CommonParams()
parameters.model.path = sys.argv[1]
parameters.n_ctx = int(sys.argv[2])
parameters.n_predict = int(sys.argv[3])
parameters.n_parallel = 1
parameters.port = 0
parameters.endpoint_props = True
parameters.warmup = False
# Its threads wait for each other in loops, which is slow where others compute, too.
for threads in (parameters.cpuparams, parameters.cpuparams_batch):
    threads.n_threads = 1
server = xllamacpp.Server(parameters)
print(f"listens on {server.listening_address}", flush=True)
signal.pause()
