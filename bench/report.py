"""The words of a run: a line for each figure while it goes on, and the page."""


def good(row):
    """"aim", "must" or "missed"."""
    value = row["median"]
    for word in ("aim", "must"):
        limit = row[word]
        if limit is not None and (value <= limit if row["low"] else value >= limit):
            return word
    return "missed" if row["must"] is not None else ""


def sentence(row):
    text = (f"figure {row['figure']}, {row['case']}, against {row['against']}: "
            f"{row['median']:.2f} ({row['min']:.2f} to {row['max']:.2f}) {row['unit']}")
    if row["must"] is not None:
        sign = "<=" if row["low"] else ">="
        text += f"; must {sign} {row['must']}, aim {sign} {row['aim']}: {good(row)}"
    return text
