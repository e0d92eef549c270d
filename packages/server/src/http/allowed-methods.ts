import type { Route } from "./route.ts";

/** The methods that a path takes; none when there is no such path. */
export function allowedMethods(routes: readonly Route[], path: string): string[] {
  return routes.filter((route) => matches(route.path, path)).map((route) => route.method);
}

function matches(pattern: string, path: string): boolean {
  const wanted = pattern.split("/");
  const given = path.split("/");
  const open = wanted.at(-1) === "{path}";
  if (open ? given.length < wanted.length : given.length !== wanted.length) return false;
  return wanted.every((part, at) => part.startsWith("{") || part === given[at]);
}
