"""Nothing is asked of the network: not at import, in fit, in predict, in a command."""

import subprocess
import sys

BLOCKED = """
import sys

def refuse(event, args):
    if event == "socket.__new__" and args[1] in (2, 10, 17):  # AF_INET, AF_INET6, AF_PACKET
        raise RuntimeError(f"a socket of family {args[1]} is asked for")
    if event in ("socket.getaddrinfo", "socket.gethostbyname", "urllib.Request"):
        raise RuntimeError(f"{event} {args}")

sys.addaudithook(refuse)
"""
USE = """
import os, tempfile
import adacap, adacap.lite
import numpy as np

os.chdir(tempfile.mkdtemp())
X = np.random.default_rng(0).normal(size=(40, 3))
model = adacap.AdaCapRegressor(width=8, max_iter=3, n_estimators=2, random_state=0)
model.fit(X, X[:, 0], checkpoint="c.checkpoint").predict(X)
model.predict_interval(X)
model.save("m.adacap")
adacap.load("m.adacap").predict(X)
adacap.lite.load("m.adacap").predict(X)
model.explain(X[:2], X)
model.report(X, X[:, 0], "r.html")
adacap.advise(X, X[:, 0])
np.savetxt("d.csv", X, delimiter=",", header="a,b,y", comments="")
from adacap.cli import app
for words in (["fit", "d.csv", "-t", "y", "-o", "c.adacap", "--n-estimators", "2"],
              ["predict", "c.adacap", "d.csv", "-o", "out.csv"],
              ["check", "c.adacap", "d.csv"], ["inspect", "c.adacap"]):
    try:
        app(words)
    except SystemExit as end:
        assert not end.code, end.code
print("done")
"""
ASK = "import urllib.request\nurllib.request.urlopen('http://localhost:9')"


def run(code: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", BLOCKED + code]
    return subprocess.run(command, capture_output=True, text=True, timeout=800)


def test_import_fit_predict_and_commands_open_no_socket() -> None:
    done = run(USE)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("done\n")


def test_the_block_is_a_block() -> None:
    assert "RuntimeError: urllib.Request" in run(ASK).stderr
