"""The page and its calls by HTTP: for this machine, for pages of this server alone, with a token per start.

Python's own server serves: a handful of fixed files and calls to one reader need no framework, which would
bring routes, sessions and dependencies to be guarded. It answers only requests to its exact address, so that
no name of another site can lead here, and calls only with the token, which other sites cannot read; what a
page may load and run is named in its headers.
"""

import hmac
import json
import queue
import secrets
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import fields
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import Any

from mmopt.comparison.isolated_tasks import Run
from mmopt.comparison_process import Worker
from mmopt.driver.task_and_plan import Progress
from mmopt.errors import OptionError
from mmopt.installation_and_files import parse_json
from mmopt.results.solution_rows_and_json import finite
from mmopt.studio.calls import CALLS, Combinations, Kinds, PageCall, Row, unlike
from mmopt.studio.lanes import Lane, Lanes

ADDRESS, PORT = "127.0.0.1", 8347
MOST_BYTES = 1_048_576  # of a call: two texts, multipliers, a point
PATIENCE = 10.0  # seconds for a request to arrive
MOST_REQUESTS = 512  # at the same time, with connections that another page holds open and does not use
BEAT = 0.5  # seconds after which a page that waits is looked for
TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
    "trusted-types 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
#: The names and kinds of what a call may say; the tab is that of the page.
KINDS: Kinds = {
    "text": str,
    "workload": dict,
    "multipliers": dict,
    "point": (dict, type(None)),
    "solver": (str, type(None)),
    "solvers": list,
    "formulations": bool,
    "seconds": (int, float),
}


class Refused(Exception):
    """A request that is not answered: the status, and why in words."""

    def __init__(self, status: HTTPStatus, words: str) -> None:
        super().__init__(words)
        self.status = status


def serve(
    port: int = PORT,
    *,
    opens_browser: bool = True,
    say: Callable[[str], None] = print,
    worker: Worker | None = None,
) -> None:
    """Serve the page until Ctrl-C, its ordinary end; ``port`` 0 takes any. ``worker``: as for ``Lanes``.

    Raises
    ------
    OptionError : the port is taken.
    """
    try:
        server = Studio(port, worker)
    except OSError as error:
        raise OptionError(
            f"port {port} cannot be used: {error.strerror}", hint="another one: --port 0 takes any"
        ) from None
    with server, suppress(KeyboardInterrupt):
        say(server.address)
        if opens_browser:
            webbrowser.open(server.address)
        server.serve_forever()
    say("The studio has ended.")


