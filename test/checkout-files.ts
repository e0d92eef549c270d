/** What a copy of this checkout needs to be set up and run as it was built. */
export const checkoutFiles = [
  "caisson",
  "examples",
  "native",
  "package.json",
  "package-lock.json",
  "packages",
  "scripts",
  ".build/app",
  ".build/bin",
  ".build/include",
  ".build/ready",
];
