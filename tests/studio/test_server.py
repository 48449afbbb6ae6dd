"""The server answers its own page alone, whatever is sent, and its processes end.

Guards mmopt/studio/server.py, mmopt/studio/lanes.py, mmopt/studio/calls.py and
mmopt/comparison/isolated_tasks.py.
"""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from mmopt.comparison.isolated_tasks import Run, ending_of
from mmopt.comparison.worker import Done, Started
from mmopt.comparison_process import Worker
from mmopt.errors import OptionError
from mmopt.language import Program
from mmopt.studio import serve
from mmopt.studio.calls import CALLS, Row, Solve, TextCheck
from mmopt.studio.lanes import Lane, Lanes
from mmopt.studio.server import HEADERS, MOST_BYTES, Handler, Studio
from tests.processes import MARK, Marked, linux_only, wait_for

L2 = Program.load("l2_strategy").text
# A search that takes its whole time.
MIN_ERROR = Program.load("min_error").text
LONG = {"text": MIN_ERROR, "workload": {"kind": "prefix", "cells": 12}, "solver": None, "seconds": 60}
SHORT = {"text": L2, "workload": {"kind": "prefix", "cells": 4}, "solver": "nuclear", "seconds": 20}


@pytest.fixture(scope="module")
def marked() -> Iterator[Marked]:
    with pytest.MonkeyPatch.context() as patch:
        yield Marked(patch)
    assert MARK not in os.environ


@pytest.fixture(scope="module")
def studio(marked: Marked) -> Iterator[Studio]:
    """A server at work; none of its processes outlives it."""
    with Studio(0) as one:
        thread = threading.Thread(target=one.serve_forever, args=(0.05,))
        thread.start()
        yield one
        one.shutdown()
        thread.join()
    assert wait_for(lambda: not set(marked.alive()) - {os.getpid()})


def raw(studio: Studio, data: bytes) -> tuple[int, dict[str, str], bytes]:
    """The answer to these bytes."""
    with socket.create_connection(studio.server_address[:2], timeout=60) as line:
        line.sendall(data)
        line.shutdown(socket.SHUT_WR)  # nothing more comes
        answer = http.client.HTTPResponse(line)
        answer.begin()
        return answer.status, dict(answer.getheaders()), answer.read()


def own(studio: Studio) -> dict[str, str]:
    """The headers of the page's own calls."""
    return {"Host": studio.host, "X-Studio-Token": studio.token, "Content-Type": "application/json"}


def sent(
    studio: Studio, path: str = "/api/check", body: bytes = b'{"tab": "a", "text": ""}', **changed: Any
) -> tuple[int, dict[str, str], bytes]:
    """A call with changed headers; None leaves one out."""
    headers = own(studio) | {"Content-Length": str(len(body))}
    headers |= {name.replace("_", "-"): value for name, value in changed.items()}
    lines = [f"{name}: {value}" for name, value in headers.items() if value is not None]
    return raw(studio, "\r\n".join([f"POST {path} HTTP/1.1", *lines, "", ""]).encode("latin-1") + body)


def called(studio: Studio, name: str, tab: str = "a", **fields: Any) -> dict[str, Any]:
    status, _, data = sent(studio, f"/api/{name}", json.dumps({"tab": tab, **fields}).encode())
    return {"status": status, **json.loads(data.strip().rpartition(b"\n")[2])}


class Streamed:
    """A call whose answer comes by lines."""

    def __init__(self, studio: Studio, name: str, tab: str, **fields: Any) -> None:
        self._line = http.client.HTTPConnection(*studio.server_address[:2], timeout=120)
        body = json.dumps({"tab": tab, **fields})
        self._line.request("POST", f"/api/{name}", body, own(studio))
        self.answer = self._line.getresponse()

    def rest(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.answer.read().split(b"\n") if line]

    def close(self) -> None:
        """Go away."""
        self.answer.close()
        self._line.close()


def is_at_work(studio: Studio, tab: str) -> bool:
    """Whether a page's own solve has a process, not the one that only loads the solvers."""
    runs = studio.lanes._pairs[tab][1]._newest.values() if tab in studio.lanes._pairs else ()
    return any(run.process and not run.is_over and getattr(run.task, "text", "") for run in runs)


def is_safe(answer: tuple[int, dict[str, str], bytes]) -> bool:
    """Whether an answer has the headers, and is JSON where it is none of the files."""
    status, headers, data = answer
    return (
        HEADERS.items() <= headers.items()
        and "Server" not in headers
        and (
            status == 200
            or (headers["Content-Type"].startswith("application/json") and "error" in json.loads(data))
        )
    )


