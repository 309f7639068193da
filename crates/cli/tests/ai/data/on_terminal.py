"""Runs a program on a terminal of its own: on_terminal.py SCRIPT PROGRAM ARGUMENTS…

SCRIPT is JSON: a list of [what to wait for, what to type then]. Prints what the program showed, and
ends with its exit code.
"""
import json, os, pty, select, signal, sys, time

SECONDS_MAX = 40

script = json.loads(sys.argv[1])
child, terminal = pty.fork()
if child == 0:
    os.execvp(sys.argv[2], sys.argv[2:])
shown, seen = b"", 0
began = time.monotonic()
while time.monotonic() - began < SECONDS_MAX:
    while script and (at := shown.find(script[0][0].encode(), seen)) >= 0:
        seen = at + len(script[0][0].encode())
        # What reads keys one by one needs a moment to begin.
        time.sleep(0.3)
        os.write(terminal, script.pop(0)[1].encode())
    ready, _, _ = select.select([terminal], [], [], 0.1)
    if not ready:
        continue
    try:
        piece = os.read(terminal, 65536)
    except OSError:
        break
    if not piece:
        break
    shown += piece
else:
    os.kill(child, signal.SIGKILL)
sys.stdout.buffer.write(shown)
sys.stdout.flush()
_, status = os.waitpid(child, 0)
for waited, _ in script:
    print(f"\nnever shown: {waited!r}", file=sys.stderr)
sys.exit(os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else 99)
