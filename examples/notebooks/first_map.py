# %% [markdown]
# # A first private map
#
# This file is a notebook in percent format: editors and Jupytext open it as cells, Python runs it from top to bottom.
# It makes an invented city in a temporary folder, and asks for a map of it.

# %%
import tempfile
from pathlib import Path

import emdp
from emdp.resources import load_dataset_module

place = tempfile.TemporaryDirectory()
folder = Path(place.name)
load_dataset_module("checkins").write_checkins(str(folder / "visits.parquet"), users=2000, records=100_000)

# %% [markdown]
# What only the owner can say: whose row is whose, how many people there are, what distance means, and what all answers
# together may tell.

# %%
city = emdp.Geo("lat", "lon", box=(40.48, -74.26, 40.92, -73.70), unit="km", on_invalid="clamp")
visits = emdp.read(folder / "visits.parquet", user="user_id", users=2000, space=city)
session = emdp.Session(visits, budget=emdp.EmdDP(alpha=60), ledger=folder / "city.ledger")
session  # noqa: B018  a notebook shows it

# %% [markdown]
# Look before you pay. A preview reads no record and spends nothing.

# %%
QUESTION = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 20) FREQUENCY(GRID(2.0)) AS share FROM visits"
preview = session.preview(QUESTION)
print(preview.frame.select("query", "expected_error", "alpha", "affordable"))

# %% [markdown]
# Ask. The answer has a row a cell with a 95 % interval, and a picture.

# %%
answer = session.sql(QUESTION)
(folder / "map.svg").write_text(answer.plot().svg, encoding="utf-8")
print(answer.frame.sort("share", descending=True).head(5))
print(f"spent {answer.spent.level:g} of alpha, {session.remaining().level:g} are left")

# %%
session.close()
place.cleanup()
