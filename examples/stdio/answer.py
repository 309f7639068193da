#!/usr/bin/env python3
"""A reference subprocess for the AI mode `stdio`: reads questions, writes answers, stays.

    [ai]
    mode = "stdio"
    stdio_command = "python3 examples/stdio/answer.py my-answers.json"

With a JSON file it answers from that file; without one it fills in something of the right kind, so
that a recipe can be tried before anybody writes real answers. Put your own code into `answer`.

The protocol is one JSON object on a line each way (docs/ai.md). Standard output is for messages
only: print whatever else you have to say to standard error.
"""

import json
import sys


def answer(question: dict, prepared: dict):
    """The answer to one question, or None to leave an optional one out."""
    if question["key"] in prepared:
        return prepared[question["key"]]
    if not question["required"]:
        return None
    choices = question.get("from", [])
    if question["examples"]:
        return question["examples"][0]
    return {
        "boolean": True,
        "number": 0,
        "list": [question["key"]],
        "json": {},
        "select": choices[0] if choices else None,
        "pick": choices[:1],
        "order": choices,
        "code": f"// {question['key']}",
    }.get(question["kind"], question["prompt"] or question["key"])


def say(message: dict) -> None:
    # One line per message, and out at once: the other side is waiting for it.
    print(json.dumps(message), flush=True)


def main() -> None:
    prepared = {}
    if len(sys.argv) > 1:
        with open(sys.argv[1], encoding="utf-8") as file:
            prepared = json.load(file)
    for line in sys.stdin:
        message = json.loads(line)
        match message["type"]:
            case "hello":
                say({"type": "hello", "protocol": 1, "name": "answer.py"})
            case "ask":
                questions = message["questionnaire"]["questions"]
                say({"type": "progress", "id": message["id"], "message": f"{len(questions)} questions"})
                given = {question["key"]: answer(question, prepared) for question in questions}
                given = {key: value for key, value in given.items() if value is not None}
                say({"type": "answers", "id": message["id"], "answers": given})
            case "invalid":
                # Nothing better comes to mind here; a real program would try again.
                say({"type": "error", "id": message["id"], "message": message["message"]})
            case "accepted":
                print(f"request {message['id']} is done", file=sys.stderr)
            case "bye":
                return


if __name__ == "__main__":
    main()
