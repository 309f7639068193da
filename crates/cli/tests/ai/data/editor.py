"""An editor for the tests: editor.py ANSWER FILE writes the answer above what the file shows."""
import sys, time

answer, path = sys.argv[1:]
with open(path, encoding="utf-8") as file:
    shown = file.read()
assert "The answer goes above this line" in shown and "Write the body of the card." in shown, shown
# Whether it was saved is seen from the time.
time.sleep(0.05)
with open(path, "w", encoding="utf-8") as file:
    file.write(answer + shown)
