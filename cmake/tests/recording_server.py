"""A dashboard server of our own on the loopback: records what is submitted, or misbehaves in one of the ways that servers do."""
import hashlib
import http.server
import socket
import threading
import urllib.parse
import xml.etree.ElementTree


class Submission:
    """One file that a client put."""

    def __init__(self, path, body):
        url = urllib.parse.urlsplit(path)
        self.location = url.path
        self.query = {name: values[0] for name, values in urllib.parse.parse_qs(url.query).items()}
        self.body = body
        self.part = self.query.get("FileName", "").rpartition("___")[2].removesuffix(".xml")

    def xml(self):
        return xml.etree.ElementTree.fromstring(self.body)

    def intact(self):
        return self.query.get("MD5") == hashlib.md5(self.body).hexdigest()


class Server:
    """with Server("good") as server: ... The kernel chooses the port.

    good: takes everything and answers with a receipt.  500: answers that with every request.  empty: answers 200 at once, without
    reading.  silent: accepts connections and never answers.  none: nobody listens on the port.
    """

    BUILD_ID = 4711

    def __init__(self, mode):
        self.mode, self.submissions, self.requests = mode, [], 0

    def __enter__(self):
        if self.mode in ("none", "silent"):
            self.socket = socket.socket()
            self.socket.bind(("127.0.0.1", 0))
            self.port = self.socket.getsockname()[1]
            if self.mode == "none":
                self.socket.close()
            else:
                self.socket.listen(16)
            return self
        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self.handler())
        self.port = self.http.server_address[1]
        self.thread = threading.Thread(target=self.http.serve_forever, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_):
        if self.mode in ("none", "silent"):
            self.socket.close()
        else:
            self.http.shutdown()
            self.http.server_close()
            self.thread.join()

    @property
    def site(self):
        return f"127.0.0.1:{self.port}"

    def parts(self):
        return [submission.part for submission in self.submissions]

    def get(self, part):
        """The one submission of a part."""
        found = [submission for submission in self.submissions if submission.part == part]
        if len(found) != 1:
            raise ValueError(f"{len(found)} submissions of {part}, one was expected: {self.parts()}")
        return found[0]

    def handler(server):
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"  # answers "Expect: 100-continue", for which a client would wait a second

            def do_PUT(self):
                server.requests += 1
                answer = b""
                if server.mode != "empty":
                    body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                if server.mode == "good":
                    submission = Submission(self.path, body)
                    server.submissions.append(submission)
                    answer = (f'<cdash version="3.1"><status>OK</status><message></message><md5>{submission.query.get("MD5", "")}</md5>'
                              f"<buildId>{server.BUILD_ID}</buildId></cdash>").encode()
                self.send_response(500 if server.mode == "500" else 200)
                self.send_header("Content-Length", str(len(answer)))
                if server.mode == "empty":
                    self.close_connection = True
                self.end_headers()
                self.wfile.write(answer)

            do_POST = do_GET = do_PUT

            def log_message(self, *_):
                pass

        return Handler
