"""The three shapes on LangGraph with its SQLite checkpointer: `langgraph_peer.py SHAPE COUNT FOLDER`.

Prints one JSON line: the steps taken, the seconds they took (start-up and one small run before left out) and the
results that arrived at the end. `durability="sync"` writes every step before the next begins; the checkpointer opens
SQLite in WAL mode, where `synchronous` is FULL unless someone changes it, and this program says so if that is not
the case. Fan-out is a `Send` for each item, of which 256 run at a time: faster than eight.
"""

import operator
import sqlite3
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from json import dumps
from pathlib import Path
from typing import Annotated, TypedDict
from uuid import uuid4

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Send

CHAIN_STEPS = 10
CONCURRENCY = 8
ITEMS_CONCURRENCY = 256
WARM_UP = 5
SYNCHRONOUS_FULL = 2


class State(TypedDict):
    items: list[int]
    results: Annotated[list[dict], operator.add]
    last: dict
    joined: int
    rounds: int


def chain():
    graph = StateGraph(State)
    for index in range(CHAIN_STEPS):
        graph.add_node(f"step{index}", lambda state, index=index: {"last": {"ok": True, "step": index}})
    names = [START, *(f"step{index}" for index in range(CHAIN_STEPS)), END]
    for source, target in zip(names, names[1:]):
        graph.add_edge(source, target)
    return graph


def fan_out():
    graph = StateGraph(State)
    graph.add_node("each", lambda state: {})
    graph.add_node("item", lambda item: {"results": [{"ok": True, "item": item["item"]}]})
    graph.add_node("join", lambda state: {"joined": len(state["results"])})
    graph.add_edge(START, "each")
    graph.add_conditional_edges(
        "each", lambda state: [Send("item", {"item": item}) for item in state["items"]], ["item"]
    )
    graph.add_edge("item", "join")
    graph.add_edge("join", END)
    return graph


def loop():
    graph = StateGraph(State)
    graph.add_node("task", lambda state: {"last": {"ok": True, "round": state["last"]["round"] + 1}})
    graph.add_edge(START, "task")
    graph.add_conditional_edges("task", lambda state: "task" if state["last"]["round"] < state["rounds"] else END)
    return graph


def given(**values):
    return {"items": [], "results": [], "last": {}, "joined": 0, "rounds": 0, **values}


def config(count):
    return {
        "configurable": {"thread_id": str(uuid4())},
        "max_concurrency": ITEMS_CONCURRENCY,
        "recursion_limit": count + 100,
    }


def run_chain(graph, count):
    def once(_):
        ended = graph.invoke(given(), config(count), durability="sync")
        return ended["last"]["step"] + 1

    with ThreadPoolExecutor(CONCURRENCY) as pool:
        return sum(pool.map(once, range(count)))


def run_fan_out(graph, count):
    ended = graph.invoke(given(items=list(range(count))), config(count), durability="sync")
    return ended["joined"]


def run_loop(graph, count):
    begin = given(last={"ok": True, "round": 0}, rounds=count)
    return graph.invoke(begin, config(count), durability="sync")["last"]["round"]


def main():
    shape, count, folder = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
    shapes = {
        "chain": (chain(), run_chain, CHAIN_STEPS),
        "fan-out": (fan_out(), run_fan_out, 1),
        "loop": (loop(), run_loop, 1),
    }
    graph, run, steps_each = shapes[shape]
    connection = sqlite3.connect(folder / "langgraph.db", check_same_thread=False)
    saver = SqliteSaver(connection)
    saver.setup()
    (synchronous,) = connection.execute("PRAGMA synchronous").fetchone()
    if synchronous != SYNCHRONOUS_FULL:
        sys.exit(f"SQLite runs with synchronous={synchronous}, which is not FULL")
    graph = graph.compile(checkpointer=saver)
    run(graph, WARM_UP)
    began = time.perf_counter()
    done = run(graph, count)
    seconds = time.perf_counter() - began
    print(dumps({"steps": count * steps_each, "done": done, "seconds": seconds}))


main()
