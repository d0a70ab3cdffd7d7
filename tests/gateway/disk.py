"""A small disk for one broker."""
import os
import pathlib
import resource
import subprocess

USER = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
ENTER = [] if os.geteuid() == 0 else ["--user", "--preserve-credentials"]


class Disk:
    """A tmpfs on a folder that only programs started with `prefix` see: it is mounted in a mount
    namespace of its own, which is kept until close. Where there can be none, being full is a limit
    of the program's files (RLIMIT_FSIZE), and the folder is an ordinary one."""

    def __init__(self, folder, mib):
        folder.mkdir(parents=True)
        self.folder, self.prefix = folder, []
        self.holder = subprocess.Popen(
            ["unshare", *USER, "--mount", "sh", "-c",
             f"mount -t tmpfs -o size={mib}m tmpfs '{folder}' && echo mounted && exec cat"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        if self.holder.stdout.readline():
            self.prefix = ["nsenter", f"--target={self.holder.pid}", *ENTER, "--mount"]

    def fill(self, program):
        """The program on it cannot write any more."""
        if not self.prefix:
            resource.prlimit(program.process.pid, resource.RLIMIT_FSIZE,
                             (4096, resource.RLIM_INFINITY))
            return
        inside = pathlib.Path(f"/proc/{self.holder.pid}/root{self.folder}/stranger")
        with open(inside, "wb", buffering=0) as stranger:
            try:
                while True:
                    stranger.write(bytes(1 << 16))
            except OSError:
                pass

    def free(self):
        if self.prefix:
            pathlib.Path(f"/proc/{self.holder.pid}/root{self.folder}/stranger").unlink()

    def close(self):
        self.holder.stdin.close()
        self.holder.wait()
