"""A command back end for the tests: reply.py WHAT [PROMPT]; without PROMPT it reads standard input."""
import json, os, pathlib, sys

here = pathlib.Path(__file__).parent
answers = json.loads((here / "answers.json").read_text())
# In two parts, so that no one finds the key in the command line.
KEY = "sk-test-123456" + "7890-SECRET/+="
what = sys.argv[1]
prompt = sys.argv[2] if len(sys.argv) > 2 else sys.stdin.read()
corrected = "What is wrong with it" in prompt

if what == "good":
    print(json.dumps(answers))
elif what == "noisy":
    print("Loading model… 100%\n{not json}\nSure:\n```json\n" + json.dumps(answers, indent=2) + "\n```\nBye!")
elif what == "fixer":
    print(json.dumps(answers) if corrected else "It is a card.")
elif what == "prose":
    print("stuck, key " + KEY, file=sys.stderr)
    print("It is a card.")
elif what == "wrong":
    print(json.dumps({**answers, "fields": ["phone"], "extra": 1}))
elif what == "each":
    key = prompt.split("PROMPT-")[1].split(":")[0]
    assert "GLOBAL: the project" in prompt and f"CONTEXT-{key}" in prompt, prompt
    value = answers.get(key, "")
    if key == "paged" and not corrected:
        value = "perhaps"
    if key == "body":
        value = "Here it is:\n```tsx\n" + value + "\n```\n"
    print(value if isinstance(value, str) else json.dumps(value))
elif what == "markers":
    assert "CLAUDECODE" not in os.environ
    print(json.dumps(answers))
elif what == "echo-size":
    print(f"{len(prompt)} bytes, argv {len(sys.argv)}", file=sys.stderr)
    print(json.dumps(answers))
else:
    sys.exit(f"unknown {what}")
