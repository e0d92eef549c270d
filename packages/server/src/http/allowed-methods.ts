import type { Route } from "./route.ts";

/** The methods of the path that a URL leads to; none when there is no such path. A fixed word beats a place for any. */
export function allowedMethods(routes: readonly Route[], path: string): string[] {
  const [own] = [...new Set(routes.map((route) => route.path))]
    .filter((pattern) => matches(pattern, path))
    .sort((left, right) => places(left) - places(right));
  return [...new Set(routes.filter((route) => route.path === own).map((route) => route.method))];
}

function places(pattern: string): number {
  return pattern.split("{").length;
}

function matches(pattern: string, path: string): boolean {
  const wanted = pattern.split("/");
  const given = path.split("/");
  const open = wanted.at(-1) === "{path}";
  if (open ? given.length < wanted.length : given.length !== wanted.length) return false;
  return wanted.every((part, at) => part.startsWith("{") || part === given[at]);
}
