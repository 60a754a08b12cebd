"""`hook HOST`: what command-line agents send, what is done about it, and what they hear."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from hermes_checkpoints.cli.hook import answer, host_process
from hermes_checkpoints.cli.hosts import HOSTS, Event, Kind
from hermes_checkpoints.config import Config
from hermes_checkpoints.manager import CheckpointManager
from hermes_checkpoints.records import Checkpoint
from hermes_checkpoints.stores import memory


class Agent:
    """A command-line agent in a project; every event gets a manager of its own, as a process would.

    Built for each host from the events it really sends.
    """

    def __init__(self, host: str, root: Path, config: Config) -> None:
        self.host = HOSTS[host]
        self.root = root
        self.config = config
        self.heard: list[dict[str, Any]] = []
        self.session = "session-1"
        self.environ: dict[str, str] = {}
        self.owner = os.getpid()
        self._names = {kind: name for name, kind in reversed(self.host.events.items())}
        self._turn = self._calls = 0

    def __call__(self, kind: Kind, **more: Any) -> dict[str, Any] | None:
        """Send an event; what the host hears."""
        event = self.host.read(self.input(kind, **more), self.environ)
        assert event is not None
        heard = answer(self.host, event, self.config, owner_pid=self.owner)
        if heard is not None:
            json.dumps(heard).encode("ascii")
            self.heard.append(heard)
        return heard

    def input(self, kind: Kind, **more: Any) -> dict[str, Any]:
        """What the host puts on standard input."""
        common = {"hook_event_name": self._names[kind], "session_id": self.session}
        common["cwd"] = str(self.root)
        if self.host.name == "claude-code":
            common["prompt_id"] = f"prompt-{self._turn}"
        elif self.host.name == "codex":
            common["turn_id"] = f"turn-{self._turn}"
        call = more.pop("call", None)
        if self.host.name == "hermes":
            extra = {"turn_id": f"turn-{self._turn}", "tool_call_id": call or ""}
            return {**common, "extra": extra, **more}
        return {**common, **more, **({"tool_use_id": call} if call and self._has_ids else {})}

    @property
    def _has_ids(self) -> bool:
        return self.host.name in ("claude-code", "codex")

    def prompt(self, text: str = "do it") -> dict[str, Any] | None:
        """The person says something; hosts that tell hooks of it do."""
        self._turn += 1
        return self(Kind.PROMPT, prompt=text) if Kind.PROMPT in self._names else None

    @contextlib.contextmanager
    def bash(self, command: str) -> Iterator[None]:
        """A shell command, done in the block."""
        with self.tool(_SHELLS[self.host.name], {"command": command}):
            yield

    @contextlib.contextmanager
    def tool(self, name: str, arguments: dict[str, Any]) -> Iterator[None]:
        """Any tool."""
        call = self.begin(name, arguments)
        yield
        self(Kind.AFTER, tool_name=name, tool_input=arguments, call=call, tool_response={})

    def begin(self, name: str, arguments: dict[str, Any]) -> str:
        """A tool that begins; its call's id."""
        self._calls += 1
        call = f"call-{self._calls}"
        self(Kind.BEFORE, tool_name=name, tool_input=arguments, call=call)
        return call

    @property
    def checkpoints(self) -> list[Checkpoint]:
        with self.shell() as manager:
            return manager.list_checkpoints(self.root)

    def shell(self) -> CheckpointManager:
        """Somebody at a shell."""
        return CheckpointManager(self.config, cwd=self.root)


_SHELLS = {
    "claude-code": "Bash",
    "codex": "Bash",
    "gemini-cli": "run_shell_command",
    "hermes": "terminal",
}
_HOSTS_THAT_TELL_OF_PROMPTS = ("claude-code", "codex", "gemini-cli")


@pytest.fixture(autouse=True)
def _no_stores() -> Iterator[None]:
    yield
    memory._stores.clear()


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return Config(base=tmp_path / "base", store="memory", auto_prune=False)


