#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Converts CHANGELOG.md.

Usage: changelog.py debian EPOCH    to debian/changelog, with the date EPOCH
       changelog.py notes VERSION   to release notes: the section of one version
"""
import email.utils
import pathlib
import re
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent
MAINTAINER = "The authors of spanlink <spanlink@localhost>"


def versions():
    """[(version, text), ...], the newest first."""
    parts = re.split(r"^## (\S+).*\n", (ROOT / "CHANGELOG.md").read_text(), flags=re.M)[1:]
    return list(zip(parts[::2], (text.strip() for text in parts[1::2])))


def debian(epoch):
    """All versions get the same date; CHANGELOG.md needs no dates for old ones."""
    date = email.utils.formatdate(int(epoch))
    for version, text in versions():
        print(f"spanlink ({version}) unstable; urgency=medium\n")
        for item in re.findall(r"^- (.*(?:\n  .*)*)", text, re.M):
            print(textwrap.fill(" ".join(item.split()), 78, initial_indent="  * ",
                                subsequent_indent="    ", break_long_words=False))
        print(f"\n -- {MAINTAINER}  {date}\n")


def main():
    what, argument = sys.argv[1:]
    if what == "debian":
        debian(argument)
        return 0
    for version, text in versions():
        if version == argument:
            print(text)
            return 0
    print(f"CHANGELOG.md has no section \"## {argument}\"", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
