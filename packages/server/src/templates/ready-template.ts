import type { LayerId } from "../core/layer.ts";
import { type ReadyTemplate, type TemplateRecord, warmUpCommand } from "../core/template.ts";

export function readyTemplate(record: TemplateRecord, layerId: LayerId, without: string | null): ReadyTemplate {
  const { id, namespace, name, image, engine, limits, env, network, warmUp } = record;
  return {
    id,
    namespace,
    name,
    image,
    engine,
    limits,
    env,
    network,
    layerId,
    without,
    warmUp: warmUp && warmUpCommand(warmUp),
  };
}
