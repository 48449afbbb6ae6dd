"""Tasks of a comparison done in this process (tests/comparison has their own), and Ctrl-C in others."""

import signal

from mmopt.comparison import Isolated
from mmopt.comparison.isolated_tasks import Run
from mmopt.comparison.worker import WorkerTask, perform


class Here(Isolated):
    """``done``: the tasks, in their order."""

    def __init__(self) -> None:
        super().__init__()
        self.done: list[WorkerTask] = []

    def follow(self, run: Run, limit: float) -> tuple[int, str]:
        self.done.append(run.task)
        before = signal.getsignal(signal.SIGINT)
        try:
            perform(run.task, run.take)
        finally:
            signal.signal(signal.SIGINT, before)
        return 0, ""


def heed_ctrl_c() -> None:
    """Before a process begins (``preexec_fn``): a shell may have started us with Ctrl-C ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
