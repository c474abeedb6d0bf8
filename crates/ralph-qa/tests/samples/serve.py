#!/usr/bin/env python3
"""Serves the sample applications: a folder each, with an `app.py` that answers what is not a file.

Usage: serve.py [PORT]   (else $PORT). $SAMPLES_SEED (default 1) sets how long slow answers take: the same seed, session
and requests take the same times. $SAMPLES_DELAY (default 1) is what these times are multiplied by. Listens on
127.0.0.1 only, and keeps everything in memory, by session.
"""

import html
import importlib.util
import json
import os
import random
import secrets
import sys
import threading
import time
from collections import OrderedDict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

TOP = Path(__file__).resolve().parent
SEED = os.environ.get("SAMPLES_SEED", "1")
DELAY = float(os.environ.get("SAMPLES_DELAY", "1"))
SESSIONS_AT_MOST = 4000
BODY_AT_MOST = 4 << 20
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".woff2": "font/woff2",
}


class Answer:
    """What a browser gets."""

    def __init__(self, body=b"", status=200, kind=TYPES[".html"], headers=()):
        self.body = body.encode() if isinstance(body, str) else body
        self.status = status
        self.kind = kind
        self.headers = list(headers)


class Request:
    """What an application is asked, with the state of the session that asks."""

    def __init__(self, app, handler, path, query, body):
        self.app = app
        self.method = handler.command
        self.path = path
        self.query = query
        self.body = body
        self.kind = handler.headers.get("Content-Type", "")
        self.state, self.session_header = app.session(handler.headers.get("Cookie", ""))

    def json(self):
        return json.loads(self.body or b"{}")

    def form(self):
        return {k: v[0] for k, v in parse_qs(self.body.decode(), keep_blank_values=True).items()}

    def wait(self, least, most):
        """Takes as long as a slow answer: milliseconds that the seed and the session's requests choose."""
        self.state["asked"] = self.state.get("asked", 0) + 1
        chosen = random.Random(f"{SEED}/{self.path}/{self.state['asked']}")
        time.sleep(chosen.uniform(least, most) / 1000 * DELAY)

    def hang(self):
        """Never answers."""
        threading.Event().wait()


class App:
    """A folder with files and an `app.py`."""

    def __init__(self, folder):
        self.folder = folder
        self.name = folder.name
        spec = importlib.util.spec_from_file_location(f"app_{self.name}", folder / "app.py")
        self.module = importlib.util.module_from_spec(spec)
        sys.dont_write_bytecode = True
        spec.loader.exec_module(self.module)
        self.sessions = OrderedDict()
        self.lock = threading.Lock()

    def session(self, cookies):
        """The state of a session, and the header that starts a new one where there is none."""
        cookie = f"{self.name}_session"
        given = dict(part.strip().split("=", 1) for part in cookies.split(";") if "=" in part)
        with self.lock:
            if state := self.sessions.get(given.get(cookie)):
                return state, None
            id = secrets.token_hex(12)
            self.sessions[id] = state = self.module.new_state()
            while len(self.sessions) > SESSIONS_AT_MOST:
                self.sessions.popitem(last=False)
        return state, ("Set-Cookie", f"{cookie}={id}; Path=/{self.name}/; HttpOnly; SameSite=Lax")


def page(text, status=200):
    return Answer(text, status)


def data(value, status=200):
    return Answer(json.dumps(value), status, "application/json")


def redirect(to):
    return Answer(status=303, headers=[("Location", to)])


def escape(text):
    return html.escape(str(text), quote=True)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 60

    def do_GET(self):
        self.respond()

    do_POST = do_HEAD = do_GET

    def respond(self):
        address = urlsplit(self.path)
        path = unquote(address.path)
        length = min(int(self.headers.get("Content-Length") or 0), BODY_AT_MOST)
        body = self.rfile.read(length) if length else b""
        name, _, rest = path.lstrip("/").partition("/")
        app = APPS.get(name)
        answer, session = None, None
        if app and path == f"/{name}":
            answer = redirect(f"/{name}/")
        elif app:
            query = {k: v[0] for k, v in parse_qs(address.query, keep_blank_values=True).items()}
            request = Request(app, self, "/" + rest, query, body)
            session = request.session_header
            answer = app.module.answer(request)
        elif path == "/":
            answer = page((TOP / "index.html").read_text())
        answer = answer or self.file(path) or page(f"<!doctype html><title>Not found</title><h1>Not found</h1><p>{escape(path)}", 404)
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.kind)
        self.send_header("Content-Length", str(len(answer.body)))
        self.send_header("Cache-Control", "no-store")
        for header in answer.headers + ([session] if session else []):
            self.send_header(*header)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body)

    def file(self, path):
        found = (TOP / path.lstrip("/")).resolve()
        if found.suffix in TYPES and found.is_file() and found.is_relative_to(TOP):
            return Answer(found.read_bytes(), kind=TYPES[found.suffix])
        return None

    def log_message(self, form, *values):
        sys.stderr.write(f"{self.log_date_time_string()} {form % values}\n")


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request, client_address):
        # A browser that goes away in the middle of an answer is nothing to report.
        if not isinstance(sys.exc_info()[1], (ConnectionError, TimeoutError)):
            super().handle_error(request, client_address)


APPS = {}


def main():
    # Applications import this module by its name.
    sys.modules["serve"] = sys.modules[__name__]
    for folder in sorted(TOP.iterdir()):
        if (folder / "app.py").is_file():
            APPS[folder.name] = App(folder)
    port = int(sys.argv[1] if len(sys.argv) > 1 else os.environ["PORT"])
    server = Server(("127.0.0.1", port), Handler)
    print(f"the samples are at http://127.0.0.1:{server.server_address[1]}/", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
