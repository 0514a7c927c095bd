"""A web service for the tests of what asks one: it answers as it is told, faults included, and remembers who asked."""

import contextlib
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit


@contextlib.contextmanager
def service(*answers):
    """Run a service in this process; give its address and the list of the requests so far (path, query, headers).

    Each answer serves one request, the last one all that follow. An answer is a function of the request, or a dict:
    `body` (bytes, or what becomes JSON), `status`, `headers`, `delay` in seconds, `cut` (half of the body is sent, then
    the connection closed).
    """
    requests = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            parts = urlsplit(self.path)
            request = {"path": parts.path, "query": parse_qs(parts.query), "headers": dict(self.headers)}
            requests.append(request)
            answer = answers[min(len(requests), len(answers)) - 1]
            answer = answer(request) if callable(answer) else answer
            body = answer.get("body", {})
            body = body if isinstance(body, bytes) else json.dumps(body).encode()
            time.sleep(answer.get("delay", 0))
            with contextlib.suppress(ConnectionError):
                self.send_response(answer.get("status", 200))
                for name, value in answer.get("headers", {}).items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body[: len(body) // 2] if answer.get("cut") else body)

        def log_message(self, *words):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", requests
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
