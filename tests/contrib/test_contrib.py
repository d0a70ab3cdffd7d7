"""Every case gives the same as the Collector's contrib processors give."""
import pathlib

import pytest
import yaml

import sides

HERE = pathlib.Path(__file__).parent


def load(name):
    return yaml.safe_load((HERE / "cases" / name).read_text())


GOOD = [(path.stem, case) for path in sorted((HERE / "cases").glob("*.yaml"))
        if path.stem not in ("errors", "alone") for case in load(path.name)]
ALONE = load("alone.yaml")
ERRORS = load("errors.yaml")


@pytest.fixture(scope="session")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("contrib")
    cases = [case for _, case in GOOD]
    made = {}
    for side in ("spanlink", "otelcol"):
        made[side], statuses = sides.run(side, cases, folder / side)
        assert all(status == 200 for each in statuses.values() for status in each), statuses
    return made


@pytest.mark.parametrize("number", range(len(GOOD)),
                         ids=[f"{stem}: {case['name']}" for stem, case in GOOD])
def test_equal(results, number):
    for at in results["otelcol"]:
        if at[0] == number:
            ours, theirs = results["spanlink"][at], results["otelcol"][at]
            assert sides.content(ours) == sides.content(theirs), \
                f"{at[1]}:\n{sides.difference(ours, theirs)}"


def test_no_case_is_empty(results):
    """A comparison of nothing with nothing proves nothing."""
    for number, (stem, case) in enumerate(GOOD):
        some = any(made for at, made in results["otelcol"].items() if at[0] == number)
        assert some or case.get("empty"), f"{stem}: {case['name']}"


@pytest.mark.parametrize("case", ALONE, ids=lambda case: case["name"])
def test_alone(case, tmp_path):
    """Cases in which requests fail, or that are logged."""
    ours, our_statuses = sides.run("spanlink", [case], tmp_path / "spanlink")
    theirs, their_statuses = {}, {}
    if not case.get("ours_alone"):  # the Collector does not survive every case
        theirs, their_statuses = sides.run("otelcol", [case], tmp_path / "otelcol")
    for what in theirs:
        assert sides.content(ours[what]) == sides.content(theirs[what])
    for what, statuses in their_statuses.items():
        assert our_statuses[what] == statuses
    log = (tmp_path / "spanlink" / "log").read_text()
    for said in case.get("says", []):
        assert said in log, log


SIDECAR = pathlib.Path(__file__).parents[2] / "configs" / "contrib-sidecar.yaml"
SIDECAR_ENV = {"CLUSTER_NAME": "test", "REDACTION_KEY": "k" * 32,
               "OTLP_ENDPOINT": "http://127.0.0.1:1", "PYROSCOPE_URL": "http://127.0.0.1:1"}


def test_sidecar_file_is_equal(tmp_path):
    """What configs/contrib-sidecar.yaml does, but for what the Collector does not have."""
    without = ("correlation", "pyroscope", "batch", "memory_limiter")
    made = {}
    for side in ("spanlink", "otelcol"):
        made[side], statuses = sides.run_file(side, SIDECAR, tmp_path / side, without, SIDECAR_ENV)
        assert all(status == 200 for each in statuses.values() for status in each), statuses
    for what, theirs in made["otelcol"].items():
        ours = made["spanlink"][what]
        assert theirs and sides.content(ours) == sides.content(theirs), \
            f"{what}:\n{sides.difference(ours, theirs)}"


def test_sidecar_file_runs(tmp_path):
    """All of it: the stop hands on what correlation and batch hold."""
    made, statuses = sides.run_file("spanlink", SIDECAR, tmp_path / "all", env=SIDECAR_ENV)
    assert all(status == 200 for each in statuses.values() for status in each), statuses
    assert made["traces"] and made["metrics"] and made["logs"]
    log = (tmp_path / "all" / "log").read_text()
    assert "error" not in log, log


@pytest.mark.parametrize("case", ERRORS, ids=lambda case: case["name"])
def test_refused(case, tmp_path):
    """Both refuse the configuration, ours with the place and what was expected."""
    good, said = sides.validate("spanlink", case, tmp_path / "spanlink")
    assert not good, said
    assert case["says"] in said, said
    with pytest.raises(AssertionError, match="does not start"):
        sides.run("spanlink", [case], tmp_path / "ours")
    if not case.get("ours_alone"):
        good, said = sides.validate("otelcol", case, tmp_path / "otelcol")
        if good:  # the Collector finds some faults only when it starts
            with pytest.raises(AssertionError, match="does not start"):
                sides.run("otelcol", [case], tmp_path / "start")
