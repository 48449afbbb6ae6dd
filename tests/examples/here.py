"""``Isolated`` without processes: what such a process does is done in this one."""

import io
import signal

from mmopt.comparison import Isolated
from mmopt.comparison.isolate import Run
from mmopt.comparison.worker import perform
from mmopt.comparison.worker_processes import receive


class Here(Isolated):
    def _follow(self, run: Run, limit: float) -> tuple[int, str]:
        answers, before = io.BytesIO(), signal.getsignal(signal.SIGINT)
        try:
            perform(run.task, answers)
        finally:
            signal.signal(signal.SIGINT, before)  # it listens to Ctrl-C in its own way
        answers.seek(0)
        while (message := receive(answers)) is not None:
            run.take(message)
        return 0, ""
