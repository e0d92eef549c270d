"""Opens one page in Chromium and tells what became of it: a line of JSON, a line with the picture in base64, and the content.

It runs in the sandbox, beside the page: nothing here is a boundary, and the host believes nothing that is said here. The page
is strangers' work too, so each wait has an end and each text a length.
"""
import json
import os
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from browser_chromium import Chromium, Failure, Late

STUCK_SECONDS = 2
GRACE_SECONDS = 20  # for what is left to do once the time of the page is over

with open(os.path.join(sys.path[0], "browser-look.js"), encoding="utf-8") as file:
    LOOK = file.read()


class Page:
    def __init__(self, browser, request):
        self.browser = browser
        self.request = request
        self.deadline = time.monotonic() + request["timeout_ms"] / 1000
        self.frame = None
        self.main = None  # the loader of the document that is shown
        self.loaded = set()
        self.quiet = set()
        self.responses = {}
        self.requested = request["url"]  # what the document is asked for, after redirects
        self.world = None
        self.unreachable = None
        self.crashed = False
        browser.handlers.append(self.handle)

    def open(self):
        soon = time.monotonic() + 60
        browser = self.browser
        target = result(browser.call("Target.createTarget", {"url": "about:blank"}, until=soon))["targetId"]
        self.target = target
        attached = browser.call("Target.attachToTarget", {"targetId": target, "flatten": True}, until=soon)
        self.session = result(attached)["sessionId"]
        self.frame = self.ask("Page.getFrameTree", until=soon)["frameTree"]["frame"]["id"]
        width, height = self.request["width"], self.request["height"]
        for method, params in [
            ("Page.enable", {}),
            ("Page.setLifecycleEventsEnabled", {"enabled": True}),
            ("Network.enable", {"maxTotalBufferSize": 0, "maxResourceBufferSize": 0}),
            ("Inspector.enable", {}),
            (
                "Emulation.setDeviceMetricsOverride",
                {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False},
            ),
        ]:
            self.ask(method, params, until=soon)
        browser.call("Browser.setDownloadBehavior", {"behavior": "deny"}, until=soon)
        browser.call("Target.setDiscoverTargets", {"discover": True}, until=soon)

    def ask(self, method, params=None, until=None):
        return result(self.browser.call(method, params, self.session, until))

    def handle(self, message):
        method, params = message.get("method"), message.get("params", {})
        if method == "Target.targetCreated":
            info = params["targetInfo"]
            if info["type"] == "page" and info["targetId"] != self.target and info.get("openerId"):
                self.browser.send("Target.closeTarget", {"targetId": info["targetId"]})
        if message.get("sessionId") != getattr(self, "session", None):
            return
        if method == "Page.javascriptDialogOpening":
            self.browser.send("Page.handleJavaScriptDialog", {"accept": False}, self.session)
        elif method == "Inspector.targetCrashed":
            self.crashed = True
        elif method == "Page.frameNavigated" and params["frame"]["id"] == self.frame:
            self.main = params["frame"].get("loaderId")
            self.unreachable = params["frame"].get("unreachableUrl")
            self.world = None
        elif method == "Page.lifecycleEvent" and params["frameId"] == self.frame:
            if params["name"] == "load":
                self.loaded.add(params["loaderId"])
            elif params["name"] in ("networkAlmostIdle", "networkIdle"):
                self.quiet.add(params["loaderId"])
        elif method == "Network.requestWillBeSent" and params.get("frameId") == self.frame:
            if params.get("type") == "Document":
                self.requested = params["request"]["url"]
        elif method == "Network.responseReceived" and params.get("frameId") == self.frame:
            if params.get("type") == "Document":
                self.responses[params["loaderId"]] = params["response"]

    def navigate(self):
        try:
            done = self.ask("Page.navigate", {"url": self.request["url"]}, until=self.deadline)
        except Late:
            raise Failure("timeout", "the page has not answered in time") from None
        if done.get("errorText"):
            word = "download" if done.get("isDownload") or done["errorText"] == "net::ERR_ABORTED" else "unreached"
            raise Failure(word, done["errorText"])

    def wait(self):
        """True once what was waited for is there; False when the time is over."""
        selector = self.request.get("wait_for")
        try:
            if selector is not None:
                while not self.evaluate(f"look.isShown({json.dumps(selector)})", self.deadline):
                    self.pass_time(0.1)
                return True
            while self.main not in self.loaded:
                self.pass_time(1)
            settled = min(self.deadline, time.monotonic() + self.request["settle_ms"] / 1000)
            while self.main not in self.quiet and time.monotonic() < settled:
                self.pass_time(settled - time.monotonic())
            return True
        except Late:
            return False

    def pass_time(self, seconds):
        """Until something happens, or for so long."""
        self.check()
        now = time.monotonic()
        if now >= self.deadline:
            raise Late
        try:
            self.browser.step(min(self.deadline, now + seconds))
        except Late:
            pass

    def check(self):
        if self.crashed:
            raise Failure("crashed", "the page has crashed")

    def evaluate(self, expression, until):
        """In a world of ours; a page that goes elsewhere meanwhile is asked again."""
        while True:
            self.check()
            if self.world is None:
                made = self.browser.call(
                    "Page.createIsolatedWorld", {"frameId": self.frame, "worldName": "caisson"}, self.session, until
                )
                self.world = made.get("result", {}).get("executionContextId")
            asked = {"expression": f"{LOOK}\n{expression}", "contextId": self.world, "returnByValue": True}
            answer = self.browser.call("Runtime.evaluate", asked, self.session, until)
            if "error" in answer:
                self.world = None
                self.pause(until)
                continue
            thrown = answer["result"].get("exceptionDetails")
            if thrown is not None:
                said = thrown.get("exception", {}).get("description", "")
                if "SyntaxError" in said or "not a valid selector" in said:
                    raise Failure("selector", said.split("\n")[0][:300])
                raise Failure("crashed", said.split("\n")[0][:300])
            return answer["result"]["result"].get("value")

    def pause(self, until):
        """For a moment; Late when the time is over."""
        if time.monotonic() >= until:
            raise Late
        try:
            self.browser.step(min(until, time.monotonic() + 0.05))
        except Late:
            pass

    def hold_still(self):
        """The page does no more. One that has just begun anew may still come."""
        self.browser.send("Emulation.setScriptExecutionDisabled", {"value": True}, self.session)
        try:
            self.evaluate("true", time.monotonic() + STUCK_SECONDS)
        except Late:
            # A script runs on. Where none does this ends the next, which is ours, and is asked again.
            self.browser.send("Runtime.terminateExecution", {}, self.session)
        try:
            soon = time.monotonic() + STUCK_SECONDS
            while self.main not in self.loaded:
                self.pause(soon)
        except Late:
            pass
        self.browser.send("Page.stopLoading", {}, self.session)

    def read(self, until):
        most = self.request["characters"]
        title, url = self.evaluate("look.about()", until)
        form = self.request["form"]
        if form == "text":
            content, is_cut = self.evaluate(f"look.readText({most})", until)
        else:
            shown = json.dumps(form != "html")
            content, is_cut = self.evaluate(f"look.readTree({most}, {self.request['nodes']}, {shown})", until)
        return {"title": title, "url": url, "cut": is_cut}, content

    def picture(self, until):
        width, height = self.request["width"], self.request["height"]
        if self.request["picture"] == "whole":
            size = self.ask("Page.getLayoutMetrics", until=until)["cssContentSize"]
            height = max(1, min(int(size["height"]), self.request["whole_height"]))
        for scale in (1, 0.5, 0.25):
            clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": scale}
            asked = {"format": "png", "clip": clip, "captureBeyondViewport": True}
            data = self.ask("Page.captureScreenshot", asked, until=until)["data"]
            if len(data) * 3 // 4 <= self.request["picture_bytes"]:
                return data
        raise Failure("too_large", "its picture is too large")


