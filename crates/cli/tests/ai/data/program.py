"""Answers for the tests, as a command or as a program that stays: program.py WHAT [PROMPT]."""
import json, sys, time

ANSWERS = {
    "mainFields": ["name", "email"],
    "paged": True,
    "body": "return <Card/>;",
    "caption": 'Name and email of a "customer".',
}
# In two parts, so that nobody finds the key in the command line.
KEY = "sk-test-123456" + "7890-SECRET/+="
what = sys.argv[1]


def known(keys):
    return {key: ANSWERS[key] for key in keys}


def asked(prompt):
    return known([key for key in ANSWERS if f"### `{key}`" in prompt])


def command():
    prompt = sys.argv[2] if len(sys.argv) > 2 else sys.stdin.read()
    if what == "batched":
        print("Loading… {not json}\n```json\n" + json.dumps(asked(prompt), indent=1) + "\n```\nBye!")
    elif what == "each":
        signs = {"body": "Write the body", "mainFields": "Which fields", "paged": "Is the list", "caption": "Write a caption"}
        key = next(key for key, sign in signs.items() if sign in prompt)
        value = ANSWERS[key]
        print(value if isinstance(value, str) else json.dumps(value))
    elif what == "second-fails":
        if "caption" in prompt:
            print("no caption, key " + KEY, file=sys.stderr)
            sys.exit(9)
        print(json.dumps(asked(prompt)))
    elif what == "third-fails":
        if "Is the list" in prompt:
            sys.exit("no more")
        print(json.dumps(ANSWERS["mainFields"]) if "Which fields" in prompt else ANSWERS["body"])
    elif what == "exits":
        print("cannot log in with " + KEY, file=sys.stderr)
        sys.exit(3)
    elif what == "garbage":
        print("I would rather not, said " + KEY)
    elif what == "wrong":
        print(json.dumps({**asked(prompt), "mainFields": ["phone"]}))
    elif what in ("named", "stubborn"):
        with open("runs", "a") as runs:
            runs.write(".")
        told = "Problems with earlier answers" in prompt and "must match" in prompt
        print(json.dumps({"name": "good" if told and what == "named" else "BAD"}))
    elif what == "hangs":
        time.sleep(60)
    else:
        sys.exit(f"unknown {what}")


def say(kind, **fields):
    print(json.dumps({"type": kind, **fields}), flush=True)


def stay():
    for line in sys.stdin:
        message = json.loads(line)
        if message["type"] == "bye":
            return
        if message["type"] != "ask":
            continue
        keys = [question["key"] for question in message["questionnaire"]["questions"]]
        if what == "stdio-dies" or (what == "stdio-dies-later" and "caption" in keys):
            print("last words, key " + KEY, file=sys.stderr, flush=True)
            sys.exit(7)
        if what == "stdio-silent":
            time.sleep(60)
        if what == "stdio-gives-up":
            say("error", id=message["id"], code="AI_RATE_LIMITED", message="try tomorrow")
            continue
        say("progress", id=message["id"], message="thinking")
        say("answers", id=message["id"], answers=known(keys))


stay() if what.startswith("stdio") else command()
