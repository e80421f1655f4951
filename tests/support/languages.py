"""Texts in twenty languages, made of alphabets and of what is hard about each."""

import random
from collections.abc import Iterator

LANGUAGES = {
    "English": "the don't rock'n'roll I\u2019M caf\u00e9 na\u00efve \ufb01ne O\ufb03ce",
    "German": "M\u00fcller Mu\u0308ller STRASSE Stra\u00dfe STRA\u1e9eE gr\u00f6\u00dfer \u00c4pfel",
    "French": "l'\u0153uvre \u00c9T\u00c9 e\u0301te\u0301 No\u00ebl aujourd\u2019hui \u00c7a",
    "Turkish": "I\u0131 \u0130i i\u0307 ISPARTA \u0131\u015f\u0131k \u0130STANBUL \u011f\u011e",
    "Vietnamese": "Vi\u1ec7t Vie\u0323\u0302t Vi\u00ea\u0323t \u0110\u01af\u1edc\u1eda\u0301 ngu\u031bo\u031b\u0300i",
    "Catalan": "col\u00b7lecci\u00f3 \u0140 \u013f PARAL\u00b7LEL",
    "Croatian": "\u01c4 \u01c5 \u01c6 \u01f1 \u01c8 \u0160e\u0107er d\u017e",
    "Greek": (
        "\u03a3\u03af\u03c3\u03c5\u03c6\u03bf\u03c2 \u039f\u0394\u039f\u03a3 \u1fb3 "
        "\u1fbc \u03b1\u0345 \u0390 \u03b9\u0308\u0301 \u1f88 \u03d0"
    ),
    "Russian": "\u0416\u0438\u0437\u043d\u044c \u0439 \u0438\u0306 \u0401\u0436 \u0435\u0308 \u0462",
    "Ukrainian": (
        "\u043f\u2019\u044f\u0442\u044c \u043f\u02bc\u044f\u0442\u044c \u0407\u0436\u0430\u043a \u0456\u0308 \u0490"
    ),
    "Armenian": "\u0535\u057e \u0587 \u0535\u0552 \u0567\u057b",
    "Hebrew": "\u05e9\u05b8\u05c1\u05dc\u05d5\u05b9\u05dd \u05e6\u05d4\u05f4\u05dc \u05d2\u05f3 \ufb2a",
    "Arabic": (
        "\u0627\u0644\u0633\u0644\u0627\u0645 \u0622 \u0627\u0653 \ufefb "
        "\ufee3\u0640\u0640 \u0643\u0650\u062a\u064e\u0627\u0628 \u0661\u0662"
    ),
    "Persian": "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \u06f3\u06f4 \ufdfa",
    "Hindi": "\u0939\u093f\u0928\u094d\u0926\u0940 \u0915\u094d\u200d\u0937 \u0958 \u0915\u093c \u0929 \u0928\u093c",
    "Tamil": "\u0ba4\u0bae\u0bbf\u0bb4\u0bcd \u0bca \u0bc6\u0bbe \u0b95\u0bcb",
    "Thai": "\u0e20\u0e32\u0e29\u0e32\u0e44\u0e17\u0e22 \u0e19\u0e49\u0e33 \u0e33 \u0e50\u0e51",
    "Chinese": "\u6771\u4eac \u4e2d\u6587 \uf900 \U0002f800 \U00020000 \u3007 \u2f00",
    "Japanese": (
        "\u6771\u4eac\u30bf\u30ef\u30fc \u304b\u3099 \u304c \uff76\uff9e \uff8a\uff9f "
        "\u3089\u30fc\u3081\u3093 \uff34\uff4f\uff4b\uff59\uff4f \u3231"
    ),
    "Korean": "\ud55c\uad6d\uc5b4 \u1112\u1161\u11ab \u314b\u314b \uffbe \u3131",
}
"""Words of each language: composed, decomposed, capital, compatible, joined."""

HARD = [
    "\u0301",
    "\u0345",
    "\u200d",
    "\u200b",
    "\xad",
    "\ufeff",
    "\ufe0f",
    "\u202e",
    "\U000e0101",
    "\U0001f469\u200d\U0001f4bb",
    "\U0001f1e9\U0001f1ea",
    "1\ufe0f\u20e3",
    "\u2122",
    "\xb2",
    "\xbd",
    "\u2460",
    "\u338f",
    "\u2126",
    "\u212a",
    "\u017f",
    "\U0001d400",
    "\U00010400",
    "\U00016e40",
    "\U0001e900",
    "\ue000",
    "\uffff",
    "\ufdd0",
    "\U000323b0",
    "\u0378",
    "\u2028",
    "\x85",
    "\x00",
    "\x1f",
    "'",
    "''",
    "\u2019",
    "-",
    "_",
    ".",
    "\\",
    "[",
    "]",
    "^",
    "&",
    "\u0149",
    "\u01f0",
    "\u1e96",
    "\u0344",
    "\u0f77",
    "\u1d160",
    "\u3099",
    "\u115f",
    "\u3164",
]
"""What belongs to no language, or to several."""


def texts(count: int, seed: int = 1) -> Iterator[str]:
    """Yield texts, the languages in turn; one in ten is of any characters."""
    source = random.Random(seed)
    words = [own.split(" ") for own in LANGUAGES.values()]
    letters = ["".join(own) for own in LANGUAGES.values()]
    for number in range(count):
        place = number % len(words)
        if number // len(words) % 10 == 9:
            codes = (source.randrange(0x20, 0x110000 if source.random() < 0.3 else 0x3400) for _ in range(12))
            yield "".join(chr(code) for code in codes if not 0xD800 <= code < 0xE000)
            continue
        parts = [source.choice(words[place]) for _ in range(source.randrange(1, 5))]
        parts += source.sample(letters[place], 2)
        parts += source.sample(HARD, 2)
        source.shuffle(parts)
        yield source.choice(("", " ", " ", ", ")).join(parts)
