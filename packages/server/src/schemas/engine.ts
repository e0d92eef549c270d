import { z } from "zod";
import { engineAliases, engineChoices, parseEngineChoice } from "../core/request.ts";

/** An engine as a request names it. */
export const engineChoice = z
  .enum([...engineChoices, ...Object.keys(engineAliases)])
  .transform(parseEngineChoice)
  .describe(`${Object.keys(engineAliases).join(" and ")} are other names of container`);
