#!/bin/bash
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/e2e/setup_lib.sh
. "$here/../../setup_lib.sh"

lib=$OUT/java/lib
mapfile -t sources < <(find "$here/src" -type f | sort)
command -v javac >/dev/null || install openjdk-17-jdk-headless

if ! built java-packages "$here/pom.xml" || [ ! -d "$lib" ]; then
    command -v mvn >/dev/null || install maven
    say "fetching the packages of rideshare-java"
    rm -rf "$lib"
    quiet maven mvn -B -f "$here/pom.xml" -Dmaven.repo.local="$OUT/java/m2" \
        dependency:copy-dependencies -DoutputDirectory="$lib" -Dmdep.prependGroupId=true \
        -Dmdep.stripVersion=true
    mark java-packages "$here/pom.xml"
fi
if ! built rideshare-java "$here/pom.xml" "${sources[@]}" || [ ! -f "$lib/rideshare.jar" ]; then
    say "building rideshare-java"
    classes=$OUT/java/classes
    rm -rf "$classes"
    mkdir -p "$classes"
    cp -r "$here/src/META-INF" "$classes/"
    quiet javac javac --release 17 -d "$classes" -cp "$lib/io.pyroscope.agent.jar:$lib/*" \
        "$here"/src/rideshare/*.java
    jar --create --file "$lib/rideshare.jar" -C "$classes" .
    mark rideshare-java "$here/pom.xml" "${sources[@]}"
fi
