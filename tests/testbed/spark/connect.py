"""A Spark Connect server, as a process of its own on loopback."""

from pathlib import Path

from tests.testbed.ports import LOOPBACK, answers, free_port
from tests.testbed.programs import Program
from tests.testbed.spark.classic import environment, settings

READY_SECONDS = 240
SERVER_CLASS = "org.apache.spark.sql.connect.service.SparkConnectServer"


class ConnectServer:
    """A server that sessions at `url` run on; faults are its program's methods."""

    def __init__(self, folder: Path, token: str | None = None) -> None:
        self.port = free_port()
        self.url = f"sc://{LOOPBACK}:{self.port}"
        defaults = settings(folder) | {
            "spark.connect.grpc.binding.address": LOOPBACK,
            "spark.connect.grpc.binding.port": str(self.port),
        }
        if token:
            defaults["spark.connect.authenticate.token"] = token
        (folder / "spark-defaults.conf").write_text("".join(f"{key} {value}\n" for key, value in defaults.items()))
        env = environment(folder)
        submit = Path(env["SPARK_HOME"]) / "bin" / "spark-submit"
        command = [str(submit), "--class", SERVER_CLASS, "--master", "local[2]", "spark-internal"]
        self.program = Program("spark-connect", command, folder, env)

    def start(self) -> None:
        self.program.start()
        self.program.wait_ready(lambda: answers(self.port), READY_SECONDS)
