"""What the tests read of the Markdown pages."""
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)


def pages():
    """Every page of the repository, but not of what is installed or built below it."""
    skipped = {"build", "node_modules", ".git"}
    return sorted(page for page in ROOT.rglob("*.md")
                  if not skipped & set(page.relative_to(ROOT).parts))


def anchors(text):
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", text), re.M)
    plain = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading) for heading in headings)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in plain}


def links(text):
    """The targets of all links and pictures that are not on the web."""
    targets = re.findall(r"\]\(([^)\s]+)\)", FENCE.sub("", text))
    return [target for target in targets if not re.match(r"[a-z]+:", target)]
