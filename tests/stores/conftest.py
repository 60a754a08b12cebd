"""Assertions of the public contract are explained like those of tests."""

import pytest

pytest.register_assert_rewrite("hermes_checkpoints.testing.contract")
