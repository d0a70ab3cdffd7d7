"""SIGTERM under load, without a journal: exactly the accepted items are received."""
import sys

import clients
import harness
import rig


def test_sigterm_under_load_delivers_exactly_what_was_taken(tmp_path, sink, soak, figure):
    rounds, taken, unanswered = 20 if soak else 3, 0, 0
    for number in range(rounds):
        sidecar = rig.Sidecar(tmp_path / str(number), sink, protocol=("grpc", "http")[number % 2])
        sidecar.start()
        with clients.Load(sidecar, f"stop-{number}") as load:
            load.ledger.wait_taken(rig.moment())
            assert sidecar.stop() == 0, sidecar.program.tail()
        told = load.ledger
        assert "nothing that was acknowledged was lost" in sidecar.log()
        wrong = {key: sink.copies[key] for key in told.keys(clients.TAKEN) if sink.copies[key] != 1}
        assert not wrong, f"{wrong} copies\n{sidecar.program.tail()}"
        refused = [what for what in told.counts if what not in (clients.TAKEN, clients.UNANSWERED)]
        assert set(refused) <= {503, "UNAVAILABLE"}
        for what in refused:
            assert not [key for key in told.keys(what) if key in sink.copies]
        assert not told.missing_retry
        taken += len(told.keys(clients.TAKEN))
        unanswered += len([key for key in told.keys(clients.UNANSWERED) if key in sink.copies])
    figure(f"{rounds} stops, {taken} items taken, {taken} received, each once; "
           f"{unanswered} received whose client had no answer any more")


def test_a_stop_signal_before_the_notes_are_read_ends_the_start(tmp_path, sink):
    sidecar = rig.Sidecar(tmp_path, sink, journal="")
    assert sidecar.start().stop() == 0, sidecar.program.tail()
    assert list(sidecar.directory.glob("states-*"))
    with_signal = ("import os, signal; signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM]);"
                   "os.kill(os.getpid(), signal.SIGTERM);"
                   f"os.execv('{harness.SPANLINK}', ['spanlink', '--config', '{sidecar.config}'])")
    program = harness.Program("signalled", tmp_path, [sys.executable, "-c", with_signal])
    assert program.wait(30) == 0, program.tail()
    told = program.log.read_text()
    assert "SIGTERM: stopped before it was ready" in told and "OTLP" not in told, told
    assert sidecar.start().stop() == 0, sidecar.program.tail()