@pytest.fixture
def agent_of(project_dir: Path, config: Config) -> Callable[..., Agent]:
    (project_dir / "keep.txt").write_text("kept\n")

    def make(host: str = "claude-code", **changes: Any) -> Agent:
        return Agent(host, project_dir, config.with_(**changes))

    return make


# --------------------------------------------------------------------------- what is undone


@pytest.mark.parametrize("host", _HOSTS_THAT_TELL_OF_PROMPTS)
def test_rollback_typed_in_the_agent(host: str, agent_of: Callable[..., Agent]) -> None:
    """What the agent's shell removed comes back with `/rollback 1`, which no model sees."""
    agent = agent_of(host)
    agent.prompt()
    with agent.bash("rm keep.txt"):
        (agent.root / "keep.txt").unlink()
    heard = agent.prompt("/rollback 1")
    assert (agent.root / "keep.txt").read_text() == "kept\n"
    assert heard is not None
    assert heard["decision"] in ("block", "deny")
    assert "1 file is back" in heard["reason"]
    assert agent.heard == [heard]


@pytest.mark.parametrize("host", ["claude-code", "gemini-cli", "hermes"])
def test_rollback_from_a_shell_afterwards(host: str, agent_of: Callable[..., Agent]) -> None:
    """Once the session is over, a shell's restore takes its writes for the agent's."""
    agent = agent_of(host)
    agent.prompt()
    with agent.bash("rm keep.txt"):
        (agent.root / "keep.txt").unlink()
    agent(Kind.SESSION_END)
    with agent.shell() as manager:
        report = manager.restore(agent.root, 1)
    assert report.restored == ("keep.txt",)
    assert agent.heard == []


def test_restore_beside_a_running_agent(agent_of: Callable[..., Agent]) -> None:
    """While the session runs, a shell's restore keeps its writes, unless told to take all."""
    agent = agent_of()
    agent.prompt()
    with agent.bash("rm keep.txt"):
        (agent.root / "keep.txt").unlink()
    with agent.shell() as manager:
        assert [step.path for step in manager.restore(agent.root, 1).kept] == ["keep.txt"]
        assert manager.restore(agent.root, 1, keep_edits=False).restored == ("keep.txt",)


@pytest.mark.parametrize("host", HOSTS)
def test_one_checkpoint_a_turn(host: str, agent_of: Callable[..., Agent]) -> None:
    """However many calls and processes a turn takes, it has one checkpoint; the next one too."""
    agent = agent_of(host)
    for turn in (1, 2):
        agent.prompt()
        for n in (1, 2):
            with agent.bash(f"echo {turn}{n} > out.txt"):
                (agent.root / "out.txt").write_text(f"{turn}{n}\n")
        assert len(agent.checkpoints) == turn


def test_the_reason_names_the_command(agent_of: Callable[..., Agent]) -> None:
    """A checkpoint says which command it was taken before."""
    agent = agent_of()
    with agent.bash("rm keep.txt"):
        pass
    assert agent.checkpoints[0].reason == "before terminal: rm keep.txt"


def test_reading_takes_no_checkpoint(agent_of: Callable[..., Agent]) -> None:
    """A command that only reads leaves no trace."""
    agent = agent_of()
    agent.prompt()
    with agent.bash("ls -l"), agent.tool("Read", {"file_path": "keep.txt"}):
        pass
    assert agent.checkpoints == []


def test_our_own_server(agent_of: Callable[..., Agent]) -> None:
    """A call of our own MCP server opens no lease, which would keep its restore from starting."""
    agent = agent_of()
    agent.prompt()
    agent.begin("mcp__hermes-checkpoints__restore_checkpoint", {"token": "x", "checkpoint": "1"})
    assert _leftovers(agent.config) == []


