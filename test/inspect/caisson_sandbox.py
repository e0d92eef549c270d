"""Caisson as a sandbox of inspect_ai, over REST."""
import base64
import errno
import os
import uuid
from urllib.parse import quote

import httpx
from inspect_ai.util import (
    ExecResult,
    OutputLimitExceededError,
    SandboxEnvironment,
    SandboxEnvironmentLimits,
    SandboxUserUnsupportedError,
    sandboxenv,
)

WORKSPACE = "/workspace"
FOLDERS = (WORKSPACE, "/home/user", "/tmp", "/dev/shm")  # what the file API reaches
STDIN_BYTES = 4 * 1024**2  # more comes from a file: it would not fit into a request
ERRORS = {"EISDIR": IsADirectoryError, "ENOENT": FileNotFoundError, "EACCES": PermissionError, "EPERM": PermissionError}


@sandboxenv(name="caisson")
class CaissonSandbox(SandboxEnvironment):
    def __init__(self, http: httpx.AsyncClient, sandbox: str):
        super().__init__()
        self.http = http
        self.at = f"/api/v1/sandboxes/{sandbox}"

    @classmethod
    async def create(cls, url: str, key: str, **request) -> "CaissonSandbox":
        http = httpx.AsyncClient(base_url=url, headers={"x-api-key": key}, timeout=600, trust_env=False)
        made = await http.post("/api/v1/sandboxes", json=request)
        made.raise_for_status()
        return cls(http, made.json()["id"])

    @classmethod
    async def sample_cleanup(cls, task_name, config, environments, interrupted):
        for environment in environments.values():
            await environment.close()

    async def close(self) -> None:
        await self.http.delete(self.at)
        await self.http.aclose()

    async def exec(
        self, cmd, input=None, cwd=None, env=None, user=None, timeout=None, timeout_retry=True, concurrency=True
    ) -> ExecResult[str]:
        if user is not None:
            raise SandboxUserUnsupportedError("code runs as one user in every sandbox of Caisson")
        given = input.encode() if isinstance(input, str) else input
        body = {"command": cmd, "cwd": path_of(cwd or WORKSPACE), "track_files": False}
        body["timeout_seconds"] = timeout or 0
        body["resource_limits"] = {"max_output_bytes": SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE}
        if env:
            body["env"] = env
        if given is None or len(given) <= STDIN_BYTES:
            if given:
                body["stdin_base64"] = base64.b64encode(given).decode()
            return await self.run(body)
        file = f"/tmp/stdin-{uuid.uuid4().hex}"
        await self.write_file(file, given)
        try:
            return await self.run({**body, "command": ["/bin/sh", "-c", f'exec "$@" < {file}', "sh", *cmd]})
        finally:
            await self.run({"command": ["/bin/rm", file]})

    async def run(self, body: dict) -> ExecResult[str]:
        answer = await self.http.post(f"{self.at}/exec", json=body)
        if answer.is_error:
            error = error_of(answer, str(body["command"])[:200])
            if isinstance(error, FileNotFoundError):
                return ExecResult(False, 127, "", str(error))
            raise error
        result = answer.json()
        if result["timed_out"]:
            raise TimeoutError("the command ran out of time")
        code = result["exit_code"]
        return ExecResult(code == 0, code, result["stdout"], result["stderr"])

    async def write_file(self, file, contents) -> None:
        data = contents.encode() if isinstance(contents, str) else contents
        answer = await self.http.put(self.url_of(file), content=data)
        if answer.is_error:
            raise error_of(answer, file)

    async def read_file(self, file, text=True):
        path = path_of(file)
        data = await (self.fetch(path) if path.startswith(FOLDERS) else self.cat(path))
        return data.decode() if text else data

    async def fetch(self, path: str) -> bytes:
        most = SandboxEnvironmentLimits.MAX_READ_FILE_SIZE
        async with self.http.stream("GET", self.url_of(path)) as answer:
            if answer.is_error:
                await answer.aread()
                raise error_of(answer, path)
            if int(answer.headers["content-length"]) > most:
                raise OutputLimitExceededError(SandboxEnvironmentLimits.MAX_READ_FILE_SIZE_STR, None)
            return await answer.aread()

    async def cat(self, path: str) -> bytes:
        """Files that are no part of the file API, as code in the sandbox reads them."""
        result = await self.exec(["/bin/sh", "-c", 'test -d "$1" && exit 21; exec base64 -- "$1"', "sh", path])
        if result.returncode == errno.EISDIR:
            raise IsADirectoryError(f"{path} is a directory")
        if not result.success:
            raise (PermissionError if "denied" in result.stderr else FileNotFoundError)(f"{path}: {result.stderr}")
        return base64.b64decode(result.stdout)

    def url_of(self, file: str) -> str:
        return f"{self.at}/files/{quote(path_of(file), safe='')}"


def path_of(file: str) -> str:
    return os.path.normpath(os.path.join(WORKSPACE, file))


def error_of(answer: httpx.Response, about: str) -> Exception:
    problem = answer.json()
    kind = ERRORS.get(problem.get("details", {}).get("errno"))
    if kind is None:
        return RuntimeError(f"{about}: {problem['detail']}")
    return kind(f"{about}: {problem['detail']}{' (a directory)' if kind is IsADirectoryError else ''}")