def result(answer):
    if "error" in answer:
        raise Failure("crashed", str(answer["error"].get("message"))[:300])
    return answer["result"]


def look(page, request):
    page.open()
    page.deadline = time.monotonic() + request["timeout_ms"] / 1000
    page.navigate()
    is_complete = page.wait()
    page.check()
    if page.unreachable is not None:
        page.requested = page.unreachable
        raise Failure("unreached", "it leads there, and the browser gets no answer")
    page.hold_still()
    until = time.monotonic() + GRACE_SECONDS
    told, content = page.read(until)
    if not is_complete and request.get("wait_for") is not None:
        told["missing"] = True
    picture = page.picture(until) if request["picture"] != "none" else ""
    response = page.responses.get(page.main, {})
    told.update({"complete": is_complete, "status": response.get("status"), "type": response.get("mimeType")})
    return told, picture, content


def main():
    request = {**json.load(sys.stdin), "url": sys.argv[1]}
    options = []
    proxy = os.environ.get("HTTP_PROXY")
    if proxy:
        options.append(f"--proxy-server={proxy}")
    picture = content = ""
    page = None
    with tempfile.TemporaryDirectory(prefix="browser-", dir="/tmp", ignore_cleanup_errors=True) as folder:
        browser = None
        try:
            browser = Chromium(folder, options)
            page = Page(browser, request)
            told, picture, content = look(page, request)
        except Failure as failure:
            told = {"error": failure.kind, "message": str(failure)[:300]}
        except Late:
            told = {"error": "timeout", "message": "the browser has not answered in time"}
        if "error" in told:
            told["url"] = request["url"]
        if "error" in told and page is not None:
            told["url"] = page.requested[:8192]
        if browser is not None:
            browser.kill()
    answer = json.dumps(told) + "\n" + picture + "\n" + content
    data = answer.encode("utf-8", "replace")
    while data:
        data = data[os.write(1, data):]


if __name__ == "__main__":
    main()