def test_a_patch_of_codex(agent_of: Callable[..., Agent]) -> None:
    """Codex' `apply_patch` is protected by the files its patch names, ignored ones too."""
    agent = agent_of("codex")
    (agent.root / ".gitignore").write_text("ignored.txt\n")
    (agent.root / "ignored.txt").write_text("mine\n")
    patch = "*** Begin Patch\n*** Delete File: ignored.txt\n*** End Patch"
    agent.prompt()
    with agent.tool("apply_patch", {"command": patch}):
        (agent.root / "ignored.txt").unlink()
    agent.prompt("/rollback 1")
    assert (agent.root / "ignored.txt").read_text() == "mine\n"


def test_the_directory_the_session_began_in(agent_of: Callable[..., Agent]) -> None:
    """A project without a marker is the directory the agent was started in, wherever it is now."""
    agent = agent_of()
    (agent.root / "pyproject.toml").unlink()
    (agent.root / "below").mkdir()
    agent.environ = {"CLAUDE_PROJECT_DIR": str(agent.root)}
    call = {"command": "rm ../keep.txt"}
    agent(Kind.BEFORE, tool_name="Bash", tool_input=call, call="c", cwd=str(agent.root / "below"))
    assert len(agent.checkpoints) == 1


def test_hermes_in_a_sandbox(agent_of: Callable[..., Agent]) -> None:
    """Where Hermes' tools act in a container, its hook does nothing."""
    agent = agent_of("hermes")
    agent.environ = {"TERMINAL_ENV": "docker"}
    with agent.bash("rm keep.txt"):
        pass
    assert agent.checkpoints == []


def test_hermes_working_directory() -> None:
    """Hermes' tools work where `TERMINAL_CWD` says, unless it says nothing useful."""
    host = HOSTS["hermes"]
    data = {"hook_event_name": "pre_tool_call", "cwd": "/process"}
    assert host.read(data, {"TERMINAL_CWD": "/work/tree"}) == Event(
        Kind.BEFORE, "", call=_call_of(data), cwd="/work/tree", project="/work/tree"
    )
    assert host.read(data, {"TERMINAL_CWD": "auto"}) == Event(
        Kind.BEFORE, "", call=_call_of(data), cwd="/process", project="/process"
    )


def _call_of(data: dict[str, Any]) -> str:
    event = HOSTS["hermes"].read(data, {})
    assert event is not None
    return event.call


# --------------------------------------------------------------------------- calls without an end


def test_a_denied_call_is_forgotten(agent_of: Callable[..., Agent]) -> None:
    """What a person writes after denying a call stays the person's, and nothing looks busy."""
    agent = agent_of()
    agent.prompt()
    agent.begin("Bash", {"command": "make all"})
    (agent.root / "keep.txt").write_text("by hand\n")
    heard = agent.prompt("/rollback 1")
    assert heard is not None
    assert "Kept your hand-edits" in heard["reason"]
    assert (agent.root / "keep.txt").read_text() == "by hand\n"


def test_codex_says_nothing_of_failures(agent_of: Callable[..., Agent]) -> None:
    """Codex tells of no command that failed; what it changed is the agent's all the same."""
    agent = agent_of("codex")
    agent.prompt()
    agent.begin("Bash", {"command": "rm keep.txt; exit 1"})
    (agent.root / "keep.txt").unlink()
    agent(Kind.TURN_END)
    agent.prompt("/rollback 1")
    assert (agent.root / "keep.txt").read_text() == "kept\n"


def test_a_call_begun_twice(agent_of: Callable[..., Agent]) -> None:
    """The same call announced twice is one call."""
    agent = agent_of()
    agent.prompt()
    call = agent.begin("Bash", {"command": "rm keep.txt"})
    agent(Kind.BEFORE, tool_name="Bash", tool_input={"command": "rm keep.txt"}, call=call)
    agent(Kind.AFTER, tool_name="Bash", tool_input={"command": "rm keep.txt"}, call=call)
    assert len(agent.checkpoints) == 1
    assert _leftovers(agent.config) == ["session-1.json"]  # the session itself, which goes on


