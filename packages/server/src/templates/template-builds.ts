import { AppError, messageOf } from "../core/errors.ts";
import type { CreateRequest } from "../core/fleet.ts";
import type { News, Recorder } from "../core/journal.ts";
import type { LayerId } from "../core/layer.ts";
import type { Layers } from "../core/layer-builder.ts";
import { type Caller, unattended } from "../core/principal.ts";
import type { SandboxRecord } from "../core/sandbox-record.ts";
import type {
  TemplateChanges,
  TemplateFile,
  TemplateMemory,
  TemplateRecord,
  TemplateRequest,
} from "../core/template.ts";
import { templateLimits } from "../core/template-limits.ts";
import type { Clock } from "../lib/clock.ts";
import { defined } from "../lib/defined.ts";
import { hidePaths } from "../lib/hide-paths.ts";
import { randomId } from "../lib/random-id.ts";
import { type BuildParts, buildTemplate } from "./build-template.ts";
import { checkTemplate } from "./check-request.ts";
import type { Templates } from "./templates.ts";

export interface TemplateBuildsParts extends BuildParts {
  templates: Templates;
  layers: Layers;
  journal: Recorder;
  clock: Clock;
  onError: (error: unknown) => void;
}

interface Build {
  abort: AbortController;
  done: Promise<void>;
}

/** Makes templates, each in a sandbox of the fleet, by what its maker may do there (IMG-06). */
export class TemplateBuilds implements AsyncDisposable {
  readonly #parts: TemplateBuildsParts;
  readonly #builds = new Map<string, Build>();
  /** Names whose making begins. */
  readonly #beginning = new Set<string>();

  constructor(parts: TemplateBuildsParts) {
    this.#parts = parts;
  }

  /** Removes what became no template, once the fleet knows its sandboxes. */
  async sweep(): Promise<void> {
    for (const { id, state } of this.#parts.templates.all()) if (state === "failed") await this.#clear(id);
  }

  /** Answers once there is a sandbox to make it in; the rest goes on whoever leaves. */
  async create(caller: Caller, request: TemplateRequest): Promise<TemplateRecord> {
    checkTemplate(request);
    const { templates } = this.#parts;
    const { namespace } = caller.principal;
    const place = JSON.stringify([namespace, request.name]);
    const same = templates.list(caller).find(({ name }) => name === request.name);
    if (this.#beginning.has(place) || (same !== undefined && same.state !== "failed"))
      throw new AppError("conflict", `the template ${request.name} already exists`, { hint: "delete it first" });
    this.#beginning.add(place);
    try {
      if (same !== undefined) await this.delete(caller, same.id);
      if (templates.list(caller).length >= templateLimits.templates)
        throw new AppError(
          "limit_exceeded",
          `too many templates in the namespace (limit: ${templateLimits.templates})`,
        );
      const { record: builder } = await this.#parts.create(caller, builderRequest(request));
      const record = await this.#insert(caller, request, builder).catch(async (error: unknown) => {
        await this.#parts.bench.discard(builder.id);
        throw error;
      });
      this.#begin(unattended(caller), record, builder.id, request.files ?? []);
      return record;
    } finally {
      this.#beginning.delete(place);
    }
  }

  async #insert(caller: Caller, request: TemplateRequest, builder: SandboxRecord): Promise<TemplateRecord> {
    const { name, description = "", network = null, packages = {}, warmUp = null } = request;
    const { engine, image, layerId, limits, env, id: builderId } = builder;
    const { namespace, id: createdBy } = caller.principal;
    const record: TemplateRecord = {
      ...{ id: randomId(8, "hex"), namespace, name, description, state: "building", step: "sandbox", error: null },
      ...{ image: { name: image, layerId }, engine, limits, env, network, warmUp, builderId, createdBy },
      ...{ packages: { pip: packages.pip ?? [], npm: packages.npm ?? [] }, layerId: null, bytes: 0 },
      ...{ memory: false, why: null, createdAtMs: this.#parts.clock.wallMs() },
    };
    const data = { template_id: record.id, name, image, engine };
    const news: News = { type: "template.requested", by: caller, sandboxId: builderId, data };
    await this.#parts.templates.insert(record, news);
    return record;
  }

