"""Containers: what runs in one is not local, but bind mounts and copies are."""

from __future__ import annotations

import re

from ..apply import report_outputs
from ..arguments import UNKNOWN, words
from ..call import Call
from ..effects import Kind

_RUN_TAKES = words(
    """
    -v --volume --mount -e --env -w --workdir -p --publish --name -u --user --network --net
    --entrypoint --env-file -l --label --memory -m --cpus --platform --add-host -h --hostname
    --gpus --shm-size --restart --ulimit --cap-add --cap-drop --tmpfs --device --pid --ipc
    --cidfile --iidfile --log-driver --log-opt --dns --security-opt --pull --link --volumes-from
    --userns --stop-signal --expose --health-cmd --runtime --group-add
    """
)
_COMPOSE_TAKES = words(
    """
    -f --file -p --project-name --profile --env-file --project-directory --ansi -e -v --volume
    -w --workdir -u --user --name --entrypoint
    """
)
_GLOBAL_TAKES = ("-H", "--host", "-c", "--context", "--config", "-l", "--log-level")
_SOURCE = re.compile(r"(?:^|,)(?:src|source)=([^,]+)")
_BUILD_TAKES = words(
    """
    -f --file -t --tag --build-arg --target --platform -o --output --iidfile --metadata-file
    --cache-from --cache-to --secret --ssh --label --network --progress
    """
)


def docker(call: Call) -> None:
    """docker, podman, nerdctl."""
    parsed = call.parse(_GLOBAL_TAKES, style="first")
    words = parsed.operands
    if words[:1] in (["container"], ["image"], ["buildx"]):
        words = words[1:]
    if not words:
        return
    verb, inner = words[0], Call(call.walk, call.name, words[1:], call.stdin)
    if verb in ("run", "create"):
        _run(inner)
    elif verb == "cp":
        operands = inner.parse(()).operands
        if operands and not re.match(r"[\w.-]{2,}:", operands[-1]):
            call.effect(Kind.WRITE, operands[-1])
    elif verb in ("save", "export"):
        for path in inner.parse(("-o", "--output")).values("-o", "--output"):
            call.effect(Kind.WRITE, path)
    elif verb == "compose":
        compose(inner)
    elif verb in ("build", "bake"):
        _build(inner)
    elif verb == "init":
        call.here(Kind.WRITE, "init")
    elif verb in ("login", "logout") or words[:2] in (["context", "use"], ["context", "create"]):
        call.effect(Kind.WRITE, call.walk.state.home + "/.docker/config.json", certain=False)
    elif verb not in ("exec", "ps", "images", "logs", "inspect"):
        report_outputs(inner, "-o")
    elif verb in ("machine", "sbx", "model"):
        call.unknown()


def _build(call: Call) -> None:
    parsed = call.parse(_BUILD_TAKES)
    for output in parsed.values("-o", "--output"):
        destination = re.search(r"dest=([^,]+)", output)
        if destination or "=" not in output:
            call.effect(Kind.WRITE, destination[1] if destination else output)
    for path in parsed.values("--iidfile", "--metadata-file"):
        call.effect(Kind.WRITE, path)


def _run(call: Call) -> None:
    parsed = call.parse(_RUN_TAKES, style="first")
    for path in parsed.values("--cidfile"):
        call.effect(Kind.WRITE, path)
    for volume in parsed.values("-v", "--volume", "--mount"):
        source = _bind_source(volume)
        if source is not None:
            call.effect(Kind.UNKNOWN, source, certain=False)
            _mounted(call, volume, source, parsed.operands[1:])


def _bind_source(volume: str) -> str | None:
    """The host directory a volume option makes writable, if it does."""
    if volume.endswith((":ro", ":ro,z", ":ro,Z")) or re.search(r"readonly|,ro(?:,|$)", volume):
        return None
    match = _SOURCE.search(volume)
    if match:
        host = match[1]
    elif "type=" in volume:
        return None
    else:
        host = (
            volume.partition(":")[0]
            if not re.match(r"[A-Za-z]:\\", volume)
            else volume[:2] + volume[2:].partition(":")[0]
        )
    named = re.fullmatch(r"[A-Za-z0-9][\w.-]+", host)
    return None if named or (host == volume and not host.startswith(("/", ".", UNKNOWN))) else host


def _mounted(call: Call, volume: str, source: str, command: list[str]) -> None:
    """Paths of the command inside the mount, as paths of the host."""
    inside = re.search(r"(?:dst|destination|target)=([^,]+)", volume)
    mount = inside[1] if inside else (volume[len(source) + 1 :].partition(":")[0])
    if not mount.startswith("/") or mount == "/":
        return
    for word in command:
        if word.startswith(mount.rstrip("/") + "/"):
            tail = word[len(mount.rstrip("/")) :]
            call.effect(Kind.UNKNOWN, source.rstrip("/") + tail, certain=False)


def compose(call: Call) -> None:
    """docker compose: services may mount what the compose file says."""
    parsed = call.parse(_COMPOSE_TAKES, style="first")
    verb = parsed.operands[0] if parsed.operands else ""
    if verb in ("run", "up", "start", "restart", "create", "watch"):
        call.walk.unknown((call.name, "compose", verb))
    elif verb in ("config", "convert", "export"):
        report_outputs(Call(call.walk, call.name, parsed.operands[1:]), "-o")
    elif verb == "cp":
        operands = parsed.operands[1:]
        if operands and not re.match(r"[\w.-]{2,}:", operands[-1]):
            call.effect(Kind.WRITE, operands[-1])


def kubectl(call: Call) -> None:
    """kubectl and oc: `cp` from a pod writes here."""
    takes = ("-n", "--namespace", "-c", "--container", "--context", "--kubeconfig", "-o", "-f",
             "-l", "--output-directory", "-k")  # fmt: skip
    parsed = call.parse(takes)
    words = parsed.operands
    if words[:1] in (["cp"], ["rsync"]) and len(words) > 2:
        if not re.match(r"[\w./-]{2,}:", words[-1]):
            call.effect(Kind.WRITE, words[-1])
    elif words[:1] == ["config"] and words[1:2] not in (
        ["view"],
        ["current-context"],
        ["get-contexts"],
        ["get-clusters"],
    ):
        named = parsed.values("--kubeconfig") or [call.walk.state.home + "/.kube/config"]
        call.effects(Kind.WRITE, named, certain=False)
    elif words[:1] == ["kustomize"]:
        report_outputs(call, "-o")
    elif words[:1] in (["login"], ["logout"], ["project"]) and call.name == "oc":
        call.effect(Kind.WRITE, call.walk.state.home + "/.kube/config", certain=False)
    for path in parsed.values("--output-directory"):
        call.effect(Kind.WRITE, path)


def vagrant(call: Call) -> None:
    """vagrant: what runs in the machine is not local."""
    verb = call.args[0] if call.args else ""
    if verb in ("up", "init", "destroy", "provision", "reload", "package"):
        call.here(Kind.WRITE, verb)
