"""Gives loopback of this network namespace the addresses of the first word, and becomes the program of the others."""
import fcntl, os, socket, struct, sys

with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
    fcntl.ioctl(control, 0x8914, struct.pack("16sh14x", b"lo", 1))  # SIOCSIFFLAGS, IFF_UP

with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as route:
    for text in sys.argv[1].split(","):
        family = socket.AF_INET6 if ":" in text else socket.AF_INET
        address = socket.inet_pton(family, text)
        about = struct.pack("BBBBI", family, 8 * len(address), 0x02, 254, 1)  # IFA_F_NODAD, RT_SCOPE_HOST, lo
        field = struct.pack("HH", 4 + len(address), 2) + address  # IFA_LOCAL
        head = struct.pack("IHHII", 16 + len(about) + len(field), 20, 0x605, 1, 0)  # RTM_NEWADDR
        route.send(head + about + field)
        error = struct.unpack("i", route.recv(512)[16:20])[0]
        if error:
            sys.exit("%s: %s" % (text, os.strerror(-error)))

os.execv(sys.argv[2], sys.argv[2:])
