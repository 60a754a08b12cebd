"""The walk: a syntax tree and the rules give the effects.

It follows what a shell would do as far as the text alone tells: the working directory, variables,
functions and aliases set in the same text, branches, loops, pipes, and text that is itself code.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from itertools import takewhile
from typing import TypeVar

from . import builtin
from .apply import apply, looks_like_path, report_outputs
from .arguments import (
    GUESS,
    QUERY,
    SET,
    STAR,
    UNKNOWN,
    is_literal,
    resolve,
    route,
    shown,
    source,
    strays,
)
from .call import Call, is_sink
from .effects import Effect, Kind
from .programs import handler
from .rules import Rules
from .rules.grammar import Rule
from .syntax import (
    Assignment,
    Command,
    Compound,
    Node,
    Opaque,
    Pipeline,
    Redirect,
    Script,
    Step,
    Word,
)
from .words import MAX_PLACES, Budget, Expander, State, Value

MAX_DEPTH = 40
MAX_UNROLLED = 32
MAX_DEFINITIONS = 256
MAX_EFFECTS = 20_000
_DESCRIPTOR = re.compile(r"-|\d+-?")
_BIN = re.compile(  # directories of installed programs: absolute, or of an environment
    r"/(?:.*/)?(?:s?bin|\.bin|shims|libexec|Scripts)"
    r"|(?:.*/)?(?:node_modules/\.bin|vendor/bin|\.?v?env[^/]*/(?:bin|Scripts))",
    re.S,
)
_VERSION = re.compile(r"-?\d+(?:\.\d+)*$")
_SUFFIX = re.compile(r"\.(?:exe|cmd|bat|com|ps1)$", re.I)
_FORGED = re.compile("[\1-\x08]")
_LISTERS = {  # programs that list files, and the flags or verbs without which they do not
    "find": frozenset[str](),
    "bfs": frozenset[str](),
    "git": frozenset(("ls-files", "grep", "diff")),
    "grep": frozenset(("-l", "-rl", "-lr", "-Rl", "-rlE", "-ril", "-lri", "-rlZ", "-lrZ", "-rlw")),
    "rg": frozenset(("-l", "--files-with-matches", "--files", "-il", "-li", "-l0", "-0l")),
    "ag": frozenset(("-l", "--files-with-matches")),
    "Get-ChildItem": frozenset[str](),
    "Get-Item": frozenset[str](),
    "gci": frozenset[str](),
    "gi": frozenset[str](),
}
_STDIN = (None, "", "0")  # the descriptors whose redirection feeds a program
_RUN_FROM_ENVIRONMENT = frozenset(  # variables other programs run the value of
    ("EDITOR", "VISUAL", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "GIT_EXTERNAL_DIFF", "GIT_PAGER",
     "GIT_SSH_COMMAND", "GIT_SSH", "GIT_ASKPASS", "SSH_ASKPASS", "PAGER", "MANPAGER", "BROWSER")
)  # fmt: skip
_EXITS = frozenset(("exit", "return", "break", "continue", "exec"))


Definition = TypeVar("Definition")


class Walk:
    """One classification. `read` turns nested text into a script, `rules` names the programs."""

    def __init__(
        self, place: str, home: str, rules: Rules, read: Callable[[str], Script | Opaque]
    ) -> None:
        self.start = place
        self.rules = rules
        self.read = read
        self.budget = Budget()
        self.state = State((place,), home)
        self.expander = Expander(self.budget, self.output_of)
        self.found: dict[tuple[object, ...], Effect] = {}
        self.programs: dict[str, None] = {}
        self.trouble = ""
        self.stdin: str | None = None
        self.roots: tuple[str, ...] = ()
        self.listed: tuple[str, ...] = ()
        self.likely: tuple[str, ...] = ()
        self.depth = 0
        self.guesses = 0
        self.scopes: list[dict[str, Value | None]] = []
        self.traps: list[tuple[str, tuple[str, ...]]] = []
        self.visited: dict[str | None, None] = {place: None}

    # -- reporting

    def effect(
        self,
        kind: Kind,
        target: str,
        evidence: tuple[str, ...],
        *,
        certain: bool = True,
        sources: Collection[str] = (),
    ) -> None:
        if self.roots and target.startswith(UNKNOWN):
            roots, self.roots = self.roots, ()
            for root in roots:
                self.effect(kind, root, evidence, certain=False)
            self.roots = roots
            return
        if self.likely and target.startswith(UNKNOWN):
            likely, self.likely = self.likely, ()
            for root in likely:
                self.effect(kind, root, evidence, certain=False)
            self.likely = likely
        for place in self.state.places:
            path, sure = resolve(target, place)
            sure = sure and certain and not self.guesses and len(self.state.places) == 1
            way = route(target, place)
            way = way if strays(way) else ""
            what = tuple(filter(None, (route(source, place) for source in sources)))
            if len(self.found) < MAX_EFFECTS:
                key = (kind, path, sure, way, what)
                self.found.setdefault(key, Effect(kind, path, sure, evidence, way, what))

    def unknown(self, evidence: tuple[str, ...]) -> None:
        """Anything may change: below the working directory, if that was moved, else anywhere."""
        for place in self.state.places:
            path = None if place == self.start else place
            key = (Kind.UNKNOWN, path, False, "", ())
            self.found.setdefault(key, Effect(Kind.UNKNOWN, path, False, evidence))

    # -- scripts and nodes

    def script(self, steps: Script) -> None:
        """Run steps, list by list.

        Within a list `a && b || c` a `cd` is taken to have worked, for else the list had gone
        another way; after it, it may as well have failed, unless failure ends the script.
        """
        state = self.state
        start, before, guarded = state.places, "", False
        failing: tuple[str | None, ...] = ()
        for step in steps:
            places = self.state.places
            if step.op == "&":
                self.subshell((Step(step.node),))
            elif before == "||":
                guarded = self.otherwise(step.node, failing) or guarded
            elif before == "&&":
                self.perhaps(step.node)
            else:
                self.node(step.node)
            failing = tuple(dict.fromkeys((*places, *failing)))[:MAX_PLACES]
            if isinstance(step.node, Compound):  # it may have moved before it failed
                failing = tuple(dict.fromkeys((*self.state.places, *failing)))[:MAX_PLACES]
            before = step.op
            if step.op in ("&&", "||"):
                continue
            state = self.state
            if state.places != start and not guarded and not state.strict:
                state.places = tuple(dict.fromkeys(state.places + start))[:MAX_PLACES]
            start, guarded, failing = state.places, False, ()

    def perhaps(self, node: Node) -> None:
        """Run what follows `&&`: a function it defines may as well not be there."""
        before = self.state.functions if isinstance(node, Compound) else None
        self.node(node)
        if before is not None and node.kind == "function":  # type: ignore[union-attr]
            self.state.doubted = self.state.doubted | {node.name}  # type: ignore[union-attr]

    def otherwise(self, node: Node, places: tuple[str | None, ...]) -> bool:
        """Run what follows `||`, in the places the part that failed may have left it in.

        A simple command that fails has moved nothing: it is where it was when it started.
        Whether the node ends the script.
        """
        succeeded = self.state
        self.state = succeeded.copy()
        self.state.places = places
        self.node(node)
        failed, self.state = self.state, succeeded
        if _exits(node):
            return True
        succeeded.merge(failed)
        return False

    def node(self, node: Node) -> None:
        if self.depth >= MAX_DEPTH or not self.budget.spend("commands"):
            self.trouble = self.trouble or "it is nested too deeply or too long"
            self.unknown(("…",))
            return
        self.depth += 1
        try:
            if isinstance(node, Command):
                self.command(node)
            elif isinstance(node, Pipeline):
                self.pipeline(node)
            elif isinstance(node, Compound):
                self.compound(node)
            else:
                self.opaque(node.why)
        finally:
            self.depth -= 1

    def opaque(self, why: str) -> None:
        self.trouble = self.trouble or why
        self.unknown((why,))

    def subshell(self, steps: Script) -> None:
        """Run steps in a process of their own: what they set is forgotten."""
        if not steps:
            return
        saved, stdin, traps = self.state.copy(), self.stdin, self.traps
        self.traps = []
        self.script(steps)
        self.finish()
        self.state, self.stdin, self.traps = saved, stdin, traps

    def finish(self) -> None:
        """Run what was left for the end (`trap … EXIT`): in any place the text has been in."""
        traps, self.traps = self.traps, []
        for text, evidence in traps:
            places = (*self.state.places, *self.visited)
            self.state.places = tuple(dict.fromkeys(places))[: 2 * MAX_PLACES]
            self.text(text, evidence)

    def text(self, text: str, evidence: tuple[str, ...], *, same_process: bool = False) -> None:
        """Run shell text found inside a command."""
        if not self.budget.spend("characters", len(text)) or not self.budget.spend("calls"):
            self.unknown(evidence)
            return
        steps = self.read(text)
        if isinstance(steps, Opaque):
            self.opaque(steps.why)
        elif same_process:
            self.script(steps)
        else:
            self.subshell(steps)

    @contextmanager
    def working_in(self, directories: list[str]) -> Iterator[None]:
        """Work in these directories, each relative to the one before (`-C a -C b`)."""
        saved = self.state.places
        for directory in directories:
            self.state.places = self.moved(directory)
        try:
            yield
        finally:
            self.state.places = saved

    @contextmanager
    def located(self, roots: list[str]) -> Iterator[None]:
        """Paths that are not known are somewhere below `roots`."""
        saved, self.roots = self.roots, tuple(roots)
        try:
            yield
        finally:
            self.roots = saved

    @contextmanager
    def guessing(self) -> Iterator[None]:
        """What runs now runs only maybe, and with arguments the text does not show."""
        self.guesses += 1
        try:
            yield
        finally:
            self.guesses -= 1

    def moved(self, directory: str) -> tuple[str | None, ...]:
        """The places `cd directory` may lead to."""
        if any(mark in directory for mark in (UNKNOWN, STAR, QUERY, SET)):
            return (None,)
        moved = tuple(
            dict.fromkeys(resolve(directory or ".", place)[0] for place in self.state.places)
        )
        if len(self.visited) < 2 * MAX_PLACES:
            self.visited.update(dict.fromkeys(moved))
        return moved

    # -- compounds

    def pipeline(self, node: Pipeline) -> None:
        stdin, listed = self.stdin, self.listed
        for command in node.commands:
            saved = self.state.copy()
            self.node(command)
            self.state = saved
            printed = self.output_of((Step(command),))
            self.stdin = UNKNOWN if printed is None else printed
            self.listed = self.roots_of(command) or (self.listed if _filters(command) else ())
        self.stdin, self.listed = stdin, listed

    def compound(self, node: Compound) -> None:
        stdin = self.stdin
        fed = self.redirects(node.redirects)
        self.stdin = fed if fed is not None else stdin
        kind = node.kind
        if kind in ("subshell", "coproc"):
            self.subshell(node.bodies[0])
        elif kind == "function":
            self.define(self.state.functions, node.name, node.bodies[0])
        elif kind in ("if", "case"):
            self.branches(node)
        elif kind in ("for", "select"):
            self.loop(node)
        elif kind in ("while", "until"):
            with self.listing(node):
                self.repeat(node.bodies)
        else:
            for body in node.bodies:
                self.script(body)
        self.stdin = stdin

    @contextmanager
    def listing(self, node: Compound) -> Iterator[None]:
        """`ls … | while read f`: what is not known is most likely a file that is listed."""
        saved = self.likely
        self.likely = self.listed
        yield
        self.likely = saved

    def define(self, names: dict[str, Definition], name: str, body: Definition) -> None:
        """Define a function or an alias; too many to follow may hide anything."""
        if len(names) < MAX_DEFINITIONS or name in names:
            names[name] = body
        else:
            self.unknown((name,))

    def branches(self, node: Compound) -> None:
        """Each branch from the same state; afterwards any of them may have run."""
        for word in node.words or ():
            self.run_inside(word)
        bodies = list(node.bodies)
        outcomes: list[State] = []
        if node.kind == "if":
            while len(bodies) >= 2:
                self.script(bodies.pop(0))
                outcomes.append(self.branch(bodies.pop(0)))
        outcomes += [self.branch(body) for body in bodies]
        if node.kind == "if" and bodies:
            self.state = outcomes.pop()  # there is an else: one of the branches did run
        for outcome in outcomes:
            self.state.merge(outcome)

    def branch(self, body: Script) -> State:
        saved = self.state.copy()
        self.script(body)
        ended, self.state = self.state, saved
        return saved.copy() if body and _exits(body[-1].node) else ended

    def loop(self, node: Compound) -> None:
        for word in node.words or ():
            self.run_inside(word)
        *head, body = node.bodies
        for steps in head:
            self.script(steps)
        if node.words is None:
            items: list[str] = [UNKNOWN]
        else:
            items = self.expander.arguments(node.words, self.state)
        unroll = (
            node.kind == "for"
            and 0 < len(items) <= MAX_UNROLLED
            and self.budget.spend("iterations", len(items))
        )
        if unroll:
            for item in items:
                self.state.assign(node.name, item)
                self.script(body)
        elif items or not node.name:
            if node.name:
                self.state.assign(node.name, UNKNOWN)
            self.repeat((body,))

    def repeat(self, bodies: tuple[Script, ...]) -> None:
        """A loop body that runs any number of times: what it assigns is unknown, also within."""
        before = self.state.copy()
        for name in _assigned(bodies):
            self.state.assign(name, UNKNOWN)
        for body in bodies:
            self.script(body)
        self.state.merge(before)

    # -- simple commands

    def command(self, node: Command) -> None:
        for assignment in node.assignments:
            value = assignment.value
            for word in (value,) if isinstance(value, Word) else value:
                self.run_inside(word)
        for word in node.words:
            self.run_inside(word)
        stdin = self.stdin
        fed = self.redirects(node.redirects)
        if not node.words:
            for assignment in node.assignments:
                self.assign(assignment)
            return
        args = self.expander.arguments(node.words, self.state)
        variables, home = self.state.variables, self.state.home
        saved = {
            assignment.name: variables.get(assignment.name)
            for assignment in node.assignments
            if isinstance(assignment.value, Word)  # else it is `declare -a x=(…)`
        }
        for assignment in node.assignments:
            self.assign(assignment)
        if args:
            self.run(args, stdin if fed is None else fed, direct=True)
        if saved:  # they were in the environment of this one command
            self.restore(saved)
            self.state.home = home if "HOME" in saved else self.state.home

    def restore(self, saved: dict[str, Value | None]) -> None:
        """Variables have their old values again."""
        for name, value in saved.items():
            self.state.variables.pop(name, None)
            if value is not None:
                self.state.variables[name] = value

    def run_inside(self, word: Word) -> None:
        """Run the commands a word's expansion runs."""
        for part in word.parts:
            if part.body:
                self.subshell(part.body)

    def assign(self, assignment: Assignment) -> None:
        variables, name, value = self.state.variables, assignment.name, assignment.value
        if not isinstance(value, Word):
            items = tuple(self.expander.arguments(value, self.state))
            old: Value = variables.get(name, ())
            if assignment.append:
                items = (*old, *items) if isinstance(old, tuple) else (UNKNOWN,)
            self.state.assign(name, items)
            return
        text = self.expander.assigned(value, self.state)
        if assignment.append:
            old = variables.get(name, UNKNOWN)
            text = old + text if isinstance(old, str) else UNKNOWN
        if any(part.kind == "arithmetic" for part in value.parts) and len(value.parts) > 1:
            text = UNKNOWN  # an element of an array
        self.state.assign(name, text if len(text) <= 1 << 16 else UNKNOWN)
        self.named(name, text)

    def named(self, name: str, text: str) -> None:
        """A variable that names a program: whatever runs next may run it."""
        if name in _RUN_FROM_ENVIRONMENT and text and UNKNOWN not in text:
            with self.guessing():
                self.text(source(text), (f"{name}=", shown(text)[:60]))
        elif name in ("BASH_ENV", "ENV") and text and not is_sink(text):
            self.unknown((f"{name}=", shown(text)[:60]))
        elif name == "PS4" and ("$(" in text or "`" in text):
            self.text(f'"{source(text)}"', (f"{name}=", shown(text)[:60]))

    def redirects(self, redirects: tuple[Redirect, ...]) -> str | None:
        """Report what redirections write; the text they feed to standard input, if any."""
        fed: str | None = None
        for redirect in redirects:
            if redirect.heredoc is not None:
                self.subshell(redirect.heredoc.body)
                if redirect.fd in _STDIN:
                    fed = self.heredoc_text(redirect)
                continue
            self.run_inside(redirect.target)
            if redirect.op == "<<<":
                text = source(self.expander.single(redirect.target, self.state))
                fed = text if redirect.fd in _STDIN else fed
            elif redirect.op == "<":
                fed = UNKNOWN if redirect.fd in _STDIN else fed
            elif redirect.op == "<&" and redirect.fd in _STDIN:
                fed = UNKNOWN
            elif redirect.op != "<&":
                self.write_redirect(redirect)
        return fed

    def heredoc_text(self, redirect: Redirect) -> str:
        heredoc = redirect.heredoc
        assert heredoc is not None
        if heredoc.quoted or not re.search(r"[$`\\]", heredoc.text):
            return heredoc.text
        return self.expander.heredoc(heredoc.text, self.state)

    def write_redirect(self, redirect: Redirect) -> None:
        literal = redirect.target.literal
        if redirect.op == ">&":
            only_variable = literal is None and len(redirect.target.parts) == 1
            if only_variable or (literal is not None and _DESCRIPTOR.fullmatch(literal)):
                return
        target = self.expander.single(redirect.target, self.state)
        if is_sink(target):
            return
        kind = Kind.APPEND if redirect.op.endswith(">>") else Kind.WRITE
        self.effect(kind, target, (redirect.op, shown(target)))

    # -- programs

    def run(self, args: list[str], stdin: str | None = None, *, direct: bool = False) -> None:
        """Run one program with its arguments; only the shell itself, `direct`, runs functions."""
        first = next((at for at, arg in enumerate(args) if arg), None)
        if first is None:
            return
        args = args[first:] if first else args
        if self.depth >= MAX_DEPTH or not self.budget.spend("commands"):
            self.unknown(("…",))
            return
        word = args[0]
        if not is_literal(word):
            if word.startswith(GUESS) and is_literal(word[1:]):
                self.run([word[1:], *args[1:]], stdin, direct=direct)
            self.unknown((shown(word),))
            return
        self.depth += 1
        saved, self.stdin = self.stdin, stdin
        try:
            self.dispatch(word, args[1:], stdin, direct=direct)
        finally:
            self.depth -= 1
            self.stdin = saved

    def dispatch(
        self, word: str, args: list[str], stdin: str | None, *, direct: bool = False
    ) -> None:
        if direct and "/" not in word and self.defined_here(word, args):
            return
        name = self.program(word)
        self.programs.setdefault(name)
        call = Call(self, name, args, stdin)
        if name in builtin.BUILTINS:
            builtin.BUILTINS[name](call)
            return
        rule = self.rules.find(name)
        if rule is None:
            self.stranger(call)
        else:
            self.apply(rule, call)
        for added, rest in self.rules.added(name, args):
            self.apply(added, Call(self, name, rest, stdin))

    def program(self, word: str) -> str:
        """The name a program has rules under; a path of its own stays a path, which has none."""
        name = _SUFFIX.sub("", word)
        directory, slash, base = name.rpartition("/")
        if slash and _BIN.fullmatch(directory):
            name = base
        elif slash and self.rules.find("./" + base) is not None:
            name = "./" + base  # a project's own wrapper: ./gradlew
        if self.rules.find(name) is None and (version := _VERSION.search(name)):
            name = name[: version.start()]  # python3.12, clang-format-15
        return name

    def defined_here(self, word: str, args: list[str]) -> bool:
        """Run `word` if the text defined an alias or a function of that name."""
        state = self.state
        if word in state.aliases:
            alias = state.aliases.pop(word)
            self.text(" ".join((alias, *map(quoted, args))), (word,), same_process=True)
            self.state.aliases[word] = alias
            # A script expands no alias before `expand_aliases`, nor one of the same line.
            return self.rules.find(self.program(word)) is None
        body = state.functions.get(word)
        if body is None:
            return False
        if not self.budget.spend("calls"):
            self.unknown((word,))
            return True
        self.scopes.append({})
        with self.positional(args):
            del self.state.functions[word]  # a recursion would only say the same again
            self.script(body)
            self.state.functions[word] = body
        self.restore(self.scopes.pop())
        return word not in state.doubted

    def local(self, name: str) -> None:
        """A variable becomes the function's own: its old value comes back afterwards."""
        if self.scopes:
            self.scopes[-1].setdefault(name, self.state.variables.get(name))

    @contextmanager
    def positional(self, args: list[str]) -> Iterator[None]:
        """Run something with these positional parameters."""
        names = [*map(str, range(1, 10)), "@", "*"]
        saved: dict[str, Value | None] = {n: self.state.variables.get(n) for n in names}
        self.set_positional(args)
        yield
        self.restore(saved)

    def set_positional(self, args: list[str]) -> None:
        variables = self.state.variables
        for number in range(1, 10):
            variables[str(number)] = args[number - 1] if number <= len(args) else ""
        variables["@"] = variables["*"] = tuple(args)

    def apply(self, rule: Rule, call: Call) -> None:
        """Do what the rule says, after looking up what it refers to."""
        if rule.same_as:
            call = Call(self, call.name, call.args, call.stdin)
            target = self.rules.find(rule.same_as)
            rule = target if target is not None else rule
        if rule.subcommands:
            found = self.subcommand(rule, call)
            if found is not None:
                self.apply(*found)
                return
        if rule.handler:
            handler(rule.handler)(call)
            return
        if rule.runs is None and not rule.scripts and _asks_help(call.args):
            return
        apply(rule, call)
        if rule.runs is None and call.args and all(a.where[0][0] == "-" for a in rule.actions):
            report_outputs(call, *(("-o",) if rule.output else ()))

    def subcommand(self, rule: Rule, call: Call) -> tuple[Rule, Call] | None:
        """The entry for `program subcommand`, and the call with the subcommand cut out."""
        parsed = call.parse(rule.takes, rule.knows, style="first")
        if _asks_help(call.args[: parsed.rest]):
            return Rule(), call
        if not parsed.operands:
            return None
        name = f"{call.name} {parsed.operands[0]}"
        found = self.rules.find(name)
        if found is None:
            return (Rule(), call) if parsed.operands[0] in ("help", "version") else None
        args = parsed.operands[1:]
        if not found.handler:
            args = call.args[: parsed.rest] + args
            found = found.within(rule) if rule.takes else found
        return found, Call(self, name, args, call.stdin)

    def stranger(self, call: Call) -> None:
        """A program nobody knows: it may change anything, and most likely what it is told of."""
        if _asks_help(call.args) and len(call.args) == 1 and "/" not in call.name:
            return
        call.unknown()
        for argument in call.args:
            value = argument.partition("=")[2] if argument.startswith("-") else argument
            if value and looks_like_path(value):
                self.effect(Kind.UNKNOWN, value, (call.name, shown(argument)), certain=False)

    @staticmethod
    def requoted(argument: str) -> str:
        """An argument as shell source that yields it again."""
        return quoted(argument)

    # -- what commands print

    def roots_of(self, node: Node) -> tuple[str, ...]:
        """The directories below which a command lists files, when it is one that lists files."""
        if not isinstance(node, Command) or not node.words:
            return ()
        name = node.words[0].literal or ""
        lister = _LISTERS.get(name)
        if name == "ls":
            return self.listed_by_ls(node)
        if lister is None:
            return ()
        args = self.expander.arguments(node.words[1:], self.state)
        if not lister:  # find: operands up to the first test
            return tuple(takewhile(lambda arg: arg[:1] not in ("-", "(", "!"), args)) or (".",)
        if not lister.intersection(args):
            return ()
        operands = [arg for arg in args if not arg.startswith("-")]
        if node.words[0].literal == "git":
            return (".",)
        return tuple(operands[1:]) or (".",)

    def listed_by_ls(self, node: Command) -> tuple[str, ...]:
        """What `ls` names: its operands, or files of the directory, whose names it prints bare."""
        args = self.expander.arguments(node.words[1:], self.state)
        named = tuple(arg for arg in args if not arg.startswith("-"))
        globs = all(STAR in arg or QUERY in arg for arg in named)
        return named if named and globs else (*named, ".")

    def output_of(self, steps: Script) -> str | None:
        """What the steps print, when the text alone tells; None otherwise."""
        if len(steps) != 1 or not isinstance(steps[0].node, Command):
            return None
        node = steps[0].node
        if not node.words:
            return None
        for redirect in node.redirects:
            if redirect.heredoc is None:
                return None
        if node.words[0].literal not in ("echo", "printf", "pwd", "cat", "dirname", "basename"):
            return None
        args = self.expander.arguments(node.words, self.state)
        if args == ["cat"] and len(node.redirects) == 1:
            return self.heredoc_text(node.redirects[0])
        text = None if node.redirects else builtin.printed(args, self.state)
        return None if text is None else _FORGED.sub(UNKNOWN, text)


