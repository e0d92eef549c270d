"""Holds so many connections at once, speaks on each, and says on how many it was answered."""
import selectors, socket, sys

host, port, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
address = socket.gethostbyname(host)
waiting = selectors.DefaultSelector()
connections = [socket.create_connection((address, port), 60) for _ in range(count)]
for number, connection in enumerate(connections):
    connection.sendall(b"%08d" % number)
    waiting.register(connection, selectors.EVENT_READ, number)
answered = 0
while answered < count:
    ready = waiting.select(60)
    if not ready:
        break
    for key, _ in ready:
        if key.fileobj.recv(8) == b"%08d" % key.data:
            answered += 1
        waiting.unregister(key.fileobj)
print(answered, flush=True)
sys.stdin.readline()