class Studio(ThreadingHTTPServer):
    """The server, its token, its files and its lanes."""

    daemon_threads = True
    request_queue_size = MOST_REQUESTS

    def __init__(self, port: int = 0, worker: Worker | None = None) -> None:
        self.kept = ExitStack()  # closed also where the port is taken
        super().__init__((ADDRESS, port), Handler)
        self.host = f"{ADDRESS}:{self.server_port}"
        self.token = secrets.token_urlsafe(24)
        page = files("mmopt.studio") / "page"
        names = {one.name: one.read_bytes() for one in page.iterdir() if one.name.split(".")[-1] in TYPES}
        self.files = {"/": names["index.html"], **{f"/{name}": data for name, data in names.items()}}
        self.lanes = self.kept.enter_context(Lanes(worker))
        self.places = threading.BoundedSemaphore(MOST_REQUESTS)
        self.offers: dict[str, Any] = {}  # what any page is offered, once it is known
        self.is_over = False

    @property
    def address(self) -> str:
        """The address to open: what follows # stays in the browser."""
        return f"http://{self.host}/#token={self.token}"

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a thread of its own, of so many at the same time."""
        if not self.places.acquire(blocking=False):
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer, and make room for another request."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.places.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say what went wrong, but not that a page went away."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)

    def server_close(self) -> None:
        """Close the socket and end the processes."""
        self.is_over = True
        super().server_close()
        self.kept.close()


class Handler(BaseHTTPRequestHandler):
    """One request."""

    server: Studio
    timeout = PATIENCE

    def setup(self) -> None:
        """Give the request its time to arrive, whole: ``timeout`` is for each of its parts."""
        super().setup()
        self.clock = threading.Timer(self.timeout, self.shut)
        self.clock.daemon = True  # it keeps no server from its end
        self.clock.start()

    def shut(self) -> None:
        """Read no more: a call whose body has not arrived whole is refused then."""
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RD)

    def finish(self) -> None:
        """End the request and its clock."""
        self.clock.cancel()
        super().finish()

    def log_message(self, format: str, *arguments: object) -> None:
        """Nothing is written down."""

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer a request that cannot be read, in no words of its own."""
        self.send(HTTPStatus(code), {"error": HTTPStatus(code).phrase})

    def do_GET(self) -> None:
        """Send a file of the page."""
        self.answered(self.send_file)

    def do_POST(self) -> None:
        """Answer a call."""
        self.answered(self.call)

    def answered(self, answer: Callable[[], None]) -> None:
        """Answer a request to this very address, or say why not."""
        try:
            if self.headers.get_all("Host") != [self.server.host]:
                raise Refused(HTTPStatus.FORBIDDEN, f"this server is http://{self.server.host}/ only")
            answer()
        except Refused as refused:
            self.send(refused.status, {"error": str(refused)})

    def send(self, status: HTTPStatus, value: object) -> None:
        """Send a value as JSON."""
        self.send_bytes(status, "application/json", json.dumps(value).encode())

    def send_bytes(self, status: HTTPStatus, kind: str, data: bytes) -> None:
        """Send a whole answer."""
        self.send_head(status, kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def send_head(self, status: HTTPStatus, kind: str) -> None:
        """Send status and headers but the last."""
        self.send_response_only(status)  # without the name of the server
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        for name, value in HEADERS.items():
            self.send_header(name, value)

    def send_file(self) -> None:
        """Send one of the files, which are read at the start."""
        path = self.path.partition("?")[0]
        if path not in self.server.files:
            raise Refused(HTTPStatus.NOT_FOUND, "there is no such page")
        kind = TYPES["html" if path == "/" else path.rpartition(".")[2]]
        self.send_bytes(HTTPStatus.OK, kind, self.server.files[path])

    def call(self) -> None:
        """Answer a call with the token: its fields are read into that call, which reads them further."""
        self.require_own_page()
        sent = self.sent()
        tab, name = sent.pop("tab", ""), self.path.removeprefix("/api/")
        if not isinstance(tab, str) or not 0 < len(tab) <= 64:
            raise Refused(HTTPStatus.BAD_REQUEST, "the call names no tab")
        if name != "stop" and name not in CALLS:
            raise Refused(HTTPStatus.NOT_FOUND, "there is no such call")
        if name == "lists" and self.server.offers:
            self.send(HTTPStatus.OK, self.server.offers)
            return
        is_work = name in ("solve", "compare", "stop")
        with self.server.lanes.of(tab, is_work=is_work) as lane:
            if lane is None:
                words = "two other pages are busy: stop one, or wait"
                raise Refused(HTTPStatus.SERVICE_UNAVAILABLE, words)
            if name == "stop":
                self.send(HTTPStatus.OK, {"stopped": lane.stop()})
                return
            call = call_of(CALLS[name], sent)
            if is_work:
                lane.stop()  # what the page had asked for before
                self.stream(lane, call)
            else:
                answer = lane.answer(call)
                if name == "lists" and "problem" not in answer:
                    self.server.offers = answer
                self.send(HTTPStatus.OK, answer)

    def require_own_page(self) -> None:
        """Refuse calls without the token, and those that a page from elsewhere makes."""
        origins, sites = (set(self.headers.get_all(name, ())) for name in ("Origin", "Sec-Fetch-Site"))
        if not (origins <= {f"http://{self.server.host}"} and sites <= {"same-origin", "none"}):
            raise Refused(HTTPStatus.FORBIDDEN, "the call is from a page of another site")
        token = self.headers.get("X-Studio-Token", "")
        if not hmac.compare_digest(token.encode(), self.server.token.encode()):
            raise Refused(HTTPStatus.FORBIDDEN, "the token is not that of this start of 'mmopt studio'")

    def sent(self) -> dict[str, Any]:
        """The object that a call sends."""
        if self.headers.get_content_type() != "application/json" or "Transfer-Encoding" in self.headers:
            raise Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "a call is JSON of a stated length")
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit()):
            raise Refused(HTTPStatus.LENGTH_REQUIRED, "a call states its length")
        if len(length) > 9 or int(length) > MOST_BYTES:
            raise Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a call has at most {MOST_BYTES:,} bytes")
        if len(body := self.rfile.read(int(length))) < int(length):
            raise Refused(HTTPStatus.REQUEST_TIMEOUT, "the call arrived incomplete")
        try:
            value = parse_json(body.decode())
        except ValueError:
            raise Refused(HTTPStatus.BAD_REQUEST, "the call is not JSON") from None
        if not isinstance(value, dict):
            raise Refused(HTTPStatus.BAD_REQUEST, "the call is not an object")
        return value

    def stream(self, lane: Lane, call: PageCall) -> None:
        """Send a line for each point, and at last the answer; a page that goes away ends the work."""
        lines: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        run = Run(call, lambda point: lines.put(point_of(point)))

        def put(line: dict[str, Any]) -> None:
            if not self.server.is_over:  # an end of all is no answer: the page sees that it broke off
                lines.put(line)

        def work() -> None:
            try:
                if isinstance(call, Combinations):
                    compare(lane, run, put)
                else:
                    put(lane.followed(run))
            finally:
                lines.put(None)

        self.send_head(HTTPStatus.OK, "application/x-ndjson")
        self.end_headers()
        threading.Thread(target=work, daemon=True).start()
        try:
            while True:
                try:
                    if (line := lines.get(timeout=BEAT)) is None:
                        return
                    self.wfile.write(json.dumps(line).encode() + b"\n")
                except queue.Empty:
                    self.wfile.write(b"\n")
        except OSError:
            if not run.killed:  # nothing newer has taken its place
                lane.stop()


