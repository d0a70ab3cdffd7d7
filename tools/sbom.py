#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the software bill of materials of a root file system as SPDX 2.3 JSON.

Usage: sbom.py ROOT. ROOT is made by packaging/rootfs.sh. Its binary reports its version and static
libraries, dpkg the package of every other file. Times are SOURCE_DATE_EPOCH.
"""
import datetime
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

# The Debian packages whose static libraries are in the binary.
STATIC = {"libcurl": "libcurl4-gnutls-dev", "libmicrohttpd": "libmicrohttpd-dev"}
NAMESPACE = "urn:spanlink:sbom:"


def said(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def package_of(path):
    """The Debian package that a library of this machine came from."""
    names = {path, os.path.realpath(path), "/usr" + path}
    for name in sorted(names | {name.removeprefix("/usr") for name in names}):
        found = subprocess.run(["dpkg-query", "-S", name], capture_output=True, text=True)
        if found.returncode == 0:
            return re.split("[:,]", found.stdout)[0]
    raise SystemExit(f"{path} is of no package of this machine")


def element(name, version, **more):
    spdx = "SPDXRef-Package-" + re.sub("[^A-Za-z0-9.-]", "-", name)
    return {"name": name, "SPDXID": spdx, "versionInfo": version, "filesAnalyzed": False,
            "downloadLocation": "NOASSERTION", "licenseConcluded": "NOASSERTION",
            "licenseDeclared": "NOASSERTION", "copyrightText": "NOASSERTION", **more}


def debian(package):
    version, source, origin, arch = said(
        "dpkg-query", "-W", "-f",
        "${Version}\t${source:Package}\t${source:Version}\t${Architecture}", package).split("\t")
    purl = f"pkg:deb/debian/{package}@{version}?arch={arch}"
    return element(package, version, sourceInfo=f"built from {source} {origin}", externalRefs=[
        {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
         "referenceLocator": purl}])


def libraries(root):
    """{package: static or dynamic} of everything in the file system or the binary."""
    found = {}
    for path in sorted(root.rglob("*.so*")):
        found[package_of("/" + str(path.relative_to(root)))] = "DYNAMIC_LINK"
    if "libsnappy1v5" in found and not any(name.startswith("libstdc++") for name in found):
        found[package_of(said("g++", "-print-file-name=libstdc++.a").strip())] = "STATIC_LINK"
    for name, package in STATIC.items():
        if re.search(rf"^  {name} .*\(static\)$", said(root / "usr/bin/spanlink", "--version"),
                     re.M):
            found[package] = "STATIC_LINK"
    return found


def document(root):
    program = root / "usr/bin/spanlink"
    version, commit = re.match(r"spanlink (\S+)\ncommit: (\S+)\n", said(program,
                                                                       "--version")).groups()
    digest = hashlib.sha256(program.read_bytes()).hexdigest()
    own = element("spanlink", version, licenseDeclared="Apache-2.0",
                  sourceInfo=f"built from commit {commit}", primaryPackagePurpose="APPLICATION",
                  checksums=[{"algorithm": "SHA256", "checksumValue": digest}])
    links = [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES",
              "relatedSpdxElement": own["SPDXID"]}]
    packages = [own]
    for package, how in sorted(libraries(root).items()):
        packages.append(debian(package))
        links.append({"spdxElementId": own["SPDXID"], "relationshipType": how,
                      "relatedSpdxElement": packages[-1]["SPDXID"]})
    if (root / "etc/ssl/certs/ca-certificates.crt").exists():
        packages.append(debian("ca-certificates"))
        links.append({"spdxElementId": own["SPDXID"], "relationshipType": "DEPENDS_ON",
                      "relatedSpdxElement": packages[-1]["SPDXID"]})
    epoch = int(os.environ.get("SOURCE_DATE_EPOCH") or datetime.datetime.now().timestamp())
    created = datetime.datetime.fromtimestamp(epoch, datetime.timezone.utc)
    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
            "name": f"spanlink-{version}", "documentNamespace": f"{NAMESPACE}{version}:{digest}",
            "creationInfo": {"created": created.strftime("%Y-%m-%dT%H:%M:%SZ"),
                             "creators": ["Tool: spanlink-sbom"]},
            "packages": packages, "relationships": links}


if __name__ == "__main__":
    json.dump(document(pathlib.Path(sys.argv[1])), sys.stdout, indent=2)
    print()
