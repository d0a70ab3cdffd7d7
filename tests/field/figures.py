"""What came of an arrangement, in figures, and whether they keep its bounds."""
import operator

from arrangements import BOUND

FIRST = 60.0                # seconds; spans that end later are steady
COLUMNS = (                 # figure, heading, decimals
    ("spans", "spans", 0), ("sampled", "sampled", 0), ("linked", "linked", 0),
    ("precision", "prec", 4), ("recall", "recall", 4), ("recall_first", "first", 4),
    ("recall_steady", "steady", 4), ("p50", "p50", 1), ("p99", "p99", 1), ("max", "max", 1),
    ("p50_steady", "p50 s", 1), ("p99_steady", "p99 s", 1), ("max_steady", "max s", 1),
    ("lost", "lost", 0), ("twice", "twice", 0), ("hold_full", "full", 0), ("cpu_s", "CPU s", 1),
    ("rss_mib", "MiB", 0))


def of_run(timeline, proven, copies):
    """proven: ids in the samples of uploads that were taken; copies: what the sink noted.
    Delays are those of local roots: children mostly pass at once and would hide them."""
    spans = timeline.spans
    linked = {id for id, came in copies.items() if any(ids for _, ids in came)}
    right = {id for id in linked & proven
             if all(ids == [id] for _, ids in copies[id] if ids)}
    first = {span.id for span in spans if span.end <= FIRST}
    truth = proven & {span.id for span in spans}
    delays = [(span.end, copies[span.id][0][0] - span.exported) for span in spans
              if span.is_root and span.id in copies]
    return {
        "spans": len(spans), "sampled": len(truth), "linked": len(linked),
        "precision": share(len(right), len(linked)),
        "recall": share(len(right), len(truth)),
        "recall_first": share(len(right & first), len(truth & first)),
        "recall_steady": share(len(right - first), len(truth - first)),
        **percentiles("", [delay for _, delay in delays]),
        **percentiles("_steady", [delay for end, delay in delays if end > FIRST]),
        "lateness": max([each.lateness for each in timeline.uploads] or [0.0]),
        "lost": sum(span.id not in copies for span in spans),
        "twice": sum(len(came) > 1 for came in copies.values()),
    }


def share(part, whole):
    """None: there was nothing to find."""
    return part / whole if whole else None


def percentiles(suffix, values):
    ordered = sorted(values)
    if not ordered:
        return {f"{name}{suffix}": None for name in ("p50", "p99", "max")}
    return {f"{name}{suffix}": ordered[min(len(ordered) - 1, int(len(ordered) * part))]
            for name, part in (("p50", 0.5), ("p99", 0.99), ("max", 1.0))}


def broken(bounds, figures):
    """The bounds that the figures do not keep. A figure that there is not breaks none."""
    return [bound for bound in bounds if not keeps(bound, figures)]


def keeps(bound, figures):
    name, sign, *terms = BOUND.match(bound).groups()
    limit = sum(number(term, figures) for term in terms if term)
    compare = operator.le if sign == "<=" else operator.ge
    return figures[name] is None or compare(figures[name], limit)


def number(term, figures):
    return figures[term] if term in figures else float(term)


def line(name, cells):
    return f"{name:<24}" + "".join(
        f" {cell:>{width}}" for cell, width in zip(cells, widths()))


def widths():
    return [max(len(heading), 6 if decimals else 5) for _, heading, decimals in COLUMNS]


def heading():
    return line("arrangement", [heading for _, heading, _ in COLUMNS])


def table_line(name, figures):
    return line(name, ["-" if figures[key] is None else f"{figures[key]:.{decimals}f}"
                       for key, _, decimals in COLUMNS])
