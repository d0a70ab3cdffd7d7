#!/usr/bin/env bash
# Checks the limits of the code: formatting, line width, file and function length; and comments that
# a rename script spoiled.
set -uo pipefail
export LC_ALL=C.UTF-8
cd "$(dirname "$0")/.." || exit
tools/need.sh clang-format ctags python3 || exit
bad=0
folders=(lib pipeline receivers processors exporters extensions examples cli bench)
mapfile -t files < <(find "${folders[@]}" tests -name '*.[ch]' -not -path '*/node_modules/*')
mapfile -t own < <(find "${folders[@]}" -name '*.[ch]')

say() { echo "$1"; bad=1; }

while read -r line; do say "wider than 100 columns: $line"; done < <(
  grep -nE '^.{101,}$' "${files[@]}" /dev/null | cut -c1-120)
while read -r line; do say "left to do: $line"; done < <(
  grep -nE '\b(TODO|FIXME|HACK)\b' "${files[@]}" /dev/null)
while read -r file; do say "not formatted with clang-format: $file"; done < <(
  clang-format --dry-run -Werror "${files[@]}" 2>&1 | grep -E 'error:' | cut -d: -f1 | sort -u)
while read -r lines file; do
  [ "$file" = total ] && continue
  limit=600
  case $file in *.h) limit=150 ;; esac
  [ "$lines" -le $limit ] || say "$file has $lines lines, at most $limit"
done < <(wc -l "${own[@]}")
while read -r file; do say "$file has no SPDX licence line in its first two lines"; done < <(
  for file in CMakeLists.txt */CMakeLists.txt cmake/* run.sh test.sh; do
    head -n 2 "$file" | grep 'SPDX-License-Identifier: Apache-2.0' >/dev/null || echo "$file"
  done)
while read -r file; do say "$file has no header of its own, and no comment at its top"; done < <(
  for file in "${own[@]}"; do
    case $file in bench/* | */tests/*) continue ;; esac
    [[ $file != *.c || -e ${file%.c}.h || $(head -c 2 "$file") = '/*' ]] || echo "$file"
  done)
while read -r place; do say "$place"; done < <(
  python3 - "${files[@]}" <<'END'
import re, sys
TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|/\*.*?\*/|//[^\n]*', re.S)
DOUBLED = re.compile(r"(?<![\w.'-])([A-Za-z]?[a-z]+) \1(?![\w'-])")
for path in sys.argv[1:]:
    code = open(path, encoding="utf-8").read()
    for found in TOKEN.finditer(code):
        if found.group()[0] != "/":
            continue
        comment = re.sub(r"\s*\n[ \t]*\*?\s*", " ", found.group())
        place = f"{path}:{code.count(chr(10), 0, found.start()) + 1}"
        if " => " in comment:
            print(f"{place}: a comment with ' => ', as rename scripts leave it")
        for word in DOUBLED.findall(comment):
            print(f"{place}: a comment with a doubled word: {word} {word}")
END
)
functions=$(
  ctags --output-format=json --languages=C --langmap=C:.c.h --fields=+ne --kinds-C=f -f- \
    "${own[@]}" | python3 -c '
import json, sys
for text in sys.stdin:
    tag = json.loads(text)
    if "end" in tag and tag["end"] - tag["line"] + 1 > 80:
        print(tag["path"] + ": " + tag["name"], "has", tag["end"] - tag["line"] + 1,
              "lines, at most 80")') || say "the functions were not counted; is ctags Universal Ctags?"
[ -z "$functions" ] || say "$functions"
[ $bad = 0 ] && echo "all limits are met"
exit $bad
