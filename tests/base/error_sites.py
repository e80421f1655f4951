"""Sentences of all errors that emdp's code makes, read from its syntax trees, and the table that numbers them.

``python -m tests.base.error_sites`` adds what is new to ``emdp/base/codes.tsv``: a sentence that was only reworded
keeps its number, and one that is said no more stays in the table.
"""

import ast
import difflib
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "emdp" / "base" / "codes.tsv"

Line = tuple[str, str, str]
"""Class, name and sentence of an error."""

LEAST_WORDS = 12
"""Characters that a sentence has beside its gaps, so that it is told from others."""

ALIKE = 0.75
"""Likeness from which on a new sentence is an old one that was reworded."""

HELPERS = ("Reason", "Unsupported", "_refusal", "refusal", "_refused", "option_refusal", "_about")
"""What makes refusals of statements from a code, a problem and a remedy, by name or by place."""


def classes() -> list[str]:
    """Return the names of all classes of errors, those above first."""
    from emdp.base import errors

    found = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.EmdpError)]
    return [kind.__name__ for kind in found]


def texts(node: ast.expr | None, function: ast.AST | None = None, module: ast.Module | None = None) -> list[str]:
    """Return the texts that an expression may be, with ``{}`` for what is not known."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and module is not None:
        returned = [
            text
            for own in module.body
            if isinstance(own, ast.FunctionDef) and own.name == node.func.id
            for one in ast.walk(own)
            if isinstance(one, ast.Return)
            for text in texts(one.value, own)
        ]
        return returned or ["{}"]
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value]
    if isinstance(node, ast.JoinedStr):
        parts = [[value.value] if isinstance(value, ast.Constant) else ["{}"] for value in node.values]
        return ["".join(str(part[0]) for part in parts)]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return [one + other for one in texts(node.left, function) for other in texts(node.right, function)]
    if isinstance(node, ast.IfExp):
        return [*texts(node.body, function), *texts(node.orelse, function)]
    if isinstance(node, ast.Name) and function is not None:
        assigned = [
            text
            for own in ast.walk(function)
            if isinstance(own, ast.Assign) and any(isinstance(to, ast.Name) and to.id == node.id for to in own.targets)
            for text in texts(own.value)
        ]
        return assigned or ["{}"]
    return ["{}"]


def _owners(tree: ast.Module) -> Iterator[tuple[ast.Call, ast.AST | None]]:
    """Yield each call with the function that it stands in."""

    def below(node: ast.AST, function: ast.AST | None) -> Iterator[tuple[ast.Call, ast.AST | None]]:
        for child in ast.iter_child_nodes(node):
            inner = child if isinstance(child, ast.FunctionDef) else function
            if isinstance(child, ast.Call):
                yield child, function
            yield from below(child, inner)

    yield from below(tree, None)


def sites() -> list[Line]:
    """Return class, name and sentence of all errors in the code: those of statements by name, one sentence each."""
    kinds, found, named = set(classes()), {}, {}
    for path in sorted((ROOT / "emdp").rglob("*.py")):
        module = ast.parse(path.read_text(encoding="utf-8"))
        for call, function in _owners(module):
            word = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
            keywords = {one.arg: one.value for one in call.keywords}
            code = _code(word, call, keywords)
            if code:
                said = _refusal(call, keywords, code, function)
                if len(said.replace("{}", "")) > len(named.get(code, "")):
                    named[code] = said
            elif word in kinds and call.args and not {"SqlError", "ReportError"} & {word}:
                for text in texts(call.args[0], function, module):
                    for rest in texts(keywords["remedy"], function) if "remedy" in keywords else [""]:
                        sentence = _clean(f"{text}; {rest}" if rest else text)
                        if word == "NotLipschitzError":
                            sentence = f"`{{}}` in `{{}}` {sentence}"
                        if len(sentence.replace("{}", "")) >= LEAST_WORDS:
                            found[word, "", sentence] = None
    for name in _recorded():
        named.setdefault(name, "")
    return [*found, *(("SqlError", name, sentence) for name, sentence in sorted(named.items()))]


def _clean(text: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"(\{\})+", "{}", text)).strip()


def _code(word: str, call: ast.Call, keywords: dict[str | None, ast.expr]) -> str:
    """Return the name of the refusal of a statement that a call makes, or nothing."""
    if "code" in keywords and isinstance(keywords["code"], ast.Constant):
        return str(keywords["code"].value)
    if word not in HELPERS:
        return ""
    words = [str(own.value) for own in call.args if isinstance(own, ast.Constant) and isinstance(own.value, str)]
    return next((own for own in words if re.fullmatch(r"[a-z]+(-[a-z]+)*", own)), "")


def _refusal(call: ast.Call, keywords: dict[str | None, ast.expr], code: str, function: ast.AST | None) -> str:
    """Return problem and remedy of a refusal, as far as they stand in the call."""
    said = [text for own in call.args for text in texts(own, function)[:1] if text not in ("{}", code)]
    said += [text for name in ("problem", "remedy") if name in keywords for text in texts(keywords[name], function)[:1]]
    return _clean("; ".join(said))


def _recorded() -> set[str]:
    """Return the names of refusals that recorded statements have met."""
    folder, names = ROOT / "tests" / "recorded" / "results", set()
    for path in folder.glob("*.jsonl"):
        for line in path.read_text(encoding="utf-8").splitlines():
            value = json.loads(line)[2]
            if isinstance(value, dict) and value.get("error") == "SqlError" and value.get("code"):
                names.add(str(value["code"]))
    return names


def read_table() -> list[list[str]]:
    """Return the lines of the table, each number, class, name, sentence."""
    return [line.split("\t") for line in TABLE.read_text(encoding="utf-8").splitlines()] if TABLE.exists() else []


def renewed(table: list[list[str]], found: list[Line]) -> list[list[str]]:
    """Return the table with new sentences: in the place of an old one that was reworded, or at its end."""
    lines = [list(line) for line in table]
    lines += [[_number(len(lines) + place), kind, "", ""] for place, kind in enumerate(_missing(lines))]
    said, names = {(line[1], line[3]) for line in lines}, {line[2]: line for line in lines if line[2]}
    current = {(kind, sentence) for kind, name, sentence in found if not name}
    unsaid = [line for line in lines if line[3] and not line[2] and (line[1], line[3]) not in current]
    for kind, name, sentence in found:
        if name in names:
            names[name][3] = sentence
        elif name or (kind, sentence) not in said:
            old = None if name else _reworded(unsaid, kind, sentence)
            if old is None:
                lines.append([_number(len(lines)), kind, name, sentence])
            else:
                unsaid.remove(old)
                old[3] = sentence
    return lines


def _missing(lines: list[list[str]]) -> list[str]:
    there = {line[1] for line in lines if not line[2] and not line[3]}
    return [kind for kind in classes() if kind not in there]


def _number(place: int) -> str:
    return f"E{place + 1:04d}"


def _reworded(lines: list[list[str]], kind: str, sentence: str) -> list[str] | None:
    own = {line[3]: line for line in lines if line[1] == kind}
    near = difflib.get_close_matches(sentence, list(own), n=1, cutoff=ALIKE)
    return own[near[0]] if near else None


def main() -> None:
    """Write the table anew."""
    lines = renewed(read_table(), sites())
    TABLE.write_text("".join("\t".join(line) + "\n" for line in lines), encoding="utf-8")
    sys.stdout.write(f"{TABLE}: {len(lines)} numbers\n")


if __name__ == "__main__":
    main()
