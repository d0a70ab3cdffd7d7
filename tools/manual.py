#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Generates the man pages and shell completion from the program's own output.

Usage: manual.py FOLDER [EMULATOR...] PROGRAM. Reads the output of --help and `components`, which
come from the tables that parse the command line and the configuration. Writes spanlink.1,
spanlink.yaml.5, spanlink.bash, _spanlink (zsh) and spanlink.fish.
"""
import pathlib
import re
import subprocess
import sys

KINDS = ("receivers", "processors", "exporters", "extensions")


def said(program, *words):
    return subprocess.run([*program, *words], check=True, capture_output=True, text=True).stdout


def read_help(text):
    """{"": [first line, usage], "Commands": [(left, text), ...], ...}"""
    sections = {"": []}
    rows = sections[""]
    for line in text.splitlines():
        if re.fullmatch(r"[A-Z][a-z ]+:", line):
            rows = sections.setdefault(line[:-1], [])
        elif line.startswith("  "):
            left, _, right = line.strip().partition("  ")
            rows.append((left, right.strip()))
        elif line:
            rows.append(line)
    return sections


def read_flag(left):
    """(names, argument) of "--help, -h" or "--config SOURCE"."""
    words = left.replace(",", "").split()
    names = [word for word in words if word.startswith("-")]
    return names, " ".join(words[len(names):])


def takes_file(names, argument):
    return argument == "FILE" or "--config" in names


def read_components(text):
    """[(kind, type, heading, text, [(key, type, default, text), ...]), ...]"""
    found, kind = [], None
    for line in text.splitlines():
        if re.fullmatch(r"\w+:", line):
            kind = line[:-1]
        elif re.match(r"  \w", line):
            found.append([kind, re.match(r"  (\w+)", line).group(1), line.strip(), "", []])
        elif re.match(r"    \S", line):
            cells = re.split(r"  +", line.strip(), maxsplit=3)
            if len(cells) == 4:
                found[-1][4].append(cells)
            elif not found[-1][4]:
                found[-1][3] = line.strip()
    return found


def set_keys(components):
    """What --set can set: a section ends in ".", a value in "="."""
    keys = {kind + "." for kind in KINDS} | {"service."}
    for kind, name, _, _, rows in components:
        section = "service." if kind == "service" else f"{kind}.{name}."
        keys.add(section)
        for key, what, _, _ in rows:
            if "no effect" in what or "[" in key:
                continue
            keys.add(section + key + ("." if what.startswith("section") else "="))
    return sorted(keys)


def roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text[:1] in ".'" else text


def title(name, section, version):
    # Without a date, so that every build writes the same file.
    return [f'.TH {name} {section} "" "spanlink {version}"', ".nh"]


def tagged(rows):
    lines = []
    for left, right in rows:
        lines += [".TP", ".B " + roff(left), roff(right)]
    return lines


def page_1(help_, version):
    name, usage = help_[""][0], help_[""][1]
    lines = title("SPANLINK", 1, version)
    lines += [".SH NAME", roff(name.replace(": ", " - ", 1))]
    lines += [".SH SYNOPSIS", roff(usage.partition(": ")[2])]
    lines += [".SH DESCRIPTION",
              "A telemetry sidecar: it receives OpenTelemetry traces, metrics, logs and profiles and",
              "Pyroscope profiles, links spans with the profiles taken while they ran, and forwards",
              "everything to backends such as Tempo and Pyroscope. It is configured with a YAML file",
              "that uses the OpenTelemetry Collector's components and keys; see",
              ".BR spanlink.yaml (5)."]
    for heading in [heading for heading in help_ if heading]:
        lines += [".SH " + heading.upper(), *tagged(help_[heading])]
    lines += [".SH FILES"]
    lines += tagged([("/etc/spanlink/config.yaml", "the configuration of the service"),
                     ("/etc/spanlink/environment", "variables of the service, one NAME=value per line"),
                     ("/var/lib/spanlink", "the service's journal and other files that it writes")])
    lines += [".SH EXAMPLES", ".nf"]
    lines += [roff(line) for line in (
        "spanlink validate --config /etc/spanlink/config.yaml",
        "spanlink --config base.yaml --config local.yaml --watch",
        "spanlink --config base.yaml --set receivers.otlp.protocols.grpc.endpoint=localhost:5317")]
    return lines + [".fi", ".SH SEE ALSO", ".BR spanlink.yaml (5),",
                    "/usr/share/doc/spanlink"]


def page_5(components, version):
    lines = title("SPANLINK.YAML", 5, version)
    lines += [".SH NAME", "spanlink.yaml \\- the configuration of spanlink", ".SH DESCRIPTION",
              "A YAML file with the sections", 
              '.BR receivers ", " processors ", " exporters ", " extensions', "and", ".BR service ,",
              "as in the OpenTelemetry Collector. A component's id is its type, or TYPE/NAME if there",
              "are several. Only components named in", ".B service.pipelines", "and",
              ".B service.extensions", "are started. Values may contain",
              "${env:NAME}, ${env:NAME:\\-default} and ${file:PATH}; $$ is a dollar sign.",
              ".SH EXAMPLE", ".nf"]
    lines += [roff(line) for line in (
        "receivers:", "  otlp:", "    protocols:", "      grpc:", "exporters:", "  otlp_grpc:",
        "    endpoint: tempo:4317", "    tls: {insecure: true}", "service:", "  pipelines:",
        "    traces: {receivers: [otlp], exporters: [otlp_grpc]}")]
    lines += [".fi"]
    last = None
    for kind, _, heading, text, rows in components:
        if kind != last:
            lines += [".SH " + kind.upper()]
            last = kind
        lines += [".SS " + roff(heading), roff(text)]
        for key, what, default, meaning in rows:
            tail = "" if default == "-" else f", {default}"
            lines += [".TP", f".B {roff(key)}", roff(f"({what}{tail}) {meaning}")]
    return lines + [".SH SEE ALSO", ".BR spanlink (1)"]


def bash(help_, components):
    flags = [read_flag(left) for left, _ in help_["Flags"]]
    commands = " ".join(left.split()[0] for left, _ in help_["Commands"])
    files = [name for names, argument in flags if takes_file(names, argument) for name in names]
    valued = "|".join(name for names, argument in flags if argument for name in names
                      if name not in ("--set", *files))
    names = " ".join(name for names, _ in flags for name in names)
    keys = "\n".join(set_keys(components))
    return f"""# bash completion of spanlink, written by tools/manual.py
