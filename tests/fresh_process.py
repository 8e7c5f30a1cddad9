"""Code in a process of its own, forked from one that has loaded torch and the tasks, and nothing of any test."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache

SERVER = """
import json, os, sys, tempfile, traceback
import lengthwise.tasks, torch
for line in sys.stdin:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if child == 0:
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            code = 1
            try:
                exec(json.loads(line), {"__name__": "__main__"})
                code = 0
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else int(end.code is not None)
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        texts = [file.seek(0) or file.read().decode() for file in (out, err)]
    print(json.dumps([code, *texts]), flush=True)
"""


@cache
def _server() -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def ran(code: str) -> subprocess.CompletedProcess[str]:
    """What ``python -c code`` does, without the seconds that its imports take."""
    server = _server()
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write(json.dumps(code) + "\n")
    server.stdin.flush()
    status, out, err = json.loads(server.stdout.readline())
    return subprocess.CompletedProcess(code, status, out, err)
