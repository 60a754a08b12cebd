"""For other people's tests: what a store must do, and an agent that follows a script.

    from hermes_checkpoints.testing import StoreContract, play

Importing it needs no pytest.
"""

from hermes_checkpoints.testing.contract import StoreContract
from hermes_checkpoints.testing.play import Command, Edit, Step, Turn, Write, play

__all__ = ["Command", "Edit", "Step", "StoreContract", "Turn", "Write", "play"]