def test_nothing_is_left_of_a_session(agent_of: Callable[..., Agent]) -> None:
    """After its end, a session has left no open call, no lease and no note."""
    agent = agent_of("gemini-cli")
    agent.prompt()
    agent.begin("run_shell_command", {"command": "make"})
    agent(Kind.SESSION_END)
    assert _leftovers(agent.config) == []


def test_nothing_is_left_of_a_killed_agent(agent_of: Callable[..., Agent]) -> None:
    """The end of any session clears away what an agent that was killed has left in the store."""
    killed = agent_of("gemini-cli")
    child = subprocess.Popen([*_PYTHON, "pass"])
    killed.owner = child.pid
    killed.prompt()
    killed.begin("run_shell_command", {"command": "make"})
    child.wait()
    other = agent_of("gemini-cli")
    other.session = "session-2"
    other(Kind.SESSION_END)
    assert _leftovers(killed.config) == []


def _leftovers(config: Config) -> list[str]:
    parts = ("calls", "hooks", "sessions", "ledgers/*/leases")
    return [f.name for part in parts for f in config.base_path.glob(f"store/{part}/*")]


# --------------------------------------------------------------------------- what the host hears


@pytest.mark.parametrize(
    ("host", "denial"),
    [
        ("claude-code", lambda a: a["hookSpecificOutput"]["permissionDecision"] == "deny"),
        ("codex", lambda a: a["hookSpecificOutput"]["permissionDecision"] == "deny"),
        ("gemini-cli", lambda a: a["decision"] == "deny" and a["reason"]),
        ("hermes", lambda a: a["action"] == "block" and a["message"]),
    ],
)
def test_block(
    host: str, denial: Callable[[dict[str, Any]], bool], agent_of: Callable[..., Agent]
) -> None:
    """With `on_failure: block`, a call whose target can't be held is denied in the host's words."""
    agent = agent_of(host, on_failure="block", max_file_size_mb=0)
    agent.begin(_SHELLS[host], {"command": "rm keep.txt"})
    assert len(agent.heard) == 1
    assert denial(agent.heard[0])
    assert "keep.txt" in json.dumps(agent.heard[0])


@pytest.mark.parametrize("host", HOSTS)
def test_block_when_nothing_works(host: str, agent_of: Callable[..., Agent]) -> None:
    """With `on_failure: block`, a tool is denied also where the set-up itself is unusable."""
    agent = agent_of(host, on_failure="block", commands={"x": "nonsense"})
    agent.begin(_SHELLS[host], {"command": "rm keep.txt"})
    assert len(agent.heard) == 1
    assert "systemMessage" not in agent.heard[0]


@pytest.mark.parametrize("host", _HOSTS_THAT_TELL_OF_PROMPTS)
def test_lost_protection_is_said_once(host: str, agent_of: Callable[..., Agent]) -> None:
    """A file that can't be held is told to the person once a session, and the tool runs."""
    agent = agent_of(host, max_file_size_mb=0)
    agent.prompt()
    for _ in range(2):
        with agent.bash("rm keep.txt"):
            pass
    assert [list(heard) for heard in agent.heard] == [["systemMessage"]]
    assert "keep.txt" in agent.heard[0]["systemMessage"]


def test_hermes_is_told_on_standard_error(
    agent_of: Callable[..., Agent], capsys: pytest.CaptureFixture[str]
) -> None:
    """Hermes shows hooks' words to nobody, so they go to its log."""
    agent = agent_of("hermes", max_file_size_mb=0)
    with agent.bash("rm keep.txt"):
        pass
    assert agent.heard == []
    assert "keep.txt" in capsys.readouterr().err


def test_switched_off(agent_of: Callable[..., Agent]) -> None:
    """With `enabled: false` no event touches the disk."""
    agent = agent_of(enabled=False)
    agent.prompt()
    with agent.bash("rm keep.txt"):
        pass
    agent(Kind.SESSION_END)
    assert not agent.config.base_path.exists()


