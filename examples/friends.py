"""Whom people write to: how near their friends are to one person, where friends are nodes of a public graph.

The graph of who follows whom is public, and so is an embedding of it: nodes that follow one another, or the same
others, have near vectors. Private is whom somebody writes to. A friend is then an item of a space whose distance is
that of the vectors, and alpha can be said in words: a fifth of my friends replaced by their neighbours in the graph.

Run `python examples/friends.py`; there is no real table, so that it always generates one.
"""

import tempfile
from pathlib import Path

import common
import duckdb
import numpy as np
import polars as pl

import emdp

# Public facts: how many people there are, of how many circles, and in how many dimensions they are embedded.
USERS, CIRCLES, DIMENSIONS = 1200, 8, 8
FOLLOWS, INSIDE = 12, 0.85
"""How many others somebody follows, and how many of them are of the own circle."""

EXACT = """
WITH target AS (
    SELECT vector AS aim FROM read_parquet($vectors) WHERE person = $person
), scores AS (
    SELECT person, list_dot_product(vector, aim) AS score FROM read_parquet($vectors), target
), neutral AS (   -- the score of the mean vector is the mean score
    SELECT avg(score) AS score FROM scores
), people AS (
    SELECT avg(score) AS score FROM read_parquet($friends) JOIN scores ON friend = person GROUP BY user_id
), everybody AS ( -- a person who writes to nobody counts with the mean vector
    FROM people UNION ALL SELECT score FROM neutral, range($users - (SELECT count(*) FROM people))
)
SELECT avg(score) FROM everybody
"""


def follows(generator: np.random.Generator) -> np.ndarray:
    """Return pairs of people, shape (pairs, 2): mostly of one circle."""
    first = np.repeat(np.arange(USERS), FOLLOWS)
    is_inside = generator.random(first.size) < INSIDE
    own = first % CIRCLES + CIRCLES * generator.integers(0, USERS // CIRCLES, first.size)
    second = np.where(is_inside, own, generator.integers(0, USERS, first.size))
    return np.stack([first, second], axis=1)[first != second]


def embedded(pairs: np.ndarray) -> np.ndarray:
    """Return a vector for each person: the leading eigenvectors of the graph's normalised adjacency, by their size."""
    adjacency = np.zeros((USERS, USERS))
    adjacency[pairs[:, 0], pairs[:, 1]] = adjacency[pairs[:, 1], pairs[:, 0]] = 1.0
    root = np.sqrt(adjacency.sum(axis=1))
    values, vectors = np.linalg.eigh(adjacency / root[:, None] / root[None, :])
    # The first one is the same for all but for degrees.
    leading = vectors[:, -DIMENSIONS - 1 : -1] * values[-DIMENSIONS - 1 : -1]
    return np.round(leading * np.sqrt(USERS), 6)


def generate(friends: Path, vectors: Path, graph: Path) -> None:
    generator = np.random.default_rng(1)
    pairs = follows(generator)
    pl.DataFrame({"person": np.arange(USERS), "vector": embedded(pairs).tolist()}).write_parquet(vectors)
    pl.DataFrame(pairs, schema=["person", "follows"]).write_parquet(graph)
    # People write to some of those whom they follow, some more often; one in fifty writes to nobody.
    kept = pairs[(generator.random(len(pairs)) < 0.7) & (pairs[:, 0] % 50 != 0)]
    written = np.repeat(kept, generator.integers(1, 5, len(kept)), axis=0)
    pl.DataFrame(written, schema=["user_id", "friend"]).write_parquet(friends)


def neighbour_distance(space: emdp.Embedding, graph: Path) -> float:
    """Return the mean distance of two people of whom one follows the other: a public number."""
    pairs = pl.read_parquet(graph)
    vectors = space.vector_table
    apart = vectors[pairs["person"].to_numpy()] - vectors[pairs["follows"].to_numpy()]
    return float(np.linalg.norm(apart, axis=1).mean())


def by_hand(friends: Path, vectors: Path, person: int) -> float:
    given = {"friends": str(friends), "vectors": str(vectors), "person": person, "users": USERS}
    with duckdb.connect() as connection:
        ((value,),) = connection.execute(EXACT, given).fetchall()
    return float(value)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        names = ["friends.parquet", "friends_vectors.parquet", "friends_graph.parquet"]
        friends, vectors, graph = common.paths(names, generate, folder)
        space = emdp.Embedding("friend", vectors, key="person", vector="vector")
        table = emdp.read(friends, user="user_id", space=space, users=USERS)

        near = neighbour_distance(space, graph)
        alpha = emdp.protect(emdp.Change(fraction=1 / 5, distance=near, epsilon=0.2), space=space)
        print(
            f"a fifth of a person's friends, each replaced by a neighbour in the graph (at distance {near:.2f} of "
            f"{space.diameter:.2f}), is hidden with epsilon 0.2: alpha = {alpha:.3f}"
        )

        query = emdp.mean(emdp.similarity(0), alpha=alpha, name="nearness")
        exact = {"nearness": by_hand(friends, vectors, 0)}
        with emdp.Session(table, budget=emdp.EmdDP(alpha=alpha), ledger=f"{folder}/friends.ledger") as session:
            planned = session.preview(query).statements[0].columns[0].expected_error
            common.show(session.answer(query), exact)
            print(f"spent {session.spent()}")
        with emdp.Session(table, budget=emdp.UserDP(0.2), ledger=f"{folder}/whole.ledger") as session:
            whole = session.preview(emdp.mean(emdp.similarity(0), epsilon=0.2)).statements[0].columns[0].expected_error
        print(f"expected error {planned:.4f}; with epsilon 0.2 for whatever somebody's friends are, {whole:.4f}")
        print(
            "So much is won where a change to neighbours is what must be hidden. That somebody writes to anybody of "
            "another circle is not: for that ask at user level. And what jumps from friend to friend, such as how many "
            "write to one person, has no use of the distances."
        )
        common.check_exact(table, [query], exact)


if __name__ == "__main__":
    main()
