"""Manifests of ours from what is there already: a server's streams and consumers, or what was declared to NACK.

Pure. What has no equivalent is never dropped silently: it is a remark on the manifest, or among what was left out.
Called by `penstock import`, which reads and prints.
"""

from penstock_operator.plan.importing.imported import Imported, Imports
from penstock_operator.plan.importing.nack import CommandLine, from_nack
from penstock_operator.plan.importing.server import Found, Where, from_server

__all__ = ["CommandLine", "Found", "Imported", "Imports", "Where", "from_nack", "from_server"]
