"""Chromium as a process, spoken to by the DevTools protocol."""
import fcntl
import json
import os
import select
import shutil
import subprocess
import time

AUTHORITY = "/run/caisson/ca.pem"  # of the sandbox, where TLS is looked into
PROGRAM = "/usr/lib/chromium/chromium-headless-shell"
MESSAGE_BYTES = 64 << 20

FLAGS = [
    # The sandbox around it is the boundary; its own needs what no sandbox gives: user namespaces or a setuid program.
    "--no-sandbox",
    "--remote-debugging-pipe",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--disable-breakpad",
    "--disable-crash-reporter",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-component-extensions-with-background-pages",
    "--disable-client-side-phishing-detection",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-extensions",
    "--disable-sync",
    "--disable-quic",
    "--disable-features=AutofillServerCommunication,CertificateTransparencyComponentUpdater,DialMediaRouteProvider,"
    "MediaRouter,NetworkTimeServiceQuerying,OptimizationHints,OptimizationGuideModelDownloading,Translate",
    "--block-new-web-contents",
    "--deny-permission-prompts",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--hide-scrollbars",
    "--metrics-recording-only",
    "--mute-audio",
    "--no-default-browser-check",
    "--no-first-run",
    "--no-pings",
    "--noerrdialogs",
    "--password-store=basic",
    "--use-mock-keychain",
    "--lang=en-US",
]


class Failure(Exception):
    """What the host is told: one of its words, and a sentence."""

    def __init__(self, kind, message):
        super().__init__(message)
        self.kind = kind


class Late(Exception):
    pass


def high(fd):
    moved = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 64)
    os.close(fd)
    return moved


def trust_authority(home):
    """Chromium asks no bundle, but a database of its own."""
    if not os.path.exists(AUTHORITY):
        return
    certutil = shutil.which("certutil")
    if certutil is None:
        return
    folder = os.path.join(home, ".pki/nssdb")
    os.makedirs(folder)
    where = ["-d", f"sql:{folder}"]
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.run([certutil, "-N", *where, "--empty-password"], **quiet)
    subprocess.run([certutil, "-A", *where, "-n", "sandbox", "-t", "C,,", "-i", AUTHORITY], **quiet)


class Chromium:
    """A browser that speaks the DevTools protocol over two pipes: no port that a page could reach."""

    def __init__(self, folder, options):
        if not os.path.exists(PROGRAM):
            raise Failure("missing", "there is no chromium-headless-shell in the image of the browser")
        trust_authority(folder)
        to_browser, self.out = map(high, os.pipe())
        self.into, from_browser = map(high, os.pipe())
        os.dup2(to_browser, 3)
        os.dup2(from_browser, 4)
        os.set_blocking(self.into, False)
        known = {name: os.environ[name] for name in ("PATH", "LANG", "TZ") if name in os.environ}
        environment = {**known, "HOME": folder, "XDG_CONFIG_HOME": folder, "XDG_CACHE_HOME": folder}
        self.process = subprocess.Popen(
            [PROGRAM, *FLAGS, *options, f"--user-data-dir={folder}/profile", "about:blank"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(3, 4),
            env=environment,
        )
        for fd in (3, 4, to_browser, from_browser):
            os.close(fd)
        self.buffer = bytearray()
        self.searched = 0
        self.last = 0
        self.answers = {}
        self.handlers = []

    def send(self, method, params=None, session=None):
        self.last += 1
        message = {"id": self.last, "method": method, "params": params or {}}
        if session is not None:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            try:
                data = data[os.write(self.out, data):]
            except BrokenPipeError:
                raise Failure("crashed", "the browser has ended") from None
        return self.last

    def call(self, method, params=None, session=None, until=None):
        """The answer, or its error; Late when there is none in time."""
        number = self.send(method, params, session)
        self.answers[number] = None
        try:
            while self.answers[number] is None:
                self.step(until)
            return self.answers[number]
        finally:
            del self.answers[number]

    def step(self, until):
        """Takes what there is, or waits for it."""
        message = self.take()
        if message is None:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.into], [], [], left)[0]:
                raise Late
            self.fill()
            return
        if "id" in message:
            if message["id"] in self.answers:
                self.answers[message["id"]] = message
            return
        for handle in self.handlers:
            handle(message)

    def fill(self):
        try:
            piece = os.read(self.into, 1 << 20)
        except BlockingIOError:
            return
        if not piece:
            raise Failure("crashed", "the browser has ended")
        self.buffer += piece
        if len(self.buffer) > MESSAGE_BYTES:
            raise Failure("too_large", "the page is more than can be told of it")

    def take(self):
        end = self.buffer.find(b"\0", self.searched)
        if end < 0:
            self.searched = len(self.buffer)
            return None
        message = json.loads(self.buffer[:end])
        del self.buffer[: end + 1]
        self.searched = 0
        return message

    def kill(self):
        self.process.kill()
        self.process.wait()
