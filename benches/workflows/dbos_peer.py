"""The three shapes on DBOS: `dbos_peer.py SHAPE COUNT URL`, with the URL of a SQLite file or of PostgreSQL.

Prints one JSON line: the steps taken, the seconds they took (start-up and one small run before left out) and the
results that arrived at the end. Fan-out is a queue of child workflows, which is how DBOS's documentation does it;
256 of them at a time are faster than eight; `gather` is the same fan-out as steps of one asynchronous workflow,
without children. DBOS leaves SQLite's `synchronous` as it finds it; this program says so if that is not FULL.
"""

import asyncio
import os
import sqlite3
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from json import dumps

from dbos import DBOS

CHAIN_STEPS = 10
CONCURRENCY = 8
ITEMS_CONCURRENCY = 256
SYNCHRONOUS_FULL = 2
WARM_UP = 5
QUEUE = "items"
# The default is a second, which a bench of no-ops would mostly wait for.
POLLING_SECONDS = 0.05


@DBOS.step()
def step(number):
    return {"ok": True, "number": number}


@DBOS.step()
async def step_async(number):
    return {"ok": True, "number": number}


@DBOS.workflow()
def chain():
    return sum(step(index)["ok"] for index in range(CHAIN_STEPS))


@DBOS.workflow()
def item(number):
    return step(number)


@DBOS.workflow()
def fan_out(count):
    handles = [DBOS.enqueue_workflow(QUEUE, item, number) for number in range(count)]
    return sum(handle.get_result()["ok"] for handle in handles)


@DBOS.workflow()
async def gather(count):
    results = await asyncio.gather(*(step_async(number) for number in range(count)))
    return sum(result["ok"] for result in results)


@DBOS.workflow()
def loop(count):
    number = 0
    while number < count:
        number = step(number)["number"] + 1
    return number


def run_chain(count):
    with ThreadPoolExecutor(CONCURRENCY) as pool:
        return sum(pool.map(lambda _: chain(), range(count)))


def main():
    shape, count, url = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    shapes = {
        "chain": (run_chain, CHAIN_STEPS),
        "fan-out": (fan_out, 1),
        "gather": (lambda count: asyncio_loop.run_until_complete(gather(count)), 1),
        "loop": (loop, 1),
    }
    (synchronous,) = sqlite3.connect(":memory:").execute("PRAGMA synchronous").fetchone()
    if synchronous != SYNCHRONOUS_FULL:
        sys.exit(f"SQLite runs with synchronous={synchronous}, which is not FULL")
    # One for both runs: DBOS keeps to the first it meets.
    asyncio_loop = asyncio.new_event_loop()
    run, steps_each = shapes[shape]
    DBOS(config={"name": "bench", "system_database_url": url, "log_level": "ERROR"})
    DBOS.launch()
    DBOS.register_queue(QUEUE, worker_concurrency=ITEMS_CONCURRENCY, polling_interval_sec=POLLING_SECONDS)
    run(WARM_UP)
    began = time.perf_counter()
    done = run(count)
    seconds = time.perf_counter() - began
    print(dumps({"steps": count * steps_each, "done": done, "seconds": seconds}), flush=True)
    # Its pollers take seconds to stop, and everything that counts is on the disk.
    os._exit(0)


main()
