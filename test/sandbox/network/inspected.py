"""Speaks TLS in the ways of Python, and tells what came of it: one line of JSON each."""
import http.client
import json
import os
import ssl
import sys
import urllib.error
import urllib.request

port, base = sys.argv[1], f"https://allowed.example:{sys.argv[1]}"


def told(name, attempt):
    try:
        print(json.dumps([name, attempt()]))
    except urllib.error.HTTPError as error:
        print(json.dumps([name, f"HTTP {error.code} {json.loads(error.read())['detail']}"]))
    except ssl.SSLCertVerificationError as error:
        print(json.dumps([name, error.reason]))
    except urllib.error.URLError as error:
        print(json.dumps([name, getattr(error.reason, "reason", str(error.reason))]))


def get(url, proxies=None, **options):
    handlers = [] if proxies is None else [urllib.request.ProxyHandler(proxies)]
    if "context" in options:
        handlers.append(urllib.request.HTTPSHandler(context=options.pop("context")))
    request = urllib.request.Request(url, **options)
    with urllib.request.build_opener(*handlers).open(request, timeout=60) as answer:
        return answer.read().decode()


def kept():
    connection = http.client.HTTPSConnection("allowed.example", int(port), timeout=60)
    answers = []
    for path in ("/v1/1", "/v1/2"):
        connection.request("GET", path)
        answers.append(connection.getresponse().read().decode())
    return answers


def fronted():
    return get(f"{base}/v1/front", headers={"Host": "other.example"})


told("by proxy", lambda: get(f"{base}/v1/proxy"))
told("directly", lambda: get(f"{base}/v1/direct", {}))
told("on one connection", kept)
told("POST", lambda: get(f"{base}/v1/x", data=b"x"))
told("another path", lambda: get(f"{base}/v2"))
told("fronted", fronted)
told("pinned", lambda: get(f"{base}/v1/pinned", context=ssl.create_default_context(cafile="other.pem")))
told("authority", lambda: oct(os.stat("/run/caisson/ca.pem").st_mode & 0o777))