def test_rollback_works_when_switched_off(agent_of: Callable[..., Agent]) -> None:
    """A checkpoint that is there can be brought back after `enabled` became false."""
    agent = agent_of()
    agent.prompt()
    with agent.bash("rm keep.txt"):
        (agent.root / "keep.txt").unlink()
    agent.config = agent.config.with_(enabled=False)
    agent.prompt("/rollback 1")
    assert (agent.root / "keep.txt").exists()


@pytest.mark.parametrize("text", ["/rollbacks", "please /rollback 1", "", "rollback 1"])
def test_other_prompts_pass(text: str, agent_of: Callable[..., Agent]) -> None:
    """Only a prompt that begins with the word `/rollback` is kept from the model."""
    assert agent_of().prompt(text) is None


def test_half_a_character(agent_of: Callable[..., Agent]) -> None:
    """A file name that is no valid text is told in JSON that every parser takes."""
    agent = agent_of(max_file_size_mb=0)
    (agent.root / "b\udcff.txt").write_text("x")
    with agent.bash("rm -- *"), agent.tool("Write", {"file_path": "b\udcff.txt"}):
        pass
    assert "\\ud" not in json.dumps(agent.heard)


# --------------------------------------------------------------------------- as a process


@pytest.fixture
def hook(project_dir: Path, home: Path) -> Callable[..., subprocess.CompletedProcess[bytes]]:
    """Runs `hermes-checkpoints hook …` as a host does, with a git store below the scratch home."""
    (project_dir / "keep.txt").write_text("kept\n")

    def run(*words: str, text: bytes = b"", **event: Any) -> subprocess.CompletedProcess[bytes]:
        data = {"session_id": "s", "prompt_id": "p", "cwd": str(project_dir), **event}
        return subprocess.run(
            [*_PYTHON, _MAIN, "hook", *words],
            input=text or json.dumps(data).encode(),
            capture_output=True,
            cwd=project_dir,
        )

    return run


_PYTHON = [sys.executable, "-c"]
_MAIN = "import sys; from hermes_checkpoints.cli import main; sys.exit(main())"


def _rm(name: str, call: str = "c1") -> dict[str, Any]:
    return {
        "hook_event_name": name,
        "tool_name": "Bash",
        "tool_input": {"command": "rm keep.txt"},
        "tool_use_id": call,
    }


def test_the_program(
    hook: Callable[..., subprocess.CompletedProcess[bytes]], project_dir: Path, home: Path
) -> None:
    """Real processes on a git store bring a removed file back, and say nothing on the way."""
    for event in ("PreToolUse", "PostToolUse", "SessionEnd"):
        done = hook("claude-code", **_rm(event))
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
        (project_dir / "keep.txt").unlink(missing_ok=True)
    with CheckpointManager(Config.from_file(enabled=True, auto_prune=False)) as manager:
        assert manager.restore(project_dir, 1).restored == ("keep.txt",)
    assert (project_dir / "keep.txt").read_text() == "kept\n"


def test_parallel_calls(
    hook: Callable[..., subprocess.CompletedProcess[bytes]], project_dir: Path
) -> None:
    """Of hooks that run at the same time, one takes the turn's checkpoint and the others wait."""
    with ThreadPoolExecutor() as pool:
        calls = [pool.submit(hook, "claude-code", **_rm("PreToolUse", f"c{n}")) for n in range(4)]
    assert [c.result().stdout + c.result().stderr for c in calls] == [b""] * 4
    with CheckpointManager(Config.from_file(enabled=True, auto_prune=False)) as manager:
        assert len(manager.list_checkpoints(project_dir)) == 1


