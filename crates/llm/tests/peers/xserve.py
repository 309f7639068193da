"""A real llama.cpp server from the prebuilt `xllamacpp` wheel: xserve.py MODEL.gguf PORT TEMPLATE."""

import sys
import threading

import xllamacpp

model, port, template = sys.argv[1:4]

params = xllamacpp.CommonParams()
params.model.path = model
params.hostnames = ["127.0.0.1"]
params.port = int(port)
params.n_ctx = 8192
params.n_parallel = 1
params.cpuparams.n_threads = 1
params.cpuparams_batch.n_threads = 1
params.model_alias = ["smollm2"] if isinstance(params.model_alias, list) else {"smollm2"}
params.use_jinja = True
params.chat_template = open(template, encoding="utf-8").read()
params.offline = True

server = xllamacpp.Server(params)
print("listening", server.listening_address, flush=True)
threading.Event().wait()
