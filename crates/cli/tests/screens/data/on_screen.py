"""Runs a program on a terminal of its own size: on_screen.py SCRIPT PROGRAM ARGUMENTS…

SCRIPT is JSON: {"rows": R, "columns": C, "then": [[what to wait for, what to do], …]}. What to do is
{"type": text}, {"resize": [rows, columns]}, {"touch": file} or {"signal": number}. Prints what the program
showed, with a mark "ESC ] resize ; ROWS ; COLUMNS BEL" where the size changed, and ends with its exit code.
"""
import fcntl, json, os, pty, select, signal, struct, sys, termios, time

SECONDS_MAX = 60

script = json.loads(sys.argv[1])


def resize(terminal, rows, columns):
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


child, terminal = pty.fork()
if child == 0:
    # The size is there before the program looks.
    resize(0, script["rows"], script["columns"])
    os.execvp(sys.argv[2], sys.argv[2:])
shown, seen, steps = b"", 0, script["then"]
began = time.monotonic()
while time.monotonic() - began < SECONDS_MAX:
    while steps and (at := shown.find(steps[0][0].encode(), seen)) >= 0:
        seen = at + len(steps[0][0].encode())
        action = steps.pop(0)[1]
        if "type" in action:
            # What reads keys one by one needs a moment to begin.
            time.sleep(0.3)
            os.write(terminal, action["type"].encode())
        if "resize" in action:
            rows, columns = action["resize"]
            resize(terminal, rows, columns)
            shown += f"\x1b]resize;{rows};{columns}\x07".encode()
        if "touch" in action:
            open(action["touch"], "w").close()
        if "signal" in action:
            os.kill(child, action["signal"])
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
for waited, _ in steps:
    print(f"\nnever shown: {waited!r}", file=sys.stderr)
sys.exit(os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else 99)
