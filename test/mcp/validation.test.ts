import { describe, expect, it } from "vitest";
import { Caisson } from "../../packages/sdk/src/index.ts";
import { engines } from "../harness.ts";
import { agentAt } from "./agent.ts";

describe.each(engines)("validation for agents on %s", (engine) => {
  const { server, done: ask, refused } = agentAt(engine);

  it("[VAL-01] code is read and mended without a sandbox", async () => {
    const code = "print(json.dumps(eval('1')))";
    expect(await ask("validate_code", { code })).toEqual({
      language: "python",
      policy: "advise",
      valid: true,
      refused: true,
      findings: [
        {
          rule: "missing-import",
          severity: "warning",
          message: "json is not imported",
          ...{ line: 1, column: 7, end_line: 1, end_column: 11 },
          fix: "import json",
        },
        {
          rule: "dynamic-code",
          severity: "danger",
          message: "eval runs code that a reader does not see",
          ...{ line: 1, column: 18, end_line: 1, end_column: 22 },
        },
      ],
      truncated: false,
      fixed_code: `import json\n${code}`,
      checked_by: ["ruff"],
    });
    expect(await ask("validate_code", { code, auto_fix: false })).not.toHaveProperty("fixed_code");
    const api = await server().as("viewer");
    expect((await api.get("/api/v1/sandboxes")).json).toEqual([]);
  });

  it("[VAL-01] bash itself reads a script where a sandbox is running", async () => {
    const code = "echo one\nif true; then\n  echo two\n";
    expect(await ask("validate_code", { language: "shell", code, session_id: "shell" })).toMatchObject({
      valid: false,
      checked_by: ["unbash"],
    });
    await ask("execute_code", { language: "shell", code: "true", session_id: "shell" });
    const read = await ask("validate_code", { language: "shell", code, session_id: "shell" });
    expect(read).toMatchObject({ valid: false, checked_by: ["unbash", "bash"], findings: [{ rule: "syntax" }] });
    const ran = await ask("validate_code", { language: "shell", code: "touch /workspace/ran", session_id: "shell" });
    expect(ran).toMatchObject({ valid: true, findings: [], checked_by: ["unbash", "bash"] });
    const listed = await ask("execute_code", { language: "shell", code: "ls /workspace", session_id: "shell" });
    expect(listed.stdout).not.toContain("ran");
  });

  it("[VAL-02] strict policy refuses code before it runs, advice lets it run", async () => {
    const code = "import os\nopen('made', 'w').write(os.sep)";
    const refusal = await refused("execute_code", { code, policy: "strict" });
    expect(refusal).toMatchObject({ error: "invalid", message: expect.stringContaining("1:8 unapproved-import") });
    expect(await ask("list_files", {})).toMatchObject({ files: [{ name: "output" }] });
    expect(await ask("execute_code", { code })).toMatchObject({ exit_code: 0 });
    expect(await ask("execute_code", { code: "print(1)", policy: "strict" })).toMatchObject({ stdout: "1\n" });
  });

  it("[VAL-02] run_sandbox_code runs what strict policy lets through, and nothing else", async () => {
    const code = "import math\nprint(math.floor(2.5))\nopen('ran', 'w').write('1')";
    const session_id = "checked";
    expect(await ask("run_sandbox_code", { code, timeout_sec: 30, session_id })).toMatchObject({
      ...{ success: true, exit_code: 0, stdout: "2\n", session_id, execution_time_sec: expect.any(Number) },
      files_changed: [{ path: "ran", action: "created" }],
    });
    const bad = ["import os\nos.remove('ran')", "exec('1')", "().__class__", "print(", "import left_pad", "eval('1')"];
    for (const code of bad) {
      const refusal = await refused("run_sandbox_code", { code, session_id });
      expect(refusal).toMatchObject({
        error: "invalid",
        message: expect.stringContaining("the policy strict refuses"),
      });
      expect(refusal).toHaveProperty("details.findings.0.line");
    }
    const { stdout } = await ask("execute_code", { language: "shell", code: "ls", session_id });
    expect(stdout).toBe("output\nran\n");
    expect(await ask("run_sandbox_code", { code: "raise SystemExit(3)" })).toMatchObject({
      success: false,
      exit_code: 3,
    });
    const slow = { code: "while True: pass", timeout_sec: 0.5 };
    expect(await ask("run_sandbox_code", slow)).toMatchObject({ success: false, timed_out: true });
  });

  it("[VAL-02] advice comes with code that failed", async () => {
    expect(await ask("execute_code", { code: "print(json.dumps(1))" })).toMatchObject({
      exit_code: 1,
      findings: [{ rule: "missing-import", line: 1, column: 7, fix: "import json" }],
    });
    expect(await ask("execute_code", { code: "print(1" })).toMatchObject({ findings: [{ rule: "syntax", line: 1 }] });
    expect(await ask("execute_code", { code: "import os\nprint(1)" })).not.toHaveProperty("findings");
    await ask("execute_code", { code: "kept = 1", session_id: "names" });
    const failed = await ask("execute_code", { code: "kept / 0", session_id: "names" });
    expect(failed).toMatchObject({ exit_code: 1 });
    expect(failed).not.toHaveProperty("findings");
  });

  it("[VAL-03] JSON is checked by a schema of its own or by name", async () => {
    const data = { name: 1, version: "1.0.0" };
    expect(await ask("validate_json_data", { data, schema_name_or_dict: "config" })).toEqual({
      valid: false,
      schema: "config",
      errors: [{ path: "/name", keyword: "type", schema_path: "#/properties/name/type", message: "must be string" }],
      error_count: 1,
      truncated: false,
    });
    const own = { type: "array", items: { type: "integer" } };
    expect(await ask("validate_json_data", { data: [1, 2], schema_name_or_dict: own })).toMatchObject({ valid: true });
    const given = { data: 1, schema_name_or_dict: { $ref: "http://127.0.0.1:9/x" } };
    expect(await refused("validate_json_data", given)).toMatchObject({ error: "invalid" });
    expect((await refused("validate_json_data", { data: 1, schema_name_or_dict: "none" })).error).toBe("not_found");
  });

  it("[VAL-04] CSV is checked by headers and types", async () => {
    const given = {
      csv_content: "id,age\n1,old\n",
      required_headers: ["id", "name"],
      type_constraints: { age: "int" },
    };
    expect(await ask("validate_csv_data", given)).toEqual({
      valid: false,
      headers: ["id", "age"],
      rows: 1,
      errors: [
        {
          rule: "missing_header",
          message: 'the header "name" is missing',
          row: 1,
          line: 1,
          column: "name",
          column_number: null,
        },
        { rule: "type", message: '"old" is no int', row: 2, line: 2, column: "age", column_number: 2, value: "old" },
      ],
      error_count: 2,
      truncated: false,
    });
    expect(await ask("validate_csv_data", { csv_content: "a\n1\n" })).toMatchObject({ valid: true, rows: 1 });
  });

  it("MCP and the SDK give the same", async () => {
    const { token } = await server().keyring.issue({ name: "sdk", namespace: "default", role: "agent" });
    const caisson = new Caisson({ url: server().base, key: token });
    const given = { code: "eval('1')", policy: "strict" };
    const { result } = await caisson.tools.call("validate_code", given);
    expect(result).toEqual(await ask("validate_code", given));
  });
});
