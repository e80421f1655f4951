"""Where the keys of a TOML text stand, against texts whose lines are known by construction."""

import random
import tomllib

import pytest

from emdp.reports.lines import Place, line_of, locate

ODD = '''\
# [[entry]] in a comment
title = "a [[entry]] in a string # no comment"
text = """
[[entry]]
title = "not a key"
"""
'nested key'."dotted = key".bare = 1
point = { x = 1, "y z" = [1, { deep = "v" }], line = """a
b""" }
array = [
    1, # [[entry]]
    "[[entry]]",
    \'\'\'
two
lines\'\'\',
    { inner = true },
]
  [[ entry ]]  # the first
  title='one'
  query   =   \'\'\'
SELECT 1,
       2\'\'\'
[entry.inner]
key = 1979-05-27 07:32:00
[[entry]]
[[entry.list]]
a = 1
[[entry.list]]
a.b = 2
[budget]
alpha=1
'''

WANTED = {
    ("title",): 2,
    ("text",): 3,
    ("nested key",): 7,
    ("nested key", "dotted = key"): 7,
    ("nested key", "dotted = key", "bare"): 7,
    ("point",): 8,
    ("point", "x"): 8,
    ("point", "y z"): 8,
    ("point", "y z", 0): 8,
    ("point", "y z", 1): 8,
    ("point", "y z", 1, "deep"): 8,
    ("point", "line"): 8,
    ("array",): 10,
    ("array", 0): 11,
    ("array", 1): 12,
    ("array", 2): 13,
    ("array", 3): 16,
    ("array", 3, "inner"): 16,
    ("entry",): 18,
    ("entry", 0): 18,
    ("entry", 0, "title"): 19,
    ("entry", 0, "query"): 20,
    ("entry", 0, "inner"): 23,
    ("entry", 0, "inner", "key"): 24,
    ("entry", 1): 25,
    ("entry", 1, "list"): 26,
    ("entry", 1, "list", 0): 26,
    ("entry", 1, "list", 0, "a"): 27,
    ("entry", 1, "list", 1): 28,
    ("entry", 1, "list", 1, "a"): 29,
    ("entry", 1, "list", 1, "a", "b"): 29,
    ("budget",): 30,
    ("budget", "alpha"): 31,
}


def paths(value, path=()):
    """All paths of what tomllib read: the reference for which places there are."""
    own = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in own:
        yield (*path, key)
        yield from paths(inner, (*path, key))


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_every_key_of_an_odd_text_has_its_line(end):
    text = ODD.replace("\n", end)
    places = locate(text)
    assert {path: place.line for path, place in places.items()} == WANTED
    assert set(paths(tomllib.loads(text))) == set(WANTED)


@pytest.mark.parametrize(
    ("written", "lines"),
    [
        ("'a'", (1,)),
        ('"a"', (1,)),
        ("''", (1,)),
        ('""', (1,)),
        ('"\\n a \\"\\\\n"', (1, 1)),
        ('"a\\u000Ab\\U0000000ac\\u0041"', (1, 1, 1)),
        ("'\\n'", (1,)),
        ("'''a'''", (1,)),
        ("'''\na'''", (2,)),
        ("'''\n\na\nb'''", (2, 3, 4)),
        ("'''a\nb'c''d\n'''''", (1, 2, 3)),
        ('"""\na\n\nb"""', (2, 3, 4)),
        ('"""\\\n   \n  a\\\n  b\nc"""', (3, 5)),
        ('"""a \\\n\n  b\\n \\\n c"""', (1, 3)),
        ('"""a\\n\\\nb"""', (1, 2)),
        ('"""""a""\n"b"""""', (1, 2)),
        ('""""""', (1,)),
        ("'''\\\n'''", (1, 2)),
    ],
)
def test_the_lines_of_a_strings_lines(written, lines):
    text = f"key = {written}  # end\nafter = 1\n"
    value = tomllib.loads(text)["key"]
    places = locate(text)
    assert places["key",].lines == lines
    assert len(lines) == value.count("\n") + 1
    assert places["after",].line == text.count("\n", 0, text.index("\nafter")) + 2


@pytest.mark.slow
def test_random_texts_have_every_key_where_it_was_written():
    """2,000 texts of about 20 keys: each is written by a program that notes the line of every key."""
    rng = random.Random(7)
    checked = 0
    for _ in range(2000):
        text, wanted = written(rng)
        data = tomllib.loads(text)
        places = locate(text)
        assert set(paths(data)) == set(places), text
        for path, line in wanted.items():
            assert places[path].line == line, (path, text)
        checked += len(wanted)
    assert checked > 20_000


SIGNS = ["=", " = ", "\t=\t"]
SCALARS = ["1", "-2.5e3", "true", "inf", "1979-05-27T07:32:00Z", "07:32:00", "'x # y'", '"[[e]] \\" \\\\"']
LONG = ["'''\n[a]\n b = 1'''", '"""\\\n\n  q = 1"""', '"""one\ntwo"""', "[\n1, # ]\n[2,\n3],\n]", "[ ]", "{ }"]


def written(rng):
    text, wanted = "", {}

    def line():
        return text.count("\n") + 1

    table, numbers = (), 0
    for count in range(rng.randint(5, 35)):
        choice = rng.random()
        if choice < 0.15:
            text += rng.choice(["\n", "# [[entry]] k = 'x\n", "   \t\n"])
        elif choice < 0.3:
            spelled = rng.choice(["[[entry]]", "[[ entry ]]", '[["entry"]]', "\t[['entry']]"])
            table = ("entry", numbers)
            wanted[table] = line()
            numbers += 1
            text += f"{spelled}  # [x]\n"
        elif choice < 0.4:
            table = (f"t{count}",)
            wanted[table] = line()
            text += f"[t{count}]\n"
        else:
            key = f"k-{count}"
            spelled = rng.choice([key, f'"{key}"', f"'{key}'", f"d{count} . {key}"])
            path = (*table, f"d{count}", key) if " . " in spelled else (*table, key)
            wanted[path] = line()
            text += f"{' ' * rng.randint(0, 3)}{spelled}{rng.choice(SIGNS)}"
            text += f"{rng.choice(SCALARS + LONG)}{rng.choice(['', ' ', ' # [[entry]]'])}\n"
    return text, wanted


def test_what_has_no_place_has_that_of_what_is_around_it():
    places = {("entry",): Place(3), ("entry", 0): Place(3), ("entry", 0, "query"): Place(5, (6, 7))}
    assert line_of(places, "entry", 0, "query") == 5
    assert line_of(places, "entry", 0, "title") == 3
    assert line_of(places, "entry", 4) == 3
    assert line_of(places, "title") == 1


@pytest.mark.parametrize("text", ["", "]", "= 1", "a = ", 'a = "', "a = '''", "[[", "[a", "a = [", "a = {", "a = \\"])
def test_a_text_that_is_no_toml_ends_the_scan(text):
    assert isinstance(locate(text), dict)
