"""Random shell scripts whose commands are known: each one is a marker `m1`, `m2`, …"""

from __future__ import annotations

import random

_WORDS = (
    "a", "src/x.py", "-n", "--all", "'two words'", '"quoted"', '"$HOME/x"', "$x", '"${x}"', "*.o",
    "a\\ b", "{a,b}", "~/f", "x=1", "2", "'it > that'", '"a && b"', "'$(no)'", "%s", "@", "--k=v",
    '--msg="hi there"', "a'b'c", "é", "''", '""', "[a-z]", "!", "x?", "$1", "$#", "\\;", "\\$x",
)  # fmt: skip
_ODD_WORDS = ("$'a\\tb'", '$"x"', "${x:-d}", "${#x}", "$((1 + 2))", "a$((x<<1))", "${x%.*}")
_REDIRECTS = (
    "> out", ">> log", "2>/dev/null", "2>&1", ">&2", "< in", "&> all", ">| out", "3>&-", "<<< word",
    '> "o p"', "1>x", "&>> all", "<> rw",
)  # fmt: skip


class Maker:
    """Makes one script; `markers` are its commands in the order they stand in the text."""

    def __init__(self, seed: int, *, odd: bool = True) -> None:
        self.random = random.Random(seed)
        self.odd = odd
        self.count = 0

    @property
    def markers(self) -> list[str]:
        return [f"m{number}" for number in range(1, self.count + 1)]

    def script(self) -> str:
        lines = [self.list(2) for _ in range(self.random.choice((1, 1, 1, 2, 3)))]
        return "\n".join(lines)

    def list(self, depth: int) -> str:
        text = self.pipeline(depth)
        for _ in range(self.random.choice((0, 0, 1, 1, 2))):
            text += self.random.choice((" && ", " || ", "; ", " & ")) + self.pipeline(depth)
        return text

    def pipeline(self, depth: int) -> str:
        prefix = self.random.choice(("",) * 12 + ("! ",) + (("time ",) if self.odd else ()))
        parts = [self.command(depth) for _ in range(self.random.choice((1, 1, 1, 2, 3)))]
        return prefix + " | ".join(parts)

    def command(self, depth: int) -> str:
        if depth <= 0 or self.random.random() < 0.7:
            return self.simple(depth)
        makers = [self.subshell, self.group, self.if_, self.while_, self.for_, self.function]
        if self.odd:
            makers += [self.case, self.condition, self.arithmetic, self.heredoc]
        text = self.random.choice(makers)(depth - 1)
        return text + self.redirects(0.15)

    def simple(self, depth: int) -> str:
        self.count += 1
        text = f"m{self.count}"
        if self.random.random() < 0.1:
            text = f"v{self.random.randint(1, 9)}=val {text}"
        for _ in range(self.random.choice((0, 1, 1, 2, 3))):
            text += " " + self.word(depth)
        return text + self.redirects(0.2)

    def word(self, depth: int) -> str:
        roll = self.random.random()
        if depth > 0 and roll < 0.12:
            return self.substitution(depth - 1)
        if self.odd and roll < 0.2:
            return self.random.choice(_ODD_WORDS)
        return self.random.choice(_WORDS)

    def substitution(self, depth: int) -> str:
        inner = self.list(depth)
        forms = ["$( {})", '"$( {})"', "<({})", "x$( {})y", '"a $( {}) b"']
        if self.odd:
            forms += ["'a'$( {})'b'", "${{v:-$( {})}}", "$(( $( {}) + 1 ))"]
        return self.random.choice(forms).format(inner)

    def redirects(self, chance: float) -> str:
        text = ""
        while self.random.random() < chance:
            text += " " + self.random.choice(_REDIRECTS)
        return text

    def subshell(self, depth: int) -> str:
        return f"( {self.list(depth)} )"

    def group(self, depth: int) -> str:
        return f"{{ {self.list(depth)}; }}"

    def if_(self, depth: int) -> str:
        text = f"if {self.list(depth)}; then {self.list(depth)}"
        if self.random.random() < 0.3:
            text += f"; elif {self.list(depth)}; then {self.list(depth)}"
        if self.random.random() < 0.4:
            text += f"; else {self.list(depth)}"
        return text + "; fi"

    def while_(self, depth: int) -> str:
        keyword = self.random.choice(("while", "until"))
        return f"{keyword} {self.list(depth)}; do {self.list(depth)}; done"

    def for_(self, depth: int) -> str:
        words = " ".join(self.word(depth) for _ in range(self.random.randint(1, 3)))
        return f"for i in {words}; do {self.list(depth)}; done"

    def function(self, depth: int) -> str:
        return f"f{self.random.randint(1, 9)}() {{ {self.list(depth)}; }}"

    def case(self, depth: int) -> str:
        return f"case x in a|b) {self.list(depth)};; (*) {self.list(depth)};; esac"

    def condition(self, depth: int) -> str:
        return f"[[ -n $x && a > b ]] && {self.simple(depth)}"

    def arithmetic(self, depth: int) -> str:
        return f"(( x > 5 )) || {self.simple(depth)}"

    def heredoc(self, depth: int) -> str:
        self.count += 1
        return f"m{self.count} <<'EOF'\nm0 > not; rm -rf data\nEOF\n:"