def test_a_call_that_did_not_arrive_whole_is_refused(studio: Studio) -> None:
    assert sent(studio, Content_Length="5000")[0] == 408


def test_requests_to_another_name_are_refused(studio: Studio, subtests: pytest.Subtests) -> None:
    port = studio.server_port
    for host in (
        f"localhost:{port}",
        f"evil.example:{port}",
        "127.0.0.1",
        "127.0.0.1:1",
        "",
        f"[::1]:{port}",
        None,
    ):
        with subtests.test(host):
            line = "" if host is None else f"Host: {host}\r\n"
            for start in ("GET / HTTP/1.1", "GET /studio.js HTTP/1.1", "POST /api/lists HTTP/1.1"):
                answer = raw(studio, f"{start}\r\n{line}\r\n".encode())
                assert answer[0] == 403 and is_safe(answer)
    twice = f"GET / HTTP/1.1\r\nHost: {studio.host}\r\nHost: {studio.host}\r\n\r\n"
    assert raw(studio, twice.encode())[0] == 403
    whole = f"GET http://{studio.host}/ HTTP/1.1\r\nHost: evil.example\r\n\r\n"
    assert raw(studio, whole.encode())[0] == 403


def test_calls_from_elsewhere_are_refused(studio: Studio, subtests: pytest.Subtests) -> None:
    assert (
        sent(studio)[0]
        == 200
        == sent(studio, Origin=f"http://{studio.host}", Sec_Fetch_Site="same-origin")[0]
    )
    for status, changed in [
        *((403, {"X_Studio_Token": t}) for t in (None, "", "x", "é", studio.token[:-1], studio.token + "x")),
        *((403, {"Origin": o}) for o in ("null", "", "http://evil.example", f"https://{studio.host}")),
        (403, {"Origin": ""} | {"origin": f"http://{studio.host}"}),
        *((403, {"Sec_Fetch_Site": site}) for site in ("cross-site", "same-site")),
        *((415, {"Content_Type": kind}) for kind in (None, "", "text/plain", "multipart/form-data")),
        (415, {"Transfer_Encoding": "chunked"}),
        *((411, {"Content_Length": length}) for length in (None, "", "-1", "+5", "1e3", "²", "5, 5")),
        *((413, {"Content_Length": length}) for length in (str(MOST_BYTES + 1), "9" * 5000)),
    ]:
        with subtests.test(str(changed)[:60]):
            answer = sent(studio, **changed)
            assert answer[0] == status and is_safe(answer)


def test_what_is_no_call_is_refused(studio: Studio, subtests: pytest.Subtests) -> None:
    html = "<script>alert(1)</script>"
    for body in (
        *(b"", b"\xff", b"[]", b"1", b"null", b"{", b"[" * 100_000, b'{"a":' * 20_000),
        *(b'{"tab": "a", "text": NaN}', b'{"tab": "a", "seconds": ' + b"9" * 100_000 + b"}"),
        *(b'{"text": ""}', b'{"tab": 1, "text": ""}', b'{"tab": "", "text": ""}', b'{"tab": "a"}'),
        b'{"tab": "a", "text": "", "workload": {}, "multipliers": ' + b'{"d": ' * 200 + b"1" + b"}" * 201,
        *(b'{"tab": "a", "text": 1}', b'{"tab": "a", "text": "", "memory_limit": 1}'),
        json.dumps({"tab": "a", "text": "", html: 1}).encode(),
    ):
        with subtests.test(repr(body[:40])):
            answer = sent(studio, body=body)
            assert answer[0] == 400 and is_safe(answer)
    for path in (
        "/api/",
        "/api/row",
        "/api/combinations",
        "/check",
        "/",
        "/api/check/../solve",
        f"/api/{html}",
    ):
        with subtests.test(path):
            answer = sent(studio, path)
            assert answer[0] == 404 and is_safe(answer) and html.encode() not in answer[2]


