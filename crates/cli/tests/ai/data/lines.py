"""Answers with the first line of `replies`, takes it off, and notes in `asked` what it was asked."""
import sys

with open("asked", "a") as asked:
    asked.write(sys.stdin.read())
first, _, rest = open("replies").read().partition("\n")
with open("replies", "w") as replies:
    replies.write(rest)
print(first)
