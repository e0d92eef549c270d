import type { Command } from "../core/command.ts";
import { AppError } from "../core/errors.ts";
import type { News, Recorder } from "../core/journal.ts";
import type { LayerId } from "../core/layer.ts";
import type { Caller } from "../core/principal.ts";
import {
  type ReadyTemplate,
  type TemplateChanges,
  type TemplateChoice,
  type TemplateRecord,
  type TemplateRecords,
  warmUpCommand,
} from "../core/template.ts";
import { readyTemplate } from "./ready-template.ts";

export interface TemplatesParts {
  records: TemplateRecords;
  journal: Recorder;
}

/** Templates by their records, each of one namespace (IMG-06). */
export class Templates implements TemplateChoice {
  readonly #parts: TemplatesParts;
  readonly #records = new Map<string, TemplateRecord>();

  private constructor(parts: TemplatesParts) {
    this.#parts = parts;
  }

  /** Builds that the last daemon did not finish have failed. */
  static async open(parts: TemplatesParts): Promise<Templates> {
    const templates = new Templates(parts);
    for (const record of (await parts.records.list()).reverse()) {
      templates.#records.set(record.id, record);
      if (record.state === "building")
        await templates.change(record.id, { state: "failed", error: "the daemon ended during the build" });
    }
    return templates;
  }

  /** Templates of all namespaces. */
  all(): TemplateRecord[] {
    return [...this.#records.values()];
  }

  /** Newest first. */
  list({ principal }: Caller): TemplateRecord[] {
    return this.all()
      .filter(({ namespace }) => namespace === principal.namespace)
      .reverse();
  }

  /** By id or name. */
  get(caller: Caller, template: string): TemplateRecord {
    const own = this.list(caller);
    const found = own.find(({ id }) => id === template) ?? own.find(({ name }) => name === template);
    if (found !== undefined) return found;
    throw new AppError("not_found", `unknown template ${JSON.stringify(template).slice(0, 80)}`, {
      hint:
        own.length === 0
          ? "there are none yet: caisson template create NAME"
          : `templates: ${own.map(({ name }) => name).join(", ")}`,
    });
  }

  byId(id: string): TemplateRecord | undefined {
    return this.#records.get(id);
  }

  choose(caller: Caller, template: string): ReadyTemplate {
    const record = this.get(caller, template);
    const { name, state, step, layerId, memory, why } = record;
    if (state === "building") throw new AppError("conflict", `the template ${name} is being built (${step})`);
    if (state === "failed" || layerId === null)
      throw new AppError("conflict", `the build of template ${name} failed`, {
        hint: `caisson template show ${name} prints the reason`,
      });
    return readyTemplate(record, layerId, memory ? null : why);
  }

  readonly warmUpOf = (templateId: string): Command | null => {
    const warmUp = this.#records.get(templateId)?.warmUp ?? null;
    return warmUp && warmUpCommand(warmUp);
  };

  /** Layers that templates need: their files, and the roots of their images. */
  layerIds(): LayerId[] {
    return this.all()
      .flatMap(({ layerId, image }) => [layerId, image.layerId])
      .filter((id) => id !== null);
  }

  async insert(record: TemplateRecord, news: News): Promise<void> {
    const { journal, records } = this.#parts;
    await journal.record(news, (within) => records.insert(record, within));
    this.#records.set(record.id, record);
  }

  async change(id: string, changes: TemplateChanges, news?: News): Promise<TemplateRecord> {
    const { journal, records } = this.#parts;
    if (news === undefined) await records.update(id, changes);
    else await journal.record(news, (within) => records.update(id, changes, within));
    const record = this.#records.get(id);
    if (record === undefined) throw new AppError("not_found", `unknown template ${id}`);
    const changed = { ...record, ...changes };
    this.#records.set(id, changed);
    return changed;
  }

  /** Deletes the record, and nothing else of the template. */
  async forget(id: string, news: News): Promise<void> {
    const { journal, records } = this.#parts;
    await journal.record(news, (within) => records.delete(id, within));
    this.#records.delete(id);
  }
}
