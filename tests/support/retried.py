"""A plugin of pytest for ./test.sh --retry: prints why the first try of a test failed."""


def pytest_terminal_summary(terminalreporter):
    for report in terminalreporter.stats.get("rerun", []):
        terminalreporter.section(f"first try of {report.nodeid}", "-")
        terminalreporter.line(report.longreprtext)
