"""`python -m hermes_checkpoints.cli`, where the program itself is not on the search path."""

import sys

from hermes_checkpoints.cli import main

sys.exit(main())