  #begin(caller: Caller, record: TemplateRecord, builderId: string, files: readonly TemplateFile[]): void {
    const { templates, journal } = this.#parts;
    const { id, name } = record;
    const abort = new AbortController();
    const signal = AbortSignal.any([abort.signal, AbortSignal.timeout(templateLimits.buildMs)]);
    const progress = {
      signal,
      begin: async (step: NonNullable<TemplateRecord["step"]>) => {
        signal.throwIfAborted();
        await templates.change(id, { step });
        await journal.record({ type: "template.building", by: caller, data: { template_id: id, name, step } });
      },
      holds: (changes: TemplateChanges) => templates.change(id, changes),
    };
    const built = buildTemplate(this.#parts, caller, builderId, record, files, progress);
    const done = built
      .then((memory) => this.#finish(caller, id, memory))
      .catch((error: unknown) => this.#fail(caller, id, error))
      .catch(this.#parts.onError)
      .finally(() => this.#builds.delete(id));
    this.#builds.set(id, { abort, done });
  }

  async #finish(caller: Caller, id: string, { memory, why }: TemplateMemory): Promise<void> {
    const { templates } = this.#parts;
    const { name = "", builderId = null } = templates.byId(id) ?? {};
    if (builderId !== null) await this.#parts.bench.discard(builderId);
    const ready: News = { type: "template.ready", by: caller, data: { template_id: id, name, memory } };
    await templates.change(id, { state: "ready", step: null, memory, why, builderId: null }, ready);
  }

  async #fail(caller: Caller, id: string, cause: unknown): Promise<void> {
    const { templates } = this.#parts;
    const { step = null, name = "" } = templates.byId(id) ?? {};
    const error = hidePaths(messageOf(cause)).slice(0, templateLimits.errorCharacters);
    await this.#clear(id).catch(this.#parts.onError); // what is left is swept by the next daemon
    const failed: News = { type: "template.failed", by: caller, data: { template_id: id, name, step } };
    await templates.change(id, { state: "failed", error }, failed);
  }

  /** Takes away all that was made for it but its record. */
  async #clear(id: string): Promise<void> {
    const { templates } = this.#parts;
    const record = templates.byId(id);
    if (record === undefined) return;
    await this.#discard(record);
    const { builderId, layerId } = record;
    if (builderId !== null || layerId !== null) await templates.change(id, { builderId: null, layerId: null });
  }

  async #discard({ id, builderId, layerId }: TemplateRecord): Promise<void> {
    const { bench } = this.#parts;
    await bench.forget(id);
    if (builderId !== null) await bench.discard(builderId);
    if (layerId !== null) await this.#parts.layers.remove(layerId).catch(ignoreMissing);
  }

  /** One that is being made is ended. Refused while a sandbox lies on its files. */
  async delete(caller: Caller, template: string): Promise<void> {
    const { templates } = this.#parts;
    const { id, name } = templates.get(caller, template);
    const build = this.#builds.get(id);
    build?.abort.abort(new AppError("conflict", "the image was deleted"));
    await build?.done;
    await this.#parts.bench.forget(id);
    await this.#checkUnused(name, templates.byId(id)?.layerId ?? null);
    const record = templates.byId(id);
    await templates.forget(id, { type: "template.deleted", by: caller, data: { template_id: id, name } });
    if (record !== undefined) await this.#discard(record);
  }

  async #checkUnused(name: string, layerId: LayerId | null): Promise<void> {
    const uses = (await this.#parts.layers.list()).find(({ id }) => id === layerId)?.uses ?? 0;
    if (uses > 0)
      throw new AppError("conflict", `sandboxes use the files of the template ${name}`, {
        hint: "destroy the sandboxes first",
        details: { uses },
      });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const builds = [...this.#builds.values()];
    for (const { abort } of builds) abort.abort(new AppError("unavailable", "the daemon is shutting down"));
    await Promise.all(builds.map(({ done }) => done));
  }
}

function builderRequest({ name, image, engine, limits, env, network, snapshotId }: TemplateRequest): CreateRequest {
  const labels = { "caisson.template": name };
  return { labels, forTemplate: true, ...defined({ image, engine, limits, env, network, snapshotId }) };
}

function ignoreMissing(error: unknown): void {
  if (!(error instanceof AppError && error.code === "not_found")) throw error;
}
