"""What people in a chat talk about: how close the words that they use are to one word, by public word vectors.

Run `python examples/irc_words.py`, or with --generated where the real tables are absent or not wanted.
"""

import tempfile
from pathlib import Path

import common
import duckdb

import emdp
from emdp.resources import load_dataset_module

# A public fact, fixed without looking at a message: how many people there are.
USERS = 17_803

EXACT = """
WITH target AS (  -- the word's own vector; the table stores 32-bit numbers
    SELECT vector::DOUBLE[] AS aim FROM read_parquet($vectors) WHERE word = $word
), scores AS (
    SELECT word, list_dot_product(vector::DOUBLE[], aim) AS score FROM read_parquet($vectors), target
), neutral AS (   -- the score of the mean vector is the mean score
    SELECT avg(score) AS score FROM scores
), tokens AS (    -- the "words" rule: small letters, digits, apostrophes; no message at all is one unknown word
    SELECT user_id, unnest(CASE WHEN text IS NULL THEN [NULL] ELSE regexp_extract_all(
        translate(text, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz'),
        '[a-z0-9]+(?:''[a-z0-9]+)*') END) AS word
    FROM read_parquet($messages)
), people AS (    -- on_invalid="neutral": a word without a vector counts with the mean vector
    SELECT avg(coalesce(scores.score, neutral.score)) AS score
    FROM tokens LEFT JOIN scores USING (word), neutral GROUP BY user_id
), everybody AS ( -- and so does a person without a word
    FROM people UNION ALL SELECT score FROM neutral, range($users - (SELECT count(*) FROM people))
)
SELECT avg(score) FROM everybody
"""


def generate(messages: Path, vectors: Path) -> None:
    load_dataset_module("messages").write_messages(messages, vectors, users=USERS, records=222_101)


def by_hand(messages: Path, vectors: Path, word: str) -> float:
    given = {"messages": str(messages), "vectors": str(vectors), "word": word, "users": USERS}
    with duckdb.connect() as connection:
        ((value,),) = connection.execute(EXACT, given).fetchall()
    return float(value)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        names = ["irc_ubuntu.parquet", "glove_twitter_25d_12k.parquet"]
        messages, vectors = common.paths(names, generate, folder)
        # 15 % of the words have no vector, so "error" would refuse the table; "neutral" gives them the mean vector.
        space = emdp.Words("text", vectors, on_invalid="neutral")
        table = emdp.read(messages, user="user_id", space=space, users=USERS)

        # The distance of two words is that of their vectors, so a protection is stated in the vectors' own unit: on
        # a scale on which the two farthest words of the table are `diameter` apart.
        alpha = emdp.protect(emdp.Change(fraction=1 / 30, distance=5, epsilon=0.2), space=space)
        print(
            f"a thirtieth of a person's words, moved by 5 in the embedding (diameter {space.diameter:.2f}), "
            f"is hidden with epsilon 0.2: alpha = {alpha:.3f}"
        )

        # Generated words are made up, so there "linux" is not among them.
        word = "linux" if "linux" in space.labels else space.labels[len(space.labels) // 2]
        print(f"word: {word}")
        query = emdp.mean(emdp.similarity(word), alpha=alpha, name="similarity")

        exact = {"similarity": by_hand(messages, vectors, word)}
        with emdp.Session(table, budget=emdp.EmdDP(alpha=alpha), ledger=f"{folder}/chat.ledger") as session:
            common.show(session.answer(query), exact)
            print(f"spent {session.spent()}")
        common.check_exact(table, [query], exact)


if __name__ == "__main__":
    main()
