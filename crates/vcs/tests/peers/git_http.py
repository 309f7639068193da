"""A real `git http-backend` over HTTP: git_http.py ROOT [USER:PASSWORD]

Prints the port it listens on. The first part of a path may ask for misbehaviour:
/hang/ never answers a push, /cut/ breaks off in its middle, /away/ redirects to another host.
"""

import base64
import http.server
import os
import subprocess
import sys
import time

ROOT = os.path.abspath(sys.argv[1])
CREDENTIALS = sys.argv[2] if len(sys.argv) > 2 else None
EXEC_PATH = subprocess.check_output(["git", "--exec-path"], text=True).strip()
BACKEND = os.path.join(EXEC_PATH, "git-http-backend")
MISBEHAVIOURS = ("hang", "cut", "away")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def serve(self):
        body = self.read_body()
        path, _, query = self.path.partition("?")
        first = path.split("/")[1]
        if first in MISBEHAVIOURS:
            path = path[len(first) + 1:]
        is_push = self.command == "POST"
        if first == "away":
            self.answer(302, [("Location", "http://localhost:9/elsewhere" + path)], b"")
        elif first == "hang" and is_push:
            time.sleep(3600)
        elif first == "cut" and is_push:
            self.close_connection = True
            self.connection.close()
        elif not self.is_known():
            self.answer(401, [("WWW-Authenticate", 'Basic realm="git"')], b"")
        else:
            self.run_backend(path, query, body)

    do_GET = do_POST = serve

    def is_known(self):
        if CREDENTIALS is None:
            return True
        wanted = "Basic " + base64.b64encode(CREDENTIALS.encode()).decode()
        return self.headers.get("authorization") == wanted

    def read_body(self):
        if self.headers.get("transfer-encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("content-length") or 0))
        body = b""
        while length := int(self.rfile.readline(), 16):
            body += self.rfile.read(length)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def run_backend(self, path, query, body):
        environment = dict(
            os.environ,
            GIT_PROJECT_ROOT=ROOT,
            GIT_HTTP_EXPORT_ALL="1",
            PATH_INFO=path,
            QUERY_STRING=query,
            REQUEST_METHOD=self.command,
            CONTENT_TYPE=self.headers.get("content-type", ""),
            CONTENT_LENGTH=str(len(body)),
            HTTP_CONTENT_ENCODING=self.headers.get("content-encoding", ""),
            GIT_PROTOCOL=self.headers.get("git-protocol", ""),
            REMOTE_USER="tester",
            REMOTE_ADDR="127.0.0.1",
        )
        ran = subprocess.run([BACKEND], input=body, env=environment, stdout=subprocess.PIPE)
        head, _, data = ran.stdout.partition(b"\r\n\r\n")
        status, headers = 200, []
        for line in head.decode().split("\r\n"):
            name, _, value = line.partition(": ")
            if name.lower() == "status":
                status = int(value.split()[0])
            elif name:
                headers.append((name, value))
        self.answer(status, headers, data)

    def answer(self, status, headers, data):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print("listening on port", server.server_address[1], flush=True)
server.serve_forever()
