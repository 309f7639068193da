"""A subprocess for the tests: peer.py WHAT [ARGUMENT]."""
import json, pathlib, sys, time

here = pathlib.Path(__file__).parent
answers = json.loads((here / "answers.json").read_text())
what, argument = sys.argv[1], (sys.argv[2:] + [""])[0]
WRONG = {**answers, "fields": ["phone"]}
invalids = 0


def say(kind, **fields):
    print(json.dumps({"type": kind, **fields}), flush=True)


def heard(word):
    if argument.startswith("/"):
        with open(argument, "a") as log:
            log.write(word + " ")


def answer(id):
    if what == "good":
        print("on stderr", file=sys.stderr, flush=True)
        say("progress", id=id, message="thinking")
    elif what == "noise":
        for at in range(int(argument)):
            print(f"Loading {at}", flush=True)
        say("answers", id=id + 7, answers={"late": 1})
    elif what == "die":
        print('{"type":"answers","id":1,"answ', end="", flush=True)
        print("last words, key " + "sk-test-123456" + "7890-SECRET/+=", file=sys.stderr, flush=True)
        sys.exit(7)
    elif what == "silent":
        time.sleep(60)
    elif what == "slow":
        for _ in range(3):
            time.sleep(2)
            say("progress", message="still here")
    elif what == "error":
        return say("error", id=id, code="AI_RATE_LIMITED", message="try tomorrow.")
    elif what == "other-protocol":
        return say("hello", protocol=9)
    elif what == "stubborn" or (what == "corrected" and invalids < 2):
        return say("answers", id=id, answers=WRONG)
    elif what == "no-object":
        return say("answers", id=id, answers=["x"])
    elif what == "long":
        return say("answers", id=id, answers={**answers, "note": "x" * 300_000})
    say("answers", id=id, answers=answers)


for line in sys.stdin:
    message = json.loads(line)
    kind = message["type"]
    heard(kind + (f" {message['id']}" if "id" in message else ""))
    if kind == "hello":
        assert message["protocol"] == 1
    elif kind == "ask":
        if what == "inspect":
            asked = message["questionnaire"]
            assert asked["contexts"] == ["GLOBAL: the project uses React."], asked
            assert [q["key"] for q in asked["questions"]] == [*answers, "note"], asked
            assert asked["schema"]["required"] == [*answers], asked
            assert asked["questions"][4]["schema"]["properties"]["rows"], asked
            assert message["document"].startswith("# drawloom-test"), message
            assert "drawloom run" not in line, message
        answer(message["id"])
    elif kind == "invalid":
        invalids += 1
        if what in ("corrected", "stubborn"):
            assert message["problems"][0]["key"] == "fields", message
        answer(message["id"])
    elif kind == "bye":
        break
