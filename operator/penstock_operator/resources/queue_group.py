"""QueueGroup: the workers that share one durable consumer, and everything that they need.

Knows what may be written, and how the parts belong together; each part has a module of its own. Does not know what a
worker does with it.
"""

from typing import Annotated

from pydantic import Field, StringConstraints

from penstock_operator.resources.conditions import Count, Status, Told
from penstock_operator.resources.connection import Auth
from penstock_operator.resources.kind import AGE, READY, REASON, Column, Kind, Scale
from penstock_operator.resources.message_loss import MessageLoss
from penstock_operator.resources.part import Part, Rule
from penstock_operator.resources.queue_group_handler import Handler, Spark
from penstock_operator.resources.queue_group_network import Network
from penstock_operator.resources.queue_group_scaling import MOST_WORKERS, Scaling, ScalingMode
from penstock_operator.resources.queue_group_template import Template
from penstock_operator.resources.queue_group_work import Batch, DeadLetter, Ordering, Retry
from penstock_operator.resources.references import ConsumerRef


class QueueGroupSpec(Part):
    """The workers that share one durable consumer: their code, Spark, batches, retries, and how many they are."""

    consumer_ref: ConsumerRef
    """The Consumer whose messages they share; a pull consumer."""
    auth: Auth | None = None
    """Who the workers are to NATS, instead of the user in the Connection's auth. Such a user needs only the permissions
    of a worker, and its Secret is in the group's namespace."""
    handler: Handler
    """The code that is called with each batch."""
    spark: Spark = Spark()
    """The Spark that runs the code."""
    batch: Batch = Batch()
    """How messages are put together into batches."""
    ordering: Ordering = Ordering()
    """In which order messages are processed."""
    retry: Retry = Retry()
    """What follows when a batch fails for a reason that may pass."""
    dead_letter: DeadLetter = DeadLetter()
    """Where messages go that cannot be processed."""
    scaling: Scaling = Scaling()
    """How many workers there are, and who decides."""
    replicas: Annotated[int, Field(ge=0, le=MOST_WORKERS)] | None = None
    """With scaling.mode External: how many workers there shall be. /scale changes it."""
    suspend: bool = False
    """Whether the workers stop for as long as this is so: they finish what they hold, and pull no more."""
    network: Network = Network()
    """What the workers may reach."""
    template: Template = Template()
    """What the workers' pods shall have besides what Penstock gives them."""

    RULES = (
        Rule(
            "scaling.mode External needs replicas: the number of workers to begin with, which /scale changes.",
            "self.scaling.mode != 'External' || has(self.replicas)",
            lambda spec: spec.scaling.mode is not ScalingMode.EXTERNAL or spec.replicas is not None,
        ),
        Rule(
            "replicas and /scale belong to scaling.mode External; with Internal, Penstock decides how many there are.",
            "self.scaling.mode != 'Internal' || !has(self.replicas)",
            lambda spec: spec.scaling.mode is not ScalingMode.INTERNAL or spec.replicas is None,
        ),
    )


class QueueGroupStatus(Status):
    """What the operator found."""

    replicas: Count | None = None
    """How many workers there are."""
    selector: Annotated[str, StringConstraints(max_length=1024)] | None = None
    """The labels that the workers' pods have; autoscalers read it."""
    ready_replicas: Count | None = None
    """How many workers can work: they pull, and have a Spark session."""
    desired_replicas: Count | None = None
    """How many workers there shall be."""
    busy_replicas: Count | None = None
    """How many workers have messages without a final answer."""
    pending: Count | None = None
    """How many messages the consumer has not delivered yet."""
    ack_pending: Count | None = None
    """How many messages it has delivered that have no final answer yet."""
    held: Count | None = None
    """How many of these the workers say they hold."""
    batches: Count | None = None
    """How many batches are with the workers' drivers."""
    message_loss: MessageLoss | None = None
    """What is known of messages that the consumer never processed."""
    stopped_revision: Told | None = None
    """The revision of the pods, as their label penstock.dev/revision has it, whose code cannot work: it is not started
    again before something changes."""
    image: Annotated[str, StringConstraints(max_length=512)] | None = None
    """The image that the workers' drivers run."""


QUEUE_GROUP = Kind(
    name="QueueGroup",
    plural="queuegroups",
    short_names=("qg",),
    description="The workers that share one durable consumer, and everything that they need.",
    spec=QueueGroupSpec,
    status=QueueGroupStatus,
    columns=(
        READY,
        REASON,
        Column("Lag", ".status.pending", type="integer"),
        Column("Busy", ".status.busyReplicas", type="integer"),
        Column("Workers", ".status.replicas", type="integer"),
        Column("Desired", ".status.desiredReplicas", type="integer"),
        AGE,
        Column("Consumer", ".spec.consumerRef.name", priority=1),
        Column("Master", ".spec.spark.master", priority=1),
        Column("Suspended", ".spec.suspend", type="boolean", priority=1),
    ),
    selectable_fields=(".spec.consumerRef.name",),
    scale=Scale(".spec.replicas", ".status.replicas", ".status.selector"),
)
