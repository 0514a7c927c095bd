"""A web service for the tests of what asks one: it answers as it is told, faults
included, and remembers who asked.
"""

import contextlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit


@contextlib.contextmanager
def service(*answers):
    """Run a service in this process; give its address and the queries so far.

    Each answer serves one request, the last one all that follow. An answer is a
    function of the query, or a dict: `body` (bytes, or what becomes JSON), `status`,
    `cut` (half of the body is sent, then the connection closed).
    """
    queries = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            query = parse_qs(urlsplit(self.path).query)
            queries.append(query)
            answer = answers[min(len(queries), len(answers)) - 1]
            answer = answer(query) if callable(answer) else answer
            body = answer.get("body", {})
            if not isinstance(body, bytes):
                body = json.dumps(body).encode()
            with contextlib.suppress(ConnectionError):
                self.send_response(answer.get("status", 200))
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body[: len(body) // 2] if "cut" in answer else body)

        def log_message(self, *words):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    settings = {"poll_interval": 0.02}
    thread = threading.Thread(target=server.serve_forever, kwargs=settings)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", queries
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
