"""Libraries that people install: what came of each way to a host, one line of JSON."""
import json, os, ssl, sys

sys.path.insert(0, "/workspace/input/python")
import httpx, requests

port, hosts = sys.argv[1], sys.argv[2:]
# The system's bundle, where the authority of an inspected sandbox is; a library that brings its own knows only of variables.
bundle = os.environ.get("SSL_CERT_FILE", "/workspace/authority.pem")
context = ssl.create_default_context(cafile=bundle)


def by_requests(trust_env):
    session = requests.Session()
    session.trust_env = trust_env
    return lambda url: session.get(url, verify=bundle, timeout=60)


def by_httpx(trust_env):
    return lambda url: httpx.get(url, verify=context, trust_env=trust_env, timeout=60)


for library, way in (("requests", by_requests), ("httpx", by_httpx)):
    for trust_env in (True, False):
        told = []
        for host in hosts:
            try:
                answer = way(trust_env)("https://%s:%s/more" % (host, port))
                told.append(answer.text if answer.status_code == 200 else "HTTP %d" % answer.status_code)
            except Exception as error:
                told.append("refused")
        print(json.dumps([library, trust_env, *told]))
