"""What agents say: of their executors, of orders that were carried out, of their troubles."""

from __future__ import annotations

import logging
import time

from pyrite.cluster.node.wire import Message
from pyrite.cluster.real.executors import LinkedExecutors
from pyrite.cluster.real.nodes import StartingNode
from pyrite.cluster.real.orders import outcome
from pyrite.cluster.real.sharedfiles import SharedFiles


def hear(
    starting: StartingNode, message: Message, executors: LinkedExecutors, files: SharedFiles | None
) -> None:
    """Handles a message of an agent that has joined."""
    agent = starting.agent
    assert agent is not None
    match message:
        case ("x", id, data):
            executors.hear_through_agent(agent, id, data)
        case ("output", id, lines):
            executors.printer.show(f"({agent.node}, executor {id}) ", lines)
        case ("done", kind, id, problem, *costs):
            executors.events.append(outcome(kind, id, problem, *costs))
        case ("warn", text):
            warn(text)
        case ("ends", reason):
            starting.problem = reason
        case ("files", number):
            if files is not None and starting.node is not None:
                files.note_holder(number, starting.node)
        case ("pong",):
            pass
        case _:
            known = executors.note(agent, message, time.monotonic())
            assert known, f"unknown message {message!r}"


def warn(text: str) -> None:
    logging.getLogger("pyrite").warning(text)
