"""What a worker is told: one JSON file for both of its processes, written by whoever starts them.

Knows the words, their defaults and how to read them. Durations are seconds, sizes bytes; secrets are paths of files,
never values. What is written in Kubernetes' spelling is translated by the writer.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionSettings:
    """Where NATS is, and who we are there: the words of penstock_jetstream's Connection."""

    servers: tuple[str, ...]
    credentials_file: str | None = None
    nkey_file: str | None = None
    token_file: str | None = None
    user_file: str | None = None
    password_file: str | None = None
    ca_file: str | None = None
    certificate_file: str | None = None
    key_file: str | None = None
    handshake_first: bool = False
    domain: str | None = None
    api_prefix: str | None = None
    inbox_prefix: str = "_INBOX"
    """What the subjects of answers and messages begin with: the engine's user needs to hear no others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchSettings:
    """How messages are put together into batches."""

    max_messages: int = 100_000
    max_bytes: int = 32 << 20
    max_wait_seconds: float = 0.2
    in_flight: int = 2
    deadline_seconds: float = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrySettings:
    """What follows when a batch fails for a reason that may pass."""

    max_attempts: int = 5
    initial_delay_seconds: float = 1
    max_delay_seconds: float = 240


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSettings:
    """What the engine is told besides its Connection."""

    group: str
    """The queue group's name, as logs, metrics and the micro service have it."""
    worker: str = ""
    """This worker's name, different from all others of its group; may be left out where it is told otherwise."""
    stream: str
    consumer: str
    dead_letter_stream: str
    """The operator creates it, and the ledger's bucket."""
    dead_letter_subject: str
    """Where dead letters are published; the original subject follows it as further tokens."""
    ledger: bool = True
    """Whether open batches are written down, so that they keep their id when the engine dies."""
    batch: BatchSettings = field(default_factory=BatchSettings)
    retry: RetrySettings = field(default_factory=RetrySettings)
    grace_seconds: float = 25
    """How long after SIGTERM what runs may go on."""
    drain: bool = False
    """Whether to end once nothing is pending any more."""
    probes: str | None = None
    """HOST:PORT of /healthz, /readyz and /metrics."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverSettings:
    """What the driver is told."""

    entrypoint: str
    """module:function."""
    python_path: tuple[str, ...] = ()
    """Where the code is; put before all else."""
    code_source: str | None = None
    """A folder whose files change, as a ConfigMap's do: the first driver copies them to the first of `python_path`."""
    master: str = "local[*]"
    token_file: str | None = None
    conf: dict[str, str] = field(default_factory=dict)
    in_flight: int = 2
    hang_seconds: float = 30
    """How long a function may go on after it was cancelled. Then the driver's process ends."""
    work_folder: str
    """Ours alone; emptied at the start."""
    probes: str | None = None
    """HOST:PORT of /healthz."""
    java_archives: str | None = None
    """A folder where archives of Java's classes are kept, with which Spark starts in half the time; None: nowhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSettings:
    """The whole file."""

    socket: str
    """The path of the unix socket that the driver serves."""
    connection: ConnectionSettings
    engine: EngineSettings
    driver: DriverSettings