def compare(lane: Lane, run: Run, put: Callable[[dict[str, Any]], None]) -> None:
    """Solve the combinations that a run lists one after another, each a row; its stop ends them all."""
    call, chosen = run.task, lane.followed(run)
    assert isinstance(call, Combinations)
    if "problem" in chosen:
        put(chosen)
        return
    for one in chosen["chosen"]:
        row = Row(text=one["text"], workload=call.workload, solver=one["solver"], seconds=call.seconds)
        answer = lane.answer(row)
        if "row" not in answer:
            names = {"program": one["name"], "solver": one["solver"] or ""}
            answer = {"row": {**names, "stop": answer["stop"], "reason": answer["problem"]["message"]}}
        put(answer)
        if run.killed:
            break
    put({"end": True})


def point_of(point: Progress) -> dict[str, Any]:
    """A point on the way of a solve."""
    numbers = {name: finite(getattr(point, name)) for name in ("seconds", "objective", "bound", "gap")}
    return {"point": {**numbers, "certified": point.certified}}


def call_of(kind: type[PageCall], sent: Mapping[str, Any]) -> PageCall:
    """A call of what a page sent, of known names and kinds."""
    if wrong := unlike(sent, {f.name: KINDS[f.name] for f in fields(kind) if f.name in KINDS}):
        raise Refused(HTTPStatus.BAD_REQUEST, f"'{wrong[0]}' is not an argument of this call")
    try:
        return kind(**sent)
    except TypeError:
        raise Refused(HTTPStatus.BAD_REQUEST, "an argument of the call is missing") from None
