"""Runs a command with its own loopback interface: unshare --net python3 alone.py COMMAND..."""
import fcntl
import os
import socket
import struct
import sys

SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1

with socket.socket() as any_socket:
    flags = struct.unpack("16sh22x", fcntl.ioctl(any_socket, SIOCGIFFLAGS,
                                                 struct.pack("16sh22x", b"lo", 0)))[1]
    fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh22x", b"lo", flags | IFF_UP))
os.execvp(sys.argv[1], sys.argv[1:])
