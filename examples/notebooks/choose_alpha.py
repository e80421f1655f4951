# %% [markdown]
# # How to choose alpha
#
# Nobody can say what epsilon 0.2 is. This notebook goes from what must stay hidden to alpha, and back.

# %%
import emdp

city = emdp.Geo("lat", "lon", box=(40.48, -74.26, 40.92, -73.70), unit="km")

# %% [markdown]
# **From words to alpha.** One visit of 20 must be hidden, wherever it was: who thought it a coin toss may be at most
# 60 % sure afterwards. So must the home, 60 % of the records, within a kilometre.

# %%
visit = emdp.Change(1 / 20, city.diameter, posterior=0.6)
home = emdp.Change(0.6, 1.0, posterior=0.6)
alpha = emdp.protect(visit, home, space=city)
print(f"alpha = {alpha:.3g}")

# %% [markdown]
# **From alpha to words.** What may somebody learn at this alpha, who knows everything but one thing?

# %%
found = emdp.consequences(city, emdp.EmdDP(alpha))
for sentence in found.sentences():
    print(sentence)

# %% [markdown]
# **The picture of it.** A row a story: what was believed before, and the most that may be believed afterwards.

# %%
found  # noqa: B018  a notebook shows it

# %% [markdown]
# **Twice alpha, twice the epsilon.** Beliefs grow faster than one would think.

# %%
for factor in (1, 2, 4):
    row = emdp.consequences(city, emdp.EmdDP(factor * alpha), changes=[visit]).rows[0]
    print(f"alpha {factor * alpha:6.3g}: from 50 % to at most {100 * row.beliefs[0]:.1f} %")