_spanlink_keys='{keys}'

_spanlink()
{{
    local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD - 1]}} word i key
    COMPREPLY=()
    # --flag=value comes as three words.
    if [[ $cur == = ]]; then
        cur=
    elif [[ $prev == = ]]; then
        prev=${{COMP_WORDS[COMP_CWORD - 2]}}
    fi
    case $prev in
    {"|".join(files)})
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
        return ;;
    --set)
        # One part of the dotted path at a time.
        compopt -o nospace 2>/dev/null
        mapfile -t COMPREPLY < <(
            while IFS= read -r key; do
                [[ $key == "$cur"?* ]] || continue
                word=${{key#"$cur"}}
                [[ $word == *.* ]] && word=${{word%%.*}}.
                printf '%s%s\\n' "$cur" "$word"
            done <<<"$_spanlink_keys" | sort -u)
        return ;;
    {valued or "--none"})
        return ;;
    esac
    if [[ $cur == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W '{names}' -- "$cur")
        return
    fi
    for ((i = 1; i < COMP_CWORD; i++)); do
        [[ " {commands} " == *" ${{COMP_WORDS[i]}} "* ]] && return
    done
    mapfile -t COMPREPLY < <(compgen -W '{commands}' -- "$cur")
}}
complete -F _spanlink spanlink
""".splitlines()


def quoted(text):
    return text.replace("'", "'\\''")


def zsh(help_, components):
    lines = ["#compdef spanlink", "# zsh completion of spanlink, written by tools/manual.py", "",
             "_spanlink_commands() {", "  local -a commands=("]
    for left, text in help_["Commands"]:
        lines.append(f"    '{left.split()[0]}:{quoted(text.replace(':', ' '))}'")
    lines += ["  )", "  _describe command commands", "}", "", "_spanlink_keys() {",
              "  local -a keys=("]
    lines += ["    " + key for key in set_keys(components)]
    # One part of the dotted path at a time.
    lines += ["  )", "  local -aU next", "  local key word", "  for key in $keys; do",
              "    [[ $key == $PREFIX?* ]] || continue", "    word=${key#$PREFIX}",
              "    [[ $word == *.* ]] && word=${word%%.*}.", "    next+=($PREFIX$word)", "  done",
              "  compadd -S '' -a next", "}", "", "_arguments -s \\"]
    for left, text in help_["Flags"]:
        names, argument = read_flag(left)
        text = quoted(re.sub(r"([\[\]:])", r"\\\1", text))
        action = ("_files" if takes_file(names, argument)
                  else "_spanlink_keys" if names[0] == "--set" else "")
        for name in names:
            if argument:
                value = argument.replace(":", " ")
                lines.append(f"  '*{name}=[{text}]:{value}:{action}' \\")
            else:
                lines.append(f"  '{name}[{text}]' \\")
    return lines + ["  '1:command:_spanlink_commands'"]


def fish(help_, components):
    lines = ["# fish completion of spanlink, written by tools/manual.py",
             "complete -c spanlink -f"]
    for left, text in help_["Commands"]:
        lines.append("complete -c spanlink -n __fish_use_subcommand -a "
                     f"{left.split()[0]} -d '{text}'")
    for left, text in help_["Flags"]:
        names, argument = read_flag(left)
        how = (" -r -F" if takes_file(names, argument)
               else " -x -a '(__spanlink_next)'" if names[0] == "--set"
               else " -x" if argument else "")
        short = "".join(f" -s {name[1:]}" for name in names if len(name) == 2)
        text = text.replace("'", "\\'")
        lines.append(f"complete -c spanlink -l {names[0][2:]}{short}{how} -d '{text}'")
    lines += ["function __spanlink_keys", "    printf '%s\\n' \\"]
    keys = set_keys(components)
    lines += [f"        {key} \\" for key in keys[:-1]] + ["        " + keys[-1]]
    # One part of the dotted path at a time.
    return lines + ["end", "", "function __spanlink_next",
                    "    set -l typed (commandline -ct | string replace -r '^--set=' '')",
                    "    set -l part (string escape --style=regex -- $typed)",
                    "    __spanlink_keys | string match -r -- \"^$part\"'[^.]+\\.?' | sort -u", "end"]


def main():
    folder, program = pathlib.Path(sys.argv[1]), sys.argv[2:]
    help_ = read_help(said(program, "--help"))
    version = said(program, "--version").split()[1]
    components = read_components(said(program, "components"))
    folder.mkdir(parents=True, exist_ok=True)
    for name, lines in {"spanlink.1": page_1(help_, version),
                        "spanlink.yaml.5": page_5(components, version),
                        "spanlink.bash": bash(help_, components),
                        "_spanlink": zsh(help_, components),
                        "spanlink.fish": fish(help_, components)}.items():
        (folder / name).write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