def test_installed_twice(
    hook: Callable[..., subprocess.CompletedProcess[bytes]], project_dir: Path, home: Path
) -> None:
    """Two hooks for one call, as when it is installed for the person and the project, are one."""
    for name in ("PreToolUse", "PostToolUse"):
        with ThreadPoolExecutor() as pool:
            for _ in range(3):
                pool.submit(hook, "claude-code", **_rm(name))
        (project_dir / "keep.txt").unlink(missing_ok=True)
    assert _leftovers(Config(base=home / ".hermes" / "checkpoints")) == ["s.json"]
    hook("claude-code", hook_event_name="SessionEnd")
    with CheckpointManager(Config.from_file(enabled=True, auto_prune=False)) as manager:
        assert manager.restore(project_dir, 1).restored == ("keep.txt",)
        book = manager.books.of(manager.project(project_dir))
        assert len([e for e in book.ledger.entries() if e.kind == "agent"]) == 1


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b'{"hook_event_name": 3}', b"\xff\xfe\x00"])
def test_nonsense(text: bytes, hook: Callable[..., subprocess.CompletedProcess[bytes]]) -> None:
    """Whatever comes in, a hook ends with 0 and an empty standard output."""
    done = hook("claude-code", text=text or b" ")
    assert (done.returncode, done.stdout) == (0, b"")


def test_wrong_usage(hook: Callable[..., subprocess.CompletedProcess[bytes]]) -> None:
    """A wrong command line never ends with 2, by which hosts would block every tool."""
    for words in (["nobody"], [], ["claude-code", "--nonsense"]):
        done = hook(*words, **_rm("PreToolUse"))
        assert (done.returncode, done.stdout) == (1, b"")
        assert done.stderr


def test_no_store_to_be_had(
    hook: Callable[..., subprocess.CompletedProcess[bytes]], tmp_path: Path
) -> None:
    """A store that can't be made is told to the person, and the tool runs."""
    (tmp_path / "file").touch()
    done = hook("claude-code", "--base", str(tmp_path / "file"), **_rm("PreToolUse"))
    assert done.returncode == 0
    assert "no checkpoint" in json.loads(done.stdout)["systemMessage"]


@pytest.mark.parametrize("section", ["{max_snapshots: -1}", "{commands: {x: nonsense}}", "[", "3"])
def test_broken_configuration(
    section: str, hook: Callable[..., subprocess.CompletedProcess[bytes]], home: Path
) -> None:
    """A configuration that can't be used is told before a tool runs, and only then."""
    (home / ".hermes").mkdir()
    (home / ".hermes" / "config.yaml").write_text(f"checkpoints: {section}\n")
    done = hook("claude-code", **_rm("PreToolUse"))
    assert done.returncode == 0
    assert "nothing is protected" in json.loads(done.stdout)["systemMessage"]
    assert hook("claude-code", **_rm("PostToolUse")).stdout == b""
    hermes = hook("hermes", **{**_rm("pre_tool_call"), "extra": {}})
    assert (hermes.returncode, hermes.stdout) == (0, b"")
    assert hermes.stderr


@pytest.mark.parametrize(
    ("text", "taken"),
    [
        ("model: x\n", True),
        ("checkpoints: {max_snapshots: 5}\n", True),
        ("checkpoints: {enabled: true}\n", True),
        ("checkpoints: {enabled: false}\n", False),
    ],
)
def test_on_unless_the_file_says_off(
    text: str,
    taken: bool,
    hook: Callable[..., subprocess.CompletedProcess[bytes]],
    home: Path,
) -> None:
    """Who has installed a hook has opted in: it is on unless the file says `enabled: false`."""
    (home / ".hermes").mkdir()
    (home / ".hermes" / "config.yaml").write_text(text)
    hook("claude-code", **_rm("PreToolUse"))
    assert (home / ".hermes" / "checkpoints").exists() is taken


