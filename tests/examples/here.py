"""``Isolated`` without processes: what such a process does is done in this one."""

import signal

from mmopt.comparison import Isolated
from mmopt.comparison.isolated_tasks import Run
from mmopt.comparison.worker import perform


class Here(Isolated):
    def follow(self, run: Run, limit: float) -> tuple[int, str]:
        before = signal.getsignal(signal.SIGINT)
        messages: list[object] = []
        try:
            perform(run.task, messages.append)
        finally:
            signal.signal(signal.SIGINT, before)  # it listens to Ctrl-C in its own way
        for message in messages:
            run.take(message)
        return 0, ""
