"""Settings of the pages: MyST over docs/*.md, docstrings by autodoc, furo. ``python docs/build.py`` makes the pages."""

project = "emdp"
copyright = "the emdp project"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
root_doc = "docs/index"

# Headings of four levels have addresses, so that pages link into one another as on GitHub.
myst_heading_anchors = 4
myst_links_external_new_tab = False
# Files that are no pages are named in the text; docs/build.py takes their links away.
# Attributes of several classes have one name.
suppress_warnings = ["ref.python"]

autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "inherited-members": False}
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
# Headings of this project's docstrings beside those of numpydoc.
napoleon_custom_sections = ["Guarantee", "Theorem", "Proof"]

html_theme = "furo"
html_title = "emdp"
html_copy_source = False
html_show_sphinx = False
# No file of another host: no fonts, no scripts, no edit links.
html_static_path: list[str] = []