def test_what_follows_a_reading_call_is_light(project_dir: Path) -> None:
    """The hook after a call that only read loads neither the manager nor a store."""
    code = (
        "import sys; from hermes_checkpoints.cli import main; main();"
        "print(*(m for m in sys.modules if m.startswith('hermes_checkpoints')))"
    )
    event = json.dumps({**_rm("PostToolUse"), "session_id": "s", "cwd": str(project_dir)})
    done = subprocess.run(
        [*_PYTHON, code, "hook", "claude-code"], input=event.encode(), capture_output=True
    )
    loaded = set(done.stdout.decode().split())
    assert "hermes_checkpoints.cli.hook" in loaded
    assert not {m for m in loaded if m.split(".")[1:2] in (["manager"], ["stores"], ["records"])}


def test_the_hosts_process() -> None:
    """The session's owner is the host, not the shell through which it starts hooks."""
    code = "from hermes_checkpoints.cli.hook import host_process as p; print(p())"
    quoted = f"{sys.executable} -c '{code}'; true"  # `; true`: the shell stays
    done = subprocess.run(["sh", "-c", quoted], capture_output=True, text=True)
    assert done.stdout.split() == [str(os.getpid())]
    assert host_process() != os.getpid()


_HOST = """
import json, subprocess, sys
def hook(name):
    event = {"hook_event_name": name, "session_id": "s", "prompt_id": "p", "tool_name": "Bash",
             "tool_input": {"command": "rm keep.txt"}, "tool_use_id": "c"}
    shell = [sys.executable, "-m", "hermes_checkpoints.cli", "hook", "claude-code"]
    subprocess.run(shell, input=json.dumps(event).encode(), check=True)
hook("PreToolUse")
subprocess.run("rm keep.txt", shell=True)
hook("PostToolUse")
subprocess.run(sys.argv[1], shell=True, check=True)
"""


@pytest.mark.parametrize("command", ["restore 1", "plan 1", "restore 1; {0} undo"])
def test_a_command_typed_within_the_agent(command: str, project_dir: Path) -> None:
    """A shell that the running agent started restores what that agent wrote as its own."""
    (project_dir / "keep.txt").write_text("kept\n")
    program = f"{sys.executable} -m hermes_checkpoints.cli"
    typed = f"{program} {command.format(program)}; true"
    done = subprocess.run(
        [*_PYTHON, _HOST, typed], cwd=project_dir, capture_output=True, text=True, check=True
    )
    assert "keep.txt" in done.stdout
    assert "still runs" not in done.stdout
    assert (project_dir / "keep.txt").exists() is (command == "restore 1")


def test_the_sweep_comes_at_the_end(
    hook: Callable[..., subprocess.CompletedProcess[bytes]], home: Path
) -> None:
    """A session's end starts a sweep that is due, in a process of its own; a tool call does not."""
    marker = home / ".hermes" / "checkpoints" / ".last_prune"
    hook("claude-code", **_rm("PreToolUse"))
    hook("claude-code", **_rm("PostToolUse"))
    assert not marker.exists()
    done = hook("claude-code", hook_event_name="SessionEnd")
    assert (done.returncode, done.stdout) == (0, b"")
    _wait_for(marker.exists)


@pytest.mark.parametrize(("host", "name"), [("codex", "Stop"), ("claude-code", "UserPromptSubmit")])
def test_upkeep_comes_between_turns(
    host: str, name: str, hook: Callable[..., subprocess.CompletedProcess[bytes]], home: Path
) -> None:
    """In a process of its own, if it was not done lately; a tool call never waits for it."""
    note = home / ".hermes" / "checkpoints" / "store" / "upkeep"
    hook(host, **_rm("PreToolUse"))
    hook(host, **_rm("PostToolUse"))
    assert not note.exists()
    done = hook(host, hook_event_name=name, prompt="go on")
    assert (done.returncode, done.stdout) == (0, b"")
    _wait_for(note.exists)


def _wait_for(condition: Callable[[], bool]) -> None:
    for _ in range(2000):
        if condition():
            return
        subprocess.run([*_PYTHON, "pass"])  # no sleep: another process's time
    raise AssertionError("it never came")
