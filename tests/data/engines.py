"""PostgreSQL and Spark for tests: started on this machine, for these tests alone, and stopped after them."""

import glob
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

USER, PASSWORD, DATABASE = "counts", "s3cret word/@?#", "postgres"


@dataclass(frozen=True)
class Server:
    """A PostgreSQL that trusts its socket, and asks for a password on the loopback address."""

    folder: str
    port: int

    def connect(self) -> Any:
        import ibis

        return ibis.postgres.connect(host=self.folder, port=self.port, user=USER, database=DATABASE)


@contextmanager
def postgres() -> Iterator[Server]:
    """A server of Debian's package with a new cluster in a temporary folder.

    A missing package is an error of the test, not a reason to leave it out.
    """
    places = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))
    if not places:
        raise RuntimeError("no PostgreSQL: apt-get install postgresql")
    programs = Path(places[-1]).parent
    # It does not run as root; Debian's package brings a user for it.
    owner: dict[str, Any] = {"user": "postgres", "group": "postgres"} if os.getuid() == 0 else {}
    folder = tempfile.mkdtemp(prefix="pg", dir="/tmp")  # a socket's path has at most 107 characters
    if owner:
        entry = pwd.getpwnam("postgres")
        os.chown(folder, entry.pw_uid, entry.pw_gid)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    data, word = f"{folder}/data", Path(folder, "word")
    word.write_text(PASSWORD + "\n")
    word.chmod(0o644)

    def call(program: str, *arguments: str) -> None:
        subprocess.run(
            [programs / program, *arguments], check=True, stdout=subprocess.DEVNULL, cwd=folder, **owner
        )

    try:
        call(
            "initdb",
            *("-D", data, "-U", USER, "-E", "UTF8", "--locale=C.UTF-8", "--no-sync", f"--pwfile={word}"),
            *("--auth-local=trust", "--auth-host=scram-sha-256"),
        )
        options = f"-F -p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={folder}"
        call("pg_ctl", "-D", data, "-w", "-l", f"{folder}/log", "-o", options, "start")
        try:
            yield Server(folder, port)
        finally:
            call("pg_ctl", "-D", data, "-w", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder)


@contextmanager
def spark() -> Iterator[Any]:
    """An Ibis connection to Spark in this process, with one thread."""
    import ibis
    from pyspark.sql import SparkSession

    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    with tempfile.TemporaryDirectory() as warehouse:
        session = (
            SparkSession.builder.master("local[1]")
            .config("spark.ui.enabled", "false")
            .config("spark.sql.shuffle.partitions", "2")
            .config("spark.sql.warehouse.dir", warehouse)
            .config("spark.log.level", "ERROR")
            .getOrCreate()
        )
        try:
            yield ibis.pyspark.connect(session)
        finally:
            session.stop()
