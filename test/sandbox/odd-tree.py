"""Makes a tree of odd names and kinds, or tells what a tree holds: `make FOLDER COUNT`,
`shuffle FOLDER SEED`, `tell FOLDER`."""
import hashlib
import os
import random
import socket
import stat
import sys

PARTS = [
    b"plain", b"sp ace", b"-rf", b"new\nline", b"tab\t", b"quote'\"", b"back\\slash", b"\xff\xfe raw", "\u00e9\u4e2d\U0001f600".encode(),
    b"\x01\x1b[31m", b"*?[x]", b"~", b"a=b", b"..hidden", b"...", b"x" * 200, b".dot", b"$HOME", b"#", b"%2e%2e",
]


def make(root, count):
    root = os.fsencode(root)
    made = 0
    while made < count:
        part = PARTS[made % len(PARTS)]
        folder = os.path.join(root, b"f%d" % (made // 100), part) if made % 3 else root
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, b"%d %s" % (made, part[:200]))
        kind = made % 10
        if kind == 7:
            os.symlink(b"%d gone" % made, path)
        elif kind == 8 and made > 100:
            os.link(last, path)
        elif kind == 9:
            os.mkdir(path, 0o750)
        else:
            with open(path, "wb") as file:
                file.write(b"line %d\n" % made * (made % 50))
            os.chmod(path, [0o644, 0o755, 0o600, 0o444][made % 4])
            os.utime(path, (1_000_000_000 + made, 1_000_000_000 + made))
            last = path
        made += 1
    os.mkfifo(os.path.join(root, b"fifo"))
    os.chdir(root)
    socket.socket(socket.AF_UNIX).bind(b"socket")
    for i in range(3):
        deep = os.path.join(b".", *[b"deep%d" % i] * 20)
        os.makedirs(deep)
        os.chmod(deep, 0o555)


def shuffle(root, seed):
    """Makes, writes, moves, exchanges and removes at random; much of it fails, since names are gone by then."""
    choose = random.Random(seed)
    root = os.fsencode(root)
    folders = [folder for folder, _, _ in os.walk(root)]
    special = b"fifo", b"socket"
    files = [os.path.join(folder, name) for folder, _, names in os.walk(root) for name in names if name not in special]
    for step in range(300):
        new = os.path.join(choose.choice(folders), b"new%d" % step)
        some, other = choose.choice(files), choose.choice(files)
        action = choose.randrange(7)
        try:
            if action == 0:
                os.mkdir(new)
                folders.append(new)
            elif action == 1:
                os.rename(some, new)
            elif action == 2:
                os.rename(some, other)
            elif action == 3:
                os.rename(choose.choice(folders), new)
            elif action == 4:
                os.remove(some)
            elif action == 5:
                open(new, "wb").close()
                files.append(new)
            else:
                os.rename(some, new)
                os.rename(other, some)
                os.rename(new, other)
        except OSError:
            pass


def tell(root):
    root = os.fsencode(root)
    for folder, folders, files in os.walk(root):
        for name in folders + files:
            path = os.path.join(folder, name)
            info = os.lstat(path)
            row = [os.path.relpath(path, root).hex(), oct(info.st_mode)]
            if stat.S_ISREG(info.st_mode):
                row += [str(int(info.st_mtime)), hashlib.sha256(open(path, "rb").read()).hexdigest()]
            elif stat.S_ISLNK(info.st_mode):
                row += [os.readlink(path).hex()]
            elif not stat.S_ISDIR(info.st_mode):
                continue
            print(*row)


if sys.argv[1] == "make":
    make(sys.argv[2], int(sys.argv[3]))
elif sys.argv[1] == "shuffle":
    shuffle(sys.argv[2], int(sys.argv[3]))
else:
    tell(sys.argv[2])
