"""Reasons: one grammar, one line, no secrets."""

from __future__ import annotations

import pytest

from hermes_checkpoints.reasons import before_command, before_tool, mask_secrets


def test_a_command_is_one_line_and_cut() -> None:
    """A command of several lines becomes one of at most 60 characters."""
    reason = before_command("sed -i s/a/b/ \\\n  config.py\nrm " + "x" * 100)
    assert "\n" not in reason
    assert reason.startswith("before terminal: sed -i s/a/b/ \\ config.py rm x")
    assert len(reason) == len("before terminal: ") + 60


def test_a_file_tool_names_its_path() -> None:
    """A file tool's reason is its name and, when there is one, the path."""
    assert before_tool("patch") == "before patch"
    assert before_tool("write_file", "src/a.py") == "before write_file: src/a.py"


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("curl -H 'Authorization: Bearer abcdef123456' x", "abcdef123456"),
        ("mysql --password=hunter2 db", "hunter2"),
        ("mysql --password hunter2 db", "hunter2"),
        ("export API_KEY=abc123 && rm x", "abc123"),
        ("git clone https://me:s3cret@example.org/x", "s3cret"),
        ("curl -u me:s3cret https://x", "s3cret"),
        ("echo ghp_abcdefghijklmnopqrstuvwxyz0123456789 > t", "ghp_abcdefghij"),
        ("export AWS_SECRET_ACCESS_KEY='wJalrXUtnFEMI'", "wJalrXUtnFEMI"),
    ],
)
def test_what_looks_like_a_secret_is_masked(text: str, secret: str) -> None:
    """Tokens, passwords and keys do not reach a reason."""
    assert secret not in mask_secrets(text)
    assert "***" in mask_secrets(text)


@pytest.mark.parametrize("text", ["git commit -m 'fix token handling'", "rm secret.txt", "ls -u x"])
def test_ordinary_words_stay(text: str) -> None:
    """Text that only speaks of secrets is left as it is."""
    assert mask_secrets(text) == text
