"""What a user's function is given: the batch and its helpers, and the exceptions that it may raise."""

from penstock_worker.api.batch import Batch, Finished
from penstock_worker.api.exceptions import Reject, Retry

__all__ = ["Batch", "Finished", "Reject", "Retry"]
