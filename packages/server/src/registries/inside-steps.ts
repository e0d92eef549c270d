/**
 * The names from the root that a link in this folder leads to. Undefined when it is absolute, climbs out, or climbs after
 * it went down, where a further link would decide what is climbed.
 */
export function insideSteps(folder: readonly string[], target: string): string[] | undefined {
  if (target.startsWith("/")) return undefined;
  const steps = [...folder];
  let isDown = false;
  for (const part of target.split("/")) {
    if (part === "" || part === ".") continue;
    if (part === "..") {
      if (isDown || steps.pop() === undefined) return undefined;
    } else {
      steps.push(part);
      isDown = true;
    }
  }
  return steps;
}