def _asks_help(args: list[str]) -> bool:
    for arg in args:
        if arg == "--":
            return False
        if arg in ("--help", "--version"):
            return True
    return args in (["-V"], ["-h"], ["-version"])


def _filters(node: Node) -> bool:
    """Whether a command of a pipe passes on some of the lines it reads."""
    word = node.words[0].literal if isinstance(node, Command) and node.words else None
    return word in ("grep", "egrep", "head", "tail", "sort", "uniq", "tee", "rg")


def _exits(node: Node) -> bool:
    """Whether the shell is left, or the loop, when this node has run."""
    if isinstance(node, Command):
        return bool(node.words) and node.words[0].literal in _EXITS
    if isinstance(node, Compound) and node.kind == "group":
        return bool(node.bodies[0]) and _exits(node.bodies[0][-1].node)
    return False


def _assigned(bodies: tuple[Script, ...]) -> set[str]:
    """The variables simple commands in these bodies assign, at any depth a loop has."""
    names: set[str] = set()
    work: list[Node] = [step.node for body in bodies for step in body]
    while work:
        node = work.pop()
        if isinstance(node, Command):
            if not node.words:
                names.update(assignment.name for assignment in node.assignments)
        elif isinstance(node, Compound):
            work += [step.node for body in node.bodies for step in body]
            if node.kind == "for":
                names.add(node.name)
    return names


def quoted(argument: str) -> str:
    """An argument as shell source that yields it again."""
    text = source(argument)
    plain = r"[^\w@%+=:,./\0*?\[\]-]" if text != argument else r"[^\w@%+=:,./\0-]"
    if text and not re.search(plain, text):
        return text
    return "'" + text.replace("'", "'\\''") + "'"