def test_only_the_files_of_the_page_are_served(studio: Studio, subtests: pytest.Subtests) -> None:
    def of(path: str, command: str = "GET") -> tuple[int, dict[str, str], bytes]:
        return raw(studio, f"{command} {path} HTTP/1.1\r\nHost: {studio.host}\r\n\r\n".encode())

    for path in studio.files:
        answer = of(path)
        assert answer[0] == 200 and answer[2] == studio.files[path] and is_safe(answer)
    for path in (
        *("/../calls.py", "/calls.py", "/page/studio.js", "/%2e%2e/calls.py", "/quiz/", "/..%2fcalls.py"),
        *("/etc/passwd", "//etc/passwd", "/studio.js/", "/%73tudio.js", "/studio.js%00", "*", "/<b>"),
    ):
        with subtests.test(path):
            answer = of(path)
            assert answer[0] == 404 and is_safe(answer)
    head = f"HEAD / HTTP/1.1\r\nHost: {studio.host}\r\n\r\n"
    with socket.create_connection(studio.server_address[:2], timeout=60) as one:
        one.sendall(head.encode())
        words = one.makefile("rb").read()
    assert words.split()[1] == b"501" and words.endswith(b"\r\n\r\n")  # without a body
    for command in ("OPTIONS", "PUT", "DELETE", "TRACE", "CONNECT", "<b>"):
        with subtests.test(command):
            answer = of("/", command)
            assert answer[0] == 501 and is_safe(answer) and b"<b>" not in answer[2]
    for line in (b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n"):
        with socket.create_connection(studio.server_address[:2], timeout=60) as one:
            one.sendall(line)
            assert b"<" not in one.makefile("rb").read()


def test_a_request_behind_a_request_is_not_answered(studio: Studio) -> None:
    second = f"GET / HTTP/1.1\r\nHost: {studio.host}\r\n\r\n"
    with socket.create_connection(studio.server_address[:2], timeout=60) as one:
        one.sendall((second + second).encode())
        assert one.makefile("rb").read(200_000).count(b"HTTP/1.") == 1


def test_slow_senders_and_too_many_are_let_go(studio: Studio, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Handler, "timeout", 0.2)
    with socket.create_connection(studio.server_address[:2], timeout=60) as one:
        one.sendall(b"POST /api/check HTTP/1.1\r\nHo")
        while one.recv(4096):
            pass
    with socket.create_connection(studio.server_address[:2], timeout=60) as one, pytest.raises(OSError):
        one.sendall(b"POST /api/check HTTP/1.1\r\nX: ")
        while True:  # each byte comes in time, and the whole does not
            one.sendall(b"a")
            time.sleep(0.02)
    assert wait_for(lambda: studio.places._value == studio.places._initial_value)  # all have given back
    monkeypatch.setattr(studio, "places", threading.BoundedSemaphore(1))
    with socket.create_connection(studio.server_address[:2], timeout=60) as first:
        assert wait_for(lambda: studio.places._value == 0)
        with socket.create_connection(studio.server_address[:2], timeout=60) as second:
            assert second.recv(1) == b""
        first.close()
    assert wait_for(lambda: studio.places._value == 1)


@linux_only
def test_a_check_is_answered_while_a_solve_runs_and_a_stop_ends_it(studio: Studio) -> None:
    solve = Streamed(studio, "solve", "a", **LONG)
    assert wait_for(lambda: is_at_work(studio, "a"))
    assert called(studio, "check", text=L2)["problems"] == []
    assert called(studio, "stop")["stopped"]
    assert solve.rest()[-1]["stop"] == "interrupted"
    assert not called(studio, "stop")["stopped"]
    assert called(studio, "solve", **SHORT)["solution"]["bound_grade"] == "proved"


@linux_only
def test_a_page_that_goes_away_ends_its_work(studio: Studio) -> None:
    solve = Streamed(studio, "solve", "a", **LONG)
    assert wait_for(lambda: is_at_work(studio, "a"))
    solve.close()
    assert wait_for(lambda: not is_at_work(studio, "a"))


@linux_only
def test_a_new_solve_ends_the_one_before(studio: Studio) -> None:
    solve = Streamed(studio, "solve", "a", **LONG)
    assert wait_for(lambda: is_at_work(studio, "a"))
    assert "solution" in called(studio, "solve", **SHORT)
    assert solve.rest()[-1]["stop"] == "interrupted"


@linux_only
def test_two_pages_work_and_a_third_waits(studio: Studio) -> None:
    both = [Streamed(studio, "solve", tab, **LONG) for tab in ("a", "b")]
    assert wait_for(lambda: is_at_work(studio, "a") and is_at_work(studio, "b"))
    assert called(studio, "check", "c", text="")["status"] == 503
    assert called(studio, "stop", "b")["stopped"]
    assert both[1].rest()
    assert wait_for(lambda: called(studio, "check", "c", text="")["status"] == 200)
    assert called(studio, "stop", "a")["stopped"] and both[0].rest()


@linux_only
def test_a_killed_process_is_an_answer_and_the_next_call_works(studio: Studio) -> None:
    solve = Streamed(studio, "solve", "a", **LONG)
    assert wait_for(lambda: is_at_work(studio, "a"))
    worker = studio.lanes._pairs["a"][1]._isolated._worker
    assert worker is not None
    os.kill(worker.pid, signal.SIGKILL)
    assert solve.rest()[-1]["problem"]["message"]
    assert "solution" in called(studio, "solve", **SHORT)


def test_a_comparison_has_rows_and_an_end(studio: Studio) -> None:
    fields = {name: SHORT[name] for name in ("text", "workload", "seconds")}
    lines = Streamed(studio, "compare", "a", solvers=["nuclear"], **fields).rest()
    assert [list(line) for line in lines] == [["row"], ["end"]] and lines[0]["row"]["bound"]
    lines = Streamed(studio, "compare", "a", solvers=["os:system"], **fields).rest()
    assert [sorted(line) for line in lines] == [["problem", "stop"]]


def test_a_taken_port_is_a_named_error(studio: Studio) -> None:
    with pytest.raises(OptionError, match=f"port {studio.server_port} cannot be used"):
        serve(studio.server_port, opens_browser=False)


def test_a_pair_of_a_page_at_work_goes_to_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mmopt.studio.lanes._load", lambda *_: None)  # so that no process starts
    with Lanes() as lanes, lanes.of("a", is_work=False) as a:
        # None of them is asked anything yet.
        with lanes.of("b", is_work=True) as b, lanes.of("c", is_work=False) as c:
            assert a is not None and b is not None and a is not b and c is None
        with lanes.of("c", is_work=True) as c:
            assert c is b


def test_closing_ends_a_process_that_is_about_to_start(monkeypatch: pytest.MonkeyPatch) -> None:
    lane, started = Lane(), []
    closing = threading.Thread(target=lane.close)

    def start() -> Worker:
        closing.start()
        assert wait_for(lambda: lane._isolated.is_over)
        started.append(Worker())
        return started[0]

    monkeypatch.setattr(lane._isolated, "_start", start)
    assert lane.answer(TextCheck(text=""))["problem"]
    closing.join()
    assert started[0].returncode is not None
    assert lane.answer(TextCheck(text=""))["stop"] == "interrupted" and len(started) == 1


def test_the_newest_check_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    lane = Lane()
    newer = threading.Thread(target=lane.answer, args=(TextCheck(text="new"),))

    def follow(run: Run, limit: float) -> tuple[int, str]:
        if run.task == TextCheck(text="old"):
            newer.start()
            wait_for(lambda: run.killed, 10.0)
        run.take(Done({}, None))
        return 0, ""

    monkeypatch.setattr(lane._isolated, "follow", follow)
    assert lane.answer(TextCheck(text="old"))["stop"] == "interrupted"
    newer.join()


def test_each_call_has_its_limits() -> None:
    for call in (*CALLS.values(), Row):
        assert call.memory_limit is not None and call.memory_limit <= 2**31 and call.time_limit <= 60.0


def test_time_counts_from_the_start_of_a_process_and_a_check_has_no_points() -> None:
    clock = threading.Timer(60.0, print)
    run = Run(TextCheck(text=""), clock=clock)
    assert not clock.is_alive()
    run.take(Started(1, 0))
    assert clock.is_alive()
    clock.cancel()
    run.killed, run.ended = "time limit", run.started + 3.2
    words = "stopped after 3 s by the time limit of 5 s"
    assert ending_of(run, -9, "")[:2] == ("time limit", words)


@linux_only
def test_limits_of_a_call_end_it_in_words(studio: Studio) -> None:
    lane = Lane()
    # It takes longer than the grace of a limit, and more memory than is allowed.
    call = Solve(text=L2, workload={"kind": "ranges", "cells": 64}, solver="clarabel")
    try:
        object.__setattr__(call, "time_limit", 0.01)
        object.__setattr__(call, "memory_limit", 2**33)
        assert lane.answer(call)["stop"] == "time limit"
        object.__setattr__(call, "time_limit", 60.0)
        object.__setattr__(call, "memory_limit", 2**20)
        answer = lane.answer(call)
        assert answer["stop"] == "memory limit" and answer["problem"]["message"]
        assert "solution" in lane.answer(Solve(**SHORT))
    finally:
        lane.close()


@linux_only
@pytest.mark.slow
def test_the_command_prints_its_address_and_ctrl_c_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    marked = Marked(monkeypatch)
    command = [sys.executable, "-m", "mmopt", "studio", "--port", "0", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("http://127.0.0.1:")
        process.send_signal(signal.SIGINT)
        _, words = process.communicate(timeout=120)
    assert (process.returncode, words) == (0, "")
    assert wait_for(lambda: not marked.alive().keys() - {os.getpid()})
